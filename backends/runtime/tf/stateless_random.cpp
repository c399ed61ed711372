// Random tensors that are functions of their seed alone: TensorFlow's own numbers (Philox 4x32-10; Salmon et al., SC
// 2011).
#include <ATen/Functions.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "berth/error.h"
#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

using Four = std::array<std::uint32_t, 4>;

struct Philox {
  std::array<std::uint32_t, 2> key = {};
  Four counter = {};

  /// Passes over so many fours.
  void skip(std::uint64_t count) {
    const std::uint64_t low = counter[0] | std::uint64_t{counter[1]} << 32;
    const std::uint64_t sum = low + count;
    counter[0] = static_cast<std::uint32_t>(sum);
    counter[1] = static_cast<std::uint32_t>(sum >> 32);
    if (sum < low && ++counter[2] == 0) ++counter[3];
  }

  /// The next four numbers.
  Four operator()() {
    Four x = counter;
    std::array<std::uint32_t, 2> k = key;
    constexpr int kRounds = 10;
    for (int round = 0; round < kRounds; ++round) {
      const std::uint64_t a = std::uint64_t{0xD2511F53} * x[0],
                          b = std::uint64_t{0xCD9E8D57} * x[2];
      x = {static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ k[0], static_cast<std::uint32_t>(b),
           static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ k[1], static_cast<std::uint32_t>(a)};
      k[0] += 0x9E3779B9;
      k[1] += 0xBB67AE85;
    }
    for (std::size_t i = 0; i < counter.size() && ++counter[i] == 0; ++i) {
    }
    return x;
  }
};

std::uint32_t low(std::uint64_t bits) {
  return static_cast<std::uint32_t>(bits);
}
std::uint32_t high(std::uint64_t bits) {
  return static_cast<std::uint32_t>(bits >> 32);
}

/// From a seed of two numbers, mixed so that each bit of it counts.
Philox from_seed(const Ints& seed) {
  Philox mixer;
  mixer.key = {0x3EC8F720, 0x02461E29};
  const auto a = static_cast<std::uint64_t>(seed.at(0)), b = static_cast<std::uint64_t>(seed.at(1));
  mixer.counter = {low(a), high(a), low(b), high(b)};
  const Four mixed = mixer();
  return {{mixed[0], mixed[1]}, {0, 0, mixed[2], mixed[3]}};
}

/// From a key and a counter of 64 bits each.
Philox from_key(const Ints& key, const Ints& counter) {
  const auto k = static_cast<std::uint64_t>(key.at(0));
  const auto a = static_cast<std::uint64_t>(counter.at(0));
  const auto b = static_cast<std::uint64_t>(counter.size() > 1 ? counter[1] : 0);
  return {{low(k), high(k)}, {low(a), high(a), low(b), high(b)}};
}

/// In [0, 1), of 23 bits.
float uniform(std::uint32_t bits) {
  const std::uint32_t one_to_two = (bits & 0x7FFFFF) | (127U << 23);
  float number = 0;
  std::memcpy(&number, &one_to_two, sizeof number);
  return number - 1;
}

/// Two normal numbers from two uniform ones (Box and Muller).
std::array<float, 2> normal(std::uint32_t a, std::uint32_t b) {
  constexpr float kLeast = 1e-7F;
  constexpr float kTwoPi = 6.283185307179586F;
  const float radius = std::sqrt(-2 * std::log(std::max(uniform(a), kLeast)));
  const float angle = kTwoPi * uniform(b);
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}

using Numbers = std::array<float, 4>;
/// Four numbers; the generator is at the first of them.
using Draw = Numbers (*)(Philox& generator);

Numbers uniform_numbers(Philox& generator) {
  const Four bits = generator();
  return {uniform(bits[0]), uniform(bits[1]), uniform(bits[2]), uniform(bits[3])};
}
Numbers normal_numbers(Philox& generator) {
  const Four bits = generator();
  const auto a = normal(bits[0], bits[1]), b = normal(bits[2], bits[3]);
  return {a[0], a[1], b[0], b[1]};
}

/// Normal numbers within two standard deviations. As many as it takes are drawn, in the room for 256 fours.
constexpr std::uint64_t kRoom = 256;
Numbers truncated_numbers(Philox& generator) {
  constexpr float kFarthest = 2;
  Philox own = generator;
  generator.skip(kRoom);
  Numbers numbers{};
  for (std::size_t count = 0;;) {
    for (const float number : normal_numbers(own)) {
      if (std::abs(number) >= kFarthest) continue;
      numbers[count] = number;
      if (++count == numbers.size()) return numbers;
    }
  }
}

