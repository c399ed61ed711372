// DOPPLER: two policies, one that selects the next group and one that places it, after Yao et al.,
// "DOPPLER: Dual-Policy Learning for Device Assignment in Asynchronous Dataflow Graphs", ICLR 2026
// (arXiv 2505.23131). Its three stages:
//
//   imitation    of the critical-path heuristic, when fresh weights meet their first problems
//   simulation   training by REINFORCE, from Lua, or on the very problem (`episodes`)
//   execution    the same with evaluators that measure
#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "berth/plugin.h"
#include "berth/sdk/training_options.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "episode.h"
#include "learning/network_policy.h"
#include "learning/one_thread.h"
#include "learning/sampling.h"
#include "learning/teaching.h"
#include "network.h"
#include "problem_view.h"

namespace berth::doppler {
namespace {

constexpr const char* kName = "doppler";
constexpr const char* kVersion = "1.0";

/// Observations of an episode grow with their square: 16 MB at most.
constexpr GroupId kMostGroups = 2048;

constexpr std::size_t kShapeOptions = 3;
constexpr std::array<OptionSpec, 7> kOwnOptions = {
    {{"hidden", OptionType::integer, "64", "units of a group's embedding; published: 128",
      OptionRange::at_least(8).up_to(4096)},
     {"head", OptionType::integer, "32", "units of the heads' hidden layers; published: 64",
      OptionRange::at_least(4).up_to(4096)},
     {"rounds", OptionType::integer, "6", "rounds of message passing, as published",
      OptionRange::at_least(0).up_to(1000)},
     {"weights", OptionType::text, "", "file of a trained policy; none or empty = fresh weights"},
     {"init_seed", OptionType::integer, "1", "seed of fresh weights", OptionRange::at_least(0)},
     {"imitation", OptionType::integer, "8",
      "updates in which fresh weights learn the critical-path heuristic on their first problems",
      OptionRange::at_least(0).up_to(1 << 20)},
     {"groups", OptionType::integer, "256",
      "coarsen to this many groups where the problem has more",
      OptionRange::at_least(1).up_to(kMostGroups)}}};
constexpr auto kOptions = join_options(
    kOwnOptions, training_options({.samples = "64", .entropy = "0", .baseline = "best"}));

/// In imitation the teacher plays, but for this share of uniform choices, so that its answer to other
/// states than its own is learned too.
constexpr double kStray = 0.2;
constexpr std::int64_t kLessons = 4;  ///< episodes of each problem per update of imitation
constexpr double kLessonRate = 2e-2;
constexpr double kLessonNorm = 1.25;

class DopplerPolicy final : public learning::NetworkPolicy {
 public:
  explicit DopplerPolicy(const Options& options)
      : NetworkPolicy(options, {kName, kVersion, std::span(kOptions).first(kShapeOptions),
                                /*coarsens=*/true}) {}

  void rollout(std::span<Evaluator* const> evaluators, const RolloutOptions& options,
               Rollout& out) override;

 protected:
  [[nodiscard]] learning::Facts facts_of(std::span<Evaluator* const>) const override { return {}; }
  [[nodiscard]] std::unique_ptr<learning::Network> make_network(
      const learning::Facts&) const override;
  void require_served(const learning::Network&, const Problem& problem) const override {
    if (problem.groups().count() <= kMostGroups) return;
    throw Error(ErrorCode::unsupported,
                cat(called(), ": it serves up to ", kMostGroups, " groups and the problem has ",
                    problem.groups().count(), "; make fewer of them (groups = 256)"));
  }
  UpdateReport learn(const NetworkPolicy::Tape& tape, std::span<const double> advantages,
                     double entropy_weight) override;
  /// Imitation.
  std::int64_t begin(std::span<Evaluator* const> evaluators,
                     const std::function<void()>& check) override;

 private:
  struct View : ProblemView {
    explicit View(Evaluator& evaluator)
        : ProblemView(evaluator.problem()), reference(reference_of(evaluator)) {}
    Evaluation reference;  ///< before anything is decided
  };
  struct Tape final : NetworkPolicy::Tape {
    struct Part {
      std::shared_ptr<const View> view;
      Played played;
    };
    std::vector<Part> parts;  ///< by problem
  };

  static Evaluation reference_of(Evaluator& evaluator) {
    SingleDevice single = best_single_device(evaluator);
    if (single.device != kNoDevice) return std::move(single.evaluation);
    const Problem& problem = evaluator.problem();
    return evaluator.evaluate(problem.groups().expand(zero_placement(problem)));
  }
  [[nodiscard]] const Network& net() const { return static_cast<const Network&>(*network()); }
  [[nodiscard]] Encoded encoded_alone(const ProblemView& view) const {
    const learning::OneThread one_thread;
    const torch::NoGradGuard no_gradient;
    return net().encode(view);
  }
  std::shared_ptr<const View> view_of(Evaluator& evaluator) {
    return views_.of(evaluator.problem(), [&] { return std::make_shared<const View>(evaluator); });
  }

