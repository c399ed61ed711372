#include "runtime/tails.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "berth/support/index.h"
#include "runtime/support.h"
#include "runtime/tensors.h"

namespace berth::runtime {
namespace {

using Kind = Pointwise::Kind;

class Finder {
 public:
  Finder(const Readers& readers, const Program& program)
      : readers_(readers), program_(program), graph_(*program.graph) {}

  std::optional<Tail> behind(TensorId tensor) const {
    const std::vector<OpId>& ops = readers_.of(tensor);
    if (graph_.dtype(tensor) != DType::f32 || ops.empty() || ops.size() > 2) return std::nullopt;
    if (ops.size() == 1) return single(ops[0], tensor);
    for (const std::size_t first : {0U, 1U}) {
      if (auto found = pair(tensor, ops[first], ops[1 - first])) return found;
    }
    return std::nullopt;
  }

 private:
  const Instruction& instruction(OpId op) const { return program_.instructions[at(op)]; }
  bool is(OpId op, std::string_view type) const {
    return op != kNoOp && instruction(op).type == type;
  }

  /// The number that a constant of one element holds, where the model has it.
  std::optional<double> number(TensorId tensor) const {
    if (!readers_.is_plain_constant(tensor)) return std::nullopt;
    const auto& content = program_.parameters[at(tensor)];
    if (!content || content->shape.size() > 1) return std::nullopt;
    const std::vector<double> numbers = numbers_of(make_tensor(*content));
    if (numbers.size() != 1) return std::nullopt;
    return numbers[0];
  }

  /// The tensor's place among the op's two inputs; none = it is not one, or is both.
  std::optional<std::size_t> place(OpId op, TensorId tensor) const {
    const auto inputs = graph_.inputs(op);
    if (inputs.size() != 2 || (inputs[0] == tensor) == (inputs[1] == tensor)) return std::nullopt;
    return inputs[0] == tensor ? 0 : 1;
  }

  /// The op of this type that reads the result of `op`, and nothing else but about that number.
  std::optional<Tail::Link> step(OpId op, std::string_view type, double wanted) const {
    const OpId next = readers_.gives_one(op) ? readers_.only(graph_.outputs(op)[0]) : kNoOp;
    return takes(next, type, wanted) ? link(next, graph_.outputs(op)[0]) : std::nullopt;
  }
  std::optional<Tail::Link> link(OpId op, TensorId from) const {
    const auto input = place(op, from);
    if (!input) return std::nullopt;
    return Tail::Link{op, *input};
  }
  /// Whether the op is of this type, and one of its inputs about that number.
  bool takes(OpId op, std::string_view type, double wanted) const {
    if (!is(op, type) || graph_.inputs(op).size() != 2) return false;
    const bool in_order = type == "Div" || type == "RealDiv";
    for (const std::size_t i : {0U, 1U}) {
      if (in_order && i == 0) continue;
      const auto found = number(graph_.inputs(op)[i]);
      if (found && std::abs(*found - wanted) < 1e-6) return true;
    }
    return false;
  }

  std::optional<Tail> single(OpId op, TensorId tensor) const {
    const Instruction& one = instruction(op);
    if (!readers_.gives_one(op) || graph_.inputs(op)[0] != tensor) return std::nullopt;
    const auto made = [&](Kind kind, double alpha = 0, double beta = 0) {
      return Tail{{kind, alpha, beta}, {{op, 0}}};
    };
    if (one.type == "Relu") return made(Kind::relu);
    if (one.type == "Relu6") return made(Kind::clip, 0, 6);
    if (one.type == "LeakyRelu") {
      const double fallback = graph_.dialect() == "onnx" ? 0.01 : 0.2;
      return made(Kind::leaky_relu, float_attribute(one, "alpha", fallback));
    }
    if (graph_.dialect() != "onnx") return std::nullopt;
    if (one.type == "HardSwish") return made(Kind::hard_swish);
    if (one.type == "Swish") return made(Kind::swish, float_attribute(one, "alpha", 1));
    if (one.type == "com.microsoft.QuickGelu") {
      return made(Kind::swish, float_attribute(one, "alpha", 1.702));
    }
    if (one.type == "Gelu" || one.type == "com.microsoft.Gelu") {
      const bool exact = text_attribute(one, "approximate", "none") == "none";
      return exact ? std::optional(made(Kind::gelu)) : std::nullopt;
    }
    return one.type == "Clip" ? clip(op) : std::nullopt;
  }