Tensor drawn(Philox generator, const Ints& shape, Draw draw) {
  const Tensor made = at::empty(shape, at::kFloat);
  float* const out = made.data_ptr<float>();
  for (std::int64_t filled = 0; filled < made.numel();) {
    for (const float number : draw(generator)) {
      if (filled < made.numel()) out[filled++] = number;
    }
  }
  return made;
}

/// (shape, seed), or from version 2 on (shape, key, counter, algorithm).
template <Draw draw>
Kernel make_random(const KernelRequest& request) {
  const at::ScalarType wanted = type(request.instruction, "dtype", at::kFloat);
  const bool has_key = request.instruction.type.back() == '2';
  if (wanted != at::kFloat) refuse_attribute("dtype", "not f32");
  return [wanted, has_key, shape = IntsInput(request, 0)](KernelContext& context, Inputs in,
                                                          Outputs out) {
    const Ints given = ints_of(tensor_at(in, 1));
    const Philox generator =
        has_key ? from_key(given, ints_of(tensor_at(in, 2))) : from_seed(given);
    out[0].tensor = drawn(generator, shape.get(in), draw).to(context.device, wanted);
  };
}

std::int64_t joined(std::uint32_t low_bits, std::uint32_t high_bits) {
  return static_cast<std::int64_t>(low_bits | std::uint64_t{high_bits} << 32);
}

/// Integers of 32 bits each as they are drawn, or of 64.
class Integers {
 public:
  explicit Integers(const Instruction& op) {
    const auto* const stated = op.attribute<DType>("dtype");
    type_ = stated == nullptr ? DType::i64 : *stated;
    if (type_ != DType::i32 && type_ != DType::i64 && type_ != DType::u32 && type_ != DType::u64) {
      refuse_attribute("dtype", "no integer of 32 or 64 bits");
    }
    is_wide_ = type_ == DType::i64 || type_ == DType::u64;
    element_ = type(op, "dtype", at::kLong);
  }

  /// `range`: only so many numbers from `least` on, unless it is 0, which is all there are.
  [[nodiscard]] Tensor draw(Philox generator, const Ints& shape, std::int64_t least,
                            std::uint64_t range) const {
    const Tensor made = at::empty(shape, at::kLong);
    std::int64_t* const out = made.data_ptr<std::int64_t>();
    for (std::int64_t filled = 0; filled < made.numel();) {
      const Four bits = generator();
      for (std::size_t i = 0; i < bits.size() && filled < made.numel(); i += is_wide_ ? 2 : 1) {
        const auto all =
            is_wide_ ? static_cast<std::uint64_t>(joined(bits[i], bits[i + 1])) : bits[i];
        out[filled++] =
            range == 0 ? whole(all)
                       : static_cast<std::int64_t>(static_cast<std::uint64_t>(least) + all % range);
      }
    }
    return made.to(element_);
  }

 private:
  [[nodiscard]] std::int64_t whole(std::uint64_t bits) const {
    return type_ == DType::i32 ? static_cast<std::int32_t>(bits) : static_cast<std::int64_t>(bits);
  }

  DType type_;
  bool is_wide_ = false;
  at::ScalarType element_ = at::kLong;
};

/// Inputs behind the shape, as for floats; then the least number and the limit, unless all are drawn.
template <bool all>
Kernel make_random_integers(const KernelRequest& request) {
  const bool has_key = request.instruction.type.ends_with("V2");
  return [has_key, integers = Integers(request.instruction), shape = IntsInput(request, 0)](
             KernelContext& context, Inputs in, Outputs out) {
    const Ints given = ints_of(tensor_at(in, 1));
    const Philox generator =
        has_key ? from_key(given, ints_of(tensor_at(in, 2))) : from_seed(given);
    std::int64_t least = 0;
    std::uint64_t range = 0;
    if constexpr (!all) {
      const std::size_t first = has_key ? 4 : 2;
      least = tensor_at(in, first).item().to<std::int64_t>();
      const auto limit = tensor_at(in, first + 1).item().to<std::int64_t>();
      if (least >= limit) {
        throw Error(ErrorCode::invalid_argument, "its least number " + std::to_string(least) +
                                                     " is not below its limit " +
                                                     std::to_string(limit));
      }
      range = static_cast<std::uint64_t>(limit) - static_cast<std::uint64_t>(least);
    }
    out[0].tensor = integers.draw(generator, shape.get(in), least, range).to(context.device);
  };
}

