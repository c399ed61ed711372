#include "runtime/best.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include <algorithm>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/parallel.h"

namespace berth::runtime {
namespace {

template <class T>
struct Candidate {
  T value;
  std::int64_t index;
};

template <bool largest, class T>
bool precedes(T a, T b) {
  const bool a_is_nan = a != a, b_is_nan = b != b;
  return largest ? a > b || (a_is_nan && !b_is_nan) : a < b || (b_is_nan && !a_is_nan);
}
template <bool largest, class T>
bool comes_first(const Candidate<T>& a, const Candidate<T>& b) {
  if (precedes<largest>(a.value, b.value)) return true;
  return !precedes<largest>(b.value, a.value) && a.index < b.index;
}

/// Keeps up to twice as many as are wanted, and drops the worse half when there are more: each drop takes a time that as
/// many elements pay for.
template <bool largest, class T>
void choose(const T* x, std::int64_t size, std::int64_t count,
            std::vector<Candidate<T>>& candidates) {
  const auto wanted = static_cast<std::size_t>(count);
  const auto drop = [&] {
    if (candidates.size() <= wanted) return;
    std::nth_element(candidates.begin(), candidates.begin() + count - 1, candidates.end(),
                     comes_first<largest, T>);
    candidates.resize(wanted);
  };
  candidates.clear();
  const std::int64_t first = std::min(size, 2 * count);
  for (std::int64_t i = 0; i < first; ++i) candidates.push_back({x[i], i});
  drop();
  T worst = candidates.back().value;  // of those kept, once some were dropped
  for (std::int64_t i = first; i < size; ++i) {
    if (!precedes<largest>(x[i], worst)) continue;
    candidates.push_back({x[i], i});
    if (candidates.size() < 2 * wanted) continue;
    drop();
    worst = candidates.back().value;
  }
  drop();
  std::sort(candidates.begin(), candidates.end(), comes_first<largest, T>);
}

/// Along the last dimension of `rows`, which is contiguous. `count` is above 0.
template <class T>
void choose_rows(const Tensor& rows, bool largest, const Best& to) {
  const std::int64_t size = rows.size(-1), count = to.values.size(-1);
  const T* const from = rows.data_ptr<T>();
  T* const values = to.values.data_ptr<T>();
  std::int64_t* const indices = to.indices.data_ptr<std::int64_t>();
  constexpr std::int64_t kElements = 1 << 15;  // of a thread, at least
  in_parallel(0, rows.numel() / size, std::max<std::int64_t>(1, kElements / size),
              [&](std::int64_t begin, std::int64_t end) {
                std::vector<Candidate<T>> chosen;
                for (std::int64_t row = begin; row < end; ++row) {
                  const T* const x = from + row * size;
                  largest ? choose<true>(x, size, count, chosen)
                          : choose<false>(x, size, count, chosen);
                  for (std::int64_t i = 0; i < count; ++i) {
                    values[row * count + i] = chosen[static_cast<std::size_t>(i)].value;
                    indices[row * count + i] = chosen[static_cast<std::size_t>(i)].index;
                  }
                }
              });
}

}  // namespace

Best best(const Tensor& x, std::int64_t count, std::int64_t axis, bool largest) {
  const std::int64_t size = x.dim() == 0 ? 1 : x.size(axis);
  if (count < 0 || count > size) {
    throw Error(ErrorCode::invalid_argument,
                cat(count, " of ", size, " elements are asked for; ask for 0 to ", size));
  }
  const at::ScalarType type = x.scalar_type();
  const bool is_plain =
      at::isIntegralType(type, /*includeBool=*/false) || type == at::kFloat || type == at::kDouble;
  if (!x.is_cpu() || !is_plain || x.dim() == 0 || x.numel() == 0 || count == 0) {
    const auto [values, order] = at::sort(x, /*stable=*/true, axis, largest);
    if (x.dim() == 0) return {values, order};
    return {values.narrow(axis, 0, count), order.narrow(axis, 0, count)};
  }
  const Tensor rows = x.movedim(axis, -1).contiguous();
  Ints shape = rows.sizes().vec();
  shape.back() = count;
  const Best found{at::empty(shape, x.options()), at::empty(shape, x.options().dtype(at::kLong))};
  AT_DISPATCH_ALL_TYPES(type, "best", [&] { choose_rows<scalar_t>(rows, largest, found); });
  return {found.values.movedim(-1, axis), found.indices.movedim(-1, axis)};
}

}  // namespace berth::runtime
