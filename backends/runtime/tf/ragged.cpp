// Ragged tensors: level by level where rows begin in the next level, then values. Such splits are small and are worked out on
// the host.
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

/// Splits of rows among `count` of the next level. Throws Error(invalid_argument) if they are none.
Ints checked(Ints splits, std::int64_t count) {
  if (splits.empty() || splits.front() != 0 || splits.back() != count ||
      !std::is_sorted(splits.begin(), splits.end())) {
    throw Error(ErrorCode::invalid_argument,
                cat("splits of rows should ascend from 0 to ", count, ", how many they split"));
  }
  return splits;
}

/// The inputs [first, first + count), each of which splits the rows of the next, and the last those of the values.
std::vector<Ints> splits_at(Inputs in, std::size_t first, std::size_t count) {
  std::vector<Ints> made(count);
  const Tensor& values = tensor_at(in, first + count);
  std::int64_t rows = values.dim() == 0 ? 0 : values.size(0);
  for (std::size_t i = count; i-- > 0;) {
    made[i] = checked(ints_of(tensor_at(in, first + i)), rows);
    rows = static_cast<std::int64_t>(made[i].size()) - 1;
  }
  return made;
}

/// How many inputs are splits: at least one, before `others`.
std::size_t levels_of(const Instruction& op, std::size_t others) {
  if (op.inputs.size() > others) return op.inputs.size() - others;
  throw Error(ErrorCode::invalid_argument, "its ragged operand has no splits of rows");
}

Tensor as_tensor(const Ints& numbers, at::ScalarType type) {
  return at::tensor(numbers, at::kLong).to(type);
}

// --- ranges --------------------------------------------------------------------------------------

/// How many numbers a range has.
std::int64_t range_size(double start, double limit, double step) {
  constexpr double kMost = 1e12;
  if (step == 0 || std::isnan(step))
    throw Error(ErrorCode::invalid_argument, "the step of a range is 0");
  const double count = std::max(std::ceil((limit - start) / step), 0.0);
  if (!(count <= kMost)) {
    throw Error(ErrorCode::invalid_argument,
                cat("a range from ", start, " to ", limit, " is too long"));
  }
  return static_cast<std::int64_t>(count);
}

/// (starts, limits, steps): one for each range, or one for all.
Kernel make_ranges(const KernelRequest& request) {
  const at::ScalarType wanted = type(request.instruction, "Tsplits", at::kLong);
  return [wanted](KernelContext& context, Inputs in, Outputs out) {
    std::vector<Tensor> given;
    std::int64_t count = 1;
    for (std::size_t i = 0; i < 3; ++i) {
      given.push_back(tensor_at(in, i).cpu().contiguous());
      if (given.back().dim() > 0) count = given.back().numel();
    }
    for (const Tensor& each : given) {
      if (each.dim() > 0 && each.numel() != count) {
        throw Error(ErrorCode::invalid_argument, "its starts, limits and steps are not as many");
      }
    }
    Ints splits = {0};
    AT_DISPATCH_ALL_TYPES(given[0].scalar_type(), "ranges", [&] {
      const auto number = [&](std::size_t i, std::int64_t row) {
        return given[i].data_ptr<scalar_t>()[given[i].dim() > 0 ? row : 0];
      };
      for (std::int64_t row = 0; row < count; ++row) {
        splits.push_back(splits.back() + range_size(static_cast<double>(number(0, row)),
                                                    static_cast<double>(number(1, row)),
                                                    static_cast<double>(number(2, row))));
      }
      const Tensor values = at::empty({splits.back()}, given[0].options());
      scalar_t* next = values.data_ptr<scalar_t>();
      for (std::int64_t row = 0; row < count; ++row) {
        const auto at_row = static_cast<std::size_t>(row);
        for (std::int64_t i = 0; i < splits[at_row + 1] - splits[at_row]; ++i) {
          *next++ =
              static_cast<scalar_t>(number(0, row) + static_cast<scalar_t>(i) * number(2, row));
        }
      }
      if (out.size() > 1) out[1].tensor = values.to(context.device);
    });
    out[0].tensor = as_tensor(splits, wanted);
  };
}

// --- rows picked ---------------------------------------------------------------------------------

