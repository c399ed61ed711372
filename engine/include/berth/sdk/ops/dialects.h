/// @file
/// The vocabularies of op types.
#pragma once

#include <string_view>

#include "berth/export.h"

namespace berth {

/// Throws Error(invalid_argument) unless `dialect` is "onnx", "tf", "mlir" or "berth": types of another one
/// mean nothing to anybody.
BERTH_EXPORT void check_dialect(std::string_view dialect);

}  // namespace berth
