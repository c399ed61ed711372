#include "scripts.h"

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
  host_->run_script(script, args);
  flush_standard_output();
}

lua::Config Scripts::read_config(const std::filesystem::path& file) {
  return host_->read_config(file);
}

std::unique_ptr<Policy> Scripts::make_policy(const std::string& name, const OptionTexts& options) {
  return host_->make_policy(name, options);
}

#else

Scripts::Scripts(Engine&) {
  throw Error(ErrorCode::unsupported,
              "this berth was built without Lua; install libluajit-5.1-dev and build it again");
}

void Scripts::run(const std::filesystem::path&, const std::vector<std::string>&) {}
lua::Config Scripts::read_config(const std::filesystem::path&) {
  return {};
}
std::unique_ptr<Policy> Scripts::make_policy(const std::string&, const OptionTexts&) {
  return {};
}

#endif

}  // namespace berth::command
