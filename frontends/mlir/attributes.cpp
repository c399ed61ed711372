#include "attributes.h"

#include <string>

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "op_facts.h"

namespace berth_mlir {
namespace {

std::string printed(mlir::Operation& op, llvm::StringRef key) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (mlir::Attribute attribute = attribute_of(op, key)) attribute.print(stream);
  return text;
}

/// The numbers in brackets behind "key = [", of an attribute whose dialect is not loaded.
Numbers listed(llvm::StringRef text, llvm::StringRef key) {
  Numbers numbers;
  const std::size_t at = text.find(key);
  if (at == llvm::StringRef::npos) return numbers;
  llvm::StringRef list = text.substr(at + key.size()).split('[').second.split(']').first;
  while (!list.empty()) {
    const auto parts = list.split(',');
    std::int64_t number = 0;
    if (parts.first.trim().getAsInteger(10, number)) break;
    numbers.push_back(number);
    list = parts.second;
  }
  return numbers;
}

/// "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]": where the list that begins behind `front` has `name`.
Numbers position(llvm::StringRef text, llvm::StringRef front, llvm::StringRef name) {
  llvm::StringRef list = text.split(front).second.split(']').first;
  for (std::int64_t at = 0; !list.empty(); ++at) {
    const auto parts = list.split(',');
    if (parts.first.trim() == name) return {at};
    list = parts.second;
  }
  return {};
}

}  // namespace

Numbers numbers_in(mlir::Attribute attribute) {
  Numbers numbers;
  const auto take = [&numbers](mlir::Attribute each) {
    if (auto number = mlir::dyn_cast<mlir::IntegerAttr>(each)) {
      if (number.getValue().getSignificantBits() <= 64) {
        numbers.push_back(number.getValue().getSExtValue());
      }
    }
  };
  if (!attribute) return numbers;
  if (auto array = mlir::dyn_cast<mlir::DenseI64ArrayAttr>(attribute)) {
    numbers.assign(array.asArrayRef().begin(), array.asArrayRef().end());
  } else if (auto short_array = mlir::dyn_cast<mlir::DenseI32ArrayAttr>(attribute)) {
    numbers.assign(short_array.asArrayRef().begin(), short_array.asArrayRef().end());
  } else if (auto list = mlir::dyn_cast<mlir::ArrayAttr>(attribute)) {
    llvm::for_each(list, take);
  } else if (auto dense = mlir::dyn_cast<mlir::DenseIntElementsAttr>(attribute)) {
    constexpr std::int64_t kLongest = 64;  // what is longer holds contents
    if (dense.getNumElements() > kLongest) return numbers;
    for (const llvm::APInt& number : dense.getValues<llvm::APInt>()) {
      if (number.getSignificantBits() <= 64) numbers.push_back(number.getSExtValue());
    }
  } else {
    take(attribute);
  }
  return numbers;
}

std::int64_t number_in(mlir::Operation& op, llvm::StringRef key) {
  const Numbers numbers = numbers_in(attribute_of(op, key));
  return numbers.empty() ? -1 : numbers.front();
}

ProductDims product_dims(mlir::Operation& op) {
  std::string text = printed(op, "dot_dimension_numbers");
  if (text.empty()) text = printed(op, "ragged_dot_dimension_numbers");
  return {listed(text, "lhs_batching_dimensions"), listed(text, "rhs_batching_dimensions"),
          listed(text, "lhs_contracting_dimensions"), listed(text, "rhs_contracting_dimensions"),
          listed(text, "lhs_ragged_dimensions")};
}

ConvolutionDims convolution_dims(mlir::Operation& op) {
  const std::string text = printed(op, "dimension_numbers");
  return {position(text, "[", "b"), position(text, "]->[", "b"), position(text, "]x[", "i"),
          position(text, "]x[", "o")};
}

GatherDims gather_dims(mlir::Operation& op) {
  const std::string text = printed(op, "dimension_numbers");
  std::int64_t vector = 0;
  llvm::StringRef behind = llvm::StringRef(text).split("index_vector_dim =").second.ltrim();
  behind.consumeInteger(10, vector);
  Numbers dropped = listed(text, "collapsed_slice_dims");
  dropped.append(listed(text, "operand_batching_dims"));
  return {listed(text, "offset_dims"), dropped, vector};
}

}  // namespace berth_mlir
