#include "operation.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ScalarOps.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "berth/support/text.h"

namespace berth::torch_module {
namespace {

struct NamedType {
  std::string_view name;
  Type type;
};
constexpr std::array kTypes = {NamedType{"float32", at::kFloat}, NamedType{"float64", at::kDouble},
                               NamedType{"int64", at::kLong},    NamedType{"int32", at::kInt},
                               NamedType{"uint8", at::kByte},    NamedType{"bool", at::kBool}};

bool is_whole(double value) {
  return value == std::floor(value) && std::abs(value) <= 9007199254740992.0;
}

std::int64_t whole(double value) {
  if (!is_whole(value)) throw std::invalid_argument(cat(value, " is no whole number"));
  return static_cast<std::int64_t>(value);
}

std::int64_t from_one(double value, const char* counted) {
  const std::int64_t number = whole(value);
  if (number == 0) {
    throw std::invalid_argument(cat(counted, " count from 1, or from -1 for the last; 0 is none"));
  }
  return number > 0 ? number - 1 : number;
}

std::int64_t dimension(double value) {
  return from_one(value, "dimensions");
}

std::vector<std::int64_t> all_of(const berth_torch_argument& argument,
                                 std::int64_t (*each)(double)) {
  std::vector<std::int64_t> values;
  for (std::int32_t i = 0; i < argument.count; ++i) values.push_back(each(argument.numbers[i]));
  return values;
}

}  // namespace

Type type_named(std::string_view name) {
  std::string known;
  for (const NamedType& each : kTypes) {
    if (each.name == name) return each.type;
    known += cat(known.empty() ? "" : ", ", each.name);
  }
  throw std::invalid_argument(cat("'", name, "' is no type; known: ", known));
}

int number_of_type(Type type) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].type == type) return static_cast<int>(i);
  }
  throw std::invalid_argument(
      cat("values of type ", at::toString(type), " are not for Lua; convert with :to"));
}

at::Generator& generator() {
  static at::Generator instance = at::detail::createCPUGenerator(0);
  return instance;
}

Tensor borrowed(void* tensor) {
  return Tensor(c10::intrusive_ptr<at::TensorImpl, at::UndefinedTensorImpl>::reclaim_copy(
      static_cast<at::TensorImpl*>(tensor)));
}

Tensor Reader<Tensor>::read(const berth_torch_argument& argument) {
  return borrowed(argument.tensor);
}

std::optional<Tensor> Reader<std::optional<Tensor>>::read(const berth_torch_argument& argument) {
  if (argument.tensor == nullptr) return std::nullopt;
  return borrowed(argument.tensor);
}

Operand Reader<Operand>::read(const berth_torch_argument& argument) {
  if (argument.is_number == 0) return {borrowed(argument.tensor)};
  // A number changes no tensor's type, as in Python; but a fraction makes integers float32.
  Tensor value = c10::scalar_to_tensor(Reader<at::Scalar>::read(argument));
  value.unsafeGetTensorImpl()->set_wrapped_number(true);
  return {value, /*is_number=*/true};
}

Index Reader<Index>::read(const berth_torch_argument& argument) {
  const Tensor given = borrowed(argument.tensor);
  const Tensor positions = given.to(at::kLong);
  TORCH_CHECK(!given.is_floating_point() || given.equal(positions.to(given.scalar_type())),
              "positions are whole numbers, and one of these is a fraction");
  return {positions.sub(1)};
}

Tensors Reader<Tensors>::read(const berth_torch_argument& argument) {
  Tensors tensors;
  for (std::int32_t i = 0; i < argument.count; ++i) {
    tensors.push_back(borrowed(argument.tensors[i]));
  }
  return tensors;
}

double Reader<double>::read(const berth_torch_argument& argument) {
  return argument.number;
}

at::Scalar Reader<at::Scalar>::read(const berth_torch_argument& argument) {
  if (is_whole(argument.number)) return static_cast<std::int64_t>(argument.number);
  return argument.number;
}

std::int64_t Reader<std::int64_t>::read(const berth_torch_argument& argument) {
  return whole(argument.number);
}

bool Reader<bool>::read(const berth_torch_argument& argument) {
  return argument.number != 0;
}

Position Reader<Position>::read(const berth_torch_argument& argument) {
  return {from_one(argument.number, "positions")};
}

Dim Reader<Dim>::read(const berth_torch_argument& argument) {
  return {dimension(argument.number)};
}

std::optional<Dim> Reader<std::optional<Dim>>::read(const berth_torch_argument& argument) {
  if (argument.is_number == 0) return std::nullopt;
  return Dim{dimension(argument.number)};
}

Dims Reader<Dims>::read(const berth_torch_argument& argument) {
  return {all_of(argument, &dimension)};
}

Shape Reader<Shape>::read(const berth_torch_argument& argument) {
  return {all_of(argument, &whole)};
}

Type Reader<Type>::read(const berth_torch_argument& argument) {
  return type_named(argument.text);
}

std::string Reader<std::string>::read(const berth_torch_argument& argument) {
  return argument.text;
}

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> rows;
    for (auto part : {elementwise_operations(), shape_operations(), network_operations()}) {
      std::move(part.begin(), part.end(), std::back_inserter(rows));
    }
    return rows;
  }();
  return all;
}

}  // namespace berth::torch_module
