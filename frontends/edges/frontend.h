// Reads lists of edges, one in each line: the producer's name, the consumer's name, bytes.
#pragma once

#include "berth/frontend.h"

namespace berth::edges_frontend {

class EdgesFrontend final : public Frontend {
 public:
  [[nodiscard]] bool claims(const std::filesystem::path& model) const override;
  [[nodiscard]] LoadedModel load(const std::filesystem::path& model,
                                 const LoadOptions& options) override;
};

}  // namespace berth::edges_frontend
