// Functions that layers apply, and where their parameters come from.
#include <doctest/doctest.h>

#include "backends/onnx/two_ways.h"

namespace berth::test {
namespace {

TEST_CASE("a layer's functions take as many parameters from its lists as they have") {
  // A state that counts nothing: what is left are the functions of x.
  const std::string weights =
      "w = Constant<value = float[2,1,1] {1., 1.}>() r = Constant<value = float[2,1,1] {0., "
      "0.}>() ";
  const std::string layer =
      "y = RNN<hidden_size = 1, direction = \"bidirectional\", activations = ";
  const std::string both =
      " axis = Constant<value = int64[1] {1}>() a = Unsqueeze(f, axis) "
      "b = Unsqueeze(g, axis) z = Concat<axis = 1>(a, b)";
  CHECK(difference_of(weights + layer +
                          "[\"Tanh\", \"HardSigmoid\"], activation_alpha = [0.3], "
                          "activation_beta = [0.4]>(x, w, r) f = Tanh(x) "
                          "g = HardSigmoid<alpha = 0.3, beta = 0.4>(x)" +
                          both,
                      {3, 2, 1}) == "");
  CHECK(difference_of(weights + layer +
                          "[\"LeakyRelu\", \"HardSigmoid\"], activation_alpha = [0.2, 0.3], "
                          "activation_beta = [0.4]>(x, w, r) f = LeakyRelu<alpha = 0.2>(x) "
                          "g = HardSigmoid<alpha = 0.3, beta = 0.4>(x)" +
                          both,
                      {3, 2, 1}) == "");
}

TEST_CASE("parameters of gated layers do not move where a function before them has none") {
  // Tanh is ScaledTanh with parameters of 1.
  const auto layers = [](const std::string& type, const std::string& gates, const std::string& tanh,
                         const std::string& scaled) {
    const std::string begin = " = " + type + "<hidden_size = 1, activations = [";
    const std::string weights = "w = Constant<value = float[1," + gates + ",1] {0.5, -0.3, 0.7" +
                                (gates == "4" ? ", 0.9" : "") + "}>() ";
    return weights + "y" + begin + tanh + ">(x, w, w) z" + begin + scaled + ">(x, w, w)";
  };
  CHECK(difference_of(layers("GRU", "3",
                             "\"Tanh\", \"HardSigmoid\"], activation_alpha = [0.3], "
                             "activation_beta = [0.4]",
                             "\"ScaledTanh\", \"HardSigmoid\"], activation_alpha = [1., 0.3], "
                             "activation_beta = [1., 0.4]"),
                      {3, 2, 1}) == "");
  CHECK(difference_of(
            layers("LSTM", "4",
                   "\"Sigmoid\", \"Tanh\", \"HardSigmoid\"], activation_alpha = [0.3], "
                   "activation_beta = [0.4]",
                   "\"Sigmoid\", \"ScaledTanh\", \"HardSigmoid\"], activation_alpha = [1., 0.3], "
                   "activation_beta = [1., 0.4]"),
            {3, 2, 1}) == "");
}

}  // namespace
}  // namespace berth::test
