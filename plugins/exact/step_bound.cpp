#include "exact/step_bound.h"

#include <algorithm>
#include <limits>

#include "berth/support/index.h"

namespace berth::policies::exact {
namespace {

constexpr double kNothing = std::numeric_limits<double>::infinity();
/// Narrowing by paths is repeated while it helps, this often at most.
constexpr int kRounds = 4;

/// The smallest `count` of them, in order.
void keep_least(std::vector<double>& values, std::size_t count) {
  count = std::min(count, values.size());
  std::partial_sort(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count),
                    values.end());
  values.resize(count);
}

}  // namespace

StepBound::StepBound(const ExactModel& model)
    : Bound(model.path_order()),
      model_(model),
      head_us_(at(model.problem().graph().op_count()) * at(model.devices()), 0),
      tail_us_(head_us_.size(), 0),
      jobs_(at(model.devices())),
      engines_(model.problem()),
      sends_(engines_.count()) {
  for (DeviceId device = 1; device < model.devices(); ++device) {
    equal_speeds_ = equal_speeds_ && model.speed(device) == model.speed(0);
  }
}

double StepBound::tighten(Domains& domains, double limit_us) {
  double bound_us = 0;
  bool changed = true;
  for (int round = 0; changed && round < kRounds; ++round) {
    changed = false;
    if (!model_.keep_to_memory(domains)) return kNothing;
    compute_heads(domains);
    compute_tails(domains);
    bound_us = narrow_by_paths(domains, limit_us, changed);
    if (bound_us >= limit_us) return kNothing;
    collect_jobs(domains);
    bound_us = std::max(bound_us, devices_us());
    if (bound_us >= limit_us) return kNothing;
    if (narrow_by_devices(domains, limit_us)) changed = true;
    for (const DeviceSet set : domains) {
      if (set == 0) return kNothing;
    }
  }
  bound_us = std::max(bound_us, work_us(domains));
  if (bound_us >= limit_us) return kNothing;
  bound_us = std::max(bound_us, senders_us(domains));
  return bound_us >= limit_us ? kNothing : bound_us;
}

void StepBound::compute_heads(const Domains& domains) {
  for (const OpId op : model_.problem().graph().topological_order()) {
    const GroupId group = group_of(op);
    for_each_device(domains[at(group)], [&](DeviceId device) {
      double head_us = 0;
      for (const ExactModel::Arc& arc : model_.in(op)) {
        double ready_us = kNothing;
        for_each_device(set_of(domains, group, group_of(arc.src), device), [&](DeviceId src) {
          const double gap_us =
              src == device ? model_.pause_us(arc.src, src) : model_.arc_us(arc, src, device);
          ready_us = std::min(ready_us,
                              head_us_[cell(arc.src, src)] + model_.op_us(arc.src, src) + gap_us);
        });
        head_us = std::max(head_us, ready_us);
      }
      head_us_[cell(op, device)] = head_us;
    });
  }
}

void StepBound::compute_tails(const Domains& domains) {
  const auto order = model_.problem().graph().topological_order();
  for (auto op = order.rbegin(); op != order.rend(); ++op) {
    const GroupId group = group_of(*op);
    for_each_device(domains[at(group)], [&](DeviceId device) {
      double rest_us = model_.pause_us(*op, device);
      for (const ExactModel::Arc& arc : model_.out(*op)) {
        double least_us = kNothing;
        for_each_device(set_of(domains, group, group_of(arc.dst), device), [&](DeviceId dst) {
          const double gap_us =
              dst == device ? model_.pause_us(*op, device) : model_.arc_us(arc, device, dst);
          least_us = std::min(least_us, gap_us + tail_us_[cell(arc.dst, dst)]);
        });
        rest_us = std::max(rest_us, least_us);
      }
      tail_us_[cell(*op, device)] = model_.op_us(*op, device) + rest_us;
    });
  }
}

double StepBound::narrow_by_paths(Domains& domains, double limit_us, bool& changed) const {
  double longest_us = 0;
  for (GroupId group = 0; group < model_.groups(); ++group) {
    double least_us = kNothing;
    DeviceSet kept = domains[at(group)];
    for_each_device(domains[at(group)], [&](DeviceId device) {
      double path_us = 0;
      for (const OpId op : model_.problem().groups().members(group)) {
        path_us = std::max(path_us, head_us_[cell(op, device)] + tail_us_[cell(op, device)]);
      }
      if (path_us >= limit_us) kept &= ~only(device);
      least_us = std::min(least_us, path_us);
    });
    changed = changed || kept != domains[at(group)];
    domains[at(group)] = kept;
    longest_us = std::max(longest_us, least_us);
  }
  return longest_us;
}

void StepBound::collect_jobs(const Domains& domains) {
  for (auto& jobs : jobs_) jobs.clear();
  for (OpId op = 0; op < model_.problem().graph().op_count(); ++op) {
    const DeviceSet set = domains[at(group_of(op))];
    if (!is_fixed(set)) continue;
    const DeviceId device = first_device(set);
    const double us = occupied_us(op, device);
    jobs_[at(device)].push_back(
        {head_us_[cell(op, device)], us, std::max(0.0, tail_us_[cell(op, device)] - us)});
  }
}

double StepBound::devices_us() {
  double longest_us = 0;
  for (auto& jobs : jobs_) longest_us = std::max(longest_us, one_machine_us(jobs));
  return longest_us;
}

