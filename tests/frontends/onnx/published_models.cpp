#include "published_models.h"

#include <string>
#include <utility>
#include <vector>

namespace berth::test {
namespace {

using onnx::AttributeProto;
using onnx::TensorProto;
using Dims = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

constexpr std::int64_t kBlock = 32;  ///< weights that share a scale
constexpr int kInt4 = 22;            ///< TensorProto::INT4, which ONNX has since version 1.16

/// Adds nodes and weights to a model. Ops with one output return its name.
class Maker {
 public:
  Maker() {
    model_.set_ir_version(10);
    for (const auto& [domain, version] : {std::pair{"", 21}, {"com.microsoft", 1}}) {
      auto* const opset = model_.add_opset_import();
      opset->set_domain(domain);
      opset->set_version(version);
    }
    graph().set_name("published");
  }
  onnx::ModelProto take() { return std::move(model_); }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }

  std::string weight(const std::string& name, const Dims& dims, int type = TensorProto::FLOAT16) {
    TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const std::int64_t dim : dims) tensor.add_dims(dim);
    tensor.set_data_location(TensorProto::EXTERNAL);
    auto& entry = *tensor.add_external_data();
    entry.set_key("location");
    entry.set_value("weights.bin");
    return name;
  }
  std::string ints(const Dims& values) {
    TensorProto& tensor = *graph().add_initializer();
    tensor.set_name("ints_" + std::to_string(count_++));
    tensor.set_data_type(TensorProto::INT64);
    tensor.add_dims(static_cast<std::int64_t>(values.size()));
    for (const std::int64_t value : values) tensor.add_int64_data(value);
    return tensor.name();
  }

  struct Attribute {
    const char* name;
    Dims values;        ///< one is a number
    bool list = false;  ///< also if it is one
  };
  std::string op(const std::string& type, const Names& inputs,
                 const std::vector<Attribute>& attributes = {}, const std::string& output = {}) {
    onnx::NodeProto& node = *graph().add_node();
    node.set_name(type + "_" + std::to_string(count_));
    node.set_op_type(type);
    if (type == "MultiHeadAttention" || type == "FusedMatMul" || type == "GatherBlockQuantized") {
      node.set_domain("com.microsoft");
    }
    for (const std::string& input : inputs) node.add_input(input);
    for (const Attribute& each : attributes) {
      AttributeProto& made = *node.add_attribute();
      made.set_name(each.name);
      if (each.values.size() == 1 && !each.list) {
        made.set_type(AttributeProto::INT);
        made.set_i(each.values.front());
      } else {
        made.set_type(AttributeProto::INTS);
        for (const std::int64_t value : each.values) made.add_ints(value);
      }
    }
    node.add_output(output.empty() ? "t" + std::to_string(count_) : output);
    ++count_;
    return node.output(0);
  }

  std::string linear(const std::string& x, const std::string& name, std::int64_t from,
                     std::int64_t to, bool bias = true, bool four_bits = false) {
    const std::string w =
        four_bits ? quantised(name, {from, to}) : weight(name + ".weight", {from, to});
    const std::string y = op("MatMul", {x, w});
    return bias ? op("Add", {y, weight(name + ".bias", {to})}) : y;
  }
  /// Weights in 4 bits along the first axis, dequantised.
  std::string quantised(const std::string& name, const Dims& dims) {
    return op("DequantizeLinear",
              {weight(name + ".weight", dims, kInt4),
               weight(name + ".scale", {dims[0] / kBlock, dims[1]})},
              {{"axis", {0}}, {"block_size", {kBlock}}});
  }
  /// Rows of weights in 4 bits, dequantised as they are read.
  std::string quantised_rows(const std::string& name, const Dims& dims, const std::string& rows) {
    return op("GatherBlockQuantized",
              {weight(name + ".weight", dims, kInt4), rows,
               weight(name + ".scale", {dims[0], dims[1] / kBlock})},
              {{"quantize_axis", {1}}, {"block_size", {kBlock}}});
  }
  std::string norm(const std::string& x, const std::string& name, std::int64_t width,
                   bool bias = true) {
    Names inputs = {x, weight(name + ".weight", {width})};
    if (bias) inputs.push_back(weight(name + ".bias", {width}));
    return op("LayerNormalization", inputs, {{"axis", {-1}}});
  }
  std::string conv(const std::string& x, const std::string& name, std::int64_t from,
                   std::int64_t to, std::int64_t size = 3, std::int64_t stride = 1) {
    const std::int64_t pad = size / 2;
    return op("Conv",
              {x, weight(name + ".weight", {to, from, size, size}), weight(name + ".bias", {to})},
              {{"pads", {pad, pad, pad, pad}}, {"strides", {stride, stride}}});
  }
  std::string silu(const std::string& x) { return op("Mul", {x, op("Sigmoid", {x})}); }

