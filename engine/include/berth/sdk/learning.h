/// @file
/// Policies with weights: they sample placements, learn from the measurements, and can be saved.
///
/// One update of REINFORCE (Williams, Machine Learning 1992):
///
///     policy.rollout(evaluators, options, rollout);      // sample and measure
///     advantages = f(rollout.episodes[e].evaluations);   // the caller: reward, return, baseline
///     policy.update(rollout, advantages, update_options);
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "berth/evaluator.h"
#include "berth/export.h"
#include "berth/policy.h"
#include "berth/sdk/environment.h"

namespace berth {

/// How episodes are sampled. A policy ignores what does not apply to it: one that decides a whole
/// placement at once has no order of visits, and not every network has noise.
struct RolloutOptions {
  int samples = 1;      ///< episodes per problem, >= 1
  bool greedy = false;  ///< take the most likely device at every decision instead of drawing one
  std::uint64_t seed = 0;
  /// Probability that a decision is drawn uniformly instead (epsilon-greedy), in [0, 1].
  double epsilon = 0;
  /// Standard deviation of the Gaussian noise on the logits, in units of the logits' root mean
  /// square; >= 0. Mirhoseini et al., "A Hierarchical Model for Device Placement", ICLR 2018, add
  /// such noise in the first steps of training.
  double noise = 0;
  /// The order in which groups are visited.
  Traversal traversal = Traversal::topological;
  /// A list of starting placements per problem. Sample i of a problem starts from entry i mod size.
  /// Empty = drawn uniformly for every episode.
  std::vector<std::vector<GroupPlacement>> initial;
  /// Asked now and then on the caller's thread, while episodes run; true = end the rollout where it
  /// is. Of an ended rollout only the `best` of its episodes is left (empty where nothing was
  /// measured), and no `tape`. May be empty.
  std::function<bool()> should_stop;
};

/// Sampled decisions with their measurements. A policy fills it; whoever computes rewards reads it.
/// When it is used again, its memory is reused. [thread-compatible]
class BERTH_EXPORT Rollout {
 public:
  struct Episode {
    std::size_t problem = 0;  ///< index into the evaluators of the call
    /// The same for episodes of a problem that began with one placement, another (all but surely) for
    /// those that did not; 0 where nothing is placed before the first decision. Below 2^53.
    std::uint64_t start = 0;
    /// Number of measured decisions. A policy that decides a whole placement at once has one, with
    /// the probability of everything drawn for it.
    std::int32_t steps = 0;
    std::int32_t measured = 0;  ///< placements that were measured for this episode only
    /// [0, steps]: before the first decision, and after each. If nothing is placed before the first
    /// decision, the first entry is that of the best single device, or of the zero placement if no
    /// device holds everything.
    std::vector<Evaluation> evaluations;
    /// [0, steps): of the choices under the policy itself, without epsilon and noise.
    std::vector<double> log_probability;
    std::vector<double> entropy;  ///< [0, steps): of the policy's distribution, in nats
    Placement best;               ///< smallest objective if any is feasible, else smallest excess
    Evaluation best_evaluation;
    Placement last;
  };

  std::vector<Episode> episodes;

  /// Room for these episodes, with nothing noted.
  void begin(std::span<const EpisodeStart> starts);
  /// Notes the state that an episode is in: its evaluation; the placement, where none before was
  /// better; and what is known at the end.
  void note(std::size_t index, const Environment::Episode& state);

  /// A policy's record of a rollout, from which it learns. Opaque to all others.
  class BERTH_EXPORT Tape {
   public:
    virtual ~Tape();
  };
  std::shared_ptr<Tape> tape;  ///< of the policy that filled this
};

struct UpdateOptions {
  double learning_rate = 1e-3;
  double entropy_weight = 0;  ///< weight of the entropy bonus
  double max_norm = 1.25;     ///< the gradient's global L2 norm is clipped to this; 0 = no clipping
};

struct UpdateReport {
  double loss = 0;           ///< the sum that was differentiated
  double entropy = 0;        ///< mean over decisions
  double gradient_norm = 0;  ///< before clipping
};

/// A policy that learns. [thread-compatible: uses several threads inside]
class BERTH_EXPORT LearnedPolicy : public Policy {
 public:
  ~LearnedPolicy() override;

