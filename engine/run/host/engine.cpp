#include "berth/engine.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <fstream>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "berth/error.h"
#include "berth/files.h"
#include "berth/groups.h"
#include "berth/sdk/gzip.h"
#include "berth/sdk/ops/constants.h"
#include "berth/sdk/ops/states.h"
#include "berth/support/text.h"
#include "berth/version.h"
#include "files/costs_file.h"
#include "files/profile_trace.h"
#include "host/descriptor.h"
#include "host/foreign_models.h"
#include "host/load_parts.h"
#include "host/plugin_folder.h"
#include "host/policy_table.h"
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

}  // namespace

const char* version() noexcept {
  return BERTH_VERSION_STRING;
}
std::uint32_t abi_version() noexcept {
  return BERTH_ABI_VERSION;
}

struct Engine::State {
  struct Plugin {
    const PluginDescriptor* descriptor;  // null: the file has been read, not opened
    std::filesystem::path file;
    bool is_table = false;               // in the file
    std::shared_ptr<PolicyTable> table;  // behind the descriptor, where it is one
  };
  using Plugins = std::map<std::pair<PluginKind, std::string>, Plugin, std::less<>>;
  std::vector<std::filesystem::path> folders;
  std::mutex mutex;  // guards everything below
  Plugins plugins;
  std::set<std::filesystem::path> seen;  // files read
  std::vector<std::string> problems;
  std::optional<std::vector<std::string>> allowed;  // as in allow_only
  std::string allowed_by;                           // the place of the setting, where it has one
  bool scanned = false;

  [[nodiscard]] bool allows(std::string_view file_stem) const;
  /// "Allowed are only: policy_heft (the setting "plugins", study.json: line 3)"
  [[nodiscard]] std::string allowed_text() const;
  /// A sentence on the frontends that are there and not allowed; empty where all are.
  [[nodiscard]] std::string frontends_left_out();
  /// Reads what `file` says of itself, once; a refusal becomes a problem.
  void consider(const std::filesystem::path& file);
  void scan();
  /// Opens a plugin whose file has been read. One that cannot be opened becomes a problem and is
  /// forgotten: null.
  const Plugin* open(Plugins::iterator entry);
  const Plugin& find(PluginKind kind, std::string_view name);
  [[noreturn]] void not_found(PluginKind kind, std::string_view name) const;
  std::vector<std::string> names(PluginKind kind) const;
  /// Names of all frontends, found now where they were not yet.
  std::vector<std::string> frontends();
  static std::unique_ptr<Policy> make_policy(const std::shared_ptr<State>& state,
                                             std::string_view name, const OptionTexts& options,
                                             const PolicyMaker& others);
};

bool Engine::State::allows(std::string_view file_stem) const {
  return !allowed || std::any_of(allowed->begin(), allowed->end(), [&](std::string_view entry) {
    if (!entry.ends_with('*')) return entry == file_stem;
    return file_stem.starts_with(entry.substr(0, entry.size() - 1));
  });
}

std::string Engine::State::allowed_text() const {
  return cat(" Allowed are only: ", allowed->empty() ? "none" : join(*allowed),
             " (the setting \"plugins\"", allowed_by.empty() ? "" : ", " + allowed_by, ")");
}

std::string Engine::State::frontends_left_out() {
  const std::lock_guard lock(mutex);
  std::set<std::string> left_out;
  for (const std::filesystem::path& folder : folders) {
    for (const std::filesystem::path& file : plugin_files(folder)) {
      const std::string stem = file.stem().string();
      if (stem.starts_with("frontend_") && !allows(stem)) left_out.insert(stem);
    }
  }
  if (left_out.empty()) return {};
  return cat(allowed_text(), ", which leaves out ",
             join(std::vector<std::string>(left_out.begin(), left_out.end())),
             "; add them there, or frontend_*.");
}