/// In [0, 1), of 52 bits.
double uniform(std::uint32_t high_bits, std::uint32_t low_bits) {
  return std::ldexp(static_cast<double>(high_bits & 0xFFFFF) * 4294967296.0 + low_bits, -52);
}

/// (logits [batch, classes], samples, seed): classes drawn by their chances, row after row. TensorFlow begins anew where
/// another of its threads does, which it asks for in large batches only.
Kernel make_multinomial(const KernelRequest& request) {
  const at::ScalarType wanted = type(request.instruction, "output_dtype", at::kLong);
  return [wanted, samples = IntsInput(request, 1)](KernelContext& context, Inputs in, Outputs out) {
    const Tensor logits = tensor_at(in, 0).to(at::kCPU, at::kDouble).contiguous();
    const std::int64_t count = samples.one(in);
    if (logits.dim() != 2 || logits.size(1) < 1 || count < 0) {
      throw Error(ErrorCode::invalid_argument,
                  "samples are drawn from rows of classes, at least one");
    }
    Philox generator = from_seed(ints_of(tensor_at(in, 2)));
    Four bits{};
    std::size_t used = bits.size();
    const Tensor made = at::empty({logits.size(0), count}, at::kLong);
    for (std::int64_t row = 0; row < logits.size(0); ++row) {
      const Tensor own = logits.select(0, row);
      const Tensor finite = at::isfinite(own);
      const Tensor most =
          at::where(finite, own,
                    at::full({}, -std::numeric_limits<double>::infinity(), own.options()))
              .max();
      const Tensor chance = at::where(finite, at::exp(own - most), at::zeros({}, own.options()));
      const Tensor sums = at::cumsum(chance, 0);
      const double* const begin = sums.data_ptr<double>();
      const double* const end = begin + sums.numel();
      for (std::int64_t i = 0; i < count; ++i) {
        if (used == bits.size()) {
          bits = generator();
          used = 0;
        }
        const double wanted_sum = uniform(bits[used], bits[used + 1]) * *(end - 1);
        used += 2;
        made.data_ptr<std::int64_t>()[row * count + i] =
            std::upper_bound(begin, end, wanted_sum) - begin;
      }
    }
    out[0].tensor = made.to(context.device, wanted);
  };
}

/// (seed): a key and a counter.
Kernel make_key(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    const Philox made = from_seed(ints_of(tensor_at(in, 0)));
    out[0].tensor = at::full({1}, joined(made.key[0], made.key[1]), at::kLong);
    if (out.size() < 2) return;
    const std::int64_t counter[] = {joined(made.counter[0], made.counter[1]),
                                    joined(made.counter[2], made.counter[3])};
    out[1].tensor = at::tensor(at::IntArrayRef(counter), at::kLong);
  };
}

/// Philox is TensorFlow's number 1.
Kernel make_algorithm(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs, Outputs out) { out[0].tensor = at::full({}, 1, at::kInt); };
}

constexpr KernelRow kRows[] = {
    {"StatelessMultinomial", make_multinomial},
    {"StatelessRandomGetAlg", make_algorithm},
    {"StatelessRandomGetKeyCounter", make_key},
    {"StatelessRandomNormal", make_random<normal_numbers>},
    {"StatelessRandomNormalV2", make_random<normal_numbers>},
    {"StatelessRandomUniform", make_random<uniform_numbers>},
    {"StatelessRandomUniformFullInt", make_random_integers<true>},
    {"StatelessRandomUniformFullIntV2", make_random_integers<true>},
    {"StatelessRandomUniformInt", make_random_integers<false>},
    {"StatelessRandomUniformIntV2", make_random_integers<false>},
    {"StatelessRandomUniformV2", make_random<uniform_numbers>},
    {"StatelessTruncatedNormal", make_random<truncated_numbers>},
    {"StatelessTruncatedNormalV2", make_random<truncated_numbers>},
};

}  // namespace

std::span<const KernelRow> stateless_random_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