  /// Samples `options.samples` episodes for each problem, all together. The same weights, problems
  /// and options give the same rollout, on any number of threads. Throws Error(unsupported) for a
  /// problem that the policy cannot handle, for example one with another number of devices than its
  /// weights are for.
  virtual void rollout(std::span<Evaluator* const> evaluators, const RolloutOptions& options,
                       Rollout& out) = 0;

  /// One step of Adam to increase the sum over decisions of
  /// `advantage * log(probability) + entropy_weight * entropy`. Gradients are summed, not averaged,
  /// as in the code released with Placeto. `advantages` has one entry for every decision of every
  /// episode, in order. Throws Error(invalid_argument) if their number is wrong, if one of them, an
  /// option or the gradient is not finite, and for a rollout that other weights filled, those before
  /// an update among them: what it teaches holds for the weights that drew it. Nothing has then
  /// changed.
  virtual UpdateReport update(const Rollout& rollout, std::span<const double> advantages,
                              const UpdateOptions& options) = 0;

  /// Saves the weights, the optimizer's state and `note` (any text; the caller's own state).
  /// Training that resumes from the file continues bit for bit. The file is written completely or
  /// not at all.
  virtual void save(const std::filesystem::path& file, const std::string& note) const = 0;
  /// Returns the note. Throws Error naming the file and what is wrong with it (truncated, of
  /// another policy or version, saved with other options); nothing has then changed.
  virtual std::string load(const std::filesystem::path& file) = 0;

  /// Number of trained values.
  [[nodiscard]] virtual std::int64_t parameter_count() const = 0;
};

/// Extension of a LearnedPolicy that many processes train together: `update` in its two halves, and
/// what they exchange. Weights and gradients are flat arrays of parameter_count() values, in an order
/// that policies of the same options and problems share. [thread-compatible]
class BERTH_EXPORT DistributedLearner {
 public:
  virtual ~DistributedLearner();

  /// Makes the weights for such problems, where there are none yet.
  virtual void prepare(std::span<Evaluator* const> evaluators) = 0;
  /// Without the optimizer's state.
  [[nodiscard]] virtual std::vector<float> weights() const = 0;
  /// Replaces the weights, and leaves the optimizer as it is; rollouts before it teach nothing any
  /// more. Throws Error(invalid_argument) for another number of values or one that is not finite;
  /// nothing has then changed.
  virtual void set_weights(std::span<const float> weights) = 0;
  /// The gradient that `update` would follow, into `out`; the report lacks its norm. Throws what
  /// `update` throws.
  virtual UpdateReport gradient(const Rollout& rollout, std::span<const double> advantages,
                                const UpdateOptions& options, std::vector<float>& out) = 0;
  /// The rest of `update`: clips `gradient` and takes a step of Adam. Returns its norm before
  /// clipping. Throws as set_weights.
  virtual double step(std::span<const float> gradient, const UpdateOptions& options) = 0;
};

/// The episodes that `options` ask for, problem after problem, for policies that decide one group
/// after another. Adds the randomness of each episode's decisions to `random`, where it is given.
/// Throws as check_rollout.
[[nodiscard]] BERTH_EXPORT std::vector<EpisodeStart> episode_starts(
    std::span<const Problem* const> problems, const RolloutOptions& options,
    std::vector<Random>* random = nullptr);

/// Throws Error(invalid_argument) for options of a rollout over `problems` that make no sense.
BERTH_EXPORT void check_rollout(const RolloutOptions& options, std::size_t problems);
/// Throws Error(invalid_argument) unless there is a finite advantage for every decision.
BERTH_EXPORT void check_advantages(const Rollout& rollout, std::span<const double> advantages);
/// Throws Error(invalid_argument) for options of an update that make no sense.
BERTH_EXPORT void check_update(const UpdateOptions& options);

/// Whether an update changes fresh weights: it has a rate, and an advantage or the entropy to follow.
[[nodiscard]] BERTH_EXPORT bool changes_weights(std::span<const double> advantages,
                                                const UpdateOptions& options);
/// False where episodes of a problem that ended with different objectives have the same returns, as under a
/// reward with a clamp that all of them exceed, and no problem's episodes differ: that teaches nothing.
/// `returns` has one entry for every decision of every episode, in order; throws as check_advantages.
[[nodiscard]] BERTH_EXPORT bool tells_apart(const Rollout& rollout,
                                            std::span<const double> returns);

/// How a learned policy places one problem.
struct RefineOptions {
  GroupId groups = 0;  ///< coarsened to so many where the problem has more; 0 = never
  /// To groups of this kind, balanced or placeto; balanced where there are constraints.
  Grouping grouping = Grouping::balanced;
  /// If the problem has more groups than this, while the budget lasts: merges them into so many
  /// others, fine in one part and coarse in the rest, and decides these from the best placement on.
  /// Without a budget it ends when 32 such divisions in a row bring nothing. Where the problem has
  /// more than `groups` and there are no updates, it is coarsened to so few first, then to `groups` with
  /// half of the time that is left; the better of the two is where it begins. 0 = none.
  GroupId neighbourhood = 0;
  int passes = 16;  ///< greedy passes at most, each from where the last one ended
  /// Updates of the weights, on this very problem. kWhileTimeLasts: until the budget is nearly over (half
  /// of it, where neighbourhoods follow); how many that are depends on the machine. None without a budget.
  std::int64_t updates = 0;
  static constexpr std::int64_t kWhileTimeLasts = -1;
  int samples = 16;             ///< episodes per update
  double learning_rate = 3e-3;  ///< of the first update; falls linearly to a tenth
  double entropy = 0;           ///< weight at first; falls linearly to 0
  bool repair = true;           ///< as repair_placement's `fit_memory`

