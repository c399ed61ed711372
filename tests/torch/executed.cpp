// What the kernels compute: outputs of models on one device of the processor, a line each, "name<TAB>number ..", in the
// form of results.lua. Weights and inputs are drawn from a seed.
//
//   executed_outputs MODEL[@DIM=N,..] ..
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include "berth/backend.h"
#include "berth/engine.h"

namespace {

using namespace berth;

constexpr std::size_t kNumbers = 400;  // of an output, evenly spaced

LoadOptions options_of(std::string_view dims) {
  LoadOptions options;
  while (!dims.empty()) {
    const std::string_view one = dims.substr(0, dims.find(','));
    dims.remove_prefix(std::min(dims.size(), one.size() + 1));
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos)
      throw std::invalid_argument("not DIM=N: " + std::string(one));
    const std::string_view number = one.substr(equals + 1);
    std::from_chars(number.data(), number.data() + number.size(),
                    options.dims[std::string(one.substr(0, equals))]);
  }
  return options;
}

void print(const std::string& name, const TensorContent& content) {
  if (content.dtype != DType::f32) return;
  const std::size_t count = content.bytes.size() / sizeof(float);
  const std::size_t step = count / kNumbers + 1;
  std::printf("%s\t", name.c_str());
  for (std::size_t i = 0; i < count; i += step) {
    float number = 0;
    std::memcpy(&number, content.bytes.data() + i * sizeof number, sizeof number);
    std::printf("%.9g ", static_cast<double>(number));
  }
  std::printf("\n");
}

void execute(Engine& engine, Backend& backend, const std::string& argument) {
  const std::string path = argument.substr(0, argument.find('@'));
  const auto dims =
      path.size() == argument.size() ? std::string() : argument.substr(path.size() + 1);
  const auto program = engine.load_program(path, options_of(dims)).program;
  const auto session = backend.open(program, {});
  StepOptions options;
  options.outputs = true;
  const auto result =
      session->run(Placement(static_cast<std::size_t>(program->graph->op_count()), 0), options);
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    print(path + ", " + program->output_names[i], result.outputs[i]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Engine engine;
    const auto backend = engine.make_backend("cpu", {{"threads", std::int64_t{1}}});
    for (int i = 1; i < argc; ++i) execute(engine, *backend, argv[i]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
