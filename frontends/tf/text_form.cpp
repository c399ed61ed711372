#include "tf/text_form.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "frontends/tf/proto/graph.pb.h"
#include "frontends/tf/proto/meta_graph.pb.h"
#include "support/text.h"

namespace berth::tf_frontend {

using frontend::readable;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

namespace {

constexpr int kDeepestNesting = 100;

/// Keeps the first error; what an older reader does not know is no error.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (!message_.empty()) return;
    // Places are counted from 0; an error of the whole has line -1.
    line_ = line + 1;
    column_ = column + 1;
    message_ = message;
  }
  void AddWarning(int /*line*/, int /*column*/, const std::string& /*message*/) override {}

  [[nodiscard]] std::string text() const {
    return cat("line ", std::max(line_, 1), ", column ", std::max(column_, 1), ": ",
               message_.empty() ? "no graph" : message_);
  }

 private:
  int line_ = 0;
  int column_ = 0;
  std::string message_;
};

std::unique_ptr<Message> empty_message(MessageKind kind) {
  switch (kind) {
    case MessageKind::graph:
      return std::make_unique<tf_files::GraphDef>();
    case MessageKind::meta_graph:
      return std::make_unique<tf_files::MetaGraphDef>();
    case MessageKind::saved_model:
      break;
  }
  return std::make_unique<tf_files::SavedModel>();
}

void parse(const std::string& text, Message& message, const std::string& file,
           TextFormat::ParseInfoTree* places) {
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Error(ErrorCode::unsupported,
                cat(file, ": text of more than 2 GB; convert it to binary"));
  }
  FirstError error;
  TextFormat::Parser parser;
  parser.AllowUnknownField(true);
  parser.SetRecursionLimit(kDeepestNesting);
  parser.RecordErrorsTo(&error);
  if (places != nullptr) parser.WriteLocationsTo(places);
  if (!parser.ParseFromString(text, &message)) {
    throw Error(ErrorCode::invalid_file, cat(file, ": ", error.text(), "; correct the text"));
  }
}

}  // namespace

bool is_text(std::string_view front) noexcept {
  return !front.empty() && std::none_of(front.begin(), front.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\r' && c != '\t';
  });
}

FirstWord first_word(std::string_view text) {
  int line = 1;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '#') at = std::min(text.find('\n', at), text.size());
    if (at >= text.size() || !std::isspace(static_cast<unsigned char>(text[at]))) break;
    if (text[at] == '\n') ++line;
  }
  std::size_t end = at;
  while (end < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) {
    ++end;
  }
  constexpr std::size_t kShown = 20;
  return {end > at ? text.substr(at, end - at) : text.substr(at, kShown), line};
}

MessageKind kind_of_text(std::string_view text, const std::string& file) {
  struct Field {
    std::string_view name;
    MessageKind kind;
  };
  static constexpr std::array<Field, 14> kFields = {{
      {"node", MessageKind::graph},
      {"library", MessageKind::graph},
      {"version", MessageKind::graph},
      {"versions", MessageKind::graph},
      {"debug_info", MessageKind::graph},
      {"meta_info_def", MessageKind::meta_graph},
      {"graph_def", MessageKind::meta_graph},
      {"saver_def", MessageKind::meta_graph},
      {"collection_def", MessageKind::meta_graph},
      {"signature_def", MessageKind::meta_graph},
      {"asset_file_def", MessageKind::meta_graph},
      {"object_graph_def", MessageKind::meta_graph},
      {"saved_model_schema_version", MessageKind::saved_model},
      {"meta_graphs", MessageKind::saved_model},
  }};
  const auto [first, line] = first_word(text);
  for (const Field& field : kFields) {
    if (field.name == first) return field.kind;
  }
  throw Error(ErrorCode::invalid_file,
              cat(file, ": line ", line, ": the text begins with '", readable(first),
                  "', which no GraphDef, MetaGraphDef or SavedModel does; name the file of the "
                  "graph itself",
                  first == "op" ? " (this looks like a list of op definitions)" : ""));
}

std::string text_to_binary(const std::string& text, MessageKind kind, const std::string& file) {
  return text_to_binary(text, *empty_message(kind), file);
}

std::string text_to_binary(const std::string& text, Message& message, const std::string& file) {
  parse(text, message, file, nullptr);
  std::string binary;
  if (!message.SerializeToString(&binary)) {
    throw Error(ErrorCode::unsupported,
                cat(file, ": more than 2 GB as a message; split the graph"));
  }
  return binary;
}

// --- Writing devices --------------------------------------------------------------------------

namespace {

/// The beginnings of lines, to find a byte by the tokenizer's line and column.
class Places {
 public:
  explicit Places(const std::string& text) : text_(text), lines_{0} {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') lines_.push_back(i + 1);
    }
  }

  [[nodiscard]] std::size_t byte(int line, int column) const {
    constexpr int kTabWidth = 8;  // the tokenizer's
    std::size_t at = lines_[static_cast<std::size_t>(line)];
    for (int c = 0; c < column && at < text_.size(); ++at) {
      c += text_[at] == '\t' ? kTabWidth - c % kTabWidth : 1;
    }
    return at;
  }

