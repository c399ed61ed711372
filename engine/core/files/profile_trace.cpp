#include "files/profile_trace.h"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "berth/error.h"
#include "berth/support/text.h"
#include "files/json_reader.h"
#include "support/median.h"
#include "support/units.h"

namespace berth {
namespace {

constexpr std::string_view kAdviceForPyTorch = "mark ops by their names (record_function)";
constexpr std::string_view kAdviceForOnnxRuntime =
    "let ONNX Runtime optimize nothing (graph_optimization_level = ORT_DISABLE_ALL), and name the "
    "model's nodes: it calls those without a name by type and number (MatMul_0)";

/// One event of a trace, as far as it counts here.
struct Event {
  std::string name;
  std::string category;
  std::string phase;
  std::string provider;
  double us = -1;
  std::optional<double> elements;  ///< of its outputs together
};

/// Elements of the op's outputs together, where all their shapes are known.
std::optional<double> elements_of_outputs(const Graph& graph, OpId op) {
  double sum = 0;
  for (const TensorId tensor : graph.outputs(op)) {
    const std::int64_t count =
        graph.has_shape(tensor) ? element_count(graph.shape(tensor)) : kUnknownDim;
    if (count == kUnknownDim) return std::nullopt;
    sum += static_cast<double>(count);
  }
  return sum;
}

/// The events of a trace that count.
class Times {
 public:
  explicit Times(const Graph& graph) : graph_(graph), events_(graph) {}

  void add(const Event& event) {
    if (event.phase != "X" || !(event.us >= 0)) return;
    std::string_view name = event.name;
    auto where = MeasuredEvents::kOnHost;
    from_onnx_runtime_ |= event.category == "Node" || event.category == "Session";
    if (event.category == "Node") {
      constexpr std::string_view kEnd = "_kernel_time";
      if (!name.ends_with(kEnd)) return;
      name.remove_suffix(kEnd.size());
      const auto op = graph_.find_op(name);
      if (event.provider != "CPUExecutionProvider") {
        elsewhere_ += op ? 1 : 0;
        return;
      }
      if (op) {
        compare_sizes(*op, event);
      } else {
        strangers_[std::string(name)].push_back(event.us);
      }
    } else if (event.category == "gpu_user_annotation") {
      where = MeasuredEvents::kOnGpu;
    } else if (event.category != "user_annotation" && event.category != "cpu_op") {
      return;
    }
    events_.add(name, where, event.us);
  }

  [[nodiscard]] MeasuredCosts costs(const Cluster& cluster, const std::string& origin) const {
    MeasuredCosts made = events_.costs(
        cluster, origin, from_onnx_runtime_ ? kAdviceForOnnxRuntime : kAdviceForPyTorch);
    if (from_onnx_runtime_) note_doubts(made.note);
    return made;
  }

 private:
  void compare_sizes(OpId op, const Event& event) {
    if (!event.elements) return;
    const auto now = elements_of_outputs(graph_, op);
    if (now && *now != *event.elements) other_sizes_.insert(op);
  }

  void note_doubts(std::string& note) const {
    if (!other_sizes_.empty()) {
      note += cat("; ", other_sizes_.size(), kOfOtherSizes,
                  " than in the model as it is loaded now: "
                  "profile it for this batch and these dimensions");
    }
    double strangers_us = 0;
    for (const auto& [name, us] : strangers_) strangers_us += median(us);
    if (!strangers_.empty()) {
      note +=
          cat("; ", strangers_.size(), " measured nodes (", format_us(strangers_us),
              ") are no ops of this graph and do not count: where no Loop, Scan or If runs them, ",
              kAdviceForOnnxRuntime);
    }
    if (elsewhere_ > 0) {
      note += cat("; ", elsewhere_,
                  " events are of other providers than ONNX Runtime's own for processors, whose "
                  "times its profile lacks");
    }
  }

