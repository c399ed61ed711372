#include "onnx/arguments.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "onnx/trained.h"
#include "support/text.h"
#include "support/weight_names.h"

namespace berth::onnx_frontend {
namespace {

using frontend::InputName;

/// Fewer inputs with made-up names that are read as weights may be the operands of a product.
constexpr std::ptrdiff_t kFewWeights = 3;

/// Which inputs of an op are weights wherever models have any.
bool reads_as_weight(std::string_view type, std::size_t input) {
  struct Reader {
    std::string_view type;
    std::size_t first, last;
  };
  static constexpr Reader kReaders[] = {
      {"BatchNormalization", 1, 4},
      {"Conv", 1, 2},
      {"ConvTranspose", 1, 2},
      {"FusedMatMul", 1, 1},
      {"GRU", 1, 3},
      {"Gather", 0, 0},
      {"Gemm", 1, 2},
      {"GroupNormalization", 1, 2},
      {"InstanceNormalization", 1, 2},
      {"LSTM", 1, 3},
      {"LayerNormalization", 1, 2},
      {"MatMul", 1, 1},
      {"MatMulNBits", 1, 4},
      {"PRelu", 1, 1},
      {"RMSNormalization", 1, 1},
      {"RNN", 1, 3},
      {"SimplifiedLayerNormalization", 1, 1},
      {"SkipLayerNormalization", 2, 4},
  };
  return std::any_of(std::begin(kReaders), std::end(kReaders), [&](const Reader& reader) {
    return reader.type == type && reader.first <= input && input <= reader.last;
  });
}

/// Hands a weight on before it is read as one.
bool prepares(std::string_view type) {
  return type == "Transpose" || type == "Identity" || type == "Cast" ||
         type == "DequantizeLinear" || type == "Reshape";
}

/// Values that ops of the main body read as weights, prepared or not.
std::unordered_set<ValueId> read_as_weights(const Program& program) {
  std::unordered_set<ValueId> read;
  // Consumers before producers, so that what prepares a weight is seen behind its reader.
  const auto& order = program.main.order;
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const Node& node = program.main.nodes[static_cast<std::size_t>(*at)];
    const bool hands_on =
        prepares(node.type()) && !node.outputs.empty() && read.contains(node.outputs.front());
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (reads_as_weight(node.type(), i) || (hands_on && i == 0)) read.insert(node.inputs[i]);
    }
  }
  return read;
}

bool may_be_weight(const Type& type) {
  using namespace ops::onnx;
  if (type.other || !type.ranked || product(type.dims) < 1) return false;
  return type.type != kInt64 && type.type != kInt32 && type.type != kBool && type.type != kString;
}

/// Inputs beside which there is a buffer for their gradients, as ONNX Runtime's training artefacts name it.
std::unordered_set<std::string_view> with_gradients(const Program& program) {
  constexpr std::string_view kBuffer = "_grad.accumulation.buffer";
  std::unordered_set<std::string_view> names;
  for (const ValueId id : program.main.inputs) {
    std::string_view name = program.value(id).name;
    if (!name.ends_with(kBuffer)) continue;
    name.remove_suffix(kBuffer.size());
    names.insert(name);
  }
  return names;
}

/// Inputs that are the step's states: those that the user names, and if `guess`, those that names of results do.
std::unordered_set<ValueId> states_of(const Program& program, const LoadOptions& options,
                                      bool guess) {
  const auto& said = options.states;
  std::unordered_set<ValueId> states;
  if (guess && std::find(said.begin(), said.end(), "none") == said.end()) {
    states = inputs_with_next_values(program);
  }
  for (const ValueId id : program.main.inputs) {
    const std::string end = "=" + frontend::readable(program.value(id).name);
    if (std::any_of(said.begin(), said.end(),
                    [&](const std::string& text) { return text.ends_with(end); })) {
      states.insert(id);
    }
  }
  return states;
}

/// The values that became parameters, in the file's order.
std::vector<ValueId> take_arguments(const Model& model, const LoadOptions& options,
                                    Program& program, std::vector<std::string>& notes) {
  const auto choice = options.arguments.value_or(LoadOptions::Arguments::guess);
  if (choice == LoadOptions::Arguments::inputs) return {};
  const bool guess = choice == LoadOptions::Arguments::guess;
  const auto states = states_of(program, options, guess);
  const auto as_weights = read_as_weights(program);
  const auto trained = with_gradients(program);
  std::vector<std::string> taken;
  auto& inputs = program.main.inputs;
  const bool any_open = std::any_of(inputs.begin(), inputs.end(), [&](ValueId id) {
    return model.open_inputs.contains(std::string(program.value(id).name));
  });
  const auto numbered = std::count_if(inputs.begin(), inputs.end(), [&](ValueId id) {
    const Value& value = program.value(id);
    return as_weights.contains(id) && may_be_weight(value.type) &&
           frontend::input_name(value.name) == InputName::numbered;
  });
  const auto is_parameter = [&](ValueId id) {
    const Value& value = program.value(id);
    if (model.open_inputs.contains(std::string(value.name)) || states.contains(id)) return false;
    if (!guess) return any_open || as_weights.contains(id);  // a step has something to work on
    if (!may_be_weight(value.type)) return false;
    if (trained.contains(value.name)) return true;
    const InputName name = frontend::input_name(value.name);
    if (name == InputName::weight) return true;
    return (name == InputName::likely ||
            (name == InputName::numbered && numbered >= kFewWeights)) &&
           as_weights.contains(id);
  };
  const auto first = std::stable_partition(inputs.begin(), inputs.end(),
                                           [&](ValueId id) { return !is_parameter(id); });
  for (auto at = first; at != inputs.end(); ++at) {
    taken.push_back(frontend::readable(program.value(*at).name));
  }
  std::vector<ValueId> parameters(first, inputs.end());
  inputs.erase(first, inputs.end());
  if (!guess && taken.empty()) notes.push_back(frontend::no_parameters_note());
  if (guess && !taken.empty()) notes.push_back(frontend::guessed_parameters_note(taken));
  return parameters;
}

}  // namespace

void take_parameters(const Model& model, const LoadOptions& options, Program& program,
                     std::vector<std::string>& notes) {
  mark_trained(program, take_arguments(model, options, program, notes));
}

}  // namespace berth::onnx_frontend