  using Shape = std::vector<std::pair<std::string, std::int64_t>>;  ///< a symbol, or a number
  std::string input(const std::string& name, const Shape& shape,
                    TensorProto::DataType type = TensorProto::FLOAT16) {
    describe(*graph().add_input(), name, shape, type);
    return name;
  }
  void output(const std::string& name, const Shape& shape) {
    describe(*graph().add_output(), name, shape, TensorProto::FLOAT16);
  }

 private:
  static void describe(onnx::ValueInfoProto& info, const std::string& name, const Shape& shape,
                       TensorProto::DataType type) {
    info.set_name(name);
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    auto& made = *tensor.mutable_shape();
    for (const auto& [symbol, number] : shape) {
      if (symbol.empty()) {
        made.add_dim()->set_dim_value(number);
      } else {
        made.add_dim()->set_dim_param(symbol);
      }
    }
  }

  onnx::ModelProto model_;
  int count_ = 0;
};

/// One decoder, layer by layer.
class DecoderMaker {
 public:
  explicit DecoderMaker(const Decoder& shape)
      : the_(shape), head_(the_.head_width > 0 ? the_.head_width : the_.width / the_.heads) {}

  onnx::ModelProto make() {
    make_.input("input_ids", {{"batch", 0}, {"sequence", 0}}, TensorProto::INT64);
    const Dims table = {the_.words, the_.width};
    std::string embedding, x;
    if (the_.four_bits) {
      x = make_.quantised_rows("embed_tokens", table, "input_ids");
    } else {
      embedding = make_.weight("embed_tokens.weight", table);
      x = make_.op("Gather", {embedding, "input_ids"});
    }
    if (learnt()) {
      const std::string positions = make_.weight("positions", {the_.positions, the_.width});
      x = make_.op("Add", {x, make_.op("Gather", {positions, "input_ids"})});
    }
    for (std::int64_t layer = 0; layer < the_.layers; ++layer) x = after_layer(x, layer);
    x = make_.norm(x, "norm", the_.width, learnt());
    if (the_.tied) {
      make_.op("FusedMatMul", {x, embedding}, {{"transB", {1}}}, "logits");
    } else {
      make_.op("MatMul", {x, head()}, {}, "logits");
    }
    make_.output("logits", {{"batch", 0}, {"sequence", 0}, {"", the_.words}});
    return make_.take();
  }

 private:
  [[nodiscard]] bool learnt() const { return the_.positions > 0; }
  std::string head() {
    if (the_.four_bits) return make_.quantised("lm_head", {the_.width, the_.words});
    return make_.weight("lm_head.weight", {the_.width, the_.words});
  }
  std::string linear(const std::string& x, const std::string& name, std::int64_t from,
                     std::int64_t to) {
    return make_.linear(x, name, from, to, learnt(), the_.four_bits);
  }
  /// [batch, sequence, count * head] -> [batch, count, sequence, head]
  std::string by_head(const std::string& x, std::int64_t count) {
    const std::string parts = make_.op("Reshape", {x, make_.ints({0, 0, count, head_})});
    return make_.op("Transpose", {parts}, {{"perm", {0, 2, 1, 3}}});
  }
  /// The cache as it was kept, with what is new.
  std::string kept(const std::string& now, std::int64_t layer, const std::string& what) {
    const std::string end = std::to_string(layer) + "." + what;
    const std::string past = make_.input(
        "past_key_values." + end, {{"batch", 0}, {"", the_.kv_heads}, {"past", 0}, {"", head_}});
    make_.output("present." + end,
                 {{"batch", 0}, {"", the_.kv_heads}, {"past + sequence", 0}, {"", head_}});
    return make_.op("Concat", {past, now}, {{"axis", {2}}}, "present." + end);
  }

