#include "replicas/body_updates.h"

#include <algorithm>

#include "berth/support/index.h"
#include "berth/support/text.h"
#include "ops/updates.h"

namespace berth {
namespace {

TensorId scaled_input(const Graph& graph, OpId op, const std::vector<bool>& scaled) {
  for (const TensorId input : graph.inputs(op)) {
    if (input != kNoTensor && scaled[at(input)]) return input;
  }
  return kNoTensor;
}

std::string named(const Graph& graph, OpId op) {
  return cat("'", graph.op_name(op), "' (", graph.op_type(op), ")");
}

}  // namespace

bool updates_in_body(const Graph& graph, OpId op, const std::vector<bool>& scaled) {
  const auto outputs = graph.outputs(op);
  return ops::changes_variable_within(graph, op) && scaled_input(graph, op, scaled) == kNoTensor &&
         std::none_of(outputs.begin(), outputs.end(), [&](TensorId t) { return scaled[at(t)]; });
}

std::string updates_with_samples(const Graph& graph, const std::vector<bool>& scaled) {
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (!ops::changes_variable_within(graph, op)) continue;
    const TensorId input = scaled_input(graph, op, scaled);
    if (input == kNoTensor) continue;
    const OpId producer = graph.producer(input);
    return cat("its updates are in ", named(graph, op), ", which reads samples",
               producer == kNoOp ? "" : cat(" of '", graph.op_name(producer), "'"),
               ", so that nothing can be reduced before them; compute gradients outside of it and "
               "give it those of whole variables alone, or write the step without it");
  }
  return "";
}

std::string own_to_body_update(const BodyFacts& facts) {
  const Graph& graph = facts.graph;
  std::vector<bool> own(facts.scaled.size(), false);
  const auto reads_own = [&](OpId op, TensorId tensor) {
    return tensor != kNoTensor && (facts.scaled[at(tensor)] || own[at(tensor)]) &&
           !(facts.reads_reduced[at(op)] && facts.reduced.contains(tensor));
  };
  for (const OpId op : graph.topological_order()) {
    if (!facts.of_samples[at(op)] || facts.whole[at(op)]) continue;
    const auto inputs = graph.inputs(op);
    const auto input = std::find_if(inputs.begin(), inputs.end(),
                                    [&](TensorId tensor) { return reads_own(op, tensor); });
    if (input == inputs.end()) continue;
    if (facts.updates[at(op)] && ops::changes_variable_within(graph, op)) {
      return cat(named(graph, op), " changes variables, and reads ",
                 named(graph, graph.producer(*input)),
                 ", which each replica makes of its own samples: their variables would differ; "
                 "make that of the gradients, which are reduced first");
    }
    for (const TensorId output : graph.outputs(op)) own[at(output)] = true;
  }
  return "";
}

}  // namespace berth
