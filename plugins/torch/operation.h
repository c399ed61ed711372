// How a row of the table of operations is bound: the types of a function's parameters say what Lua
// gives it.
#pragma once

#include <ATen/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "module.h"

namespace berth::torch_module {

using at::Tensor;

/// A tensor, or a number in its place.
struct Operand {
  Tensor value;
  bool is_number = false;
};
/// Positions, from 1 in Lua and from 0 here, of any type of number.
struct Index {
  Tensor value;
};
/// A dimension: from 1, or from -1 for the last; here from 0 or from -1.
struct Dim {
  std::int64_t value;
};
struct Dims {
  std::vector<std::int64_t> values;
};
/// One position: from 1, or from -1 for the last; here from 0 or from -1.
struct Position {
  std::int64_t value;
};
/// Sizes; -1 where LibTorch takes it.
struct Shape {
  std::vector<std::int64_t> values;
};
using Type = at::ScalarType;
using Tensors = std::vector<Tensor>;

/// Throws std::invalid_argument that lists the known names.
[[nodiscard]] Type type_named(std::string_view name);
[[nodiscard]] int number_of_type(Type type);  ///< index into the names; throws for any other
/// The module's own; what draws takes it.
[[nodiscard]] at::Generator& generator();

[[nodiscard]] Tensor borrowed(void* tensor);
[[nodiscard]] void* given_out(Tensor tensor);

template <typename T>
struct Reader;
#define BERTH_READER(TYPE, KIND)                            \
  template <>                                               \
  struct Reader<TYPE> {                                     \
    static constexpr const char* kKind = KIND;              \
    static TYPE read(const berth_torch_argument& argument); \
  }
BERTH_READER(Tensor, "tensor");
BERTH_READER(std::optional<Tensor>, "tensor?");
BERTH_READER(Operand, "operand");
BERTH_READER(Index, "index");
BERTH_READER(Tensors, "tensors");
BERTH_READER(double, "number");
BERTH_READER(at::Scalar, "number");  ///< whole numbers are integers, which change no tensor's type
BERTH_READER(std::int64_t, "integer");
BERTH_READER(bool, "boolean");
BERTH_READER(Position, "integer");
BERTH_READER(Dim, "dim");
BERTH_READER(std::optional<Dim>, "dim?");
BERTH_READER(Dims, "dims");
BERTH_READER(Shape, "shape");
BERTH_READER(Type, "type");
BERTH_READER(std::string, "text");
#undef BERTH_READER

inline void give(Tensor tensor, berth_torch_result& result) {
  constexpr std::int32_t kMost = std::size(decltype(berth_torch_result::tensors){});
  TORCH_CHECK(result.count < kMost, "more than ", kMost, " results; split into fewer parts");
  result.tensors[result.count++] = given_out(std::move(tensor));
}
inline void give(Tensors tensors, berth_torch_result& result) {
  for (Tensor& tensor : tensors) give(std::move(tensor), result);
}
template <typename... T>
void give(std::tuple<T...> tensors, berth_torch_result& result) {
  std::apply([&](auto&... each) { (give(std::move(each), result), ...); }, tensors);
}

/// A row of the table. What Lua offers, what meta.lua says and what the tests call all come from it.
struct Operation {
  const char* name;
  const char* parameters;  ///< "self, dim = -1": names with their defaults, as Lua writes them
  const char* doc;         ///< shapes and meaning; errors end with it
  void (*call)(const berth_torch_argument* arguments, berth_torch_result& result);
  std::string kinds;
  std::size_t count;  ///< of parameters
};

template <typename Function>
struct Bound;
template <typename Class, typename Result, typename... T>
struct Bound<Result (Class::*)(T...) const> {
  static std::string kinds() {
    std::string all;
    ((all += std::string(all.empty() ? "" : " ") + Reader<std::decay_t<T>>::kKind), ...);
    return all;
  }
  static constexpr std::size_t kCount = sizeof...(T);
  template <typename Function>
  static void call(const berth_torch_argument* arguments, berth_torch_result& result) {
    call_with<Function>(arguments, result, std::index_sequence_for<T...>());
  }

 private:
  template <typename Function, std::size_t... I>
  static void call_with(const berth_torch_argument* arguments, berth_torch_result& result,
                        std::index_sequence<I...>) {
    static_cast<void>(arguments);
    give(Function{}(Reader<std::decay_t<T>>::read(arguments[I])...), result);
  }
};

template <typename Function>
Operation row(const char* name, const char* parameters, Function, const char* doc) {
  using Of = Bound<decltype(&Function::operator())>;
  return {name, parameters, doc, &Of::template call<Function>, Of::kinds(), Of::kCount};
}

// The table, in three files. Values by value; shapes and positions; networks, losses and draws.
[[nodiscard]] std::vector<Operation> elementwise_operations();
[[nodiscard]] std::vector<Operation> shape_operations();
[[nodiscard]] std::vector<Operation> network_operations();
[[nodiscard]] const std::vector<Operation>& operations();

}  // namespace berth::torch_module