void Engine::State::consider(const std::filesystem::path& file) {
  if (!allows(file.stem().string()) || !seen.insert(file).second) return;
  try {
    const PluginFileHeader header = read_plugin_file(file);
    check_plugin_file(header, file);
    // One name for both: a plugin is found by its own without a look at others, and allowed by its file's.
    const std::string stem = cat(plugin_kind_name(header.kind), "_", *header.name);
    if (file.stem() != stem && header.kind <= PluginKind::backend) {
      throw Error(ErrorCode::incompatible,
                  cat(file.string(), ": holds the ", plugin_kind_name(header.kind), " '",
                      *header.name, "'; name the file ", stem, ".so"));
    }
    const auto [entry, added] =
        plugins.try_emplace({header.kind, *header.name}, Plugin{nullptr, file, header.table, {}});
    if (!added) {
      const std::string first = entry->second.file.string();
      problems.push_back(cat(file.string(), ": a ", plugin_kind_name(header.kind), " named '",
                             *header.name, "' was already found",
                             first.empty() ? " in process" : " in " + first,
                             ", which wins; remove one of them"));
    }
  } catch (const Error& error) {
    problems.emplace_back(error.what());
  }
}

const Engine::State::Plugin* Engine::State::open(Plugins::iterator entry) {
  Plugin& plugin = entry->second;
  if (plugin.descriptor != nullptr) return &plugin;
  try {
    const void* const object =
        load_plugin(plugin.file, plugin.is_table ? kTableSymbol : kPluginSymbol);
    const auto* descriptor = static_cast<const PluginDescriptor*>(object);
    if (plugin.is_table) {
      plugin.table =
          PolicyTable::of_file(*static_cast<const berth_policy_plugin*>(object), plugin.file);
      descriptor = &plugin.table->descriptor();
    }
    check_descriptor(*descriptor, plugin.file.string());
    plugin.descriptor = descriptor;
    return &plugin;
  } catch (const Error& error) {
    problems.emplace_back(error.what());
    plugins.erase(entry);
    return nullptr;
  }
}

void Engine::State::scan() {
  if (scanned) return;
  scanned = true;
  for (const std::filesystem::path& folder : folders) {
    for (const std::filesystem::path& file : plugin_files(folder)) consider(file);
  }
}

std::vector<std::string> Engine::State::names(PluginKind kind) const {
  std::vector<std::string> names;
  for (const auto& [key, plugin] : plugins) {
    if (key.first == kind) names.push_back(key.second);
  }
  return names;
}

const Engine::State::Plugin& Engine::State::find(PluginKind kind, std::string_view name) {
  const std::pair<PluginKind, std::string> key(kind, name);
  auto found = plugins.find(key);
  if (found == plugins.end() && name.find('/') == std::string_view::npos) {
    // Its file's name is tried first: no other file need be read then.
    const std::string file = cat(plugin_kind_name(kind), "_", name, ".so");
    for (const std::filesystem::path& folder : folders) {
      std::error_code error;
      if (std::filesystem::exists(folder / file, error)) consider(folder / file);
    }
    found = plugins.find(key);
  }
  if (found == plugins.end()) {
    scan();
    found = plugins.find(key);
  }
  const Plugin* const plugin = found != plugins.end() ? open(found) : nullptr;
  if (plugin != nullptr) return *plugin;
  scan();  // the answer lists all that are there
  not_found(kind, name);
}

void Engine::State::not_found(PluginKind kind, std::string_view name) const {
  const std::string stem = cat(plugin_kind_name(kind), "_", name);
  std::string refused;
  std::string more;
  for (const std::string& problem : problems) {
    if (problem.find(stem + ".so") != std::string::npos) refused = cat(" Refused: ", problem, ".");
    if (problem.starts_with("BERTH_PLUGIN_PATH")) more += " " + problem + ".";
  }
  if (!allows(stem)) more += allowed_text() + ".";
  const std::vector<std::string> known = names(kind);
  for (const std::filesystem::path& folder : folders) {
    std::error_code error;
    const bool there = std::filesystem::is_directory(folder, error);
    if (there && !known.empty()) continue;
    more += cat(" Searched: ", folder.string(), there ? "." : " (no such folder).");
  }
  throw Error(
      refused.empty() ? ErrorCode::not_found : ErrorCode::incompatible,
      cat("no ", plugin_kind_name(kind), " '", name, "'", known_names(name, known), refused, more));
}

