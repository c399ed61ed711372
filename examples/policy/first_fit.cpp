// A policy of one's own, as a plugin: fills devices one after another, in topological order of the
// groups, each up to a share of its memory. What "sequential" device maps of other tools do.

#include <berth/error.h>
#include <berth/plugin.h>

#include <string>
#include <vector>

namespace {

class FirstFit : public berth::Policy {
 public:
  explicit FirstFit(const berth::Options& options) : fill_(options.real("fill")) {}

  berth::PolicyAnswer place(berth::Evaluator& evaluator, const berth::PlaceContext&) override {
    const berth::Problem& problem = evaluator.problem();
    const berth::Cluster& cluster = problem.cluster();
    std::vector<double> used(cluster.device_count(), 0.0);
    berth::GroupPlacement placement;
    // Groups are numbered in topological order. A device that is full stays closed, so that the
    // parts are contiguous; only a group it cannot run at all passes it by.
    berth::DeviceId first = 0;
    for (berth::GroupId group = 0; group < problem.groups().count(); ++group) {
      const double bytes = static_cast<double>(problem.group_param_bytes(group));
      berth::DeviceId device = first;
      while (device < cluster.device_count()) {
        if (problem.can_run(group, device)) {
          const auto limit = static_cast<double>(cluster.device(device).memory_bytes) * fill_;
          if (used[device] + bytes <= limit) break;
          if (device == first) ++first;
        }
        ++device;
      }
      if (device == cluster.device_count()) {
        throw berth::Error(berth::ErrorCode::infeasible,
                           "first_fit: the parameters of group #" + std::to_string(group) +
                               " fit on no device that is left; raise 'fill' or add devices");
      }
      used[device] += bytes;
      placement.push_back(device);
    }
    return problem.groups().expand(placement);
  }

 private:
  double fill_;
};

constexpr berth::OptionSpec kOptions[] = {
    {"fill", berth::OptionType::real, "0.9", "share of a device's memory to fill",
     berth::OptionRange::above(0).up_to(1)},
};

}  // namespace

BERTH_PLUGIN(FirstFit, "first_fit", "1.0",
             "fills the devices one after another (example of a third-party plugin)", kOptions);
