#include "support/experts.h"

#include <algorithm>
#include <cmath>

#include "berth/sdk/ops/op.h"
#include "support/text.h"

namespace berth::frontend {
namespace {

constexpr std::int64_t kMostExperts = 1 << 14;

}  // namespace

std::optional<Router> router_of(std::int64_t experts, std::int64_t chosen, std::int64_t choices) {
  if (chosen < 1 || experts <= chosen || experts > kMostExperts || choices < 1) return {};
  return Router{static_cast<double>(choices) / static_cast<double>(chosen), {chosen, experts}};
}

std::optional<Routed> routed_choice(std::int64_t all, std::optional<Router> router,
                                    LoadOptions::Experts given) {
  if (all < 1) return std::nullopt;
  if (given.of > 0) {
    if (!router) router = Router{static_cast<double>(all), given};
    router->experts = given;
  }
  if (!router) return std::nullopt;
  const auto experts = static_cast<double>(router->experts.of);
  const auto chosen = static_cast<double>(router->experts.chosen);
  const double choices = router->tokens * chosen;
  Routed routed;
  routed.experts = router->experts;
  if (router->reduced && all == router->experts.of) {
    routed.count = static_cast<std::int64_t>(
        std::ceil(ops::expected_distinct(router->tokens, chosen, experts)));
  } else if (static_cast<double>(all) >= choices * experts) {
    routed.count = static_cast<std::int64_t>(choices);  // the mask is over all experts
  } else {
    // Close to 1 rounding up would add a token to every expert.
    constexpr double kNearlyAlways = 0.999;
    routed.share = ops::expected_distinct(router->tokens, chosen, experts) / experts;
    if (routed.share > kNearlyAlways) routed.share = 1;
    routed.count = static_cast<std::int64_t>(std::ceil(choices / experts / routed.share));
  }
  routed.count = std::clamp<std::int64_t>(routed.count, 1, all);
  return routed;
}

std::string routing_note(std::int64_t places, LoadOptions::Experts experts) {
  return cat(
      "in ", places, places == 1 ? " place" : " places",
      " the tokens of an expert are counted as many as they are in the mean, where each token "
      "chooses ",
      experts.chosen, " of ", experts.of, " experts; --experts K/N says otherwise");
}

std::string no_routing_note(LoadOptions::Experts given) {
  return cat(
      "--experts ", given.chosen, "/", given.of,
      " changes nothing: no op of the model chooses experts, nor tokens for them, so that all of "
      "what is in the file is counted");
}

}  // namespace berth::frontend
