// Shapes of the operators that compute: element by element, products, convolutions, attention.
#include "onnx/compute_rules.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

namespace berth::onnx_frontend {

using onnx::TensorProto;

void broadcast_inputs(OpContext& op, const std::vector<std::size_t>& inputs, std::size_t from) {
  op.set(0, tensor_type(op.elem(from)));
  Dims result, next;
  for (const std::size_t i : inputs) {
    const Dims* const dims = op.shape(i);
    if (dims == nullptr) return;
    if (!broadcast(result, *dims, next)) return;
    result.swap(next);
  }
  op.set(0, op.elem(from), std::move(result));
}

bool matmul_shape(const Dims& a, const Dims& b, bool transpose_a, bool transpose_b, Dims& result) {
  if (a.empty() || b.empty()) return false;
  Dims left = a, right = b;
  if (left.size() == 1) left.insert(left.begin(), 1);
  if (right.size() == 1) right.push_back(1);
  if (transpose_a && a.size() > 1) std::swap(left[left.size() - 1], left[left.size() - 2]);
  if (transpose_b && b.size() > 1) std::swap(right[right.size() - 1], right[right.size() - 2]);
  const std::int64_t rows = left[left.size() - 2];
  const std::int64_t columns = right.back();
  const std::int64_t inner_a = left.back();
  const std::int64_t inner_b = right[right.size() - 2];
  if (inner_a != kUnknownDim && inner_b != kUnknownDim && inner_a != inner_b) return false;
  left.resize(left.size() - 2);
  right.resize(right.size() - 2);
  if (!broadcast(left, right, result)) return false;
  if (a.size() > 1) result.push_back(rows);
  if (b.size() > 1) result.push_back(columns);
  return true;
}

namespace {

void unary(OpContext& op) {
  op.set_like(0, 0);
}

void unary_to_bool(OpContext& op) {
  op.set_like(0, 0);
  if (!op.out.empty()) op.out[0].elem = TensorProto::BOOL;
}

void broadcasting(OpContext& op) {
  // Before opset 7 the second operand was broadcast onto the first.
  if (op.node.attribute("broadcast") != nullptr) return op.set_like(0, 0);
  std::vector<std::size_t> inputs(op.input_count());
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = i;
  broadcast_inputs(op, inputs, 0);
}

void comparing(OpContext& op) {
  broadcasting(op);
  if (!op.out.empty()) op.out[0].elem = TensorProto::BOOL;
}

void where(OpContext& op) {
  broadcast_inputs(op, {0, 1, 2}, 1);
}

// LSTM, GRU, RNN: (length, batch, input), or (batch, length, input) where layout is 1.
void recurrent(OpContext& op) {
  for (std::size_t i = 0; i < op.out.size(); ++i) op.set(i, tensor_type(op.elem(0)));
  const Dims* const x = op.shape(0);
  if (x == nullptr || x->size() != 3) return;
  const bool batch_first = op.int_attribute("layout", 0) != 0;
  const std::int64_t batch = (*x)[batch_first ? 0 : 1];
  const std::int64_t length = (*x)[batch_first ? 1 : 0];
  const std::int64_t directions = op.text_attribute("direction") == "bidirectional" ? 2 : 1;
  std::int64_t hidden = valid_dim(op.int_attribute("hidden_size", kUnknownDim));
  const Dims* const recurrence = op.shape(2);
  if (hidden == kUnknownDim && recurrence != nullptr && recurrence->size() == 3) {
    hidden = recurrence->back();
  }
  const Dims state =
      batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  op.set(0, op.elem(0),
         batch_first ? Dims{batch, length, directions, hidden}
                     : Dims{length, directions, batch, hidden});
  op.set(1, op.elem(0), state);
  op.set(2, op.elem(0), state);
}

void dropout(OpContext& op) {
  op.set_like(0, 0);
  op.set_like(1, 0);
  if (op.out.size() > 1) op.out[1].elem = TensorProto::BOOL;
}

void batch_normalization(OpContext& op) {
  op.set_like(0, 0);
  for (std::size_t i = 1; i < op.out.size(); ++i) op.set_like(i, i == 1 || i == 3 ? 3 : 4);
}

// Outputs after the first hold the statistics: the shape up to `axis`, then ones.
void layer_normalization(OpContext& op) {
  op.set_like(0, 0);
  const Dims* const x = op.shape(0);
  if (x == nullptr) return;
  const auto axis = normal_axis(op.int_attribute("axis", -1), x->size());
  if (!axis) return;
  Dims statistics = *x;
  std::fill(statistics.begin() + static_cast<std::ptrdiff_t>(*axis), statistics.end(), 1);
  for (std::size_t i = 1; i < op.out.size(); ++i) op.set(i, TensorProto::FLOAT, statistics);
}

void matmul(OpContext& op) {
  const std::string_view type = op.node.type();
  const int elem = type == "MatMulInteger" ? static_cast<int>(TensorProto::INT32) : op.elem(0);
  op.set(0, tensor_type(elem));
  const Dims* const a = op.shape(0);
  const Dims* const b = op.shape(1);
  Dims dims;
  if (a && b && matmul_shape(*a, *b, false, false, dims)) op.set(0, elem, std::move(dims));
}

void qlinear_matmul(OpContext& op) {
  op.set(0, tensor_type(op.elem(7) != 0 ? op.elem(7) : op.elem(0)));
  const Dims* const a = op.shape(0);
  const Dims* const b = op.shape(3);
  Dims dims;
  if (a && b && matmul_shape(*a, *b, false, false, dims)) op.out[0].set_shape(std::move(dims));
}

void gemm(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  const Dims* const a = op.shape(0);
  const Dims* const b = op.shape(1);
  if (a == nullptr || b == nullptr || a->size() != 2 || b->size() != 2) return;
  const bool ta = op.int_attribute("transA", 0) != 0;
  const bool tb = op.int_attribute("transB", 0) != 0;
  op.set(0, op.elem(0), {(*a)[ta ? 1 : 0], (*b)[tb ? 0 : 1]});
}

void conv(OpContext& op) {
  convolution_shape(op, 0, 1, op.elem(0), false);
}
void conv_integer(OpContext& op) {
  convolution_shape(op, 0, 1, TensorProto::INT32, false);
}
void qlinear_conv(OpContext& op) {
  convolution_shape(op, 0, 3, op.elem(7) != 0 ? op.elem(7) : op.elem(0),
                    op.int_attribute("channels_last", 0) != 0);
}
void pool(OpContext& op) {
  pooling_shape(op, false);
}
void global_pool(OpContext& op) {
  global_pooling_shape(op, false);
}

void quantize(OpContext& op) {
  op.set_like(0, 0);
  if (op.out.empty()) return;
  const auto stated = static_cast<int>(op.int_attribute("output_dtype", 0));
  op.out[0].elem = stated != 0 ? stated : op.elem(2) != 0 ? op.elem(2) : int{TensorProto::UINT8};
}

void dequantize(OpContext& op) {
  op.set_like(0, 0);
  if (op.out.empty()) return;
  const auto stated = static_cast<int>(op.int_attribute("output_dtype", 0));
  op.out[0].elem = stated != 0 ? stated : op.elem(1) != 0 ? op.elem(1) : int{TensorProto::FLOAT};
}

void dynamic_quantize(OpContext& op) {
  op.set_like(0, 0);
  if (!op.out.empty()) op.out[0].elem = TensorProto::UINT8;
  op.set(1, TensorProto::FLOAT, {});
  op.set(2, TensorProto::UINT8, {});
}

// --- Einsum --------------------------------------------------------------------------------------

// Letters are dimensions by name; "..." stands for those a term does not name, broadcast.
class Einsum {
 public:
  explicit Einsum(const OpContext& op) : op_(op) {}