  const Graph& graph_;
  MeasuredEvents events_;
  bool from_onnx_runtime_ = false;
  std::map<std::string, std::vector<double>> strangers_;  ///< times of nodes that are no ops
  std::set<OpId> other_sizes_;
  int elsewhere_ = 0;  ///< nodes of other providers than the processor's
};

/// Hands events on one by one: a trace may be far larger than what counts of it.
class EventReader final : public nlohmann::json_sax<Json> {
 public:
  explicit EventReader(Times& times) : times_(times) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool string(string_t& text) override {
    if (in_event_) {
      const std::size_t inside = depth_ - event_depth_;
      if (inside == 0 && key_ == "name") event_.name = text;
      if (inside == 0 && key_ == "cat") event_.category = text;
      if (inside == 0 && key_ == "ph") event_.phase = text;
      if (inside == 1 && key_ == "provider") event_.provider = text;
    }
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    ++depth_;
    if (list_depth_ != 0 && !in_event_ && depth_ == list_depth_ + 1) {
      in_event_ = true;
      event_depth_ = depth_;
      event_ = {};
      in_shapes_ = false;
    }
    return true;
  }
  bool key(string_t& key) override {
    key_ = key;
    if (depth_ == event_depth_ + 1) in_shapes_ = key == "output_type_shape";
    return true;
  }
  bool end_object() override {
    if (in_event_ && depth_ == event_depth_) {
      times_.add(event_);
      in_event_ = false;
    }
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    ++depth_;
    // The whole file, or the "traceEvents" of the object that it is.
    if (list_depth_ == 0 && (depth_ == 1 || (depth_ == 2 && key_ == "traceEvents"))) {
      list_depth_ = depth_;
    }
    if (in_shape()) elements_ = 1;
    return true;
  }
  bool end_array() override {
    if (in_shape()) event_.elements = event_.elements.value_or(0) + elements_;
    if (depth_ == list_depth_) list_depth_ = 0;
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    broken_at = position;
    return false;
  }

  std::size_t broken_at = 0;

 private:
  bool number(double value) {
    if (in_event_ && depth_ == event_depth_ && key_ == "dur") event_.us = value;
    if (in_shape()) elements_ *= value;
    return true;
  }

  /// In the innermost list of {"args": {"output_type_shape": [{"float": [2, 3]}]}}.
  [[nodiscard]] bool in_shape() const {
    constexpr std::size_t kInEvent = 4;
    return in_event_ && in_shapes_ && depth_ == event_depth_ + kInEvent;
  }

  Times& times_;
  Event event_;
  std::string key_;
  std::size_t depth_ = 0;
  std::size_t list_depth_ = 0;  ///< of the list of events; 0 = not in it
  std::size_t event_depth_ = 0;
  bool in_event_ = false;
  bool in_shapes_ = false;  ///< of an event's outputs
  double elements_ = 1;     ///< of the shape that is read
};

/// Profilers write names as they find them. What JSON allows in no text, control characters and
/// broken UTF-8, becomes '?'; names of ops hold neither.
std::string with_clean_texts(std::string_view json) {
  std::string clean(json);
  bool inside = false;
  for (std::size_t i = 0; i < clean.size(); ++i) {
    const auto byte = static_cast<unsigned char>(clean[i]);
    if (byte == '"') inside = !inside;
    if (!inside) continue;
    if (byte == '\\') {
      ++i;
    } else if (byte < 0x20 || byte >= 0x80) {
      clean[i] = '?';
    }
  }
  return clean;
}

[[noreturn]] void refuse_broken(std::string_view json, const EventReader& reader,
                                const std::string& origin) {
  // The parser stands behind the last byte that it could not take.
  const std::size_t last = json.find_last_not_of(" \t\r\n");
  const bool cut_short = last != json.npos && reader.broken_at > last + 1;
  throw Error(ErrorCode::invalid_file,
              cat(origin, ": is broken at byte ", reader.broken_at,
                  cut_short ? ": it ends there; a profiler that was not stopped writes only a part"
                            : "; write the trace again, or remove what is no JSON there"));
}

}  // namespace

bool is_profile_trace(std::string_view json) {
  const std::size_t first = json.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  // No file of Berth's is a list. What stands before PyTorch's events is short.
  return json[first] == '[' || json.substr(0, 1 << 20).find("\"traceEvents\"") != json.npos;
}

MeasuredCosts parse_profile_trace(std::string_view json, const std::string& origin,
                                  const Graph& graph, const Cluster& cluster) {
  std::optional<Times> read(std::in_place, graph);
  EventReader reader(*read);
  if (!Json::sax_parse(json, &reader)) {
    read.emplace(graph);
    EventReader again(*read);
    const std::string clean = with_clean_texts(json);
    if (!Json::sax_parse(clean, &again)) refuse_broken(clean, again, origin);
  }
  return read->costs(cluster, origin);
}

}  // namespace berth