  /// The limits are attributes before opset 11.
  std::optional<Tail> clip(OpId op) const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    Tail found{{Kind::clip, float_attribute(instruction(op), "min", -kInfinity),
                float_attribute(instruction(op), "max", kInfinity)},
               {{op, 0}}};
    const auto inputs = graph_.inputs(op);
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      if (inputs[i] == kNoTensor) continue;
      const auto limit = number(inputs[i]);
      if (!limit) return std::nullopt;
      (i == 1 ? found.function.alpha : found.function.beta) = *limit;
    }
    return found;
  }

  /// Two ops read x: one makes a function of it, the other multiplies.
  std::optional<Tail> pair(TensorId tensor, OpId first, OpId second) const {
    if (!readers_.gives_one(first) || !readers_.gives_one(second)) return std::nullopt;
    if (auto found = times_sigmoid(tensor, first, second)) return found;
    return graph_.dialect() == "onnx" ? gelu(tensor, first, second) : std::nullopt;
  }

  std::optional<Tail> times_sigmoid(TensorId tensor, OpId gate, OpId product) const {
    Pointwise function{Kind::swish, 1, 0};
    if (is(gate, "HardSigmoid")) {
      const Instruction& one = instruction(gate);
      const bool is_swish = std::abs(float_attribute(one, "alpha", 0.2) - 1.0 / 6) < 1e-6 &&
                            float_attribute(one, "beta", 0.5) == 0.5;
      if (!is_swish) return std::nullopt;
      function.kind = Kind::hard_swish;
    } else if (!is(gate, "Sigmoid")) {
      return std::nullopt;
    }
    const TensorId share = graph_.outputs(gate)[0];
    const auto last = link(product, share);
    if (!is(product, "Mul") || !last || !place(product, tensor) ||
        readers_.only(share) != product) {
      return std::nullopt;
    }
    return Tail{function, {{gate, 0}, *last}};
  }

  /// x / sqrt(2), Erf, + 1, by x, by 1/2; or by x / 2.
  std::optional<Tail> gelu(TensorId tensor, OpId scaling, OpId other) const {
    // A constant of one dimension gives a number one.
    if (!graph_.has_shape(tensor) || graph_.shape(tensor).empty()) return std::nullopt;
    if (!takes(scaling, "Div", std::sqrt(2.0)) && !takes(scaling, "Mul", std::sqrt(0.5))) {
      return std::nullopt;
    }
    const OpId erf = readers_.follower(scaling, "Erf");
    const auto begin = link(scaling, tensor);
    const auto shifted = erf == kNoOp ? std::nullopt : step(erf, "Add", 1);
    if (!begin || !shifted || !is(other, "Mul") || !readers_.gives_one(shifted->op)) {
      return std::nullopt;
    }
    Tail found{{Kind::gelu, 0, 0}, {*begin, {erf, 0}, *shifted}};
    const TensorId grown = graph_.outputs(shifted->op)[0];
    const OpId reader = readers_.only(grown);
    const auto product = reader == kNoOp ? std::nullopt : link(reader, grown);
    if (!product || !is(reader, "Mul") || !readers_.gives_one(reader)) return std::nullopt;
    if (reader == other) {
      const auto halved = step(reader, "Mul", 0.5);
      if (!halved || !place(reader, tensor)) return std::nullopt;
      found.links.insert(found.links.end(), {*product, *halved});
      return found;
    }
    const TensorId half = graph_.outputs(other)[0];
    const auto halving = link(other, tensor);
    if (!takes(other, "Mul", 0.5) || !halving || readers_.only(half) != reader ||
        !place(reader, half)) {
      return std::nullopt;
    }
    found.links.insert(found.links.end(), {*halving, *product});
    return found;
  }

  const Readers& readers_;
  const Program& program_;
  const Graph& graph_;
};

}  // namespace

std::optional<Tail> tail_behind(const Readers& readers, const Program& program, TensorId tensor) {
  return Finder(readers, program).behind(tensor);
}

}  // namespace berth::runtime
