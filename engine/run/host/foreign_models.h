// Model files of other programs' that no frontend reads.
#pragma once

#include <filesystem>
#include <string>

namespace berth {

/// Says what the file or folder is, by its name, and how to make of it a model that Berth reads; empty where that is not
/// known.
[[nodiscard]] std::string foreign_model_advice(const std::filesystem::path& model);

}  // namespace berth
