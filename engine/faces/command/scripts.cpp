#include "scripts.h"

#include <cstdio>
#include <system_error>

#include "berth/error.h"
#include "console.h"

namespace berth::command {

bool is_script(const std::string& policy) {
  return policy.ends_with(".lua");
}

#ifdef BERTH_HAS_LUA

namespace {

/// `share/berth/scripts` beside `bin/`: one rule for a build folder and an installed prefix.
std::filesystem::path library_folder() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    throw Error(ErrorCode::io, "cannot find the Lua library: /proc/self/exe: " + error.message());
  }
  return program.parent_path().parent_path() / "share/berth/scripts";
}

}  // namespace

Scripts::Scripts(Engine& engine) : host_(std::make_shared<lua::Host>(engine, library_folder())) {}

void Scripts::run(const std::filesystem::path& script, const std::vector<std::string>& args) {
  const InterruptGuard guard;
  host_->set_should_stop([] { return InterruptGuard::interrupted(); });
  Stage stage("running " + script.string());
  const auto progress = std::make_shared<std::function<void(const std::string&)>>(
      [&stage](const std::string& text) { stage.show(text); });
  // Nobody looks once the stage is over.
  host_->set_progress([weak = std::weak_ptr(progress)](const std::string& text) {
    if (const auto shown = weak.lock()) (*shown)(text);
  });
  host_->set_output(script_output());
  try {
    host_->run_script(script, args);
  } catch (...) {
    std::fflush(script_output());  // what it printed comes before why it ended
    throw;
  }
  flush_script_output();
}

void Scripts::run_library(const std::string& name, const std::vector<std::string>& args) {
  try {
    run(library_folder() / "berth" / name, args);
  } catch (const Error& error) {
    const std::string text = error.what();
    throw Error(error.code(), text.substr(0, text.find("\nstack traceback")));
  }
}

void Scripts::set_settings(Settings settings) {
  host_->set_settings(std::move(settings));
}

void Scripts::set_threads(int threads) {
  host_->set_threads(threads);
}

Settings Scripts::read_config(const std::filesystem::path& file) {
  return host_->read_config(file);
}

std::unique_ptr<Policy> Scripts::make_policy(const std::string& name, const OptionTexts& options) {
  return host_->make_policy(name, options);
}

std::unique_ptr<Policy> Scripts::make_library_policy(const std::string& name,
                                                     const OptionTexts& options) {
  return host_->make_policy((library_folder() / "berth" / name).string(), options);
}

PluginInfo Scripts::describe(const std::string& script) {
  static_cast<void>(host_->make_policy(script));
  PluginInfo registered;
  for (PluginInfo& plugin : host_->plugins()) {
    // make_policy has seen to it that there is one; plugins come from files.
    if (plugin.kind == PluginKind::policy && plugin.file.empty()) registered = std::move(plugin);
  }
  registered.file = script;
  return registered;
}

#else

Scripts::Scripts(Engine&) {
  throw Error(ErrorCode::unsupported,
              "this berth was built without Lua; install libluajit-5.1-dev and build it again");
}

void Scripts::run(const std::filesystem::path&, const std::vector<std::string>&) {}
void Scripts::run_library(const std::string&, const std::vector<std::string>&) {}
void Scripts::set_settings(Settings) {}
void Scripts::set_threads(int) {}
Settings Scripts::read_config(const std::filesystem::path&) {
  return {};
}
std::unique_ptr<Policy> Scripts::make_policy(const std::string&, const OptionTexts&) {
  return {};
}
std::unique_ptr<Policy> Scripts::make_library_policy(const std::string&, const OptionTexts&) {
  return {};
}
PluginInfo Scripts::describe(const std::string&) {
  return {};
}

#endif

}  // namespace berth::command
