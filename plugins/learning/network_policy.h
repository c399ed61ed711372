// Shared by all policies with a network: weights and their files, problems kept ready, and the
// placement that greedy passes or learning on the very problem give.
//
//   derived class            what it adds
//   make_network             a fresh network for what `facts_of` says of the first problems
//   require_served           which problems its weights cannot serve
//   rollout, learn           how episodes are sampled, and what they teach
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "berth/options.h"
#include "berth/sdk/learning.h"
#include "learning/checkpoint.h"

namespace berth::learning {

/// Weights with the optimiser that changes them. [thread-compatible]
class Network {
 public:
  virtual ~Network() = default;
  /// Number of trained values.
  [[nodiscard]] virtual std::int64_t parameter_count() const = 0;
  /// Weights, then the optimiser's state.
  [[nodiscard]] virtual std::vector<NamedTensor> tensors() const = 0;
  /// `tensors` of a network of the same shape. Throws std::invalid_argument naming what differs or
  /// is not finite; then nothing has changed.
  virtual void set_tensors(std::span<const NamedTensor> tensors) = 0;
  /// As Parameters::step.
  virtual double step(double learning_rate, double max_norm) = 0;
  // As those of Parameters.
  [[nodiscard]] virtual std::vector<float> weights() const = 0;
  virtual void set_weights(std::span<const float> weights) = 0;
  virtual void take_gradient(std::vector<float>& out) = 0;
  virtual void set_gradient(std::span<const float> gradient) = 0;
};

/// Facts that a network is made for beside its policy's options, by name: a number of devices, the op
/// types it knows, ... Written to checkpoints.
using Facts = std::map<std::string, std::string>;

/// The number in `facts[name]`. Throws std::invalid_argument unless it is there and at most `most`.
[[nodiscard]] std::size_t count_in(const Facts& facts, const std::string& name, std::size_t most);

/// Whether two problems share all their parts and are alike in the rest: what is derived from one
/// holds for the other.
[[nodiscard]] bool same_problem(const Problem& a, const Problem& b);

/// Problems as the network of a policy sees them; the latest are kept. `View` has the member
/// `problem`.
template <typename View>
class Views {
 public:
  /// The view of `problem`, made by `make()` where it is not there.
  template <typename Make>
  std::shared_ptr<const View> of(const Problem& problem, const Make& make) {
    const auto found = std::find_if(views_.begin(), views_.end(), [&](const auto& view) {
      return same_problem(view->problem, problem);
    });
    if (found != views_.end()) return *found;
    if (views_.size() >= kMost || ops_ >= kMostOps) clear();
    views_.push_back(make());
    ops_ += problem.graph().op_count();
    return views_.back();
  }
  void clear() {
    views_.clear();
    ops_ = 0;
  }

 private:
  /// A family of graphs in training is smaller.
  static constexpr std::size_t kMost = 256;
  /// Upper limit for all their graphs: some tens of megabytes. A search that cuts a large graph into ever new
  /// groups sees each problem once.
  static constexpr std::int64_t kMostOps = std::int64_t{1} << 21;
  std::vector<std::shared_ptr<const View>> views_;
  std::int64_t ops_ = 0;
};

struct NetworkPolicySettings {
  const char* name;                   ///< of the plugin
  const char* version;                ///< of the plugin
  std::span<const OptionSpec> shape;  ///< options that weights depend on
  bool coarsens = true;               ///< to the option `groups` where a problem has more
  bool searches = false;              ///< has the options `neighbourhood` and `grouping`
};

/// The options of every such policy, beside those of its own: weights, init_seed, groups, and
/// training_options; kEpisodeOptions where it decides one group after another.
class NetworkPolicy : public LearnedPolicy, public DistributedLearner {
 public:
  ~NetworkPolicy() override;

  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) final;
  UpdateReport update(const Rollout& rollout, std::span<const double> advantages,
                      const UpdateOptions& options) final;
  void save(const std::filesystem::path& file, const std::string& note) const final;
  std::string load(const std::filesystem::path& file) final;
  [[nodiscard]] std::int64_t parameter_count() const final;
  void prepare(std::span<Evaluator* const> evaluators) final;
  [[nodiscard]] std::vector<float> weights() const final;
  void set_weights(std::span<const float> weights) final;
  UpdateReport gradient(const Rollout& rollout, std::span<const double> advantages,
                        const UpdateOptions& options, std::vector<float>& out) final;
  double step(std::span<const float> gradient, const UpdateOptions& options) final;

