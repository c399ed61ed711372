#include "sequence_policy.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "berth/error.h"
#include "berth/support/text.h"
#include "learning/one_thread.h"
#include "learning/placer.h"
#include "learning/sampling.h"
#include "learning/shared_labels.h"
#include "learning/teaching.h"
#include "learning/trained_network.h"

namespace berth::learning {
namespace {

constexpr const char* kDeviceCount = "device_count";
constexpr const char* kVocabulary = "vocabulary";
constexpr std::size_t kMostDevices = 4096;

PlacerShape placer_shape(const Options& options, std::int64_t vocabulary, std::int64_t devices) {
  PlacerShape shape;
  shape.vocabulary = vocabulary;
  shape.capacity = options.integer("groups");
  shape.devices = devices;
  shape.hidden = options.integer("hidden");
  shape.temperature = options.real("temperature");
  shape.tanh_constant = options.real("tanh_constant");
  shape.aligned = options.boolean("aligned");
  shape.persistence = options.real("persistence");
  return shape;
}

Evaluation reference_of(Evaluator& evaluator) {
  SingleDevice single = best_single_device(evaluator);
  if (single.device != kNoDevice) return std::move(single.evaluation);
  const Problem& problem = evaluator.problem();
  return evaluator.evaluate(problem.groups().expand(zero_placement(problem)));
}

}  // namespace

struct SequencePolicy::Net final : TrainedNetwork {
  Net(const Options& options, const GrouperMaker& make_grouper, Vocabulary types,
      std::int64_t devices)
      : vocabulary(std::move(types)),
        random(static_cast<std::uint64_t>(options.integer("init_seed"))),
        placer(placer_shape(options, vocabulary.size(), devices), parameters, random) {
    if (make_grouper) {
      grouper = make_grouper(vocabulary, placer.shape().capacity, parameters, random);
    }
  }

  Vocabulary vocabulary;
  Random random;
  Placer placer;
  std::unique_ptr<Grouper> grouper;
};

/// A problem as the network sees it. Immutable.
struct SequencePolicy::View {
  View(Evaluator& evaluator, const Net& network)
      : problem(evaluator.problem()),
        units(problem, network.vocabulary),
        reference(reference_of(evaluator)) {
    if (network.grouper != nullptr) {
      features = network.grouper->features(problem, units);
      return;
    }
    labels = shared_labels(problem, network.placer.shape().capacity);
    sequence = units.sequence(problem, labels, network.placer.shape().capacity);
  }

