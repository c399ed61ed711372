// One op of MLIR's, with what an importer reads of it.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "berth/costs.h"
#include "berth/graph.h"

namespace berth::test {

using Shape = std::vector<std::int64_t>;
using Numbers = std::vector<std::int64_t>;

struct Case {
  std::string type;
  std::vector<Shape> inputs;
  Shape output;
  std::vector<std::pair<std::string, Numbers>> attributes;
  double flops;
  OpClass op_class;
};

inline TensorInfo f32(Shape shape) {
  return {DType::f32, true, std::move(shape)};
}

/// `on_buffers`: the op writes its last input and has no output.
inline Work work_of(const Case& of, bool on_buffers = false, DType out = DType::f32) {
  GraphBuilder builder("g", "mlir");
  const OpId op = builder.add_op("op", of.type);
  for (const Shape& input : of.inputs) builder.add_input(op, builder.add_parameter(f32(input)));
  if (!on_buffers) builder.add_output(op, {out, true, of.output});
  for (const auto& [name, numbers] : of.attributes) builder.set_attribute(op, name, numbers);
  const auto graph = builder.build();
  CHECK(has_work_rule(*graph, op));
  return op_work(*graph, op);
}

/// Matrix products of `rows` x `inner` x `columns` each.
struct Products {
  double rows, columns, inner, count;
};
inline void check_products(const Work& work, const Products& expected) {
  CHECK(work.flops ==
        doctest::Approx(2 * expected.rows * expected.columns * expected.inner * expected.count));
  CHECK(work.products.rows == doctest::Approx(expected.rows));
  CHECK(work.products.columns == doctest::Approx(expected.columns));
  CHECK(work.products.inner == doctest::Approx(expected.inner));
  CHECK(work.products.count == doctest::Approx(expected.count));
}

}  // namespace berth::test
