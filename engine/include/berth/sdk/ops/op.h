/// @file
/// Knowledge about a type of op: the tensors it gives, how their shapes and small contents follow
/// from its inputs, and whether there is a rule for its work.
///
/// A frontend presents each op of its file as an OpContext, asks find_op for what is known of its
/// type, and applies the rules; the tables behind it are in engine/ops/, one folder per dialect.
/// The work itself is asked of a finished graph (berth/costs.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/dtype.h"
#include "berth/export.h"
#include "berth/sdk/ops/value.h"
#include "berth/types.h"

namespace berth::ops {

/// The attributes of an op, as its frontend reads them from the file. An attribute that is missing,
/// or of another kind, gives the fallback: files leave out defaults. [thread-compatible]
class BERTH_EXPORT Attributes {
 public:
  virtual ~Attributes();

  [[nodiscard]] virtual bool has(std::string_view key) const = 0;
  [[nodiscard]] virtual std::int64_t integer(std::string_view key, std::int64_t fallback) const = 0;
  [[nodiscard]] virtual std::string_view text(std::string_view key,
                                              std::string_view fallback) const = 0;
  [[nodiscard]] virtual std::vector<std::int64_t> integers(std::string_view key) const = 0;
  [[nodiscard]] virtual std::vector<double> reals(std::string_view key) const = 0;
  /// A tensor with its type, shape and, if it is small, content. Nothing is known of one that is
  /// missing; a frontend may throw Error(invalid_graph) for it, naming the op.
  [[nodiscard]] virtual Value tensor(std::string_view key) const = 0;

  // Attributes that only some dialects have; the others return the fallback.
  [[nodiscard]] virtual bool boolean(std::string_view key, bool fallback) const;
  /// An element type in the dialect's own numbering.
  [[nodiscard]] virtual int type(std::string_view key, int fallback) const;
  [[nodiscard]] virtual std::vector<int> types(std::string_view key) const;
  /// False if there is none.
  virtual bool shape(std::string_view key, Value& value) const;
  [[nodiscard]] virtual std::vector<Value> shapes(std::string_view key) const;
  /// How many texts an attribute lists.
  [[nodiscard]] virtual std::size_t text_count(std::string_view key) const;

 protected:
  Attributes() = default;
  Attributes(const Attributes&) = default;
  Attributes& operator=(const Attributes&) = default;
};

/// One op, for the rules of its type. Questions about what is missing have harmless answers.
/// [thread-compatible]
class BERTH_EXPORT OpContext {
 public:
  /// `inputs` may hold null: an input that is omitted. All that is given must outlive this.
  OpContext(std::string_view op_type, const Attributes& op_attributes,
            std::span<const Value* const> inputs, std::span<Value> outputs)
      : type(op_type), attributes(op_attributes), inputs_(inputs), outputs_(outputs) {}

  const std::string_view type;  ///< with its domain, as in the graph
  const Attributes& attributes;
  /// Whether a size that depends on what tensors hold when the step runs is taken at its largest.
  bool largest_step = false;
  std::int64_t version = 0;  ///< of the type's op set; 0: it has none, or none is known

  [[nodiscard]] std::size_t input_count() const noexcept { return inputs_.size(); }
  /// False if input `i` is omitted or out of range.
  [[nodiscard]] bool has(std::size_t i) const noexcept {
    return i < inputs_.size() && inputs_[i] != nullptr;
  }
  /// A value of which nothing is known if input `i` is not there.
  [[nodiscard]] const Value& in(std::size_t i) const noexcept;
  /// Null if input `i` is not there, no tensor, or its rank is not known.
  [[nodiscard]] const Dims* shape(std::size_t i) const noexcept {
    const Value& value = in(i);
    return value.ranked && value.other == nullptr ? &value.dims : nullptr;
  }
  [[nodiscard]] int type_of(std::size_t i) const noexcept { return in(i).type; }
  /// All elements of an input as integers; empty if one is not known.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::size_t i) const;
  /// An attribute of integers; empty if it is missing or lists none.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> listed(std::string_view key) const;

  [[nodiscard]] std::size_t output_count() const noexcept { return outputs_.size(); }
  /// Outputs that the op does not have are given and forgotten.
  [[nodiscard]] Value& out(std::size_t i) noexcept;
  [[nodiscard]] const Value& out(std::size_t i) const noexcept;

