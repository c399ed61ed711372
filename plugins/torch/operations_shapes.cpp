// Shapes, positions, products of matrices, and tensors made from nothing.
#include <ATen/ATen.h>

#include <cmath>
#include <tuple>

#include "operation.h"

namespace berth::torch_module {
namespace {

using In = const Tensor&;

/// As many as a loop of Lua's counts; first + 1, first + 2, .. of int64 too.
Tensor counted(double first, double last, Type type) {
  const double count = last < first ? 0 : std::floor(last - first) + 1;
  return at::arange(count, at::kDouble).add_(first).to(type);
}

std::tuple<Tensor, Tensor> largest(In x, std::int64_t k, Dim dim) {
  const std::int64_t size = x.dim() == 0 ? 1 : x.size(dim.value);
  TORCH_CHECK(k >= 0 && k <= size, "k is ", k, ", and the dimension has ", size);
  auto [values, at] = x.topk(k, dim.value);
  return {values, at + 1};
}

}  // namespace

std::vector<Operation> shape_operations() {
  return {
      row(
          "matmul", "self, other", [](In x, In y) { return at::matmul(x, y); },
          "the product [.., n, k] x [.., k, m] -> [.., n, m]"),
      row(
          "outer", "self, other", [](In x, In y) { return at::outer(x, y); },
          "the product [n] x [m] -> [n, m]"),
      row(
          "einsum", "equation, tensors",
          [](const std::string& e, const Tensors& t) { return at::einsum(e, t); },
          "sums of products by an equation, such as 'bij,bjk->bik'"),
      row(
          "reshape", "self, shape", [](In x, const Shape& s) { return x.reshape(s.values); },
          "the same values in another shape; -1 = what is left"),
      row(
          "flatten", "self, start_dim = 1, end_dim = -1",
          [](In x, Dim from, Dim to) { return x.flatten(from.value, to.value); },
          "the dimensions from start_dim to end_dim become one"),
      row(
          "transpose", "self, dim0 = -2, dim1 = -1",
          [](In x, Dim a, Dim b) { return x.transpose(a.value, b.value); },
          "two dimensions change places"),
      row(
          "permute", "self, dims", [](In x, const Dims& d) { return x.permute(d.values); },
          "dimensions in another order"),
      row(
          "unsqueeze", "self, dim", [](In x, Dim d) { return x.unsqueeze(d.value); },
          "a new dimension of size 1 at dim"),
      row(
          "squeeze", "self, dim", [](In x, Dim d) { return x.squeeze(d.value); },
          "dim goes where its size is 1"),
      row(
          "expand", "self, shape", [](In x, const Shape& s) { return x.expand(s.values); },
          "dimensions of size 1 in a larger size, without copying"),
      row(
          "tile", "self, dims", [](In x, const Shape& s) { return x.repeat(s.values); },
          "as many copies along each dimension"),
      row(
          "contiguous", "self", [](In x) { return x.contiguous(); },
          "values row by row in memory, copied where they are not"),
      row(
          "cat", "tensors, dim = 1", [](const Tensors& t, Dim d) { return at::cat(t, d.value); },
          "one after the other along dim"),
      row(
          "stack", "tensors, dim = 1",
          [](const Tensors& t, Dim d) { return at::stack(t, d.value); },
          "side by side along a new dimension"),
      row(
          "split", "self, size, dim = 1",
          [](In x, std::int64_t s, Dim d) { return at::split(x, s, d.value); },
          "parts of `size` along dim, as several results; up to 64"),
      row(
          "unbind", "self, dim = 1", [](In x, Dim d) { return at::unbind(x, d.value); },
          "the slices along dim, as several results; up to 64"),
      row(
          "select", "self, dim, index",
          [](In x, Dim d, Position i) { return x.select(d.value, i.value); },
          "the slice number index (from 1, or from -1 for the last) along dim"),
      row(
          "narrow", "self, dim, start, length",
          [](In x, Dim d, Position s, std::int64_t n) { return x.narrow(d.value, s.value, n); },
          "`length` slices from number start (from 1, or from -1 for the last) on, along dim"),
      row(
          "index_select", "self, dim, index",
          [](In x, Dim d, const Index& i) { return x.index_select(d.value, i.value); },
          "the slices at the positions [n] (from 1) along dim"),
      row(
          "gather", "self, dim, index",
          [](In x, Dim d, const Index& i) { return x.gather(d.value, i.value); },
          "along dim the value at each position (from 1); index has as many dimensions as self"),
      row(
          "scatter", "self, dim, index, values",
          [](In x, Dim d, const Index& i, In v) { return x.scatter(d.value, i.value, v); },
          "self with values put at the positions (from 1) along dim"),
      row(
          "scatter_add", "self, dim, index, values",
          [](In x, Dim d, const Index& i, In v) { return x.scatter_add(d.value, i.value, v); },
          "self with values added at the positions (from 1) along dim"),
      row(
          "scatter_reduce", "self, dim, index, values, reduce, include_self = true",
          [](In x, Dim d, const Index& i, In v, const std::string& how, bool self) {
            return x.scatter_reduce(d.value, i.value, v, how, self);
          },
          "self with values reduced into the positions (from 1) along dim: reduce is 'sum', "
          "'prod', "
          "'mean', 'amax' or 'amin'"),
      row(
          "index_add", "self, dim, index, source",
          [](In x, Dim d, const Index& i, In s) { return x.index_add(d.value, i.value, s); },
          "self with the slices of source added at the positions [n] (from 1) along dim"),
      row(
          "masked_fill", "self, mask, value",
          [](In x, In m, double v) { return x.masked_fill(m.to(at::kBool), v); },
          "value where mask holds; shapes are broadcast"),
      row(
          "masked_select", "self, mask",
          [](In x, In m) { return x.masked_select(m.to(at::kBool)); },
          "the values where mask holds, in one dimension"),
      row(
          "nonzero", "self", [](In x) { return x.nonzero() + 1; },
          "the positions (from 1) of values that are not 0, [n, dimensions]"),
      row(
          "flip", "self, dims", [](In x, const Dims& d) { return x.flip(d.values); },
          "backwards along dims"),
      row(
          "tril", "self, diagonal = 0", [](In x, std::int64_t d) { return x.tril(d); },
          "0 above the diagonal"),
      row(
          "triu", "self, diagonal = 0", [](In x, std::int64_t d) { return x.triu(d); },
          "0 below the diagonal"),
      row(
          "sort", "self, dim = -1, descending = false",
          [](In x, Dim d, bool down) {
            auto [values, at] = at::sort(x, /*stable=*/true, d.value, down);
            return std::tuple(values, at + 1);
          },
          "values in order along dim, and where they were, from 1"),
      row(
          "topk", "self, k, dim = -1", [](In x, std::int64_t k, Dim d) { return largest(x, k, d); },
          "the k largest values along dim, and where they are, from 1"),
      row(
          "to", "self, dtype", [](In x, Type t) { return x.to(t); },
          "values of another type: float32, float64, int64, int32, uint8, bool"),
      row(
          "detach", "self", [](In x) { return x.detach(); }, "the same values without a gradient"),
      row(
          "clone", "self", [](In x) { return x.clone(); }, "a copy"),
      row(
          "zeros", "shape, dtype = 'float32'",
          [](const Shape& s, Type t) { return at::zeros(s.values, t); }, "all 0"),
      row(
          "ones", "shape, dtype = 'float32'",
          [](const Shape& s, Type t) { return at::ones(s.values, t); }, "all 1"),
      row(
          "full", "shape, value, dtype = 'float32'",
          [](const Shape& s, double v, Type t) { return at::full(s.values, v, t); }, "all value"),
      row(
          "zeros_like", "self", [](In x) { return at::zeros_like(x); }, "0 in self's shape"),
      row(
          "ones_like", "self", [](In x) { return at::ones_like(x); }, "1 in self's shape"),
      row(
          "arange", "first, last, dtype = 'float32'",
          [](double a, double b, Type t) { return counted(a, b, t); },
          "first, first + 1, .. last, as a loop of Lua counts"),
      row(
          "eye", "n", [](std::int64_t n) { return at::eye(n); }, "the identity matrix [n, n]"),
      row(
          "one_hot", "self, classes",
          [](const Index& x, std::int64_t n) { return at::one_hot(x.value, n).to(at::kFloat); },
          "1 at each position (from 1) of a new last dimension of that size, else 0"),
      row(
          "copy_", "self, other", [](Tensor x, In y) { return x.copy_(y); },
          "self takes other's values"),
      row(
          "fill_", "self, value", [](Tensor x, double v) { return x.fill_(v); },
          "self becomes value everywhere"),
      row(
          "add_", "self, other, alpha = 1",
          [](Tensor x, Operand y, at::Scalar a) { return x.add_(y.value, a); },
          "self becomes self + alpha * other"),
      row(
          "mul_", "self, other", [](Tensor x, Operand y) { return x.mul_(y.value); },
          "self becomes self * other"),
  };
}

}  // namespace berth::torch_module
