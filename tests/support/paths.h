// Where this build and its data lie. The paths are compiled into one object, so that every other
// one is the same in any checkout and a compiler cache serves all of them.
#pragma once

#include <filesystem>

namespace berth::test {

/// The project's folder.
std::filesystem::path source_folder();

/// The shared fixtures beside the checkout, which may be absent.
std::filesystem::path shared_data_folder();

/// The plugins of this build.
std::filesystem::path plugin_folder();

}  // namespace berth::test
