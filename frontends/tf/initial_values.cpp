#include "tf/initial_values.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <set>
#include <span>

#include "berth/error.h"
#include "support/text.h"
#include "tf/tensor_content.h"

namespace berth::tf_frontend {
namespace {

/// A value as far as initializers have it: a content, or scale * a random number + offset.
struct Draw {
  enum class Kind : std::uint8_t { content, uniform, normal } kind = Kind::content;
  double scale = 1;
  double offset = 0;
  TensorContent content;
};

/// The one number of a content of a floating-point type.
std::optional<double> number_of(const Draw& draw) {
  if (draw.kind != Draw::Kind::content) return std::nullopt;
  const auto bytes = draw.content.bytes;
  if (draw.content.dtype == DType::f32 && bytes.size() == sizeof(float)) {
    float number;
    std::memcpy(&number, bytes.data(), sizeof(number));
    return number;
  }
  if (draw.content.dtype == DType::f64 && bytes.size() == sizeof(double)) {
    double number;
    std::memcpy(&number, bytes.data(), sizeof(number));
    return number;
  }
  return std::nullopt;
}

Draw constant(double number) {
  auto storage = std::make_shared<float>(static_cast<float>(number));
  Draw draw;
  draw.content.dtype = DType::f32;
  draw.content.bytes = std::as_bytes(std::span(storage.get(), 1));
  draw.content.owner = std::move(storage);
  return draw;
}

class Tracer {
 public:
  Tracer(const Library& library, std::shared_ptr<const void> owner)
      : library_(library), producers_(library), owner_(std::move(owner)) {}

  [[nodiscard]] const NodeDef* input(const NodeDef& node, std::size_t i) const {
    return producers_.input(node, i);
  }

  [[nodiscard]] std::optional<Draw> trace(const NodeDef* node, int depth = 0) const {
    constexpr int kDeepest = 32;
    if (node == nullptr || depth > kDeepest) return std::nullopt;
    const auto operand = [&](std::size_t i) { return trace(input(*node, i), depth + 1); };
    if (node->op == "Const") return content(*node);
    if (node->op == "Identity") return operand(0);
    if (node->op == "Fill") return operand(1);
    if (node->op == "RandomUniform") return Draw{Draw::Kind::uniform, 1, 0, {}};
    if (node->op == "RandomStandardNormal" || node->op == "TruncatedNormal") {
      return Draw{Draw::Kind::normal, 1, 0, {}};
    }
    const bool multiplies = node->op == "Mul";
    const bool subtracts = node->op == "Sub";
    if (!multiplies && !subtracts && node->op != "Add" && node->op != "AddV2") return std::nullopt;
    const std::optional<Draw> a = operand(0), b = operand(1);
    if (!a || !b) return std::nullopt;
    return combine(*a, *b, multiplies, subtracts);
  }

 private:
  [[nodiscard]] std::optional<Draw> content(const NodeDef& node) const {
    const Attributes attributes(node.attrs, nullptr, library_.source);
    const Attr attr = attributes.find("value");
    if (attr.kind != Attr::Kind::tensor) return std::nullopt;
    Draw draw;
    try {
      draw.content = read_content(attr.bytes, library_.source, node.name, owner_);
    } catch (const Error&) {
      return std::nullopt;  // an initial value that is not computed with is none
    }
    return draw;
  }

  static std::optional<Draw> combine(const Draw& a, const Draw& b, bool multiplies,
                                     bool subtracts) {
    const std::optional<double> x = number_of(a), y = number_of(b);
    if (x && y) return constant(multiplies ? *x * *y : subtracts ? *x - *y : *x + *y);
    const bool swapped = x.has_value();
    if ((!x && !y) || (swapped && subtracts)) return std::nullopt;
    Draw draw = swapped ? b : a;
    const double number = swapped ? *x : *y;
    if (draw.kind == Draw::Kind::content) return std::nullopt;
    if (multiplies) {
      draw.scale *= number;
      draw.offset *= number;
    } else {
      draw.offset += subtracts ? -number : number;
    }
    return draw;
  }

  const Library& library_;
  Producers producers_;
  std::shared_ptr<const void> owner_;
};

InitialValue as_attribute(const Draw& draw) {
  switch (draw.kind) {
    case Draw::Kind::uniform:
      return {"initial_uniform", std::vector<double>{draw.offset, draw.offset + draw.scale}};
    case Draw::Kind::normal:
      return {"initial_normal", std::vector<double>{draw.offset, std::abs(draw.scale)}};
    default:
      return {"initial_value", draw.content};
  }
}

}  // namespace

std::map<std::string_view, InitialValue> find_initial_values(
    const Library& library, const std::vector<std::string_view>& wanted,
    const std::shared_ptr<const void>& owner) {
  std::map<std::string_view, InitialValue> values;
  if (wanted.empty()) return values;
  const std::set<std::string_view> names(wanted.begin(), wanted.end());
  const Tracer tracer(library, owner);
  for (const NodeDef& node : library.graph.nodes()) {
    if (node.op != "Assign" && node.op != "AssignVariableOp") continue;
    const NodeDef* variable = tracer.input(node, 0);
    if (variable == nullptr || !names.contains(variable->name) || values.contains(variable->name)) {
      continue;
    }
    if (const auto draw = tracer.trace(tracer.input(node, 1))) {
      values.emplace(variable->name, as_attribute(*draw));
    }
  }
  return values;
}

}  // namespace berth::tf_frontend
