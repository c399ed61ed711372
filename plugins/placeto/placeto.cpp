#include "placeto.h"

#include <string>

#include "berth/error.h"
#include "berth/support/text.h"
#include "options.h"
#include "tape.h"

namespace berth::placeto {
namespace {

constexpr const char* kDeviceCount = "device_count";
constexpr std::size_t kMostDevices = 4096;

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
  const std::string& aggregate = options.text("aggregate");
  shape.embedding.mean_messages = aggregate == "mean";
  shape.embedding.mean_pools = aggregate != "sum";
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
    : NetworkPolicy(learning::with_form(options, kName, kPublished),
                    {kName, kVersion, std::span(kOptions).first(kShapeOptions),
                     /*coarsens=*/true, /*searches=*/true}) {}
PlacetoPolicy::~PlacetoPolicy() = default;

FeatureShape PlacetoPolicy::feature_shape(std::size_t devices) const {
  FeatureShape shape;
  shape.one_hot = options().text("devices") == "one_hot";
  shape.start = options().boolean("start_time");
  shape.parameters = options().boolean("memory");
  shape.lookahead = !shape.one_hot && options().boolean("lookahead");
  shape.devices = shape.one_hot ? devices : 0;
  return shape;
}

learning::Facts PlacetoPolicy::facts_of(std::span<Evaluator* const> evaluators) const {
  const auto devices = evaluators.front()->problem().cluster().device_count();
  return {{kDeviceCount, std::to_string(feature_shape(static_cast<std::size_t>(devices)).devices)}};
}

std::unique_ptr<learning::Network> PlacetoPolicy::make_network(const learning::Facts& facts) const {
  const std::size_t devices = learning::count_in(facts, kDeviceCount, kMostDevices);
  return std::make_unique<Network>(network_shape(options(), feature_shape(devices)),
                                   static_cast<std::uint64_t>(options().integer("init_seed")));
}

void PlacetoPolicy::require_served(const learning::Network& network, const Problem& problem) const {
  const std::size_t own = static_cast<const Network&>(network).shape().devices;
  const auto devices = static_cast<std::size_t>(problem.cluster().device_count());
  if (own == 0 || own == devices) return;
  throw Error(ErrorCode::unsupported,
              cat(called(), ": its weights are for ", own, " devices and the cluster has ", devices,
                  "; train one for it, or use devices=features, which serves any cluster"));
}

std::shared_ptr<const PlacetoPolicy::ProblemView> PlacetoPolicy::view_of(const Problem& problem) {
  return views_.of(problem, [&] {
    const auto devices = static_cast<std::size_t>(problem.cluster().device_count());
    const auto peers = static_cast<std::size_t>(options().integer("peers"));
    return std::make_shared<const ProblemView>(problem, feature_shape(devices), peers);
  });
}

}  // namespace berth::placeto
