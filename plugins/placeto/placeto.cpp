#include "placeto.h"

#include <algorithm>
#include <stdexcept>

#include "berth/error.h"
#include "common/repair.h"
#include "learning/reinforce.h"
#include "options.h"
#include "tape.h"

namespace berth::placeto {
namespace {

/// Problems whose graphs are kept ready; a family of graphs in training is smaller.
constexpr std::size_t kViews = 256;

SelfTerm self_term(const std::string& name) {
  if (name == "previous") return SelfTerm::previous;
  return name == "none" ? SelfTerm::none : SelfTerm::transform;
}

Pooling pooling(const std::string& name) {
  if (name == "one") return Pooling::one;
  return name == "none" ? Pooling::none : Pooling::three;
}

NetworkShape network_shape(const Options& options, const FeatureShape& features) {
  NetworkShape shape;
  shape.embedding.features = features.width();
  shape.embedding.rounds = static_cast<std::size_t>(options.integer("rounds"));
  shape.embedding.sweep = options.boolean("sweep");
  shape.embedding.self_term = self_term(options.text("self"));
  shape.embedding.layers = static_cast<std::size_t>(options.integer("layers"));
  shape.embedding.pooling = pooling(options.text("pooling"));
  shape.embedding.mean = options.text("aggregate") == "mean";
  shape.embedding.by_device = !features.one_hot;
  shape.devices = features.devices;
  shape.candidate_features = features.candidate_width();
  shape.prior = features.prior();
  shape.hidden_layers = shape.embedding.layers;
  shape.logit_bound = options.real("logit_bound");
  return shape;
}

}  // namespace

PlacetoPolicy::PlacetoPolicy(const Options& options)
    : options_(options), seed_(static_cast<std::uint64_t>(options.integer("init_seed"))) {
  for (std::size_t i = 0; i < kShapeOptions; ++i) {
    shape_options_[kOptions[i].name] = to_text(options.values().find(kOptions[i].name)->second);
  }
}
PlacetoPolicy::~PlacetoPolicy() = default;

FeatureShape PlacetoPolicy::feature_shape(std::size_t devices) const {
  FeatureShape shape;
  shape.one_hot = options_.text("devices") == "one_hot";
  shape.start = options_.boolean("start_time");
  shape.parameters = options_.boolean("memory");
  shape.lookahead = !shape.one_hot && options_.boolean("lookahead");
  shape.devices = shape.one_hot ? devices : 0;
  return shape;
}

Network& PlacetoPolicy::network(std::size_t devices) {
  if (network_ == nullptr) {
    start_from_weights();
    if (network_ == nullptr) {
      network_ = std::make_unique<Network>(network_shape(options_, feature_shape(devices)), seed_);
    }
  }
  const std::size_t own = network_->shape().devices;
  if (own != 0 && own != devices) {
    throw Error(ErrorCode::unsupported,
                "policy 'placeto': its weights are for " + std::to_string(own) +
                    " devices and the cluster has " + std::to_string(devices) +
                    "; train one for it, or use devices=features, which serves any cluster");
  }
  return *network_;
}

void PlacetoPolicy::start_from_weights() {
  std::filesystem::path file = options_.text("weights");
  if (file == "none") return;
  if (file.empty()) {
    file = learning::shipped_weights(kName);
    if (file.empty()) return;
  }
  const learning::Checkpoint checkpoint = learning::load_checkpoint(file);
  // Weights that come with Berth serve the options they were trained with; others start afresh.
  if (options_.text("weights").empty() && checkpoint.options != checkpoint_options(0)) return;
  network_ = network_of(file, checkpoint);
  network_->set_tensors(learning::without_optimiser(network_->tensors()));
}

std::map<std::string, std::string> PlacetoPolicy::checkpoint_options(std::size_t devices) const {
  std::map<std::string, std::string> options = shape_options_;
  options["device_count"] = std::to_string(devices);
  return options;
}

std::shared_ptr<const PlacetoPolicy::ProblemView> PlacetoPolicy::view_of(const Problem& problem) {
  const auto found = std::find_if(views_.begin(), views_.end(),
                                  [&](const auto& view) { return view->is_of(problem); });
  if (found != views_.end()) return *found;
  if (views_.size() >= kViews) views_.clear();
  const auto devices = static_cast<std::size_t>(problem.cluster().device_count());
  const auto peers = static_cast<std::size_t>(options_.integer("peers"));
  views_.push_back(std::make_shared<const ProblemView>(problem, feature_shape(devices), peers));
  return views_.back();
}

std::int64_t PlacetoPolicy::parameter_count() const {
  return network_ == nullptr ? 0 : network_->parameter_count();
}

void PlacetoPolicy::save(const std::filesystem::path& file, const std::string& note) const {
  if (network_ == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                file.string() + ": there is nothing to save; let the policy place or train first");
  }
  learning::save_checkpoint(file, {kName, kVersion, checkpoint_options(network_->shape().devices),
                                   note, network_->tensors()});
}

std::string PlacetoPolicy::load(const std::filesystem::path& file) {
  const learning::Checkpoint checkpoint = learning::load_checkpoint(file);
  network_ = network_of(file, checkpoint);
  return checkpoint.note;
}

std::unique_ptr<Network> PlacetoPolicy::network_of(const std::filesystem::path& file,
                                                   const learning::Checkpoint& checkpoint) const {
  learning::require_match(file, checkpoint, kName, kVersion, shape_options_);
  const auto devices = checkpoint.options.find("device_count");
  try {
    const std::size_t count = devices == checkpoint.options.end() ? 0 : std::stoul(devices->second);
    if (count > 4096) throw std::invalid_argument("its number of devices is absurd");
    auto network = std::make_unique<Network>(network_shape(options_, feature_shape(count)), seed_);
    network->set_tensors(checkpoint.tensors);
    return network;
  } catch (const std::logic_error& error) {
    throw Error(ErrorCode::invalid_file, file.string() + ": " + error.what() +
                                             "; save it again from the policy that was trained");
  }
}

PolicyAnswer PlacetoPolicy::place(Evaluator& evaluator, const PlaceContext& context) {
  const Problem& problem = evaluator.problem();
  learning::RefineOptions refine;
  refine.passes = static_cast<int>(options_.integer("passes"));
  refine.updates = options_.integer("episodes");
  refine.samples = static_cast<int>(options_.integer("samples"));
  refine.learning_rate = options_.real("learning_rate");
  refine.entropy = options_.real("entropy");
  const auto most = static_cast<GroupId>(options_.integer("groups"));
  if (problem.groups().count() <= most) {
    return answer(evaluator, context, refine);
  }
  const auto groups = coarsen(problem.graph(), problem.costs(), most);
  return answer(*make_regrouped_evaluator(evaluator, groups), context, refine);
}

Placement PlacetoPolicy::answer(Evaluator& evaluator, const PlaceContext& context,
                                const learning::RefineOptions& refine) {
  const Problem& problem = evaluator.problem();
  const Placement best = learning::refine(*this, evaluator, context, refine);
  return policies::finish(problem, evaluator, group_placement(problem, best),
                          options_.boolean("repair"));
}

}  // namespace berth::placeto
