#include "tf/bindings.h"

#include <algorithm>
#include <limits>

#include "berth/error.h"
#include "support/sizes.h"
#include "support/text.h"

namespace berth::tf_frontend {

namespace {
// Both name every open first dimension at once; the first as LoadOptions has it.
const std::string kEveryFirst = "*", kBatch = "batch";
}  // namespace

using frontend::list_names;
using frontend::weakness_of;

Bindings::Bindings(const LoadOptions& options, const std::string& file)
    : file_(file), options_(options), sizes_{options.dims, options.shapes} {
  const auto check = [&](const std::string& name, std::int64_t size) {
    if (size < 0 || size > kMaxDim) {
      throw Error(ErrorCode::invalid_argument, cat(file, ": dimension '", name, "' is bound to ",
                                                   size, "; sizes are from 0 to 2^48"));
    }
  };
  for (const auto& [name, size] : options.dims) {
    check(name, size);
    if (name != kEveryFirst && name != kBatch) continue;
    const int weakness = weakness_of(options, "dims." + name);
    if (batch_ && weakness != weakness_of_batch_) {
      if (weakness > weakness_of_batch_) continue;
    } else if (batch_ && *batch_ != size) {
      throw Error(ErrorCode::invalid_argument, cat(file, ": the batch is given both as ", *batch_,
                                                   " and as ", size, "; give it once"));
    }
    batch_ = size;
    weakness_of_batch_ = weakness;
  }
  for (const std::string& name : {kEveryFirst, kBatch}) {
    if (sizes_.dims.contains(name)) sizes_.dims[name] = *batch_;
  }
  for (const auto& [name, shape] : options.shapes) {
    for (const std::int64_t size : shape) check(name, size);
    if (shape.size() > kMaxRank) {
      throw Error(ErrorCode::invalid_argument,
                  cat(file, ": the shape of '", name, "' has more than ", kMaxRank, " dimensions"));
    }
  }
}

void Bindings::apply(const std::string& name, Value& value) {
  inputs_.insert(name);
  const Value stated = value;
  std::string given;
  for (const std::string& key : {name, name + ":0"}) {
    const auto shape = options_.shapes.find(key);
    if (shape == options_.shapes.end()) continue;
    used_.insert(key);
    value.set_shape(shape->second);
    given = key;
  }
  if (batch_ && stated_batch_ && !value.dims.empty() && value.dims[0] == *stated_batch_) {
    value.dims[0] = *batch_;
    used_.insert({kBatch, kEveryFirst});
  }
  for (std::size_t axis = 0; axis < value.dims.size(); ++axis) {
    const bool was_open =
        !stated.ranked || axis >= stated.dims.size() || stated.dims[axis] == kUnknownDim;
    if (was_open) settle(name, given, axis, value);
  }
  if (!value.ranked) open_.insert(name);
}

// A dimension that the file leaves open: the strongest of those who say its size counts. Within one source a shape
// goes before names, and a name of its own before the batch.
void Bindings::settle(const std::string& name, const std::string& shape, std::size_t axis,
                      Value& value) {
  constexpr int kNobody = std::numeric_limits<int>::max();
  const std::string own = cat(name, "/", axis);
  const auto size = options_.dims.find(own);
  const bool has_own = size != options_.dims.end(), has_shape = !shape.empty();
  const bool has_batch = axis == 0 && batch_;
  const int of_shape = has_shape ? weakness_of(options_, "shapes." + shape) : kNobody;
  const int of_own = has_own ? weakness_of(options_, "dims." + own) : kNobody;
  const int of_batch = has_batch ? weakness_of_batch_ : kNobody;
  const int strongest = std::min({of_shape, of_own, of_batch});
  std::int64_t& dim = value.dims[axis];
  if (of_shape > strongest) dim = of_own == strongest ? size->second : *batch_;
  if (!has_shape) {
    dims_.insert(own);
    if (axis == 0) dims_.insert(kBatch);
  }
  // Names beside a shape of the same source are left to finish(), which refuses them.
  if (has_own && of_own != of_shape) used_.insert(own);
  if (axis == 0 && of_batch != of_shape) used_.insert({kBatch, kEveryFirst});
  if (dim == kUnknownDim) open_.insert(own);
  if (has_own) sizes_.dims[own] = dim;
  if (has_shape) sizes_.shapes[shape][axis] = dim;
}

std::optional<SettledSizes> Bindings::sizes() const {
  return options_.weakness.empty() ? std::nullopt : std::optional(sizes_);
}

void Bindings::give(const std::string& name, Value& value) {
  for (const std::string& key : {name, name + ":0"}) {
    const auto shape = options_.shapes.find(key);
    if (shape == options_.shapes.end()) continue;
    used_.insert(key);
    Value given;
    given.set_shape(shape->second);
    if (merge_shape(value, given)) continue;
    throw Error(ErrorCode::invalid_argument,
                cat(file_, ": the shape given for '", key,
                    "' contradicts the one that follows from its inputs; leave it out"));
  }
}

std::int64_t Bindings::trips_or_one(const std::string& loop) {
  dims_.insert(loop);
  const auto given = options_.dims.find(loop);
  if (given != options_.dims.end()) {
    used_.insert(loop);
    return given->second;
  }
  unknown_loops_.insert(loop);
  return 1;
}

void Bindings::finish(std::vector<std::string>& notes) const {
  const auto names = [&](const std::set<std::string>& set) {
    std::vector<std::string> list;
    for (const std::string& name : set) list.push_back(names_ ? names_->shown(name) : name);
    return list.empty() ? std::string("none") : list_names(list);
  };
  for (const auto& [name, size] : options_.dims) {
    if (used_.count(name) > 0) continue;
    if (name == kEveryFirst) {
      throw Error(
          ErrorCode::invalid_argument,
          cat(file_,
              ": no input leaves its first dimension open, and those that the file fixes "
              "differ or are 1, so that a batch of ",
              size,
              " has no meaning; leave --batch out to place it as it is, give --shape INPUT=.. for "
              "another one, or export the model with a dynamic batch (None)"));
    }
    std::string way;
    if (dims_.count(kBatch) > 0) {
      way = cat("; for the first dimension of every input write --batch ", size);
    }
    throw Error(ErrorCode::invalid_argument, cat(file_, ": no open dimension or loop is named '",
                                                 name, "'; there are: ", names(dims_), way));
  }
  for (const auto& [name, shape] : options_.shapes) {
    if (used_.count(name) == 0) {
      throw Error(ErrorCode::invalid_argument, cat(file_, ": no input and no tensor is named '",
                                                   name, "'; the inputs are: ", names(inputs_)));
    }
  }
  if (!open_.empty()) {
    notes.push_back(cat("open dimensions of inputs: ", names(open_),
                        "; give them with --dim NAME=SIZE, all first ones with --batch SIZE"));
  }
  if (!unknown_loops_.empty()) {
    notes.push_back(cat(
        "loops counted as one round each: ", names(unknown_loops_),
        "; the graph does not show how often they run; say it with --dim LOOP=N, such as --dim ",
        *unknown_loops_.begin(), "=10"));
  }
}

}  // namespace berth::tf_frontend
