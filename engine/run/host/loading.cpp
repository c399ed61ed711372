// Models and costs: which frontend reads a file, and the graph as a runtime has it.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "berth/engine.h"
#include "berth/error.h"
#include "berth/files.h"
#include "berth/groups.h"
#include "berth/sdk/gzip.h"
#include "berth/sdk/ops/constants.h"
#include "berth/sdk/ops/states.h"
#include "berth/support/text.h"
#include "files/costs_file.h"
#include "files/profile_trace.h"
#include "host/engine_state.h"
#include "host/foreign_models.h"
#include "host/load_parts.h"
#include "support/foreign_call.h"

namespace berth {
namespace {

constexpr std::string_view kGraphSuffix = ".graph.json";

bool is_exchange_graph(std::filesystem::path model) {
  if (model.extension() == ".gz") model.replace_extension();
  const std::string name = model.filename().string();
  return name.size() > kGraphSuffix.size() &&
         name.compare(name.size() - kGraphSuffix.size(), kGraphSuffix.size(), kGraphSuffix) == 0;
}

/// Whether the engine's own reader judges it: JSON, and files that are absent or empty.
bool may_be_json(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return true;
  std::ifstream stream(path, std::ios::binary);
  std::string front(4096, '\0');
  stream.read(front.data(), static_cast<std::streamsize>(front.size()));
  front.resize(static_cast<std::size_t>(stream.gcount()));
  if (is_gzip(front)) front = gunzip_front(front, front.size());
  refuse_lfs_pointer(front, path.string());
  const std::size_t first = front.find_first_not_of(" \t\r\n");
  return first == std::string::npos || front[first] == '{' || front[first] == '[';
}

/// The graph as a runtime has it: constants computed, states where they are kept.
std::shared_ptr<const Graph> as_run(std::shared_ptr<const Graph> graph,
                                    const LoadOptions& options) {
  if (options.fold.value_or(true)) graph = ops::fold_constants(std::move(graph));
  std::map<std::string, std::string> named;
  bool by_name = true;
  for (const std::string& text : options.states) {
    const std::size_t equals = text.rfind('=');
    if (text == "none") {
      by_name = false;
    } else if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      throw Error(ErrorCode::invalid_argument,
                  cat("the state '", text, "' is not of the form RESULT=INPUT, nor 'none'"));
    } else {
      named[text.substr(equals + 1)] = text.substr(0, equals);
    }
  }
  return ops::add_states(std::move(graph), named, by_name);
}

LoadedModel load_exchange_graph(const std::filesystem::path& model, const LoadOptions& options) {
  if (!options.dims.empty() || !options.shapes.empty() || options.experts || options.op_rules ||
      options.arguments) {
    throw Error(ErrorCode::invalid_argument,
                cat(model.string(),
                    ": an exchange graph has fixed sizes; it takes no dimensions or shapes, and no "
                    "arguments, experts or rules of ops; leave them out, of a placement's settings "
                    "too"));
  }
  const std::shared_ptr<const Graph> graph = load_graph(model);
  if (options.fetches.empty()) return {graph, {}};
  try {
    return {prune(*graph, options.fetches), {}};
  } catch (const Error& refusal) {
    throw Error(refusal.code(), cat(model.string(), ": ", refusal.what()));
  }
}

std::string frontend_name(const std::string& name) {
  return cat("frontend '", name, "'");
}

std::string frontend_of(const std::filesystem::path& model) {
  return cat(model.string(), ": the frontend that reads it");
}

[[noreturn]] void throw_empty(const std::string& whom, const char* what) {
  throw Error(ErrorCode::incompatible, cat(whom, " gave no ", what, "; fix the plugin"));
}

/// Frontends would take what they may not open for no model of theirs.
void check_readable(const std::filesystem::path& model) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(model, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw Error(ErrorCode::not_found,
                cat(model.string(), ": no such file or folder; check the path"));
  }
  if (std::filesystem::status_known(status)) {
    const int wanted = std::filesystem::is_directory(status) ? R_OK | X_OK : R_OK;
    if (::faccessat(AT_FDCWD, model.c_str(), wanted, AT_EACCESS) == 0) return;
    error = std::error_code(errno, std::generic_category());
  }
  throw Error(ErrorCode::io, cat(model.string(), ": cannot be read: ", error.message(),
                                 "; check the path, and that you may read what it names"));
}

}  // namespace

