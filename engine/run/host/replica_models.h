// A model at every size of the batch that a plan of replicas asks for.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "berth/replicas.h"
#include "berth/settings.h"

namespace berth {

/// Loads each size once. [thread-compatible]
class ReplicaModels {
 public:
  /// Throws Error(invalid_argument) where neither the settings nor the file say the batch, and what
  /// Engine::load throws. All must outlive this.
  ReplicaModels(Engine& engine, const std::string& model, const Settings& settings,
                std::shared_ptr<const Cluster> cluster);

  [[nodiscard]] std::int64_t batch() const noexcept { return batch_; }
  [[nodiscard]] const SizedModel& whole() { return at_size(batch_); }
  /// Costs that were measured or stated follow the batch as the roofline model's do. Throws
  /// Error(unsupported) where the cluster has no figures for that.
  [[nodiscard]] const SizedModel& at_size(std::int64_t samples);
  /// The same of a share of a plan. Throws Error(unsupported), too, where a size is known of the whole batch
  /// and not of the share, as where its samples are split into equal parts that they do not come in.
  [[nodiscard]] const SizedModel& share(std::int64_t samples);
  /// Throws Error(unsupported) where the model cannot be shared.
  [[nodiscard]] const Training& training();
  /// The other size that is compared.
  [[nodiscard]] std::int64_t smaller() const noexcept { return batch_ / 2; }
  /// Seconds that loading and comparing took behind the whole batch's, so far.
  [[nodiscard]] double loading_s() const noexcept { return loading_s_; }
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }
  [[nodiscard]] const std::shared_ptr<const Cluster>& cluster() const noexcept { return cluster_; }

 private:
  [[nodiscard]] std::shared_ptr<const Costs> costs_at(const Graph& graph) const;
  [[nodiscard]] std::shared_ptr<const Graph> load_at(std::int64_t samples);

  Engine& engine_;
  const std::string& model_;
  const Settings& settings_;
  std::shared_ptr<const Cluster> cluster_;
  std::unique_ptr<Frontend> frontend_;
  std::string key_ = "*";  // of LoadOptions::dims
  std::int64_t batch_ = 0;
  std::map<std::int64_t, SizedModel> sizes_;
  std::shared_ptr<const Costs> roofline_;  // at the whole batch, where costs are of another source
  std::optional<Training> training_;
  double loading_s_ = 0;
  std::vector<std::string> notes_;
};

/// Devices that compute a replica: all but hosts, or the hosts where there are no others.
[[nodiscard]] std::vector<DeviceId> accelerators(const Cluster& cluster);
/// The hosts, then those of these devices that are none: where a replica's ops may be.
[[nodiscard]] std::vector<DeviceId> devices_with_hosts(const Cluster& cluster,
                                                       const std::vector<DeviceId>& devices);
/// Links that a plan keeps for the inside of its groups, or for the rings between them.
enum class FastLinks { within, between };
/// `count` groups of as many devices each, of one kind and with the fastest links where `links` says,
/// and the batch shared as equally as it can be.
[[nodiscard]] ReplicaPlan even_plan(const Cluster& cluster, std::size_t count, std::int64_t batch,
                                    FastLinks links = FastLinks::within);
/// The plan that the setting says: a number or a plan. Throws Error(invalid_argument) for "auto".
[[nodiscard]] ReplicaPlan plan_of(const std::string& setting, const Cluster& cluster,
                                  std::int64_t batch);

/// The graph of a plan, and what an outcome says of it.
struct PosedReplicas {
  Replicated step;
  std::shared_ptr<const ReplicaFigures> figures;
  /// Each replica stays on its devices, or on a host.
  std::vector<ConstraintRule> rules;
};
[[nodiscard]] PosedReplicas pose_replicas(ReplicaModels& models, const ReplicaPlan& plan);

}  // namespace berth
