#include "group_features.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "berth/error.h"
#include "berth/sdk/observation.h"
#include "berth/support/index.h"

namespace berth::learning {
Vocabulary::Vocabulary(std::span<const Problem* const> problems, std::size_t most) {
  std::map<std::string, std::int64_t> counts;
  for (const Problem* problem : problems) {
    const Graph& graph = problem->graph();
    for (OpId op = 0; op < graph.op_count(); ++op) ++counts[graph.op_type(op)];
  }
  std::vector<std::pair<std::int64_t, std::string>> order;
  for (const auto& [type, count] : counts) order.emplace_back(-count, type);
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i) types_.push_back(order[i].second);
  index();
}

Vocabulary::Vocabulary(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) types_.push_back(line);
  index();
}

void Vocabulary::index() {
  for (std::size_t i = 0; i < types_.size(); ++i) {
    index_.emplace(types_[i], static_cast<std::int64_t>(i) + 1);
  }
}

std::int64_t Vocabulary::of(const std::string& type) const {
  const auto found = index_.find(type);
  return found == index_.end() ? 0 : found->second;
}

std::string Vocabulary::text() const {
  std::string text;
  for (const std::string& type : types_) text += type + '\n';
  return text;
}

Units::Units(const Problem& problem, const Vocabulary& vocabulary)
    : graph_(problem.shared_graph()) {
  const Groups& groups = problem.groups();
  const auto count = at(groups.count());
  types_ = torch::zeros({groups.count(), vocabulary.size()});
  float* const types = types_.data_ptr<float>();
  outputs_.resize(count);
  for (GroupId unit = 0; unit < groups.count(); ++unit) {
    const auto members = groups.members(unit);
    ops_.push_back(static_cast<float>(members.size()));
    DeviceId home = kNoDevice;
    for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
      if (problem.can_run(unit, device) &&
          (home == kNoDevice ||
           problem.group_cost_us(unit, device) < problem.group_cost_us(unit, home))) {
        home = device;
      }
    }
    if (home == kNoDevice) {
      throw Error(ErrorCode::unsupported, "no device can run all of the group of op '" +
                                              problem.graph().op_name(members.front()) +
                                              "'; use finer groups");
    }
    home_.push_back(home);
    std::vector<Output>& outputs = outputs_[at(unit)];
    for (const OpId op : members) {
      types[unit * vocabulary.size() + vocabulary.of(problem.graph().op_type(op))] +=
          1 / static_cast<float>(members.size());
      for (const Edge& edge : problem.graph().out_edges(op)) {
        if (edge.tensor == kNoTensor || groups.of(edge.dst) == unit) continue;
        outputs.push_back({problem.graph().bytes(edge.tensor), edge.tensor});
      }
    }
    std::sort(outputs.begin(), outputs.end(), [](const Output& a, const Output& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.tensor < b.tensor;
    });
    const auto same = [](const Output& a, const Output& b) { return a.tensor == b.tensor; };
    outputs.erase(std::unique(outputs.begin(), outputs.end(), same), outputs.end());
    outputs.resize(std::min<std::size_t>(outputs.size(), kShapeTensors), Output{});
  }
}

void Units::write_shapes(std::vector<Output>& outputs, float* row) const {
  std::stable_sort(outputs.begin(), outputs.end(),
                   [](const Output& a, const Output& b) { return a.bytes > b.bytes; });
  for (std::size_t i = 0; i < std::min<std::size_t>(outputs.size(), kShapeTensors); ++i) {
    const auto shape = graph_->shape(outputs[i].tensor);
    for (std::size_t d = 0; d < std::min<std::size_t>(shape.size(), kShapeDims); ++d) {
      const double extent = static_cast<double>(std::max<std::int64_t>(shape[d], 0));
      row[i * kShapeDims + d] = static_cast<float>(std::log1p(extent) / 10);
    }
  }
}

torch::Tensor Units::shapes() const {
  torch::Tensor shapes = torch::zeros({count(), kShapeFeatures});
  for (std::size_t unit = 0; unit < outputs_.size(); ++unit) {
    std::vector<Output> outputs = outputs_[unit];
    write_shapes(outputs, shapes.data_ptr<float>() + unit * kShapeFeatures);
  }
  return shapes;
}

