#include "sequence_policy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "berth/error.h"
#include "learning/checkpoint.h"
#include "learning/placer.h"
#include "learning/sampling.h"

namespace berth::learning {
namespace {

/// Problems that are kept ready; a family of graphs in training is smaller.
constexpr std::size_t kViews = 256;

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

bool same(const ProblemOptions& a, const ProblemOptions& b) {
  return a.objective == b.objective && a.semantics == b.semantics &&
         a.device_gap_us == b.device_gap_us && a.transfer_gap_us == b.transfer_gap_us;
}

}  // namespace

struct SequencePolicy::Network {
  Network(const Options& options, const GrouperMaker& make_grouper, Vocabulary types,
          std::int64_t devices)
      : vocabulary(std::move(types)),
        random(static_cast<std::uint64_t>(options.integer("init_seed"))),
        placer(placer_shape(options, vocabulary.size(), devices), parameters, random) {
    if (make_grouper) {
      grouper = make_grouper(vocabulary, placer.shape().capacity, parameters, random);
    }
  }

  Vocabulary vocabulary;
  Parameters parameters;
  Random random;
  Placer placer;
  std::unique_ptr<Grouper> grouper;
};

/// A problem as the network sees it. Immutable.
struct SequencePolicy::View {
  View(Evaluator& evaluator, const Network& network)
      : problem(evaluator.problem()),
        units(problem, network.vocabulary),
        reference(reference_of(evaluator)) {
    const auto count = static_cast<std::size_t>(problem.groups().count());
    if (network.grouper != nullptr) {
      features = network.grouper->features(problem, units);
      return;
    }
    labels.resize(count);
    std::iota(labels.begin(), labels.end(), 0);
    sequence = units.sequence(problem, labels, network.placer.shape().capacity);
  }

  /// Whether this is a view of `other`, whose parts it shares and so keeps alive.
  [[nodiscard]] bool is_of(const Problem& other) const {
    return problem.shared_graph() == other.shared_graph() &&
           problem.shared_cluster() == other.shared_cluster() &&
           problem.shared_costs() == other.shared_costs() &&
           problem.shared_groups() == other.shared_groups() &&
           problem.constraints() == other.constraints() && same(problem.options(), other.options());
  }

