// Loading by a frontend that is kept: it knows a file again.
#pragma once

#include <filesystem>

#include "berth/engine.h"
#include "berth/frontend.h"

namespace berth {

/// Engine::load, by `frontend`; null = made for the model, and kept there unless the engine itself reads it.
[[nodiscard]] LoadedModel load_by(Engine& engine, std::unique_ptr<Frontend>& frontend,
                                  const std::filesystem::path& model, const LoadOptions& options);

}  // namespace berth
