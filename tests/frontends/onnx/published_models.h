// Networks of published sizes, made from their public hyperparameters as exporters write them: the
// weights lie in a data file that is not there.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>

namespace berth::test {

/// A decoder with the cache as inputs and outputs: `batch`, `sequence` and `past` are symbols. In
/// 16 bits.
struct Decoder {
  std::int64_t layers, width, inner, heads, kv_heads, words;
  std::int64_t head_width = 0;  ///< 0 = width / heads
  bool tied = false;            ///< the head reads the embedding, without a copy of it
  std::int64_t positions = 0;   ///< learnt positions; also biases and norms with them, as GPT-2 has
  std::int64_t experts = 0;     ///< feed-forward parts of a layer
  /// 32 weights in 4 bits share a scale in 16, the embedding's too: llama.cpp's q4_0.
  bool four_bits = false;
};
[[nodiscard]] onnx::ModelProto published_decoder(const Decoder& shape);

/// Whisper large-v3, in 16 bits: the encoder of a second, of the half minute that it could hear, and
/// a step of the decoder after nothing.
[[nodiscard]] onnx::ModelProto published_whisper();

/// The network of Stable Diffusion XL's steps, in 16 bits, for a picture of 256 x 256.
[[nodiscard]] onnx::ModelProto published_sdxl();

}  // namespace berth::test