  /// Shape of output `output`; its type stays.
  void set(std::size_t output, Dims dims) { out(output).set_shape(std::move(dims)); }
  void set(std::size_t output, int element_type, Dims dims) {
    give(output, tensor_type(element_type, std::move(dims)));
  }
  void give(std::size_t output, Value value) { out(output) = std::move(value); }
  /// Output `output` is of the type and shape of input `from`, if that is there.
  void set_like(std::size_t output, std::size_t from);
  /// Shape of `from` for an output, if it is known.
  void copy_shape(std::size_t output, const Value& from);
  /// Shape, content and handle: the output is the input.
  void pass(std::size_t output, const Value& from);
  void set_data(std::size_t output, std::vector<std::int64_t> numbers);

  /// How many an op chooses whose choice is known in the mean, such as the tokens of one expert;
  /// kUnknownDim: nothing is.
  std::int64_t expected = kUnknownDim;
  /// Into how many pieces the rounds of a loop cut the tensor from which an op takes one.
  std::int64_t pieces = 1;

  /// How many of `most` are chosen, where what tensors hold decides that: as many as are expected,
  /// else not known, or all of them in the largest step, a piece in each round.
  [[nodiscard]] std::int64_t chosen(std::int64_t most) noexcept {
    if (expected != kUnknownDim) return most == kUnknownDim ? expected : std::min(most, expected);
    depends_on_data_ = true;
    if (!largest_step || most == kUnknownDim) return kUnknownDim;
    return pieces > 1 ? most / pieces + (most % pieces != 0 ? 1 : 0) : most;
  }
  /// Whether a rule asked for that.
  [[nodiscard]] bool depends_on_data() const noexcept { return depends_on_data_; }

 private:
  std::span<const Value* const> inputs_;
  std::span<Value> outputs_;
  Value spare_;
  bool depends_on_data_ = false;
};

/// Fills what follows of the outputs. Never fails on any input.
using Rule = void (*)(OpContext& op);

/// A declared output: one tensor, or as many as an attribute says.
struct OutputSpec {
  std::string_view name;
  int type = kUnknownType;          ///< where an attribute holds it, that attribute's default
  std::string_view type_attr;       ///< names the attribute that holds the type
  std::string_view number_attr;     ///< ... that says how many tensors there are; 0 by default
  std::string_view type_list_attr;  ///< ... that lists the types of as many tensors
};

struct OpInfo {
  std::vector<OutputSpec> outputs;  ///< of dialects whose ops declare them
  Rule shape = nullptr;             ///< null: the shapes do not follow from what a file says
  Rule fold = nullptr;              ///< small contents, in numbers of any size: ask fold_contents
  DType (*dtype_of)(int type) = nullptr;  ///< of the dialect's element types
  /// The shape follows from the inputs' shapes, lists of whole numbers among them, and the attributes.
  bool shape_from_shapes = false;
  bool has_work = false;  ///< there is a rule for its work
  bool pure = false;      ///< its family is; ask is_pure (constants.h)
  /// Why there is no work, or why it is not counted from the graph; else empty.
  std::string_view no_work_because;
};

/// The row of `type` in the tables of `dialect` ("onnx", "tf"). The type carries its domain as in the
/// graph ("com.microsoft.Gelu"); null for a type they do not have. [thread-safe]
[[nodiscard]] BERTH_EXPORT const OpInfo* find_op(std::string_view dialect, std::string_view type);

/// Gives outputs whose shapes are known and small their content, where the type has a fold: each
/// number rounded or wrapped to its tensor's type, as a runtime holds it. [thread-safe]
BERTH_EXPORT void fold_contents(const OpInfo& info, OpContext& op);

/// How many of `experts` at least one of `tokens` is expected to choose, each of which chooses
/// `chosen` different ones, all equally likely. NaN where an argument is. [thread-safe]
[[nodiscard]] BERTH_EXPORT double expected_distinct(double tokens, double chosen,
                                                    double experts) noexcept;

/// Every type in the tables of `dialect`, in order. [thread-safe]
[[nodiscard]] BERTH_EXPORT std::vector<std::string_view> known_ops(std::string_view dialect);

}  // namespace berth::ops