  std::string attention(const std::string& x, const std::string& name, std::int64_t layer) {
    const std::int64_t all = the_.heads * head_;
    std::string q = by_head(linear(x, name + ".q_proj", the_.width, all), the_.heads);
    const auto side = [&](const char* proj, const char* what) {
      const std::int64_t kv = the_.kv_heads * head_;
      return kept(by_head(linear(x, name + proj, the_.width, kv), the_.kv_heads), layer, what);
    };
    const std::string k = side(".k_proj", "key");
    const std::string v = side(".v_proj", "value");
    // The queries of a group one after the other.
    q = make_.op("Reshape", {q, make_.ints({0, the_.kv_heads, -1, head_})});
    const std::string keys = make_.op("Transpose", {k}, {{"perm", {0, 1, 3, 2}}});
    const std::string shares = make_.op("Softmax", {make_.op("MatMul", {q, keys})});
    std::string mixed = make_.op("MatMul", {shares, v});
    mixed = make_.op("Reshape", {mixed, make_.ints({0, the_.heads, -1, head_})});
    mixed = make_.op("Transpose", {mixed}, {{"perm", {0, 2, 1, 3}}});
    mixed = make_.op("Reshape", {mixed, make_.ints({0, 0, all})});
    return linear(mixed, name + ".o_proj", all, the_.width);
  }
  std::string feed_forward(const std::string& x, const std::string& name) {
    std::string inner = linear(x, name + ".up_proj", the_.width, the_.inner);
    if (learnt()) {
      inner = make_.op("Gelu", {inner});
    } else {
      const std::string gate = linear(x, name + ".gate_proj", the_.width, the_.inner);
      inner = make_.op("Mul", {make_.silu(gate), inner});
    }
    return linear(inner, name + ".down_proj", the_.inner, the_.width);
  }
  std::string experts(const std::string& x, const std::string& name) {
    const std::string shares =
        make_.op("Softmax", {linear(x, name + ".gate", the_.width, the_.experts)});
    std::string sum;
    for (std::int64_t e = 0; e < the_.experts; ++e) {
      const std::string share =
          make_.op("Slice", {shares, make_.ints({e}), make_.ints({e + 1}), make_.ints({2})});
      const std::string made =
          make_.op("Mul", {feed_forward(x, name + ".experts." + std::to_string(e)), share});
      sum = sum.empty() ? made : make_.op("Add", {sum, made});
    }
    return sum;
  }
  std::string after_layer(const std::string& x, std::int64_t layer) {
    const std::string name = "layers." + std::to_string(layer);
    const std::string seen = make_.norm(x, name + ".input_norm", the_.width, learnt());
    const std::string mixed = make_.op("Add", {x, attention(seen, name + ".self_attn", layer)});
    const std::string next = make_.norm(mixed, name + ".post_norm", the_.width, learnt());
    return make_.op("Add", {mixed, the_.experts > 0 ? experts(next, name + ".mlp")
                                                    : feed_forward(next, name + ".mlp")});
  }

  Decoder the_;
  std::int64_t head_;
  Maker make_;
};

/// `x` attends to `memory`: queries, keys and values are projected, keys without a bias.
std::string attended(Maker& make, const std::string& x, const std::string& memory,
                     const std::string& name, std::int64_t width, std::int64_t memory_width,
                     std::int64_t heads, bool bias) {
  const std::string q = make.linear(x, name + ".q_proj", width, width, bias);
  const std::string k = make.linear(memory, name + ".k_proj", memory_width, width, false);
  const std::string v = make.linear(memory, name + ".v_proj", memory_width, width, bias);
  return make.linear(make.op("MultiHeadAttention", {q, k, v}, {{"num_heads", {heads}}}),
                     name + ".out_proj", width, width);
}

