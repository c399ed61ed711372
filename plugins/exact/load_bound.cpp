#include "exact/load_bound.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "berth/support/index.h"

namespace berth::policies::exact {
namespace {

constexpr double kNothing = std::numeric_limits<double>::infinity();

/// Groups by their time on the fastest device, the longest first.
std::vector<GroupId> heaviest_first(const ExactModel& model) {
  std::vector<double> least(model.all().size(), kNothing);
  for (GroupId group = 0; group < model.groups(); ++group) {
    for_each_device(model.all()[at(group)], [&](DeviceId device) {
      least[at(group)] = std::min(least[at(group)], model.group_us(group, device));
    });
  }
  std::vector<GroupId> order(least.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](GroupId a, GroupId b) { return least[at(a)] > least[at(b)]; });
  return order;
}

}  // namespace

LoadBound::LoadBound(const ExactModel& model)
    : Bound(heaviest_first(model)),
      model_(model),
      received_(model.tensors().size()),
      open_readers_(model.tensors().size()),
      sent_us_(model.tensors().size()),
      lightest_(at(model.devices())) {}

double LoadBound::tighten(Domains& domains, double limit_us) {
  do {
    if (!model_.keep_to_memory(domains)) return kNothing;
    load_fixed(domains);
    for (DeviceId device = 0; device < model_.devices(); ++device) {
      if (load_us_[at(device)] >= limit_us) return kNothing;
    }
  } while (narrow(domains, limit_us));
  for (const DeviceSet set : domains) {
    if (set == 0) return kNothing;
  }
  const double largest = *std::max_element(load_us_.begin(), load_us_.end());
  const double bound_us = std::max(largest, work_us(domains));
  if (bound_us >= limit_us || too_many(domains, limit_us)) return kNothing;
  return bound_us;
}

void LoadBound::load_fixed(const Domains& domains) {
  load_us_.assign(at(model_.devices()), 0);
  for (GroupId group = 0; group < model_.groups(); ++group) {
    if (!is_fixed(domains[at(group)])) continue;
    const DeviceId device = first_device(domains[at(group)]);
    load_us_[at(device)] += model_.group_us(group, device);
  }
  for (std::size_t i = 0; i < model_.tensors().size(); ++i) {
    load_tensor(model_.tensors()[i], i, domains);
  }
}

void LoadBound::load_tensor(const ExactModel::Tensor& tensor, std::size_t index,
                            const Domains& domains) {
  const DeviceSet home = domains[at(tensor.group)];
  DeviceSet receivers = 0;
  open_readers_[index] = 0;
  double send_us = 0;
  for (const GroupId reader : tensor.readers) {
    const DeviceSet set = domains[at(reader)];
    if (is_fixed(set)) {
      receivers |= set & ~home;
      continue;
    }
    ++open_readers_[index];
    if (!is_fixed(home) || (set & home) != 0) continue;
    // Wherever it goes, the tensor is sent to it.
    double least_us = kNothing;
    for_each_device(set, [&](DeviceId device) {
      least_us = std::min(least_us, model_.send_us(tensor.bytes, first_device(home), device));
    });
    send_us = std::max(send_us, least_us);
  }
  received_[index] = receivers;
  for_each_device(receivers, [&](DeviceId device) {
    // A fixed reader that an open producer cannot join receives all the same.
    double least_us = kNothing;
    for_each_device(home, [&](DeviceId src) {
      least_us = std::min(least_us, model_.receive_us(tensor.bytes, src, device));
    });
    if (least_us == kNothing) return;
    load_us_[at(device)] += least_us;
    if (is_fixed(home)) {
      send_us = std::max(send_us, model_.send_us(tensor.bytes, first_device(home), device));
    }
  });
  sent_us_[index] = send_us;
  if (is_fixed(home)) load_us_[at(first_device(home))] += send_us;
}

