#include "onnx/sequences.h"

#include <algorithm>
#include <map>

namespace berth::onnx_frontend {
namespace {

using onnx::TensorProto;

/// A longer sequence is one of elements that are not told apart.
constexpr std::size_t kMostElements = 1024;

/// Sequences hold tensors. A loop that makes lists of lists could nest them without end.
Type tensor_or_unknown(Type element) {
  return element.other != nullptr ? Type{} : without_content(std::move(element));
}

Type common_of(const std::vector<Type>& elements) {
  Type all = elements.front();
  bool differ = false;
  for (const Type& element : elements) all = common_type(all, element, differ);
  return without_content(std::move(all));
}

/// The position among `size` elements that input `i` names; behind the last too, if `behind`.
std::optional<std::size_t> position(const NodeContext& op, std::size_t i, std::size_t size,
                                    bool behind) {
  const std::size_t places = size + (behind ? 1 : 0);
  if (!op.has(i)) return places == 0 ? std::nullopt : std::optional(places - 1);
  const auto stated = op.integers(i);
  if (!stated || stated->size() != 1) return std::nullopt;
  const auto count = static_cast<std::int64_t>(size);
  const std::int64_t at = stated->front() < 0 ? stated->front() + count : stated->front();
  if (at < 0 || at >= static_cast<std::int64_t>(places)) return std::nullopt;
  return static_cast<std::size_t>(at);
}

void empty(NodeContext& op) {
  const auto type = static_cast<int>(op.attributes.integer("dtype", TensorProto::FLOAT));
  op.give(0, sequence_of({}, tensor_type(type)));
}

void construct(NodeContext& op) {
  std::vector<Type> elements;
  for (std::size_t i = 0; i < op.input_count(); ++i) elements.push_back(without_content(op.in(i)));
  op.give(0, sequence_of(std::move(elements), {}));
}

/// sequence, tensor, place.
void insert(NodeContext& op) {
  const Type added = without_content(op.in(1));
  const std::vector<Type>* const held = elements_of(op.in(0));
  const auto at = held != nullptr ? position(op, 2, held->size(), /*behind=*/true) : std::nullopt;
  if (at) {
    std::vector<Type> elements = *held;
    elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(*at), added);
    return op.give(0, sequence_of(std::move(elements), {}));
  }
  const Type before = any_element(op.in(0));
  bool differ = false;
  op.give(0, sequence_like(before.type == ops::kUnknownType ? added
                                                            : common_type(before, added, differ)));
}

void erase(NodeContext& op) {
  const std::vector<Type>* const held = elements_of(op.in(0));
  const auto at = held != nullptr ? position(op, 1, held->size(), /*behind=*/false) : std::nullopt;
  if (!at) return op.give(0, sequence_like(any_element(op.in(0))));
  std::vector<Type> elements = *held;
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(*at));
  op.give(0, sequence_of(std::move(elements), any_element(op.in(0))));
}

void at(NodeContext& op) {
  const std::vector<Type>* const held = elements_of(op.in(0));
  const auto place =
      held != nullptr && op.has(1) ? position(op, 1, held->size(), /*behind=*/false) : std::nullopt;
  op.give(0, place ? (*held)[*place] : any_element(op.in(0)));
}

void length(NodeContext& op) {
  op.set(0, TensorProto::INT64, {});
  const std::int64_t length = length_of(op.in(0));
  if (length != kUnknownDim) op.set_data(0, {length});
}

/// The sizes of the pieces of a dimension: of one size, of sizes listed, or single slices. Empty
/// where they are not known.
std::optional<std::vector<std::int64_t>> pieces(const NodeContext& op, std::int64_t dim) {
  const auto stated = op.integers(1);
  if (op.has(1) && (!stated || stated->empty())) return std::nullopt;
  if (stated && op.in(1).rank() == 1) return stated;
  const std::int64_t each = stated ? stated->front() : 1;
  if (dim == kUnknownDim || each < 1) return std::nullopt;
  if (dim / each > static_cast<std::int64_t>(kMostElements)) return std::nullopt;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(dim / each), each);
  if (dim % each != 0) sizes.push_back(dim % each);
  return sizes;
}

void split(NodeContext& op) {
  Type element = without_content(op.in(0));
  const auto axis = ops::normal_axis(op.attributes.integer("axis", 0), element.dims.size());
  if (!element.ranked || !axis) return op.give(0, sequence_like(tensor_type(element.type)));
  const auto sizes = pieces(op, element.dims[*axis]);
  const auto place = element.dims.begin() + static_cast<std::ptrdiff_t>(*axis);
  if (!op.has(1) && op.attributes.integer("keepdims", 1) == 0) {
    element.dims.erase(place);
    if (!sizes) return op.give(0, sequence_like(element));
    return op.give(0, sequence_of(std::vector<Type>(sizes->size(), element), element));
  }
  *place = kUnknownDim;
  if (!sizes) return op.give(0, sequence_like(element));
  std::vector<Type> elements;
  for (const std::int64_t size : *sizes) {
    elements.push_back(element);
    elements.back().dims[*axis] = ops::valid_dim(size);
  }
  op.give(0, sequence_of(std::move(elements), element));
}