class WhisperMaker {
 public:
  onnx::ModelProto make() {
    std::string x = make_.input("input_features", {{"", 1}, {"", kMels}, {"", 2 * kFrames}});
    for (const auto& [name, from, stride] : {std::tuple{"conv1", kMels, 1}, {"conv2", kWidth, 2}}) {
      x = make_.op("Conv",
                   {x, make_.weight(std::string(name) + ".weight", {kWidth, from, 3}),
                    make_.weight(std::string(name) + ".bias", {kWidth})},
                   {{"pads", {1, 1}}, {"strides", {stride}, true}});
      x = make_.op("Gelu", {x});
    }
    x = make_.op("Transpose", {x}, {{"perm", {0, 2, 1}}});
    const std::string places = make_.weight("encoder.positions", {kMostFrames, kWidth});
    x = make_.op("Add", {x, make_.op("Gather", {places, make_.input("frames", {{"", kFrames}},
                                                                    TensorProto::INT64)})});
    for (int layer = 0; layer < kLayers; ++layer) {
      const std::string name = "encoder." + std::to_string(layer);
      x = mixed(x, {}, name + ".self_attn");
      x = fed(x, name);
    }
    const std::string heard = make_.norm(x, "encoder.norm", kWidth);
    make_.input("input_ids", {{"", 1}, {"", 1}}, TensorProto::INT64);
    const std::string words = make_.weight("embed_tokens", {kWords, kWidth});
    const std::string positions = make_.weight("decoder.positions", {448, kWidth});
    x = make_.op("Add", {make_.op("Gather", {words, "input_ids"}),
                         make_.op("Gather", {positions, "input_ids"})});
    for (int layer = 0; layer < kLayers; ++layer) {
      const std::string name = "decoder." + std::to_string(layer);
      x = mixed(x, {}, name + ".self_attn");
      x = mixed(x, heard, name + ".encoder_attn");
      x = fed(x, name);
    }
    x = make_.norm(x, "decoder.norm", kWidth);
    make_.op("FusedMatMul", {x, words}, {{"transB", {1}}}, "logits");
    make_.output("logits", {{"", 1}, {"", 1}, {"", kWords}});
    return make_.take();
  }

 private:
  static constexpr int kLayers = 32;
  static constexpr std::int64_t kWidth = 1280, kHeads = 20, kMels = 128, kFrames = 50,
                                kMostFrames = 1500, kWords = 51866;

  /// An empty `memory` is what attends.
  std::string mixed(const std::string& x, const std::string& memory, const std::string& name) {
    const std::string seen = make_.norm(x, name + "_norm", kWidth);
    return make_.op("Add", {x, attended(make_, seen, memory.empty() ? seen : memory, name, kWidth,
                                        kWidth, kHeads, true)});
  }
  std::string fed(const std::string& x, const std::string& name) {
    std::string y = make_.norm(x, name + ".norm", kWidth);
    y = make_.op("Gelu", {make_.linear(y, name + ".fc1", kWidth, 4 * kWidth)});
    return make_.op("Add", {x, make_.linear(y, name + ".fc2", 4 * kWidth, kWidth)});
  }

  Maker make_;
};

class SdxlMaker {
 public:
  onnx::ModelProto make() {
    const std::string sample = make_.input("sample", {{"", 1}, {"", 4}, {"", 32}, {"", 32}});
    time_ = make_.op(
        "Add", {embedded("timestep", "time", kWidths[0]), embedded("text_and_size", "add", 2816)});
    make_.input("text", {{"", 1}, {"", 77}, {"", 2048}});
    std::string x = make_.conv(sample, "conv_in", 4, kWidths[0]);
    std::vector<std::pair<std::string, std::int64_t>> skips = {{x, kWidths[0]}};
    std::int64_t width = kWidths[0];
    for (int level = 0; level < 3; ++level) {
      const std::string name = "down." + std::to_string(level);
      for (int i = 0; i < 2; ++i) {
        x = block(x, name + "." + std::to_string(i), width, kWidths[level], kDepth[level]);
        width = kWidths[level];
        skips.emplace_back(x, width);
      }
      if (level == 2) continue;
      x = make_.conv(x, name + ".downsample", width, width, 3, 2);
      skips.emplace_back(x, width);
    }
    x = block(x, "mid.0", width, width, kDepth[2]);
    x = block(x, "mid.1", width, width, 0);
    for (int level = 2; level >= 0; --level) {
      const std::string name = "up." + std::to_string(level);
      for (int i = 0; i < 3; ++i) {
        const auto [skip, more] = skips.back();
        skips.pop_back();
        x = make_.op("Concat", {x, skip}, {{"axis", {1}}});
        x = block(x, name + "." + std::to_string(i), width + more, kWidths[level], kDepth[level]);
        width = kWidths[level];
      }
      if (level > 0) x = make_.conv(doubled(x), name + ".upsample", width, width);
    }
    x = make_.conv(make_.silu(group_norm(x, "norm_out", width)), "conv_out", width, 4);
    make_.op("Identity", {x}, {}, "noise");
    make_.output("noise", {{"", 1}, {"", 4}, {"", 32}, {"", 32}});
    return make_.take();
  }