  bool solve(Dims& dims) {
    std::string equation(op_.text_attribute("equation"));
    equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
    const std::size_t arrow = equation.find("->");
    std::string inputs = equation.substr(0, arrow);
    for (std::size_t i = 0; i < op_.input_count(); ++i) {
      const std::size_t comma = inputs.find(',');
      if (op_.shape(i) == nullptr || !read_term(inputs.substr(0, comma), *op_.shape(i))) {
        return false;
      }
      inputs = comma == std::string::npos ? std::string{} : inputs.substr(comma + 1);
    }
    if (arrow != std::string::npos) return write_term(equation.substr(arrow + 2), dims);
    std::string output = "...";  // then the letters seen once, in alphabetical order
    for (const auto& [letter, count] : counts_) {
      if (count == 1) output += letter;
    }
    return write_term(output, dims);
  }

 private:
  bool read_term(const std::string& term, const Dims& dims) {
    const std::size_t dots = term.find("...");
    const std::size_t letters = term.size() - (dots == std::string::npos ? 0 : 3);
    if (letters > dims.size() || (dots == std::string::npos && letters != dims.size())) {
      return false;
    }
    const std::size_t unnamed = dims.size() - letters;
    std::size_t at = 0;
    for (std::size_t i = 0; i < term.size(); ++i, ++at) {
      if (i == dots) {
        Dims merged;
        const auto begin = dims.begin() + static_cast<std::ptrdiff_t>(at);
        if (!broadcast(ellipsis_, Dims(begin, begin + static_cast<std::ptrdiff_t>(unnamed)),
                       merged)) {
          return false;
        }
        ellipsis_ = std::move(merged);
        at += unnamed;
        i += 3;
        if (i >= term.size()) break;
      }
      auto& dim = dims_.try_emplace(term[i], kUnknownDim).first->second;
      if (dim == kUnknownDim || dim == 1) dim = dims[at];
      ++counts_[term[i]];
    }
    return true;
  }

