#pragma once

#include <filesystem>

namespace berth {

/// Throws Error(incompatible) for a file that is no whole ELF library of this word size: the system
/// loader maps what the headers promise and dies of a bus error where the file ends before it.
void check_library_file(const std::filesystem::path& file);

}  // namespace berth