/// (splits.., values, indices of rows): dimensions of the indices beyond the first become levels.
Kernel make_ragged_gather(const KernelRequest& request) {
  const std::size_t levels = levels_of(request.instruction, 2);
  const at::ScalarType wanted = type(request.instruction, "Tsplits", at::kLong);
  return [levels, wanted](KernelContext&, Inputs in, Outputs out) {
    const std::vector<Ints> splits = splits_at(in, 0, levels);
    const Tensor &values = tensor_at(in, levels), &indices = tensor_at(in, levels + 1);
    if (indices.dim() == 0) {
      throw Error(ErrorCode::unsupported, "a single row is picked, which this kernel cannot do");
    }
    std::size_t level = 0;
    std::int64_t rows = indices.size(0);
    const auto give = [&](const Ints& made) {
      if (level + 1 < out.size()) out[level++].tensor = as_tensor(made, wanted);
    };
    for (std::int64_t axis = 1; axis < indices.dim(); ++axis) {
      Ints even;
      for (std::int64_t row = 0; row <= rows; ++row) even.push_back(row * indices.size(axis));
      give(even);
      rows *= indices.size(axis);
    }
    Ints picks = ints_of(indices);
    for (const Ints& own : splits) {
      Ints made = {0}, next;
      for (const std::int64_t pick : picks) {
        const auto at_row = static_cast<std::size_t>(pick);
        if (pick < 0 || at_row + 1 >= own.size()) {
          throw Error(ErrorCode::invalid_argument,
                      cat("row ", pick, " of ", own.size() - 1, " is picked"));
        }
        for (std::int64_t i = own[at_row]; i < own[at_row + 1]; ++i) next.push_back(i);
        made.push_back(static_cast<std::int64_t>(next.size()));
      }
      give(made);
      picks = std::move(next);
    }
    out.back().tensor =
        at::index_select(values, 0, as_tensor(picks, at::kLong).to(values.device()));
  };
}

// --- other forms ---------------------------------------------------------------------------------

/// (splits.., values): a sparse tensor of all values, none of which is left out.
Kernel make_sparse(const KernelRequest& request) {
  const std::size_t levels = levels_of(request.instruction, 1);
  return [levels](KernelContext&, Inputs in, Outputs out) {
    const std::vector<Ints> splits = splits_at(in, 0, levels);
    const Tensor& values = tensor_at(in, levels);
    // The indices of each row of a level, in its own level and in those above.
    std::vector<Ints> paths;
    Ints shape;
    shape.push_back(static_cast<std::int64_t>(splits.at(0).size()) - 1);
    for (std::int64_t row = 0; row < shape[0]; ++row) paths.push_back({row});
    const auto add_level = [&](const auto& length) {
      std::vector<Ints> longer;
      for (std::size_t row = 0; row < paths.size(); ++row) {
        for (std::int64_t i = 0; i < length(row); ++i) {
          longer.push_back(paths[row]);
          longer.back().push_back(i);
        }
      }
      paths = std::move(longer);
    };
    for (const Ints& own : splits) {
      const auto length = [&](std::size_t row) { return own[row + 1] - own[row]; };
      std::int64_t longest = 0;
      for (std::size_t row = 0; row + 1 < own.size(); ++row)
        longest = std::max(longest, length(row));
      shape.push_back(longest);
      add_level(length);
    }
    for (std::int64_t axis = 1; axis < values.dim(); ++axis) {
      shape.push_back(values.size(axis));
      add_level([&](std::size_t) { return values.size(axis); });
    }
    Ints flat;
    for (const Ints& path : paths) flat.insert(flat.end(), path.begin(), path.end());
    out[0].tensor =
        as_tensor(flat, at::kLong).reshape({-1, static_cast<std::int64_t>(shape.size())});
    if (out.size() > 1) out[1].tensor = values.reshape({-1});
    if (out.size() > 2) out[2].tensor = as_tensor(shape, at::kLong);
  };
}

/// How rows of one level follow each other in the next.
enum class Partition : std::uint8_t { count, ids, splits };

std::vector<Partition> partitions_of(const Instruction& op) {
  const auto* const names = op.attribute<std::vector<std::string>>("row_partition_types");
  std::vector<Partition> made;
  for (const std::string& name : names == nullptr ? std::vector<std::string>() : *names) {
    if (name != "FIRST_DIM_SIZE" && name != "VALUE_ROWIDS" && name != "ROW_SPLITS") {
      refuse_attribute("row_partition_types", name);
    }
    made.push_back(name == "FIRST_DIM_SIZE" ? Partition::count
                   : name == "VALUE_ROWIDS" ? Partition::ids
                                            : Partition::splits);
  }
  if (made.empty() || made[0] == Partition::ids)
    refuse_attribute("row_partition_types", "without a first size");
  return made;
}

/// The row that each of the next level is in, of `rows`; the next level has `count`.
Ints parents(const Tensor& partition, Partition kind, std::int64_t rows, std::int64_t count) {
  Ints given = ints_of(partition);
  if (kind == Partition::ids) {
    const bool inside = given.empty() || (given.front() >= 0 && given.back() < rows);
    if (inside && std::is_sorted(given.begin(), given.end())) return given;
    throw Error(ErrorCode::invalid_argument,
                cat("ids of rows should ascend from 0 to below ", rows));
  }
  given = checked(std::move(given), count);
  if (static_cast<std::int64_t>(given.size()) != rows + 1) {
    throw Error(ErrorCode::invalid_argument,
                cat("there are splits of ", given.size() - 1, " rows for ", rows));
  }
  Ints made;
  for (std::size_t row = 0; row + 1 < given.size(); ++row) {
    made.insert(made.end(), static_cast<std::size_t>(given[row + 1] - given[row]),
                static_cast<std::int64_t>(row));
  }
  return made;
}