Sequence Units::sequence(const Problem& problem, std::span<const std::int32_t> label,
                         std::int64_t capacity) const {
  Sequence result;
  std::vector<std::int64_t> row_of(static_cast<std::size_t>(capacity), -1);
  for (const std::int32_t each : label) row_of[at(each)] = 0;
  for (std::size_t each = 0; each < row_of.size(); ++each) {
    if (row_of[each] < 0) continue;
    row_of[each] = result.length();
    result.labels.push_back(static_cast<std::int32_t>(each));
  }
  const std::int64_t length = result.length(), width = types_.size(1);
  const std::int64_t devices = problem.cluster().device_count();
  result.types = torch::zeros({length, width});
  result.shapes = torch::zeros({length, kShapeFeatures});
  result.inputs = torch::zeros({length, capacity});
  result.outputs = torch::zeros({length, capacity});
  result.barred = torch::zeros({length, devices}, torch::kBool);
  const auto width_of_devices = static_cast<std::size_t>(devices);
  std::vector<float> unable(static_cast<std::size_t>(length) * width_of_devices, 0);  // ops
  const float* const unit_types = types_.data_ptr<float>();
  float* const types = result.types.data_ptr<float>();
  bool* const barred = result.barred.data_ptr<bool>();
  std::vector<std::vector<Output>> outputs(static_cast<std::size_t>(length));
  std::vector<float> ops(static_cast<std::size_t>(length), 0);
  for (GroupId unit = 0; unit < problem.groups().count(); ++unit) {
    const std::int64_t row = row_of[at(label[at(unit)])];
    const auto r = static_cast<std::size_t>(row);
    ops[r] += ops_[at(unit)];
    for (std::int64_t t = 0; t < width; ++t) {
      types[row * width + t] += ops_[at(unit)] * unit_types[unit * width + t];
    }
    outputs[r].insert(outputs[r].end(), outputs_[at(unit)].begin(), outputs_[at(unit)].end());
    for (DeviceId device = 0; device < devices; ++device) {
      if (!problem.can_run(unit, device))
        unable[r * width_of_devices + at(device)] += ops_[at(unit)];
    }
    for (const Groups::Edge& edge : forward_out_edges(problem.groups(), unit)) {
      const std::int32_t other = label[at(edge.dst)];
      if (row_of[at(other)] == row) continue;
      result.outputs.data_ptr<float>()[row * capacity + other] = 1;
      result.inputs.data_ptr<float>()[row_of[at(other)] * capacity + label[at(unit)]] = 1;
    }
  }
  for (std::int64_t row = 0; row < length; ++row) {
    const auto r = static_cast<std::size_t>(row);
    for (std::int64_t t = 0; t < width; ++t) types[row * width + t] /= ops[r];
    write_shapes(outputs[r], result.shapes.data_ptr<float>() + row * kShapeFeatures);
    // Ops that cannot run where the most of their row can go home (expand): a few ops for the host
    // alone, in a grouper's group, do not bar all others from the other devices.
    for (std::size_t device = 0; device < width_of_devices; ++device) {
      barred[r * width_of_devices + device] = 2 * unable[r * width_of_devices + device] > ops[r];
    }
    bool* const first = barred + row * devices;
    if (std::all_of(first, first + devices, [](bool each) { return each; })) {
      std::fill_n(first, devices, false);
    }
  }
  return result;
}

GroupPlacement Units::expand(const Problem& problem, const Sequence& sequence,
                             std::span<const std::int32_t> label,
                             std::span<const std::int64_t> devices) const {
  std::vector<DeviceId> of_label(at(sequence.labels.back()) + 1, kNoDevice);
  for (std::size_t i = 0; i < sequence.labels.size(); ++i) {
    of_label[at(sequence.labels[i])] = static_cast<DeviceId>(devices[i]);
  }
  GroupPlacement result;
  result.reserve(label.size());
  for (std::size_t unit = 0; unit < label.size(); ++unit) {
    const DeviceId device = of_label[at(label[unit])];
    const bool able = problem.can_run(static_cast<GroupId>(unit), device);
    result.push_back(able ? device : home_[unit]);
  }
  return result;
}

}  // namespace berth::learning
