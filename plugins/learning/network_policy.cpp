#include "learning/network_policy.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "berth/error.h"
#include "berth/sdk/training_options.h"
#include "berth/support/text.h"

namespace berth::learning {
namespace {

/// "rounds=8, no hidden": what `theirs` has otherwise than `ours`. Empty = nothing.
std::string differences(const std::map<std::string, std::string>& theirs,
                        const std::map<std::string, std::string>& ours) {
  std::vector<std::string> all;
  for (const auto& [name, value] : theirs) {
    const auto found = ours.find(name);
    if (found == ours.end() || found->second != value) all.push_back(cat(name, "=", value));
  }
  for (const auto& [name, value] : ours) {
    if (!theirs.contains(name)) all.push_back(cat("no ", name));
  }
  return join(all);
}

}  // namespace

std::size_t count_in(const Facts& facts, const std::string& name, std::size_t most) {
  const auto found = facts.find(name);
  const std::string text = found == facts.end() ? "" : found->second;
  const bool digits =
      !text.empty() && text.size() <= 9 &&
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  const std::size_t count = digits ? std::stoul(text) : most + 1;
  if (count > most) {
    throw std::invalid_argument(
        cat("its ", name, " is '", text, "', which is no number up to ", most));
  }
  return count;
}

bool same_problem(const Problem& a, const Problem& b) {
  return a.shared_graph() == b.shared_graph() && a.shared_cluster() == b.shared_cluster() &&
         a.shared_costs() == b.shared_costs() && a.shared_groups() == b.shared_groups() &&
         a.constraints() == b.constraints() && a.options() == b.options();
}

NetworkPolicy::NetworkPolicy(const Options& options, const NetworkPolicySettings& settings)
    : options_(options), settings_(settings) {
  for (const OptionSpec& spec : settings_.shape) {
    shape_[spec.name] = to_text(options.values().find(spec.name)->second);
  }
}
NetworkPolicy::~NetworkPolicy() = default;

std::string NetworkPolicy::called() const {
  return cat("policy '", settings_.name, "'");
}

std::int64_t NetworkPolicy::parameter_count() const {
  return network_ == nullptr ? 0 : network_->parameter_count();
}

const std::shared_ptr<Network>& NetworkPolicy::network_for(std::span<Evaluator* const> evaluators) {
  if (network_ == nullptr) {
    Facts facts = facts_of(evaluators);
    std::string why = start_from_weights(facts);
    if (network_ == nullptr) {
      network_ = make_network(facts);
      unserved_ = std::move(why);
      facts_ = std::move(facts);
      fresh_ = true;
    }
  }
  for (Evaluator* evaluator : evaluators) require_served(*network_, evaluator->problem());
  return network_;
}

std::string NetworkPolicy::start_from_weights(const Facts& facts) {
  std::filesystem::path file = options_.text("weights");
  if (file == "none") return {};
  const bool shipped = file.empty();
  if (shipped) file = shipped_weights(settings_.name);
  if (file.empty()) return {};
  Checkpoint checkpoint = load_checkpoint(file);
  // Weights that come with Berth serve the options they were trained with; others start afresh.
  if (shipped) {
    const std::string other = differences(checkpoint.options, shape_and(facts));
    if (!other.empty()) {
      return cat("the weights that come with '", settings_.name, "' are for ", other);
    }
  }
  checkpoint.tensors = without_optimiser(std::move(checkpoint.tensors));
  take(file, std::move(checkpoint), shipped ? Weights::shipped : Weights::file);
  return {};
}

std::map<std::string, std::string> NetworkPolicy::shape_and(const Facts& facts) const {
  std::map<std::string, std::string> all = shape_;
  all.insert(facts.begin(), facts.end());
  return all;
}

void NetworkPolicy::save(const std::filesystem::path& file, const std::string& note) const {
  if (network_ == nullptr) {
    throw Error(
        ErrorCode::invalid_argument,
        cat(file.string(), ": there is nothing to save; let the policy place or train first"));
  }
  save_checkpoint(
      file, {settings_.name, settings_.version, shape_and(facts_), note, network_->tensors()});
}

std::string NetworkPolicy::load(const std::filesystem::path& file) {
  const Checkpoint checkpoint = load_checkpoint(file);
  take(file, checkpoint, Weights::file);
  return checkpoint.note;
}

void NetworkPolicy::take(const std::filesystem::path& file, Checkpoint checkpoint, Weights kind) {
  // A file that is older than an option does not name it: the shapes of its tensors tell.
  checkpoint.options.insert(shape_.begin(), shape_.end());
  require_match(file, checkpoint, settings_.name, settings_.version, shape_);
  Facts facts = checkpoint.options;
  for (const auto& [name, value] : shape_) facts.erase(name);
  std::shared_ptr<Network> network;
  try {
    network = make_network(facts);
    network->set_tensors(checkpoint.tensors);
  } catch (const std::logic_error& error) {
    throw Error(ErrorCode::invalid_file,
                cat(file.string(), ": ", error.what(),
                    "; use a whole copy of it, or save it again from the policy that was trained"));
  }
  network_ = std::move(network);
  facts_ = std::move(facts);
  begin_with(kind);
  network_changed();
}

UpdateReport NetworkPolicy::accumulate(const Rollout& rollout, std::span<const double> advantages,
                                       const UpdateOptions& options) {
  const auto* tape = dynamic_cast<const Tape*>(rollout.tape.get());
  if (tape == nullptr || network_ == nullptr || tape->network.lock() != network_ ||
      tape->updates != updates_) {
    throw Error(ErrorCode::invalid_argument,
                cat(called(),
                    ": there is nothing to learn from: update takes a rollout of this "
                    "policy with the weights it has now, and every update changes them"));
  }
  check_advantages(rollout, advantages);
  check_update(options);
  UpdateReport report = learn(*tape, advantages, options.entropy_weight);
  // Sampled decisions count all: learning may leave some out, and smooth the entropy.
  for (const Rollout::Episode& episode : rollout.episodes) {
    report.entropy += std::accumulate(episode.entropy.begin(), episode.entropy.end(), 0.0);
  }
  report.entropy /= static_cast<double>(std::max<std::size_t>(advantages.size(), 1));
  return report;
}

UpdateReport NetworkPolicy::update(const Rollout& rollout, std::span<const double> advantages,
                                   const UpdateOptions& options) {
  UpdateReport report = accumulate(rollout, advantages, options);
  report.gradient_norm = network_->step(options.learning_rate, options.max_norm);
  ++updates_;
  if (changes_weights(advantages, options)) ++changes_;
  return report;
}

void NetworkPolicy::mark(Tape& tape) const {
  tape.network = network_;
  tape.updates = updates_;
}

UpdateReport NetworkPolicy::gradient(const Rollout& rollout, std::span<const double> advantages,
                                     const UpdateOptions& options, std::vector<float>& out) {
  const UpdateReport report = accumulate(rollout, advantages, options);
  network_->take_gradient(out);
  return report;
}

double NetworkPolicy::step(std::span<const float> gradient, const UpdateOptions& options) {
  check_update(options);
  check_values(gradient, "gradient");
  network_->set_gradient(gradient);
  const double norm = network_->step(options.learning_rate, options.max_norm);
  ++updates_;
  if (options.learning_rate != 0 && norm != 0) ++changes_;
  return norm;
}

void NetworkPolicy::prepare(std::span<Evaluator* const> evaluators) {
  meet(evaluators, [] {});
}

void NetworkPolicy::meet(std::span<Evaluator* const> evaluators,
                         const std::function<void()>& check) {
  static_cast<void>(network_for(evaluators));
  if (fresh_) changes_ += begin(evaluators, check);
  fresh_ = false;
}

Network& NetworkPolicy::made_network() const {
  if (network_ != nullptr) return *network_;
  throw Error(ErrorCode::invalid_argument,
              cat(called(), " has no weights yet; prepare it for its problems first"));
}

std::vector<float> NetworkPolicy::weights() const {
  return made_network().weights();
}

void NetworkPolicy::set_weights(std::span<const float> weights) {
  check_values(weights, "weights");
  network_->set_weights(weights);
  ++updates_;
  begin_with(Weights::given);
}

void NetworkPolicy::begin_with(Weights kind) {
  fresh_ = false;
  unserved_.clear();
  began_with_ = kind;
  changes_ = 0;
}

void NetworkPolicy::check_values(std::span<const float> values, const char* what) const {
  const auto count = static_cast<std::size_t>(made_network().parameter_count());
  if (values.size() != count) {
    throw Error(ErrorCode::invalid_argument, cat(called(), ": ", values.size(), " values are no ",
                                                 what, " of a network with ", count));
  }
  if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
    throw Error(ErrorCode::invalid_argument,
                cat(called(), ": the ", what, " hold a value that is not finite"));
  }
}

PolicyAnswer NetworkPolicy::place(Evaluator& evaluator, const PlaceContext& context) {
  RefineOptions how;
  if (settings_.coarsens) how.groups = static_cast<GroupId>(options_.integer("groups"));
  if (settings_.searches) {
    how.neighbourhood = static_cast<GroupId>(options_.integer("neighbourhood"));
    how.grouping = grouping_from_name(options_.text("grouping"));
  }
  // Without options of episodes, what it decides does not depend on where they start.
  how.passes = 1;
  how.starts = RefineOptions::Starts::none;
  read_training(options_, how);
  PolicyAnswer answer = refine(*this, evaluator, context, how);
  answer.learned->weights = began_with_;
  answer.learned->updates = changes_;
  if (!unserved_.empty() && changes_ == 0) {
    answer.notes.insert(answer.notes.begin(), unserved_);
  }
  return answer;
}

}  // namespace berth::learning