  bool write_term(const std::string& term, Dims& out) const {
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (term.compare(i, 3, "...") == 0) {
        out.insert(out.end(), ellipsis_.begin(), ellipsis_.end());
        i += 2;
        continue;
      }
      const auto found = dims_.find(term[i]);
      if (found == dims_.end() || out.size() >= static_cast<std::size_t>(kMaxRank)) return false;
      out.push_back(found->second);
    }
    return true;
  }

  const OpContext& op_;
  std::map<char, std::int64_t> dims_;
  std::map<char, int> counts_;
  Dims ellipsis_;
};

void einsum(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  Dims dims;
  if (Einsum(op).solve(dims)) op.set(0, op.elem(0), std::move(dims));
}

// --- operators of opset 18 and later -------------------------------------------------------------

// Attention 23: Q, K, V, mask, past key, past value; 3-dimensional (batch, length, hidden) with
// head counts as attributes, or 4-dimensional (batch, heads, length, head size).
void attention(OpContext& op) {
  for (std::size_t i = 0; i < op.out.size(); ++i) op.set(i, tensor_type(op.elem(0)));
  const Dims* const q = op.shape(0);
  const Dims* const k = op.shape(1);
  const Dims* const v = op.shape(2);
  if (q == nullptr || k == nullptr || v == nullptr || q->size() != k->size() ||
      v->size() != k->size() || (q->size() != 3 && q->size() != 4)) {
    return;
  }
  const bool flat = q->size() == 3;
  const std::int64_t q_heads = flat ? op.int_attribute("q_num_heads", 0) : (*q)[1];
  const std::int64_t kv_heads = flat ? op.int_attribute("kv_num_heads", 0) : (*k)[1];
  const auto head_size = [&](const Dims& dims) {
    if (!flat || dims.back() == kUnknownDim) return dims.back();
    return kv_heads > 0 ? dims.back() / kv_heads : kUnknownDim;
  };
  const std::int64_t batch = q->front();
  const std::int64_t length = (*q)[q->size() - 2];
  std::int64_t total = (*k)[k->size() - 2];
  if (const Dims* const past = op.shape(4); past != nullptr && past->size() == 4) {
    total = total == kUnknownDim || (*past)[2] == kUnknownDim ? kUnknownDim : total + (*past)[2];
  }
  const std::int64_t v_size = head_size(*v);
  if (flat) {
    std::int64_t hidden = 0;
    if (v_size == kUnknownDim || __builtin_mul_overflow(q_heads, v_size, &hidden)) {
      hidden = kUnknownDim;
    }
    op.set(0, op.elem(0), {batch, length, valid_dim(hidden)});
  } else {
    op.set(0, op.elem(0), {batch, q_heads, length, v_size});
  }
  op.set(1, op.elem(1), {batch, valid_dim(kv_heads), total, head_size(*k)});
  op.set(2, op.elem(2), {batch, valid_dim(kv_heads), total, v_size});
  op.set(3, op.elem(0), {batch, valid_dim(q_heads), length, total});
}

void affine_grid(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  const auto size = op.integers(1);
  if (!size || size->size() < 4 || size->size() > 5) return;
  Dims dims = {valid_dim(size->front())};
  for (std::size_t i = 2; i < size->size(); ++i) dims.push_back(valid_dim((*size)[i]));
  dims.push_back(static_cast<std::int64_t>(size->size()) - 2);
  op.set(0, op.elem(0), std::move(dims));
}

void col2im(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  const Dims* const x = op.shape(0);
  const auto image = op.integers(1);
  const auto block = op.integers(2);
  if (x == nullptr || x->size() != 3 || !image || !block || image->size() > 8) return;
  const std::int64_t area = product(*block, 0, block->size());
  Dims dims = {x->front(), area > 0 && (*x)[1] != kUnknownDim ? (*x)[1] / area : kUnknownDim};
  for (const std::int64_t dim : *image) dims.push_back(valid_dim(dim));
  op.set(0, op.elem(0), std::move(dims));
}

constexpr std::array kUnary = {"Abs",
                               "Acos",
                               "Acosh",
                               "Asin",
                               "Asinh",
                               "Atan",
                               "Atanh",
                               "BitwiseNot",
                               "Ceil",
                               "Celu",
                               "Clip",
                               "Cos",
                               "Cosh",
                               "CumProd",
                               "CumSum",
                               "Elu",
                               "Erf",
                               "Exp",
                               "Floor",
                               "Gelu",
                               "GroupNormalization",
                               "HardSigmoid",
                               "HardSwish",
                               "Hardmax",
                               "InstanceNormalization",
                               "LRN",
                               "LeakyRelu",
                               "Log",
                               "LogSoftmax",
                               "LpNormalization",
                               "MeanVarianceNormalization",
                               "Mish",
                               "Neg",
                               "PRelu",
                               "RMSNormalization",
                               "Reciprocal",
                               "Relu",
                               "Round",
                               "RotaryEmbedding",
                               "Scale",
                               "ScaledTanh",
                               "Scatter",
                               "ScatterElements",
                               "ScatterND",
                               "Selu",
                               "Shrink",
                               "Sigmoid",
                               "Sign",
                               "Sin",
                               "Sinh",
                               "Softmax",
                               "Softplus",
                               "Softsign",
                               "Sqrt",
                               "Swish",
                               "Tan",
                               "Tanh",
                               "TensorScatter",
                               "ThresholdedRelu",
                               "Trilu",
                               "ParametricSoftplus",
                               "Affine",
                               "ImageScaler",
                               "Identity"};
constexpr std::array kBroadcasting = {
    "Add", "And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Max", "Mean",
    "Min", "Mod", "Mul",      "Or",         "Pow",       "Sub",        "Sum", "Xor"};
constexpr std::array kComparing = {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"};

std::unordered_map<std::string_view, Rule> make_table() {
  std::unordered_map<std::string_view, Rule> table = {
      {"AffineGrid", affine_grid},
      {"Attention", attention},
      {"AveragePool", pool},
      {"BatchNormalization", batch_normalization},
      {"Col2Im", col2im},
      {"Conv", conv},
      {"ConvInteger", conv_integer},
      {"ConvTranspose", transposed_convolution_shape},
      {"GRU", recurrent},
      {"LSTM", recurrent},
      {"RNN", recurrent},
      {"MaxRoiPool", region_pooling_shape},
      {"MaxUnpool", unpooling_shape},
      {"DequantizeLinear", dequantize},
      {"Dropout", dropout},
      {"DynamicQuantizeLinear", dynamic_quantize},
      {"Einsum", einsum},
      {"Gemm", gemm},
      {"GlobalAveragePool", global_pool},
      {"GlobalLpPool", global_pool},
      {"GlobalMaxPool", global_pool},
      {"IsInf", unary_to_bool},
      {"IsNaN", unary_to_bool},
      {"LayerNormalization", layer_normalization},
      {"LpPool", pool},
      {"MatMul", matmul},
      {"Matmul", matmul},  // as an optimiser of 2019 wrote it
      {"MatMulInteger", matmul},
      {"MaxPool", pool},
      {"Not", unary_to_bool},
      {"QLinearConv", qlinear_conv},
      {"QLinearMatMul", qlinear_matmul},
      {"QuantizeLinear", quantize},
      {"SimplifiedLayerNormalization", layer_normalization},
      {"Where", where},
  };
  for (const char* const type : kUnary) table.emplace(type, unary);
  for (const char* const type : kBroadcasting) table.emplace(type, broadcasting);
  for (const char* const type : kComparing) table.emplace(type, comparing);
  return table;
}

}  // namespace

Rule find_compute_rule(std::string_view type) {
  static const std::unordered_map<std::string_view, Rule> kRules = make_table();
  const auto found = kRules.find(type);
  return found == kRules.end() ? nullptr : found->second;
}

}  // namespace berth::onnx_frontend
