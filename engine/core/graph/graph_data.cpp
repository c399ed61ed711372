#include "graph/graph_data.h"

#include "berth/support/index.h"
#include "berth/support/sums.h"

namespace berth {

void Graph::Data::make_edges(const Rows<OpId>& control) {
  in_edges.clear();
  // The last op that read a tensor, and the last op an op was an input of: repeats are dropped.
  std::vector<OpId> read_by(producers.size(), kNoOp);
  std::vector<OpId> input_of(op_names.size(), kNoOp);
  for (std::size_t i = 0; i < op_names.size(); ++i) {
    const auto op = static_cast<OpId>(i);
    for (const TensorId tensor : inputs[op]) {
      // A constant that takes the sizes of the step's tensor does not wait for it.
      if (tensor == kNoTensor || is_constant(op)) continue;
      const auto t = at(tensor);
      const OpId producer = producers[t];
      if (producer == kNoOp || read_by[t] == op) continue;
      read_by[t] = op;
      input_of[at(producer)] = op;
      in_edges.push_back({producer, op, tensor});
    }
    for (const OpId src : control[op]) {
      // A data edge from the same op already implies the order.
      if (input_of[at(src)] == op) continue;
      input_of[at(src)] = op;
      in_edges.push_back({src, op, kNoTensor});
    }
    in_edges.end_row();
  }
  make_out_edges();
}

void Graph::Data::make_out_edges() {
  out_edges = Rows<Edge>::collect(op_names.size(), [&](const auto& report) {
    for (const Edge& edge : in_edges.items()) report(edge.src, edge);
  });
}

bool Graph::Data::sum_parameters() {
  const std::size_t ops = op_names.size();
  own_param_bytes = extra_param_bytes;
  total_param_bytes = 0;
  parameters.clear();
  shared_parameters.clear();
  // By tensor: the op that read it last, and how many did.
  std::vector<OpId> read_by(producers.size(), kNoOp);
  std::vector<std::int32_t> readers(producers.size(), 0);
  std::vector<bool> is_read(ops, false);  // by op, by other constants too
  for (const TensorId tensor : inputs.items()) {
    const OpId maker = tensor == kNoTensor ? kNoOp : makers[at(tensor)];
    if (maker != kNoOp) is_read[at(maker)] = true;
  }
  const auto read = [&](TensorId tensor, OpId op) {
    if (read_by[at(tensor)] == op) return;
    read_by[at(tensor)] = op;
    ++readers[at(tensor)];
    parameters.push_back(tensor);
  };
  for (std::size_t i = 0; i < ops; ++i) {
    const auto op = static_cast<OpId>(i);
    if (is_constant(op)) {
      own_param_bytes[i] = 0;
      // What nobody reads resides where the op is named.
      if (!is_read[i]) {
        for (const TensorId tensor : outputs[op]) {
          for (const TensorId kept : stands_for[tensor]) read(kept, op);
        }
      }
    } else {
      for (const TensorId tensor : inputs[op]) {
        if (tensor == kNoTensor || producers[at(tensor)] != kNoOp) continue;
        if (makers[at(tensor)] == kNoOp) {
          read(tensor, op);
        } else {
          for (const TensorId kept : stands_for[tensor]) read(kept, op);
        }
      }
    }
    parameters.end_row();
  }
  bool fits = true;
  for (const std::int64_t bytes : own_param_bytes)
    fits = fits && add_bytes(total_param_bytes, bytes);
  for (std::size_t t = 0; t < readers.size(); ++t) {
    const auto tensor = static_cast<TensorId>(t);
    if (readers[t] > 0) fits = fits && add_bytes(total_param_bytes, known_bytes(tensor));
    if (readers[t] < 2) continue;
    readers[t] = -static_cast<std::int32_t>(shared_parameters.size()) - 1;
    shared_parameters.push_back({tensor, known_bytes(tensor), {}});
  }
  param_bytes = own_param_bytes;
  for (std::size_t i = 0; i < ops; ++i) {
    const auto op = static_cast<OpId>(i);
    for (const TensorId tensor : parameters[op]) {
      fits = fits && add_bytes(param_bytes[i], known_bytes(tensor));
      if (readers[at(tensor)] > 0) {
        fits = fits && add_bytes(own_param_bytes[i], known_bytes(tensor));
      } else {
        shared_parameters[at(-readers[at(tensor)] - 1)].consumers.push_back(op);
      }
    }
  }
  return fits;
}

OpId Graph::Data::sum_outputs() {
  output_bytes.assign(op_names.size(), 0);
  std::int64_t total = 0;
  for (std::size_t t = 0; t < producers.size(); ++t) {
    const OpId producer = producers[t];
    const std::int64_t bytes = known_bytes(static_cast<TensorId>(t));
    if (producer == kNoOp) continue;
    // Nothing downstream sums more than all outputs together: one check here is enough.
    if (!add_bytes(total, bytes)) return producer;
    output_bytes[at(producer)] += bytes;
  }
  return kNoOp;
}

}  // namespace berth