  /// The separator of a field written before the byte `at`: a line of its own where `at` begins one.
  [[nodiscard]] std::string separator(std::size_t at) const {
    const std::size_t line = text_.rfind('\n', at == 0 ? 0 : at - 1);
    const std::size_t begin = line == std::string::npos ? 0 : line + 1;
    const std::string front = text_.substr(begin, at - begin);
    const bool blank = front.find_first_not_of(" \t") == std::string::npos;
    return blank && at > 0 ? "\n" + front : " ";
  }

 private:
  const std::string& text_;
  std::vector<std::size_t> lines_;
};

struct Edit {
  std::size_t begin;
  std::size_t end;
  std::string text;
};

/// As a string of the text form: a line break, which would end it, and other control characters in
/// octal.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ' || byte == 0x7F) {
      const auto digit = [&](int shift) { return static_cast<char>('0' + ((byte >> shift) & 7)); };
      out += {'\\', digit(6), digit(3), digit(0)};
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

class DeviceWriter {
 public:
  DeviceWriter(const std::string& text, const DeviceOf& device_of)
      : text_(text), places_(text), device_of_(device_of) {}

  void graph(const tf_files::GraphDef& graph, const TextFormat::ParseInfoTree* tree) {
    nodes(graph, graph.node(), "node", {}, tree);
    if (!graph.has_library()) return;
    const TextFormat::ParseInfoTree* library = nested(tree, graph, "library", -1);
    for (int i = 0; i < graph.library().function_size(); ++i) {
      const tf_files::FunctionDef& function = graph.library().function(i);
      nodes(function, function.node_def(), "node_def", function.signature().name(),
            nested(library, graph.library(), "function", i));
    }
  }

  [[nodiscard]] std::string apply() {
    std::sort(edits_.begin(), edits_.end(),
              [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
    std::string out;
    std::size_t at = 0;
    for (const Edit& edit : edits_) {
      out.append(text_, at, edit.begin - at);
      out += edit.text;
      at = edit.end;
    }
    return out.append(text_, at, std::string::npos);
  }

  static const TextFormat::ParseInfoTree* nested(const TextFormat::ParseInfoTree* tree,
                                                 const Message& message, const char* name,
                                                 int index) {
    const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
    return tree == nullptr ? nullptr : tree->GetTreeForNested(field, index);
  }

 private:
  template <typename Nodes>
  void nodes(const Message& owner, const Nodes& nodes, const char* field, std::string_view function,
             const TextFormat::ParseInfoTree* tree) {
    for (int i = 0; i < nodes.size(); ++i) {
      const tf_files::NodeDef& node = nodes.Get(i);
      const std::optional<std::string> device = device_of_(function, node.name());
      if (device) set_device(node, *device, nested(tree, owner, field, i));
    }
  }

  void set_device(const tf_files::NodeDef& node, const std::string& device,
                  const TextFormat::ParseInfoTree* tree) {
    if (tree == nullptr) return;
    const auto range = [&](const char* name) {
      return tree->GetLocationRange(node.GetDescriptor()->FindFieldByName(name), -1);
    };
    const std::string field = "device: " + quoted(device);
    if (const auto place = range("device"); place.start.line >= 0) {
      edits_.push_back({places_.byte(place.start.line, place.start.column),
                        places_.byte(place.end.line, place.end.column), field});
    } else if (const auto op = range("op"); op.start.line >= 0) {
      const std::size_t at = places_.byte(op.start.line, op.start.column);
      edits_.push_back({at, at, field + places_.separator(at)});
    }
  }

  const std::string& text_;
  Places places_;
  const DeviceOf& device_of_;
  std::vector<Edit> edits_;
};

}  // namespace

std::string set_devices_in_text(const std::string& text, MessageKind kind, int meta_graph,
                                const std::string& file, const DeviceOf& device_of) {
  TextFormat::ParseInfoTree root;
  const std::unique_ptr<Message> message = empty_message(kind);
  parse(text, *message, file, &root);
  DeviceWriter writer(text, device_of);
  const TextFormat::ParseInfoTree* tree = &root;
  const tf_files::MetaGraphDef* meta = nullptr;
  switch (kind) {
    case MessageKind::graph:
      writer.graph(static_cast<const tf_files::GraphDef&>(*message), tree);
      return writer.apply();
    case MessageKind::meta_graph:
      meta = static_cast<const tf_files::MetaGraphDef*>(message.get());
      break;
    case MessageKind::saved_model:
      meta = &static_cast<const tf_files::SavedModel&>(*message).meta_graphs(meta_graph);
      tree = DeviceWriter::nested(tree, *message, "meta_graphs", meta_graph);
      break;
  }
  writer.graph(meta->graph_def(), DeviceWriter::nested(tree, *meta, "graph_def", -1));
  return writer.apply();
}

}  // namespace berth::tf_frontend