bool LoadBound::narrow(Domains& domains, double limit_us) {
  bool fixed_one = false;
  for (GroupId group = 0; group < model_.groups(); ++group) {
    const DeviceSet set = domains[at(group)];
    if (is_fixed(set)) continue;
    DeviceSet kept = set;
    for_each_device(set, [&](DeviceId device) {
      if (!fits(domains, group, device, limit_us)) kept &= ~only(device);
    });
    domains[at(group)] = kept;
    if (kept == 0) return false;
    fixed_one = fixed_one || is_fixed(kept);
  }
  return fixed_one;
}

bool LoadBound::fits(const Domains& domains, GroupId group, DeviceId device,
                     double limit_us) const {
  double load_us = load_us_[at(device)] + model_.group_us(group, device);
  for (const std::size_t i : model_.tensors_at(group)) {
    const ExactModel::Tensor& tensor = model_.tensors()[i];
    if (tensor.group == group) {
      // Its fixed readers elsewhere receive from here; they do so already where they must.
      double send_us = 0;
      for (const GroupId reader : tensor.readers) {
        const DeviceSet set = domains[at(reader)];
        if (!is_fixed(set) || first_device(set) == device) continue;
        const DeviceId receiver = first_device(set);
        send_us = std::max(send_us, model_.send_us(tensor.bytes, device, receiver));
        const double us = model_.receive_us(tensor.bytes, device, receiver);
        const bool counted = has(received_[i], receiver);
        if (!counted && load_us_[at(receiver)] + us >= limit_us) return false;
      }
      load_us += send_us;
    } else if (const DeviceSet home = domains[at(tensor.group)];
               is_fixed(home) && first_device(home) != device) {
      const DeviceId src = first_device(home);
      if (!has(received_[i], device)) load_us += model_.receive_us(tensor.bytes, src, device);
      const double more_us = model_.send_us(tensor.bytes, src, device) - sent_us_[i];
      if (more_us > 0 && load_us_[at(src)] + more_us >= limit_us) return false;
    }
  }
  return load_us < limit_us;
}

double LoadBound::work_us(const Domains& domains) const {
  double weights = 0;
  double work = 0;
  for (DeviceId device = 0; device < model_.devices(); ++device) {
    weights += model_.speed(device);
    work += model_.speed(device) * load_us_[at(device)];
  }
  for (GroupId group = 0; group < model_.groups(); ++group) {
    if (is_fixed(domains[at(group)])) continue;
    double least = kNothing;
    for_each_device(domains[at(group)], [&](DeviceId device) {
      double us = model_.group_us(group, device);
      for (const std::size_t i : model_.tensors_at(group)) {
        const ExactModel::Tensor& tensor = model_.tensors()[i];
        const DeviceSet home = domains[at(tensor.group)];
        if (tensor.group == group || !is_fixed(home) || first_device(home) == device ||
            has(received_[i], device)) {
          continue;
        }
        us += model_.receive_us(tensor.bytes, first_device(home), device) / open_readers_[i];
      }
      least = std::min(least, model_.speed(device) * us);
    });
    work += least;
  }
  return weights > 0 ? work / weights : 0;
}

bool LoadBound::too_many(const Domains& domains, double limit_us) {
  for (auto& list : lightest_) list.clear();
  std::size_t groups = 0;
  for (const GroupId group : order()) {
    if (is_fixed(domains[at(group)])) continue;
    ++groups;
    std::size_t taken = 0;
    for (DeviceId device = 0; device < model_.devices(); ++device) {
      std::vector<double>& list = lightest_[at(device)];
      if (has(domains[at(group)], device)) {
        const double us = model_.group_us(group, device);
        list.insert(std::upper_bound(list.begin(), list.end(), us), us);
      }
      double load_us = load_us_[at(device)];
      for (const double us : list) {
        load_us += us;
        if (load_us >= limit_us) break;
        ++taken;
      }
    }
    if (taken < groups) return true;
  }
  return false;
}

}  // namespace berth::policies::exact