Engine::Engine(std::vector<std::filesystem::path> plugin_folders, const CallerBuild& caller)
    : state_(std::make_shared<State>()) {
  if (caller.abi_version != BERTH_ABI_VERSION ||
      std::string_view(caller.fingerprint) != BERTH_BUILD_FINGERPRINT) {
    throw Error(ErrorCode::incompatible,
                cat("this program was compiled for Berth's ABI ", caller.abi_version, " with '",
                    caller.fingerprint, "', and runs with libberth ", BERTH_VERSION_STRING,
                    " of ABI ", BERTH_ABI_VERSION, ", built with '", BERTH_BUILD_FINGERPRINT,
                    "'; compile it against the headers of the library it runs with"));
  }
  state_->folders =
      plugin_folders.empty() ? default_plugin_folders(state_->problems) : std::move(plugin_folders);
}
Engine::~Engine() = default;

std::vector<PluginInfo> Engine::plugins() {
  const std::lock_guard lock(state_->mutex);
  state_->scan();
  std::vector<PluginInfo> infos;
  for (auto entry = state_->plugins.begin(); entry != state_->plugins.end();) {
    const State::Plugin* const plugin = state_->open(entry++);
    if (plugin != nullptr) infos.push_back(describe(*plugin->descriptor, plugin->file));
  }
  return infos;
}

void Engine::check_allowed(const std::string& plugin) const {
  const std::lock_guard lock(state_->mutex);
  if (!state_->allowed) return;
  std::error_code ignored;
  for (const std::string& entry : *state_->allowed) {
    // It is the file that was allowed, whatever way leads to it.
    const bool lua = plugin.ends_with(".lua") && entry.ends_with(".lua");
    if (lua && std::filesystem::equivalent(plugin, entry, ignored)) return;
  }
  if (!plugin.ends_with(".lua") && state_->allows(plugin)) return;
  throw Error(ErrorCode::incompatible,
              cat("'", plugin, "' may not be opened.", state_->allowed_text(),
                  "; add it there if you trust it"));
}

void Engine::allow_only(std::vector<std::string> plugins) {
  allow_only(std::move(plugins), {});
}

void Engine::allow_only(std::vector<std::string> plugins, const std::string& origin) {
  for (const std::string& name : plugins) {
    const bool of_a_kind = name.starts_with("policy_") || name.starts_with("frontend_") ||
                           name.starts_with("backend_") || name.starts_with("module_");
    if (of_a_kind && name.find_first_of("/. ") == std::string::npos) continue;
    if (name.ends_with(".lua")) continue;
    throw Error(ErrorCode::invalid_argument,
                cat("'", name,
                    "' names no plugin; write KIND_NAME as its file is called, such as "
                    "policy_heft, policy_* for all policies, or a policy's Lua file"));
  }
  const std::lock_guard lock(state_->mutex);
  state_->allowed = std::move(plugins);
  state_->allowed_by = origin;
  std::erase_if(state_->plugins, [&](const auto& entry) {
    const std::filesystem::path& file = entry.second.file;
    if (file.empty() || state_->allows(file.stem().string())) return false;
    state_->seen.erase(file);
    return true;
  });
  // Files that were not allowed before have not been read.
  state_->scanned = false;
}

PluginInfo Engine::plugin(PluginKind kind, std::string_view name) {
  const std::lock_guard lock(state_->mutex);
  const State::Plugin& found = state_->find(kind, name);
  return describe(*found.descriptor, found.file);
}

std::vector<std::string> Engine::problems() {
  const std::lock_guard lock(state_->mutex);
  return state_->problems;
}