 private:
  static constexpr std::int64_t kWidths[] = {320, 640, 1280};
  static constexpr int kDepth[] = {0, 2, 10};  ///< transformer layers of a block, by level
  static constexpr std::int64_t kTime = 1280, kHead = 64;

  std::string embedded(const std::string& input, const std::string& name, std::int64_t from) {
    const std::string x = make_.input(input, {{"", 1}, {"", from}});
    return make_.linear(make_.silu(make_.linear(x, name + ".linear_1", from, kTime)),
                        name + ".linear_2", kTime, kTime);
  }
  std::string group_norm(const std::string& x, const std::string& name, std::int64_t width) {
    return make_.op(
        "GroupNormalization",
        {x, make_.weight(name + ".weight", {width}), make_.weight(name + ".bias", {width})},
        {{"num_groups", {32}}});
  }
  std::string doubled(const std::string& x) {
    onnx::TensorProto& scales = *make_.graph().add_initializer();
    scales.set_name("scales_" + x);
    scales.set_data_type(TensorProto::FLOAT);
    scales.add_dims(4);
    for (const float scale : {1.F, 1.F, 2.F, 2.F}) scales.add_float_data(scale);
    return make_.op("Resize", {x, "", scales.name()});
  }
  /// A residual block and, for depth > 0, transformer layers.
  std::string block(const std::string& x, const std::string& name, std::int64_t from,
                    std::int64_t to, int depth) {
    std::string y =
        make_.conv(make_.silu(group_norm(x, name + ".norm1", from)), name + ".conv1", from, to);
    std::string time = make_.linear(make_.silu(time_), name + ".time", kTime, to);
    time = make_.op("Reshape", {time, make_.ints({0, 0, 1, 1})});
    y = make_.op("Add", {y, time});
    y = make_.conv(make_.silu(group_norm(y, name + ".norm2", to)), name + ".conv2", to, to);
    y = make_.op("Add", {from == to ? x : make_.conv(x, name + ".shortcut", from, to, 1), y});
    return depth == 0 ? y : transformed(y, name, to, depth);
  }
  std::string transformed(const std::string& x, const std::string& name, std::int64_t width,
                          int depth) {
    const std::string image = make_.op("Shape", {x});
    std::string y =
        make_.op("Reshape", {group_norm(x, name + ".norm", width), make_.ints({0, width, -1})});
    y = make_.linear(make_.op("Transpose", {y}, {{"perm", {0, 2, 1}}}), name + ".proj_in", width,
                     width);
    for (int i = 0; i < depth; ++i) {
      const std::string layer = name + ".layers." + std::to_string(i);
      const std::string own = make_.norm(y, layer + ".norm1", width);
      y = make_.op("Add", {y, attended(make_, own, own, layer + ".attn1", width, width,
                                       width / kHead, false)});
      const std::string words = make_.norm(y, layer + ".norm2", width);
      y = make_.op("Add", {y, attended(make_, words, "text", layer + ".attn2", width, 2048,
                                       width / kHead, false)});
      const std::string next = make_.norm(y, layer + ".norm3", width);
      const std::string both = make_.linear(next, layer + ".ff.in", width, 8 * width);
      const auto half = [&](std::int64_t first) {
        return make_.op(
            "Slice", {both, make_.ints({first}), make_.ints({first + 4 * width}), make_.ints({2})});
      };
      const std::string inner = make_.op("Mul", {half(0), make_.op("Gelu", {half(4 * width)})});
      y = make_.op("Add", {y, make_.linear(inner, layer + ".ff.out", 4 * width, width)});
    }
    y = make_.linear(y, name + ".proj_out", width, width);
    y = make_.op("Reshape", {make_.op("Transpose", {y}, {{"perm", {0, 2, 1}}}), image});
    return make_.op("Add", {x, y});
  }

  Maker make_;
  std::string time_;
};

}  // namespace

onnx::ModelProto published_decoder(const Decoder& shape) {
  return DecoderMaker(shape).make();
}
onnx::ModelProto published_whisper() {
  return WhisperMaker().make();
}
onnx::ModelProto published_sdxl() {
  return SdxlMaker().make();
}

}  // namespace berth::test
