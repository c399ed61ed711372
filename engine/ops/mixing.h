// Ops that bring places along an axis together, though what they give may have the axis as before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth::ops {

/// How an op reads across an axis of one of its inputs. Reductions and products are not here: the sizes of what
/// they give tell of them.
struct Mixing {
  enum class Axis : std::uint8_t {
    first,
    last,
    of_input,      ///< the number that input `at` holds
    of_attribute,  ///< the integer, or the integers, of `attribute`; `fallback` where it is missing
    every          ///< which ones is in the bodies, or in tensors
  };
  std::string_view type;
  Axis axis = Axis::first;
  /// The tensors' numbers decide which places meet: a place by itself is possible.
  bool by_content = false;
  std::size_t of = 0;  ///< the input whose axis it is
  std::size_t at = 0;
  std::string_view attribute = {};
  std::int64_t fallback = 0;
};

/// Null for a type that has no such fact. The type is as in graphs of `dialect` ("onnx", "tf").
[[nodiscard]] const Mixing* find_mixing(std::string_view dialect, std::string_view type);

/// Whether the type gives some of the places of its first input, by their numbers.
[[nodiscard]] bool takes_places(std::string_view type);

}  // namespace berth::ops
