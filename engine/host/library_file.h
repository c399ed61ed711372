#pragma once

#include <filesystem>

namespace berth {

/// Throws Error(incompatible) for a file that is not a complete ELF library of this word size. The
/// system loader maps what the headers promise, and dies of a bus error if the file ends before
/// that.
void check_library_file(const std::filesystem::path& file);

}  // namespace berth