bool StepBound::narrow_by_devices(Domains& domains, double limit_us) const {
  struct Machine {
    double head_us = kNothing;
    double us = 0;
    double tail_us = kNothing;
    void add(const MachineJob& job) {
      head_us = std::min(head_us, job.head_us);
      us += job.us;
      tail_us = std::min(tail_us, job.tail_us);
    }
  };
  std::vector<Machine> machines(jobs_.size());
  for (std::size_t device = 0; device < jobs_.size(); ++device) {
    for (const MachineJob& job : jobs_[device]) machines[device].add(job);
  }
  bool changed = false;
  for (GroupId group = 0; group < model_.groups(); ++group) {
    if (is_fixed(domains[at(group)])) continue;
    DeviceSet kept = domains[at(group)];
    for_each_device(domains[at(group)], [&](DeviceId device) {
      Machine machine = machines[at(device)];
      for (const OpId op : model_.problem().groups().members(group)) {
        const double us = occupied_us(op, device);
        machine.add(
            {head_us_[cell(op, device)], us, std::max(0.0, tail_us_[cell(op, device)] - us)});
      }
      if (machine.head_us + machine.us + machine.tail_us >= limit_us) kept &= ~only(device);
    });
    changed = changed || kept != domains[at(group)];
    domains[at(group)] = kept;
  }
  return changed;
}

double StepBound::senders_us(const Domains& domains) {
  for (auto& sends : sends_) sends.clear();
  for (const ExactModel::Tensor& tensor : model_.tensors()) {
    const DeviceSet home = domains[at(tensor.group)];
    if (is_fixed(home)) add_sends(tensor, first_device(home), domains);
  }
  double longest_us = 0;
  for (auto& sends : sends_) longest_us = std::max(longest_us, one_machine_us(sends));
  return longest_us;
}

void StepBound::add_sends(const ExactModel::Tensor& tensor, DeviceId src, const Domains& domains) {
  // Receivers that are certain, and readers that must be elsewhere, wherever that is.
  DeviceSet receivers = 0;
  DeviceSet elsewhere = 0;
  for (const GroupId reader : tensor.readers) {
    const DeviceSet set = domains[at(reader)];
    if (has(set, src)) continue;
    elsewhere |= set;
    if (is_fixed(set)) receivers |= set;
  }
  if (elsewhere == 0) return;
  const double head_us = head_us_[cell(tensor.producer, src)] + model_.op_us(tensor.producer, src);
  const auto least_us = [&](DeviceSet set) {
    double us = kNothing;
    for_each_device(set, [&](DeviceId device) {
      us = std::min(us, model_.transfer_us(tensor.bytes, src, device));
    });
    return us;
  };
  if (!model_.placeto()) {
    // Nothing is sent in turn over a parallel link, and over another than that of its receiver.
    DeviceSet parallel = 0;
    for_each_device(elsewhere, [&](DeviceId device) {
      if (model_.problem().cluster().route(src, device).parallel) parallel |= only(device);
    });
    receivers &= ~parallel;
    if (receivers == 0 && (parallel != 0 || engines_.one_per_link(src))) return;
  }
  if (model_.placeto() || receivers == 0) {
    // One transfer at least, whichever of the readers it is for.
    const double gap_us = model_.placeto() ? model_.problem().options().transfer_gap_us : 0;
    const double us = least_us(elsewhere);
    const double tail_us = latest_tail_us(tensor, only(src), domains);
    sends_[at(src)].push_back(
        {head_us, us + gap_us, model_.placeto() ? std::max(0.0, tail_us - gap_us) : 0});
    return;
  }
  for_each_device(receivers, [&](DeviceId receiver) {
    const double us = model_.transfer_us(tensor.bytes, src, receiver);
    double tail_us = 0;
    for (const OpId consumer : tensor.consumers) {
      if (domains[at(group_of(consumer))] != only(receiver)) continue;
      tail_us = std::max(tail_us, tail_us_[cell(consumer, receiver)]);
    }
    sends_[engines_.outgoing(src, receiver)].push_back({head_us, us, tail_us});
  });
}

double StepBound::latest_tail_us(const ExactModel::Tensor& tensor, DeviceSet away,
                                 const Domains& domains) const {
  double latest_us = 0;
  for (const OpId consumer : tensor.consumers) {
    const DeviceSet set = domains[at(group_of(consumer))];
    if ((set & away) != 0) continue;
    double least_us = kNothing;
    for_each_device(set, [&](DeviceId device) {
      least_us = std::min(least_us, tail_us_[cell(consumer, device)]);
    });
    latest_us = std::max(latest_us, least_us);
  }
  return latest_us;
}

double StepBound::work_us(const Domains& domains) {
  first_us_.clear();
  last_us_.clear();
  double work = 0;
  double weights = 0;
  for (DeviceId device = 0; device < model_.devices(); ++device) weights += model_.speed(device);
  if (weights <= 0) return 0;  // where every op takes no time on some kind
  for (OpId op = 0; op < model_.problem().graph().op_count(); ++op) {
    double least_work = kNothing;
    double first_us = kNothing;
    double last_us = kNothing;
    for_each_device(domains[at(group_of(op))], [&](DeviceId device) {
      const double us = occupied_us(op, device);
      least_work = std::min(least_work, model_.speed(device) * us);
      first_us = std::min(first_us, head_us_[cell(op, device)]);
      last_us = std::min(last_us, std::max(0.0, tail_us_[cell(op, device)] - us));
    });
    work += least_work;
    first_us_.push_back(first_us);
    last_us_.push_back(last_us);
  }
  if (!equal_speeds_) return work / weights;
  // Each device in use has a first and a last op of its own, however many there are.
  keep_least(first_us_, at(model_.devices()));
  keep_least(last_us_, at(model_.devices()));
  double busy_us = work / model_.speed(0);
  double least_us = kNothing;
  for (std::size_t used = 0; used < first_us_.size(); ++used) {
    busy_us += first_us_[used] + last_us_[used];
    least_us = std::min(least_us, busy_us / static_cast<double>(used + 1));
  }
  return least_us;
}

}  // namespace berth::policies::exact