namespace {

/// The options of one plugin, defaults overridden by `texts`.
Options checked_options(const PluginDescriptor& descriptor, const OptionTexts& texts) {
  Options options({descriptor.options, descriptor.option_count});
  const std::string owner = cat(plugin_kind_name(descriptor.kind), " '", descriptor.name, "'");
  for (const auto& [name, value] : texts) options.set(owner, name, value);
  return options;
}

/// Calls the factory; what it throws beside Error and bad_alloc becomes an Error naming the plugin.
template <typename Create>
auto make(const PluginDescriptor& descriptor, const OptionTexts& texts, Create create) {
  const Options options = checked_options(descriptor, texts);
  const auto plugin = [&] {
    return cat(plugin_kind_name(descriptor.kind), " '", descriptor.name, "'");
  };
  auto instance = std::unique_ptr<std::remove_pointer_t<decltype(create(options))>>();
  try {
    instance.reset(create(options));
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ErrorCode::incompatible, cat(plugin(), " failed to start: ", error.what()));
  } catch (...) {
    throw Error(ErrorCode::incompatible,
                cat(plugin(), " failed to start with an unknown exception; fix the plugin"));
  }
  if (!instance) {
    throw Error(ErrorCode::incompatible,
                cat(plugin(), " made no instance; its factory must return or throw"));
  }
  return instance;
}

}  // namespace

std::unique_ptr<Policy> Engine::State::make_policy(const std::shared_ptr<State>& state,
                                                   std::string_view name,
                                                   const OptionTexts& options,
                                                   const PolicyMaker& others) {
  const PluginDescriptor* descriptor = nullptr;
  {
    const std::lock_guard lock(state->mutex);
    descriptor = state->find(PluginKind::policy, name).descriptor;
  }
  const PolicyMaker policies = [weak = std::weak_ptr<State>(state)](
                                   std::string_view other, const OptionTexts& other_options) {
    const std::shared_ptr<State> alive = weak.lock();
    if (alive == nullptr) {
      throw Error(ErrorCode::not_found,
                  cat("no policy '", other,
                      "': the engine that made this policy has ended; keep it as long as the "
                      "policies that use others"));
    }
    return make_policy(alive, other, other_options, {});
  };
  std::unique_ptr<Policy> policy = make(*descriptor, options, [&](const Options& checked) {
    return descriptor->create_policy(checked, others ? others : policies, descriptor->user);
  });
  policy->set_name(descriptor->name);
  return policy;
}

std::unique_ptr<Policy> Engine::make_policy(std::string_view name, const OptionTexts& options,
                                            const PolicyMaker& others) {
  return State::make_policy(state_, name, options, others);
}

std::unique_ptr<Frontend> Engine::make_frontend(std::string_view name, const OptionTexts& options) {
  const PluginDescriptor* descriptor = nullptr;
  {
    const std::lock_guard lock(state_->mutex);
    descriptor = state_->find(PluginKind::frontend, name).descriptor;
  }
  return make(*descriptor, options, [&](const Options& checked) {
    return descriptor->create_frontend(checked, descriptor->user);
  });
}

std::unique_ptr<Backend> Engine::make_backend(std::string_view name, const OptionTexts& options) {
  const PluginDescriptor* descriptor = nullptr;
  {
    const std::lock_guard lock(state_->mutex);
    descriptor = state_->find(PluginKind::backend, name).descriptor;
  }
  return make(*descriptor, options, [&](const Options& checked) {
    return descriptor->create_backend(checked, descriptor->user);
  });
}

Options Engine::options_of(PluginKind kind, std::string_view name, const OptionTexts& options) {
  const std::lock_guard lock(state_->mutex);
  return checked_options(*state_->find(kind, name).descriptor, options);
}

void Engine::register_plugin(const PluginDescriptor& descriptor) {
  check_descriptor(descriptor, "a plugin registered in process");
  const std::lock_guard lock(state_->mutex);
  const auto [entry, added] = state_->plugins.try_emplace(
      {descriptor.kind, descriptor.name}, State::Plugin{&descriptor, {}, false, {}});
  if (!added) {
    throw Error(ErrorCode::invalid_argument,
                cat("a ", plugin_kind_name(descriptor.kind), " named '", descriptor.name,
                    "' is already there; choose another name"));
  }
}

std::vector<std::string> Engine::State::frontends() {
  const std::lock_guard lock(mutex);
  for (const std::filesystem::path& folder : folders) {
    for (const std::filesystem::path& file : plugin_files(folder)) {
      if (file.filename().string().rfind("frontend_", 0) == 0) consider(file);
    }
  }
  return names(PluginKind::frontend);
}

namespace {

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