  /// The cost of a placement in training. `log`: logarithm of the runtime, worse where memory is short.
  /// `seconds`: 2 more for each GB that is short, 10 at most, as in Placeto's released code. `root`:
  /// the square root of the seconds, 10 where it does not fit (Mirhoseini et al., ICML 2017).
  enum class Reward { log, seconds, root };
  Reward reward = Reward::log;
  /// The baseline of a sample. `steps`: a decision's return is what is gained from it on, and
  /// its baseline the mean at the same step over other samples, of this update and those before, that
  /// began with the same placement; where none did, over the other samples of this update. `average`:
  /// the return is what the last placement saves against a moving average of such costs, which begins
  /// with that of a failure. `best`: of an update's samples the best tenth alone teach, at least one,
  /// by what their last placements save against that of the next best (risk-seeking policy gradients;
  /// Petersen et al., ICLR 2021); refine throws Error(invalid_argument) for updates with one sample, which has
  /// no next best.
  enum class Baseline { steps, average, best };
  Baseline baseline = Baseline::steps;
  /// Discount per step. Less than 1 spares a decision the noise of those long after it.
  double discount = 0.98;
  bool normalised = true;  ///< advantages are divided by their root mean square
  /// The placements from which episodes start. `known`: plain ones, then what they led to. `random`:
  /// every update draws one for all its episodes, and there are greedy passes only at the end. `none`:
  /// nothing counts but whole placements, so that neither a start nor a state on the way can be the
  /// answer: for policies that decide all at once. Those that see a state begin with every group on the
  /// first device that can run it.
  enum class Starts { known, random, none };
  Starts starts = Starts::known;
  double max_norm = 1.25;  ///< as UpdateOptions::max_norm
};

/// The best placement seen, those of PlaceContext::initial among them, repaired: by objective among
/// those that fit in memory. PolicyAnswer::learned says whose it is, and has the policy's own: the best of
/// the placements with which its last greedy episodes ended, one from each start, repaired alike. Greedy passes start from the best single device (where none holds
/// everything, from one device after another), from one run of the topological order per device and
/// from list scheduling, and go on from the best so far; with updates they are made again at the
/// end. With `neighbourhood` large neighbourhood search (Shaw, CP 1998) follows, in which the policy
/// is what decides a neighbourhood; it ends early at the lower bound. should_stop is asked at least
/// once per pass. Rewards and baselines by step follow Placeto (Addanki et al., NeurIPS 2019, section
/// on training), whose released code can take the logarithm. Discounted and normalised advantages are
/// not part of any published method. A policy's `place` may be this and no more.
[[nodiscard]] BERTH_EXPORT PolicyAnswer refine(LearnedPolicy& policy, Evaluator& evaluator,
                                               const PlaceContext& context,
                                               const RefineOptions& options);

}  // namespace berth