  Problem problem;
  Units units;
  Evaluation reference;
  torch::Tensor features;            ///< of the units, for a grouper
  std::vector<std::int32_t> labels;  ///< without a grouper: a group per unit
  Sequence sequence;                 ///< without a grouper
};

/// Placements of one sequence, and where their episodes begin.
struct SequencePolicy::Tape final : Rollout::Tape {
  struct Part {
    std::shared_ptr<const View> view;
    std::size_t first = 0;  ///< episode
    Sequence sequence;
    torch::Tensor labels;  ///< [units] int64 drawn by the grouper, or undefined
    torch::Tensor devices;
  };
  std::vector<Part> parts;
};

SequencePolicy::SequencePolicy(const Options& options, SequenceSettings settings)
    : options_(options), settings_(std::move(settings)) {
  for (const OptionSpec& spec : settings_.shape) {
    shape_options_[spec.name] = to_text(options.values().find(spec.name)->second);
  }
}
SequencePolicy::~SequencePolicy() = default;

std::int64_t SequencePolicy::parameter_count() const {
  return network_ == nullptr ? 0 : network_->parameters.count();
}

void SequencePolicy::make_network(std::span<Evaluator* const> evaluators) {
  if (network_ == nullptr && !options_.text("weights").empty()) {
    static_cast<void>(load(options_.text("weights")));
  }
  if (network_ == nullptr) {
    std::vector<const Problem*> problems;
    for (Evaluator* evaluator : evaluators) problems.push_back(&evaluator->problem());
    Vocabulary vocabulary(problems, static_cast<std::size_t>(options_.integer("types")));
    const std::int64_t devices = problems.front()->cluster().device_count();
    network_ =
        std::make_unique<Network>(options_, settings_.make_grouper, std::move(vocabulary), devices);
  }
  const PlacerShape& shape = network_->placer.shape();
  for (Evaluator* evaluator : evaluators) {
    const Problem& problem = evaluator->problem();
    if (problem.cluster().device_count() != shape.devices) {
      throw Error(ErrorCode::unsupported,
                  std::string("policy '") + settings_.name + "': its weights are for " +
                      std::to_string(shape.devices) + " devices and the cluster has " +
                      std::to_string(problem.cluster().device_count()) + "; train one for it");
    }
    if (network_->grouper == nullptr && problem.groups().count() > shape.capacity) {
      throw Error(ErrorCode::unsupported,
                  std::string("policy '") + settings_.name +
                      "': " + std::to_string(problem.groups().count()) +
                      " groups are more than a sequence may have; make at most " +
                      std::to_string(shape.capacity) +
                      " groups, or set groups=" + std::to_string(problem.groups().count()));
    }
  }
}

std::shared_ptr<const SequencePolicy::View> SequencePolicy::view_of(Evaluator& evaluator) {
  const Problem& problem = evaluator.problem();
  const auto found = std::find_if(views_.begin(), views_.end(),
                                  [&](const auto& view) { return view->is_of(problem); });
  if (found != views_.end()) return *found;
  if (views_.size() >= kViews) views_.clear();
  views_.push_back(std::make_shared<const View>(evaluator, *network_));
  return views_.back();
}

void SequencePolicy::rollout(std::span<Evaluator* const> evaluators, const RolloutOptions& options,
                             Rollout& out) {
  check_rollout(options, evaluators.size());
  make_network(evaluators);
  auto tape = std::make_shared<Tape>();
  out.episodes.resize(evaluators.size() * static_cast<std::size_t>(options.samples));
  Random random(options.seed);
  for (std::size_t p = 0; p < evaluators.size(); ++p) {
    Random own = random.split();
    sample_problem(*evaluators[p], p, options, own, *tape, out);
  }
  out.tape = std::move(tape);
}

void SequencePolicy::sample_problem(Evaluator& evaluator, std::size_t index,
                                    const RolloutOptions& options, Random& random, Tape& tape,
                                    Rollout& out) {
  const auto view = view_of(evaluator);
  const Problem& problem = view->problem;
  const auto samples = static_cast<std::size_t>(options.samples);
  const std::size_t groupings =
      network_->grouper == nullptr
          ? 1
          : std::min(samples, static_cast<std::size_t>(options_.integer("groupings")));
  std::vector<Placement> placements;
  for (std::size_t g = 0; g < groupings; ++g) {
    Tape::Part part;
    part.view = view;
    part.first = index * samples + g * samples / groupings;
    const std::size_t end = index * samples + (g + 1) * samples / groupings;
    std::vector<std::int32_t> labels = view->labels;
    double log_probability = 0, entropy = 0;
    if (network_->grouper == nullptr) {
      part.sequence = view->sequence;
    } else {
      const torch::NoGradGuard no_gradient;
      const torch::Tensor log_pi = network_->grouper->log_policy(view->features).contiguous();
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
      part.sequence = view->units.sequence(problem, labels, network_->placer.shape().capacity);
    }
    PlacerDraws draws;
    draws.samples = static_cast<std::int64_t>(end - part.first);
    draws.greedy = options.greedy;
    draws.epsilon = options.epsilon;
    draws.noise = options.greedy ? 0 : options.noise;
    PlacerSamples drawn = network_->placer.sample(part.sequence, draws, random);
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

UpdateReport SequencePolicy::update(const Rollout& rollout, std::span<const double> advantages,
                                    const UpdateOptions& options) {
  const auto tape = std::dynamic_pointer_cast<Tape>(rollout.tape);
  if (tape == nullptr || network_ == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                "there is nothing to learn from: update takes what this policy's rollout filled");
  }
  check_advantages(rollout, advantages);
  UpdateReport report;
  for (const Tape::Part& part : tape->parts) {
    const auto samples = part.devices.size(1);
    const torch::Tensor advantage =
        torch::from_blob(const_cast<double*>(advantages.data() + part.first), {samples},
                         torch::kFloat64)  // only read
            .to(torch::kFloat32);
    Placer::Scores scores = network_->placer.score(part.sequence, part.devices);
    if (part.labels.defined()) {
      const torch::Tensor log_pi = network_->grouper->log_policy(part.view->features);
      scores.log_probability =
          scores.log_probability + log_pi.gather(1, part.labels.unsqueeze(1)).sum();
      scores.entropy = scores.entropy - (log_pi.exp() * log_pi).sum();
    }
    const torch::Tensor loss =
        -(advantage * scores.log_probability).sum() - options.entropy_weight * scores.entropy.sum();
    loss.backward();
    report.loss += loss.item<double>();
    report.entropy += scores.entropy.sum().item<double>();
  }
  report.entropy /= static_cast<double>(std::max<std::size_t>(advantages.size(), 1));
  report.gradient_norm = network_->parameters.step(options.learning_rate, options.max_norm);
  return report;
}

void SequencePolicy::save(const std::filesystem::path& file, const std::string& note) const {
  if (network_ == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                file.string() + ": there is nothing to save; let the policy place or train first");
  }
  Checkpoint checkpoint{settings_.name, settings_.version, shape_options_, note,
                        network_->parameters.tensors()};
  checkpoint.options["device_count"] = std::to_string(network_->placer.shape().devices);
  checkpoint.options["vocabulary"] = network_->vocabulary.text();
  save_checkpoint(file, checkpoint);
}

std::string SequencePolicy::load(const std::filesystem::path& file) {
  const Checkpoint checkpoint = load_checkpoint(file);
  require_match(file, checkpoint, settings_.name, settings_.version, shape_options_);
  const auto text = [&](const char* name) {
    const auto found = checkpoint.options.find(name);
    return found == checkpoint.options.end() ? std::string() : found->second;
  };
  std::unique_ptr<Network> network;
  try {
    const unsigned long devices = std::stoul(text("device_count"));
    if (devices < 1 || devices > 4096) {
      throw std::invalid_argument("its number of devices is absurd");
    }
    network =
        std::make_unique<Network>(options_, settings_.make_grouper, Vocabulary(text("vocabulary")),
                                  static_cast<std::int64_t>(devices));
    network->parameters.set_tensors(checkpoint.tensors);
  } catch (const std::logic_error& error) {
    throw Error(ErrorCode::invalid_file, file.string() + ": " + error.what() +
                                             "; save it again from the policy that was trained");
  }
  network_ = std::move(network);
  views_.clear();  // made with the vocabulary of before
  return checkpoint.note;
}

PolicyAnswer SequencePolicy::place(Evaluator& evaluator, const PlaceContext& context) {
  const Problem& problem = evaluator.problem();
  RefineOptions refine_options;
  refine_options.passes = 1;  // more would give the same
  refine_options.updates = options_.integer("episodes");
  refine_options.samples = static_cast<int>(options_.integer("samples"));
  refine_options.learning_rate = options_.real("learning_rate");
  refine_options.entropy = options_.real("entropy");
  const auto answer = [&](Evaluator& on) {
    const Placement best = refine(*this, on, context, refine_options);
    return policies::finish(on.problem(), on, group_placement(on.problem(), best),
                            options_.boolean("repair"));
  };
  const auto most = static_cast<GroupId>(options_.integer("groups"));
  if (settings_.make_grouper || problem.groups().count() <= most) return answer(evaluator);
  const auto groups = coarsen(problem.graph(), problem.costs(), most, problem.constraints().get());
  return answer(*make_regrouped_evaluator(evaluator, groups));
}

}  // namespace berth::learning
