#include "host/plugin_folder.h"

#include <dlfcn.h>

#include <algorithm>
#include <boost/dll/runtime_symbol_info.hpp>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "berth/error.h"
#include "berth/support/text.h"
#include "berth/version.h"

namespace berth {

std::vector<std::filesystem::path> default_plugin_folders(std::vector<std::string>& problems) {
  std::vector<std::filesystem::path> folders;
  const std::filesystem::path library = boost::dll::this_line_location();
  folders.push_back(std::filesystem::absolute(library).parent_path() / "berth");
  if (const char* variable = std::getenv("BERTH_PLUGIN_PATH")) {
    std::string_view rest = variable;
    while (!rest.empty()) {
      const std::size_t colon = std::min(rest.find(':'), rest.size());
      // An empty or a relative entry would mean the working directory, which is never searched:
      // what is loaded must not depend on where a command is started.
      const std::filesystem::path folder = rest.substr(0, colon);
      if (folder.is_absolute()) {
        std::error_code error;
        static_cast<void>(std::filesystem::directory_iterator(folder, error));
        if (error) {
          problems.push_back(cat("BERTH_PLUGIN_PATH: '", folder.string(),
                                 "' cannot be searched: ", error.message(),
                                 "; name a folder that you may read, or leave it out"));
        }
        // A plugin that is asked for by its name is found in a folder that cannot be listed, too.
        folders.push_back(folder);
      } else if (colon > 0) {
        problems.push_back(cat("BERTH_PLUGIN_PATH: '", folder.string(),
                               "' is not searched; give the whole path, from '/' on"));
      }
      rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
  }
  return folders;
}

std::vector<std::filesystem::path> plugin_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool kind_matches = name.starts_with("frontend_") || name.starts_with("policy_") ||
                              name.starts_with("backend_");
    if (kind_matches && entry->path().extension() == ".so") files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

namespace {

std::mutex loading;

/// A plugin of C++ is linked to libberth. If that is not the library this code is of, as in a program
/// that libberth was linked into, two engines would share their objects.
void check_one_engine(void* library, const std::filesystem::path& file) {
  const void* const its = dlsym(library, "_ZN5berth7versionEv");
  if (its == nullptr || its == reinterpret_cast<const void*>(&version)) return;
  Dl_info found{};
  const bool known = dladdr(its, &found) != 0 && found.dli_fname != nullptr;
  throw Error(ErrorCode::incompatible,
              cat(file.string(), ": is linked to another copy of the engine",
                  known ? cat(", ", found.dli_fname) : std::string(),
                  "; link the program to libberth.so, or register the policy in process"));
}

}  // namespace

const void* load_plugin(const std::filesystem::path& file, const char* symbol) {
  const std::lock_guard lock(loading);
  const std::string whole = std::filesystem::absolute(file).string();
  std::unique_ptr<void, int (*)(void*)> library(dlopen(whole.c_str(), RTLD_NOW | RTLD_LOCAL),
                                                &dlclose);
  if (library == nullptr) {
    std::string_view reason = dlerror();
    if (reason.starts_with(whole + ": ")) reason.remove_prefix(whole.size() + 2);
    throw Error(ErrorCode::incompatible,
                cat(file.string(), ": cannot be loaded as a library: ", reason,
                    "; link it to what it needs, build it again, or move it elsewhere"));
  }
  check_one_engine(library.get(), file);
  const void* const object = dlsym(library.get(), symbol);
  if (object == nullptr) {
    throw Error(ErrorCode::incompatible,
                cat(file.string(), ": exports no symbol '", symbol,
                    "' any more; it was changed after it was read, try again"));
  }
  // It stays loaded until the process ends: objects, exceptions and functions that came from a plugin may outlive every
  // owner that could be tracked.
  static_cast<void>(library.release());
  return object;
}

}  // namespace berth
