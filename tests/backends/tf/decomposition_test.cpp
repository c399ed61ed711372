// Matrices taken apart, whose vectors are TensorFlow's up to their signs: what they make up again.
#include <ATen/TensorOperators.h>
#include <ATen/ops/diag_embed.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>

#include "step.h"
#include "support/data.h"

namespace berth::runtime {
namespace {

constexpr double kTolerance = 2e-5;  // of sums of a few products in f32

/// Whether the columns are of length 1 and at right angles.
void check_orthogonal(const at::Tensor& columns) {
  const at::Tensor product = at::matmul(columns.mH(), columns);
  const at::Tensor unit = at::eye(columns.size(-1), columns.options()).expand(product.sizes());
  CHECK(difference(product, unit) <= kTolerance);
}

/// Outputs of one case, and its input.
struct Parts {
  Parts(const Stepper& stepper, const std::string& op)
      : x(stepper.value(op.substr(0, op.find('/')) + "/in_0")), values(stepper.value(op)) {
    const auto id = stepper.program().graph->find_op(op);
    const auto& outputs = stepper.program().graph->outputs(*id);
    for (std::size_t i = 1; i < outputs.size(); ++i) vectors.push_back(stepper.value(op, i));
  }
  at::Tensor x, values;  ///< `values`: the first output
  std::vector<at::Tensor> vectors;
};

void check_singular(const Parts& parts) {
  const at::Tensor &u = parts.vectors[0], &v = parts.vectors[1];
  if (u.dim() == 1) return;  // not asked for
  const std::int64_t count = parts.values.size(-1);
  const at::Tensor diagonal = at::diag_embed(parts.values);
  CHECK(difference(
            at::matmul(at::matmul(u.narrow(-1, 0, count), diagonal), v.narrow(-1, 0, count).mH()),
            parts.x) <= kTolerance);
  check_orthogonal(u);
  check_orthogonal(v);
}

void check_eigen(const Parts& parts) {
  const at::Tensor& vectors = parts.vectors[0];
  if (vectors.dim() == 1) return;  // not asked for
  // The lower triangle is the matrix.
  const at::Tensor lower = parts.x.tril(-1);
  at::Tensor diagonal = at::diag_embed(parts.x.diagonal(0, -2, -1));
  if (diagonal.is_complex()) diagonal = (diagonal + diagonal.mH()) * 0.5;
  const at::Tensor made =
      at::matmul(at::matmul(vectors, at::diag_embed(parts.values)), vectors.mH());
  CHECK(difference(made, lower + lower.mH() + diagonal) <= kTolerance);
  check_orthogonal(vectors);
}

void check_triangular(const Parts& parts) {
  const at::Tensor& triangle = parts.vectors[0];
  CHECK(difference(at::matmul(parts.values, triangle), parts.x) <= kTolerance);
  CHECK(difference(triangle.triu(), triangle) == 0);
  check_orthogonal(parts.values);
}

TEST_CASE("what matrices are taken apart into makes them up again") {
  Stepper stepper(load_tf(test::source_path("tests/backends/tf/op_cases.pb.gz"), {"all"}));
  stepper.run();
  const Graph& graph = *stepper.program().graph;
  int checked = 0;
  for (const Instruction& each : stepper.program().instructions) {
    CAPTURE(each.name);
    if (each.type != "Svd" && each.type != "SelfAdjointEigV2" && each.type != "Qr") continue;
    REQUIRE(graph.find_op(each.name).has_value());
    const Parts parts(stepper, each.name);
    if (each.type == "Svd") check_singular(parts);
    if (each.type == "SelfAdjointEigV2") check_eigen(parts);
    if (each.type == "Qr") check_triangular(parts);
    ++checked;
  }
  CHECK(checked > 20);
}

}  // namespace
}  // namespace berth::runtime