 protected:
  NetworkPolicy(const Options& options, const NetworkPolicySettings& settings);

  /// A policy's record of a rollout, for the weights that it was sampled with.
  struct Tape : Rollout::Tape {
    std::weak_ptr<const Network> network;
    std::int64_t updates = 0;  ///< that the network had seen
  };

  [[nodiscard]] virtual Facts facts_of(std::span<Evaluator* const> evaluators) const = 0;
  /// Throws std::invalid_argument for facts that no problem gives.
  [[nodiscard]] virtual std::unique_ptr<Network> make_network(const Facts& facts) const = 0;
  /// Throws Error(unsupported) where `network` cannot place `problem`.
  virtual void require_served(const Network& network, const Problem& problem) const = 0;
  /// Adds the gradient of what `tape` holds to the network's. The report's loss.
  virtual UpdateReport learn(const Tape& tape, std::span<const double> advantages,
                             double entropy_weight) = 0;
  /// Fresh weights meet their first problems, before anything is sampled: what is learned without a
  /// measurement is learned here. `check` may throw to end it. Returns the number of updates.
  virtual std::int64_t begin(std::span<Evaluator* const>, const std::function<void()>& /*check*/) {
    return 0;
  }
  /// network_for, and `begin` where it has not been. Policies that have one call this in `rollout`.
  void meet(std::span<Evaluator* const> evaluators, const std::function<void()>& check);
  /// The weights are others than before.
  virtual void network_changed() {}

  [[nodiscard]] const Options& options() const { return options_; }
  /// The network, made now where there is none; all of `evaluators` are served by it.
  const std::shared_ptr<Network>& network_for(std::span<Evaluator* const> evaluators);
  [[nodiscard]] const std::shared_ptr<Network>& network() const { return network_; }
  /// Says on a tape that it is of the weights as they are now.
  void mark(Tape& tape) const;
  /// "policy 'placeto'", for messages.
  [[nodiscard]] std::string called() const;

 private:
  /// The network; throws Error where there is none.
  [[nodiscard]] Network& made_network() const;
  /// `values` of the network's size and finite; throws Error.
  void check_values(std::span<const float> values, const char* what) const;
  /// Adds the gradient of a checked rollout to the network's.
  UpdateReport accumulate(const Rollout& rollout, std::span<const double> advantages,
                          const UpdateOptions& options);
  [[nodiscard]] std::map<std::string, std::string> shape_and(const Facts& facts) const;
  /// Takes weights of this kind. Throws what load throws.
  void take(const std::filesystem::path& file, Checkpoint checkpoint, Weights kind);
  /// The weights are of this kind from now on.
  void begin_with(Weights kind);
  /// Takes the option `weights`, or what comes with Berth where it fits. Returns why it does not.
  std::string start_from_weights(const Facts& facts);

  Options options_;
  NetworkPolicySettings settings_;
  std::map<std::string, std::string> shape_;  ///< options that a checkpoint must share
  Facts facts_;                               ///< of the network
  std::shared_ptr<Network> network_;          ///< made when the first problems are known
  std::int64_t updates_ = 0;                  ///< of whatever network
  bool fresh_ = false;                        ///< nothing has begun with the network
  std::string unserved_;                      ///< why the weights that come with it are not taken
  Weights began_with_ = Weights::fresh;
  std::int64_t changes_ = 0;  ///< updates since then that changed the weights
};

}  // namespace berth::learning