  learning::Views<View> views_;
};

std::unique_ptr<learning::Network> DopplerPolicy::make_network(const learning::Facts&) const {
  return std::make_unique<Network>(
      NetworkShape{options().integer("hidden"), options().integer("head"),
                   options().integer("rounds")},
      static_cast<std::uint64_t>(options().integer("init_seed")));
}

std::int64_t DopplerPolicy::begin(std::span<Evaluator* const> evaluators,
                                  const std::function<void()>& check) {
  Random random(static_cast<std::uint64_t>(options().integer("init_seed")));
  EpisodeOptions how;
  how.teacher = true;
  how.epsilon = kStray;
  // Views with a reference are made by who measures later: this may be another evaluator.
  std::vector<std::unique_ptr<const ProblemView>> views;
  for (Evaluator* const evaluator : evaluators) {
    views.push_back(std::make_unique<const ProblemView>(evaluator->problem()));
  }
  const learning::OneThread one_thread;
  double decisions = 0;
  for (const auto& view : views) decisions += static_cast<double>(view->groups) * kLessons;
  for (std::int64_t update = 0; update < options().integer("imitation"); ++update) {
    for (const auto& each : views) {
      const ProblemView& view = *each;
      Played played = make_played(view, kLessons);
      torch::Tensor selected = torch::zeros_like(played.order);
      torch::Tensor placed = torch::zeros_like(played.order);
      const Encoded encoded = encoded_alone(view);
      const Network::Head head = net().head();
      Player player(view, encoded, head, played);
      for (std::int64_t e = 0; e < kLessons; ++e) {
        const Player::Outcome outcome = player.play(e, how, random, check);
        const auto row = [&](torch::Tensor& of) {
          return of.data_ptr<std::int64_t>() + at(e) * view.groups;
        };
        std::copy(outcome.taught_group.begin(), outcome.taught_group.end(), row(selected));
        std::copy(outcome.taught_device.begin(), outcome.taught_device.end(), row(placed));
      }
      check();
      net().learn(
          view, played, selected, placed,
          [&](const Scores& scores, std::int64_t) {
            return -scores.log_probability.sum() / decisions;
          },
          check);
    }
    static_cast<void>(network()->step(kLessonRate, kLessonNorm));
  }
  return options().integer("imitation");
}

void DopplerPolicy::rollout(std::span<Evaluator* const> evaluators, const RolloutOptions& options,
                            Rollout& out) {
  check_rollout(options, evaluators.size());
  const auto samples = at(options.samples);
  out.episodes.resize(evaluators.size() * samples);
  for (Rollout::Episode& episode : out.episodes) episode.best.clear();
  out.tape = nullptr;
  const auto check = [&] {
    if (options.should_stop && options.should_stop()) throw learning::Ended{};
  };
  Random random(options.seed);
  auto tape = std::make_shared<Tape>();
  try {
    meet(evaluators, check);
    mark(*tape);
    EpisodeOptions how;
    how.greedy = options.greedy;
    how.epsilon = options.epsilon;
    for (std::size_t p = 0; p < evaluators.size(); ++p) {
      const auto view = view_of(*evaluators[p]);
      Tape::Part part{view, make_played(*view, options.samples)};
      const Encoded encoded = encoded_alone(*view);
      const Network::Head head = net().head();
      Player player(*view, encoded, head, part.played);
      std::vector<Placement> placements;
      for (std::size_t s = 0; s < samples; ++s) {
        Random own = random.split();
        // Greedy ones are all alike.
        Player::Outcome outcome = player.play(static_cast<std::int64_t>(s), how, own, check);
        placements.push_back(view->problem.groups().expand(outcome.placement));
        Rollout::Episode& episode = out.episodes[p * samples + s];
        episode.problem = p;
        episode.steps = episode.measured = 1;
        episode.log_probability = {outcome.log_probability};
        episode.entropy = {outcome.entropy};
      }
      check();
      std::vector<Evaluation> evaluations(samples);
      evaluators[p]->evaluate(placements, evaluations);
      for (std::size_t s = 0; s < samples; ++s) {
        Rollout::Episode& episode = out.episodes[p * samples + s];
        episode.evaluations = {view->reference, evaluations[s]};
        episode.best = placements[s];
        episode.best_evaluation = std::move(evaluations[s]);
        episode.last = std::move(placements[s]);
      }
      tape->parts.push_back(std::move(part));
    }
    out.tape = std::move(tape);
  } catch (const learning::Ended&) {
  }
}

UpdateReport DopplerPolicy::learn(const NetworkPolicy::Tape& tape,
                                  std::span<const double> advantages, double entropy_weight) {
  const learning::OneThread one_thread;
  UpdateReport report;
  std::size_t first = 0;
  for (const Tape::Part& part : static_cast<const Tape&>(tape).parts) {
    const std::int64_t samples = part.played.order.size(0);
    const learning::Teaching teaching(advantages.subspan(first), samples, entropy_weight);
    first += at(samples);
    if (teaching.count() == 0) continue;
    const Played played{teaching.of(part.played.order, 0), teaching.of(part.played.device, 0),
                        teaching.of(part.played.ready, 0), teaching.of(part.played.features, 0)};
    report.loss += net().learn(
        *part.view, played, played.order, played.device,
        [&](const Scores& scores, std::int64_t begin) {
          const torch::Tensor entropy = scores.entropy.sum();
          const torch::Tensor own =
              teaching.advantages().narrow(0, begin, scores.log_probability.size(0));
          return -(own * scores.log_probability).sum() - entropy_weight * entropy;
        },
        [] {});
  }
  return report;
}

}  // namespace

BERTH_PLUGIN(DopplerPolicy, "doppler", "1.0",
             "learned, one policy selects the next group and one places it (Yao et al., ICLR 2026)",
             kOptions);

}  // namespace berth::doppler