/// Says where the rows of a level come to lie in a tensor; -1 is nowhere.
struct Placement {
  Ints places;
  Ints shape;              ///< of the tensor, as far as the level
  std::int64_t block = 1;  ///< its product

  void add_size(std::int64_t size) {
    if (size != 0 && block > std::numeric_limits<std::int64_t>::max() / size) {
      throw Error(ErrorCode::invalid_argument, "the tensor would be too large");
    }
    block *= size;
    shape.push_back(size);
  }
  /// The next level, whose rows have these parents in the last; `first` is the one below the first.
  void add_level(const Ints& parent, std::int64_t size, bool first) {
    Ints next;
    std::int64_t within = 0;
    for (std::size_t i = 0; i < parent.size(); ++i) {
      within = i > 0 && parent[i] == parent[i - 1] ? within + 1 : 0;
      const std::int64_t own = first ? parent[i] : places[static_cast<std::size_t>(parent[i])];
      const bool inside = own >= 0 && own < block && within < size;
      next.push_back(inside ? own * size + within : -1);
    }
    add_size(size);
    places = std::move(next);
  }
  [[nodiscard]] static std::int64_t longest(const Ints& parent) {
    std::int64_t most = 0, within = 0;
    for (std::size_t i = 0; i < parent.size(); ++i) {
      within = i > 0 && parent[i] == parent[i - 1] ? within + 1 : 1;
      most = std::max(most, within);
    }
    return most;
  }
};

/// Rows of `values` at their places, and elsewhere one value.
Tensor placed(const Tensor& values, const Tensor& elsewhere, const Placement& placement) {
  const Ints inner = values.sizes().slice(1).vec();
  Ints merged = inner, shape = placement.shape;
  merged.insert(merged.begin(), placement.block);
  shape.insert(shape.end(), inner.begin(), inner.end());
  const Tensor dense = at::empty(merged, values.options());
  dense.copy_(elsewhere);
  const Tensor places = as_tensor(placement.places, at::kLong).to(values.device());
  const Tensor kept = at::nonzero(at::ge(places, 0)).reshape({-1});
  dense.index_copy_(0, at::index_select(places, 0, kept), at::index_select(values, 0, kept));
  return dense.reshape(shape);
}

/// (shape, values, value elsewhere, partitions..): where the shape has -1, the longest row decides.
Kernel make_dense(const KernelRequest& request) {
  return [kinds = partitions_of(request.instruction), sizes = IntsInput(request, 0)](
             KernelContext& context, Inputs in, Outputs out) {
    const Tensor values = on_device(context, tensor_at(in, 1));
    const Ints stated = tensor_at(in, 0).dim() == 0 ? Ints{} : sizes.get(in);
    Placement placement;
    const auto size_of = [&](std::int64_t own) {
      const std::size_t i = placement.shape.size();
      return i < stated.size() && stated[i] >= 0 ? stated[i] : own;
    };
    const std::size_t counts = kinds[0] == Partition::count ? 1 : 0;
    std::int64_t rows =
        counts == 1 ? ints_of(tensor_at(in, 3)).at(0) : tensor_at(in, 3).numel() - 1;
    if (rows < 0 || values.dim() == 0 || kinds.size() == counts) {
      throw Error(ErrorCode::invalid_argument,
                  cat("there are values of ", values.dim(), " dimensions for ", rows, " rows in ",
                      kinds.size(), " partitions"));
    }
    placement.add_size(size_of(rows));
    for (std::size_t i = counts; i < kinds.size(); ++i) {
      const bool is_last = i + 1 == kinds.size();
      const std::int64_t next =
          is_last ? values.size(0)
                  : tensor_at(in, i + 4).numel() - (kinds[i + 1] == Partition::splits ? 1 : 0);
      const Ints parent = parents(tensor_at(in, i + 3), kinds[i], rows, next);
      rows = static_cast<std::int64_t>(parent.size());
      if (rows != next) {
        throw Error(ErrorCode::invalid_argument, cat("a partition of ", rows, " rows has ", next));
      }
      placement.add_level(parent, size_of(Placement::longest(parent)), i == counts);
    }
    out[0].tensor = placed(values, on_device(context, tensor_at(in, 2)), placement);
  };
}

constexpr KernelRow kRows[] = {
    {"RaggedGather", make_ragged_gather},
    {"RaggedRange", make_ranges},
    {"RaggedTensorToSparse", make_sparse},
    {"RaggedTensorToTensor", make_dense},
};

}  // namespace

std::span<const KernelRow> ragged_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