void concatenate(NodeContext& op) {
  const bool stacks = op.attributes.integer("new_axis", 0) != 0;
  const std::vector<Type>* const held = elements_of(op.in(0));
  Type joined = held != nullptr && !held->empty() ? held->front() : any_element(op.in(0));
  const bool known = held != nullptr && !held->empty();
  const std::size_t rank = joined.dims.size() + (stacks ? 1 : 0);
  const auto axis = ops::normal_axis(op.attributes.integer("axis", 0), rank);
  if (!joined.ranked || !axis) return op.give(0, tensor_type(joined.type));
  const std::int64_t count = length_of(op.in(0));
  if (stacks) {
    joined.dims.insert(joined.dims.begin() + static_cast<std::ptrdiff_t>(*axis), count);
    return op.give(0, std::move(joined));
  }
  if (!known) joined.dims[*axis] = product({joined.dims[*axis], count});
  for (std::size_t i = 1; known && i < held->size(); ++i) {
    const std::int64_t more = (*held)[i].dim(*axis);
    std::int64_t& dim = joined.dims[*axis];
    dim = dim == kUnknownDim || more == kUnknownDim ? kUnknownDim : ops::valid_dim(dim + more);
  }
  op.give(0, std::move(joined));
}

void optional(NodeContext& op) {
  auto other = std::make_shared<Other>();
  auto* const proto = other->proto.mutable_optional_type()->mutable_elem_type();
  // Takes a tensor or a sequence of them.
  const Other* const given = other_of(op.in(0));
  if (op.has(0) && (given == nullptr || given->proto.has_sequence_type())) {
    type_to_proto(op.in(0), *proto);
    other->elements.emplace(1, without_content(op.in(0)));
  } else if (const auto* const stated = op.node.attribute("type")) {
    *proto = stated->tp();
    other->elements.emplace();
  }
  Type type;
  type.other = std::move(other);
  op.give(0, std::move(type));
}

/// Takes an optional, a tensor or a sequence; the last two are their own content.
void optional_element(NodeContext& op) {
  const Other* const other = other_of(op.in(0));
  if (other == nullptr || !other->proto.has_optional_type()) return op.pass(0, op.in(0));
  op.give(0, any_element(op.in(0)));
}

void optional_has_element(NodeContext& op) {
  op.set(0, TensorProto::BOOL, {});
}

}  // namespace

const std::vector<Type>* elements_of(const Type& type) noexcept {
  const Other* const other = other_of(type);
  return other != nullptr && other->elements ? &*other->elements : nullptr;
}

std::int64_t length_of(const Type& sequence) noexcept {
  const Other* const other = other_of(sequence);
  if (other == nullptr) return kUnknownDim;
  return other->elements ? static_cast<std::int64_t>(other->elements->size()) : other->alike;
}

Type any_element(const Type& sequence) {
  const std::vector<Type>* const held = elements_of(sequence);
  if (held != nullptr && !held->empty()) return common_of(*held);
  const Other* const other = other_of(sequence);
  if (other == nullptr) return {};
  return type_from_proto(other->proto.has_sequence_type()
                             ? other->proto.sequence_type().elem_type()
                             : other->proto.optional_type().elem_type());
}

Type sequence_like(const Type& element) {
  auto other = std::make_shared<Other>();
  type_to_proto(tensor_or_unknown(element),
                *other->proto.mutable_sequence_type()->mutable_elem_type());
  Type type;
  type.other = std::move(other);
  return type;
}

Type sequence_of(std::vector<Type> elements, const Type& otherwise) {
  for (Type& element : elements) element = tensor_or_unknown(std::move(element));
  Type type = sequence_like(elements.empty() ? otherwise : common_of(elements));
  if (elements.size() > kMostElements) return type;
  auto other = std::make_shared<Other>(*other_of(type));
  other->elements = std::move(elements);
  type.other = std::move(other);
  return type;
}

Type sequence_of_alike(const Type& element, std::int64_t length) {
  Type type = sequence_like(element);
  auto other = std::make_shared<Other>(*other_of(type));
  other->alike = length;
  type.other = std::move(other);
  return type;
}

bool infer_sequence(NodeContext& op) {
  static const std::map<std::string_view, void (*)(NodeContext&)> kRules = {
      {"ConcatFromSequence", concatenate},
      {"Optional", optional},
      {"OptionalGetElement", optional_element},
      {"OptionalHasElement", optional_has_element},
      {"SequenceAt", at},
      {"SequenceConstruct", construct},
      {"SequenceEmpty", empty},
      {"SequenceErase", erase},
      {"SequenceInsert", insert},
      {"SequenceLength", length},
      {"SplitToSequence", split},
  };
  if (!op.node.domain.empty() && op.node.domain != "com.microsoft") return false;
  const auto rule = kRules.find(op.node.type());
  if (rule == kRules.end()) return false;
  rule->second(op);
  return true;
}

}  // namespace berth::onnx_frontend