std::unique_ptr<Frontend> Engine::frontend_for(const std::filesystem::path& model) {
  check_readable(model);
  const std::vector<std::string> names = state_->frontends();
  for (const std::string& name : names) {
    std::unique_ptr<Frontend> frontend = make_frontend(name);
    if (call_plugin(frontend_name(name), [&] { return frontend->claims(model); })) return frontend;
  }
  const std::string left_out = state_->frontends_left_out();
  if (const std::string advice = foreign_model_advice(model); !advice.empty()) {
    throw Error(ErrorCode::unsupported, cat(model.string(), ": no frontend reads this: ", advice));
  }
  std::error_code error;
  if (std::filesystem::is_directory(model, error)) {
    throw Error(
        ErrorCode::unsupported,
        cat(model.string(),
            ": this folder is no model that a frontend knows (a SavedModel is a folder with "
            "saved_model.pb); name the model's file in it.",
            left_out));
  }
  std::string known = "the exchange format (" + std::string(kGraphSuffix) + ")";
  for (const std::string& name : names) known += ", " + name;
  const std::string unnamed = model.extension().empty()
                                  ? cat(" A model's kind is told by the end of its name, which "
                                        "this one lacks: link or copy "
                                        "it to a name such as ",
                                        model.filename().string(), ".onnx.")
                                  : std::string();
  throw Error(ErrorCode::unsupported, cat(model.string(), ": no frontend knows this kind of file.",
                                          unnamed, " Known: ", known, ".", left_out));
}

LoadedProgram Engine::load_program(const std::filesystem::path& model, const LoadOptions& options) {
  if (is_exchange_graph(model)) {
    throw Error(ErrorCode::unsupported,
                cat(model.string(),
                    ": an exchange graph says nothing of what its ops compute, so it cannot be "
                    "executed; give the model it was made from"));
  }
  const std::unique_ptr<Frontend> frontend = frontend_for(model);
  auto* const loader = dynamic_cast<ProgramLoader*>(frontend.get());
  if (loader == nullptr) {
    throw Error(ErrorCode::unsupported,
                cat(model.string(),
                    ": its frontend cannot give what executing it needs; measure an .onnx or a "
                    "TensorFlow model"));
  }
  LoadedProgram loaded =
      call_plugin(frontend_of(model), [&] { return loader->load_program(model, options); });
  if (loaded.program == nullptr || loaded.program->graph == nullptr) {
    throw_empty(frontend_of(model), "program");
  }
  auto graph = as_run(loaded.program->graph, options);
  if (graph != loaded.program->graph) {
    auto program = std::make_shared<Program>(*loaded.program);
    program->graph = std::move(graph);
    loaded.program = std::move(program);
  }
  return loaded;
}

LoadedCosts Engine::load_costs(const std::filesystem::path& costs, const Graph& graph,
                               const Cluster& cluster) {
  if (may_be_json(costs)) {
    const std::string text = read_text(costs);
    if (!is_profile_trace(text)) {
      std::string note;
      LoadedCosts loaded{parse_costs(text, costs.string(), graph, cluster, note), {}};
      if (!note.empty()) loaded.notes.push_back(std::move(note));
      return loaded;
    }
    MeasuredCosts made = parse_profile_trace(text, costs.string(), graph, cluster);
    return {std::move(made.costs), {std::move(made.note)}};
  }
  const std::vector<std::string> names = state_->frontends();
  for (const std::string& name : names) {
    const std::unique_ptr<Frontend> frontend = make_frontend(name);
    auto* const reader = dynamic_cast<CostsReader*>(frontend.get());
    if (reader == nullptr) continue;
    const auto load = [&]() -> std::optional<LoadedCosts> {
      if (!reader->claims_costs(costs)) return std::nullopt;
      return reader->load_costs(costs, graph, cluster);
    };
    std::optional<LoadedCosts> loaded = call_plugin(frontend_name(name), load);
    if (!loaded) continue;
    if (loaded->costs == nullptr) throw_empty(frontend_name(name), "costs");
    return std::move(*loaded);
  }
  throw Error(
      ErrorCode::unsupported,
      cat(costs.string(), ": holds no costs: it is neither JSON (berth.costs/1 or ",
          "berth.graph/1, a trace of PyTorch or ONNX Runtime) nor a profile that a frontend "
          "knows (",
          join(names), "); name such a file.", state_->frontends_left_out()));
}

LoadedModel Engine::load(const std::filesystem::path& model, const LoadOptions& options) {
  std::unique_ptr<Frontend> frontend;
  return load_by(*this, frontend, model, options);
}

LoadedModel load_by(Engine& engine, std::unique_ptr<Frontend>& frontend,
                    const std::filesystem::path& model, const LoadOptions& options) {
  const bool own = is_exchange_graph(model);
  if (!own && frontend == nullptr) frontend = engine.frontend_for(model);
  LoadedModel loaded =
      own ? load_exchange_graph(model, options)
          : call_plugin(frontend_of(model), [&] { return frontend->load(model, options); });
  if (loaded.graph == nullptr) throw_empty(frontend_of(model), "graph");
  loaded.graph = as_run(std::move(loaded.graph), options);
  return loaded;
}

}  // namespace berth