  Problem problem;
  Units units;
  Evaluation reference;
  torch::Tensor features;            ///< of the units, for a grouper
  std::vector<std::int32_t> labels;  ///< without a grouper
  Sequence sequence;                 ///< without a grouper
};

/// Placements of one sequence, and where their episodes begin.
struct SequencePolicy::Tape final : NetworkPolicy::Tape {
  struct Part {
    std::shared_ptr<const View> view;
    std::size_t first = 0;  ///< episode
    Sequence sequence;
    torch::Tensor labels;  ///< [units] int64 drawn by the grouper, or undefined
    torch::Tensor devices;
  };
  std::vector<Part> parts;
};

SequencePolicy::SequencePolicy(const Options& options, const SequenceSettings& settings)
    // One greedy pass: more would give the same. A grouper makes as few groups as it takes.
    : NetworkPolicy(options, {settings.name, settings.version, settings.shape,
                              /*coarsens=*/!settings.make_grouper}),
      make_grouper_(settings.make_grouper) {}
SequencePolicy::~SequencePolicy() = default;

Facts SequencePolicy::facts_of(std::span<Evaluator* const> evaluators) const {
  std::vector<const Problem*> problems;
  for (Evaluator* evaluator : evaluators) problems.push_back(&evaluator->problem());
  const Vocabulary vocabulary(problems, static_cast<std::size_t>(options().integer("types")));
  return {{kDeviceCount, std::to_string(problems.front()->cluster().device_count())},
          {kVocabulary, vocabulary.text()}};
}

std::unique_ptr<Network> SequencePolicy::make_network(const Facts& facts) const {
  const std::size_t devices = count_in(facts, kDeviceCount, kMostDevices);
  if (devices == 0) throw std::invalid_argument("it is for 0 devices");
  const auto vocabulary = facts.find(kVocabulary);
  return std::make_unique<Net>(options(), make_grouper_,
                               Vocabulary(vocabulary == facts.end() ? "" : vocabulary->second),
                               static_cast<std::int64_t>(devices));
}

void SequencePolicy::require_served(const Network& network, const Problem& problem) const {
  const PlacerShape& shape = static_cast<const Net&>(network).placer.shape();
  if (problem.cluster().device_count() != shape.devices) {
    throw Error(
        ErrorCode::unsupported,
        cat(called(), ": its weights are for ", shape.devices, " devices and the cluster has ",
            problem.cluster().device_count(), "; train one for it"));
  }
}

void SequencePolicy::rollout(std::span<Evaluator* const> evaluators, const RolloutOptions& options,
                             Rollout& out) {
  check_rollout(options, evaluators.size());
  auto tape = std::make_shared<Tape>();
  static_cast<void>(network_for(evaluators));
  mark(*tape);
  out.episodes.resize(evaluators.size() * static_cast<std::size_t>(options.samples));
  for (Rollout::Episode& episode : out.episodes) episode.best.clear();
  out.tape = nullptr;
  Random random(options.seed);
  try {
    for (std::size_t p = 0; p < evaluators.size(); ++p) {
      Random own = random.split();
      sample_problem(*evaluators[p], p, options, own, *tape, out);
    }
    out.tape = std::move(tape);
  } catch (const Ended&) {
  }
}

void SequencePolicy::sample_problem(Evaluator& evaluator, std::size_t index,
                                    const RolloutOptions& options, Random& random, Tape& tape,
                                    Rollout& out) {
  // Each step between two of these takes some tenths of a second for 30,000 ops.
  const auto check = [&] {
    if (options.should_stop && options.should_stop()) throw Ended{};
  };
  check();
  const Net& net = static_cast<const Net&>(*network());
  const auto view =
      views_.of(evaluator.problem(), [&] { return std::make_shared<const View>(evaluator, net); });
  const Problem& problem = view->problem;
  const auto samples = static_cast<std::size_t>(options.samples);
  const std::size_t groupings =
      net.grouper == nullptr
          ? 1
          : std::min(samples,
                     static_cast<std::size_t>(NetworkPolicy::options().integer("groupings")));
  std::vector<Placement> placements;
  for (std::size_t g = 0; g < groupings; ++g) {
    check();
    Tape::Part part;
    part.view = view;
    part.first = index * samples + g * samples / groupings;
    const std::size_t end = index * samples + (g + 1) * samples / groupings;
    std::vector<std::int32_t> labels = view->labels;
    double log_probability = 0, entropy = 0;
    if (net.grouper == nullptr) {
      part.sequence = view->sequence;
    } else {
      const OneThread one_thread;
      const torch::NoGradGuard no_gradient;
      const torch::Tensor log_pi = net.grouper->log_policy(view->features).contiguous();
      check();
      const auto groups = static_cast<std::size_t>(log_pi.size(1));
      part.labels = torch::empty({log_pi.size(0)}, torch::kInt64);
      for (std::int64_t unit = 0; unit < log_pi.size(0); ++unit) {
        const float* const row = log_pi.data_ptr<float>() + unit * log_pi.size(1);
        const std::size_t label =
            options.greedy ? static_cast<std::size_t>(std::max_element(row, row + groups) - row)
                           : draw(row, groups, random.uniform());
        labels.push_back(static_cast<std::int32_t>(label));
        part.labels.data_ptr<std::int64_t>()[unit] = static_cast<std::int64_t>(label);
        log_probability += static_cast<double>(row[label]);
        entropy += entropy_of(row, groups);
      }
      check();
      part.sequence = view->units.sequence(problem, labels, net.placer.shape().capacity);
      check();
    }
    PlacerDraws draws;
    draws.samples = static_cast<std::int64_t>(end - part.first);
    draws.greedy = options.greedy;
    draws.epsilon = options.epsilon;
    draws.noise = options.greedy ? 0 : options.noise;
    draws.should_stop = options.should_stop;
    PlacerSamples drawn = [&] {
      const OneThread one_thread;
      return net.placer.sample(part.sequence, draws, random);
    }();
    const torch::Tensor devices = drawn.devices.t().contiguous();
    for (std::size_t k = 0; k < end - part.first; ++k) {
      const auto length = static_cast<std::size_t>(part.sequence.length());
      placements.push_back(problem.groups().expand(
          view->units.expand(problem, part.sequence, labels,
                             {devices.data_ptr<std::int64_t>() + k * length, length})));
      Rollout::Episode& episode = out.episodes[part.first + k];
      episode.problem = index;
      episode.steps = episode.measured = 1;
      episode.log_probability = {log_probability + drawn.log_probability[k]};
      episode.entropy = {entropy + drawn.entropy[k]};
    }
    part.devices = std::move(drawn.devices);
    tape.parts.push_back(std::move(part));
  }
  check();
  std::vector<Evaluation> evaluations(placements.size());
  evaluator.evaluate(placements, evaluations);
  for (std::size_t k = 0; k < samples; ++k) {
    Rollout::Episode& episode = out.episodes[index * samples + k];
    episode.evaluations = {view->reference, evaluations[k]};
    episode.best = placements[k];
    episode.best_evaluation = std::move(evaluations[k]);
    episode.last = std::move(placements[k]);
  }
}

UpdateReport SequencePolicy::learn(const NetworkPolicy::Tape& tape,
                                   std::span<const double> advantages, double entropy_weight) {
  const OneThread one_thread;
  const Net& net = static_cast<const Net&>(*network());
  UpdateReport report;
  for (const Tape::Part& part : static_cast<const Tape&>(tape).parts) {
    const Teaching teaching(advantages.subspan(part.first), part.devices.size(1), entropy_weight);
    if (teaching.count() == 0) continue;
    Placer::Scores scores = net.placer.score(part.sequence, teaching.of(part.devices, 1));
    if (part.labels.defined()) {
      const torch::Tensor log_pi = net.grouper->log_policy(part.view->features);
      scores.log_probability =
          scores.log_probability + log_pi.gather(1, part.labels.unsqueeze(1)).sum();
      scores.entropy = scores.entropy - (log_pi.exp() * log_pi).sum();
    }
    const torch::Tensor entropy = scores.entropy.sum();
    const torch::Tensor loss =
        -(teaching.advantages() * scores.log_probability).sum() - entropy_weight * entropy;
    loss.backward();
    report.loss += loss.item<double>();
  }
  return report;
}

}  // namespace berth::learning
