// Mixtures of experts that exporters spell out: how many tokens an op chooses for an expert.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "berth/frontend.h"

namespace berth::frontend {

/// The choice that a mask comes from: each of `tokens` chooses `experts.chosen` of `experts.of`.
struct Router {
  double tokens = 0;
  LoadOptions::Experts experts;
  bool reduced = false;  ///< the mask is over experts: which are chosen at all
};

/// What an op that chooses by a mask chooses, all experts being equally likely.
struct Routed {
  LoadOptions::Experts experts;
  /// How many it is expected to choose, if it chooses any; above 0.
  std::int64_t count = 0;
  /// The share of steps in which any token chooses the expert, from 0 to 1.
  double share = 1;
};

/// Of a mask of `all` elements. `given`: what the user says, which counts before the router; without
/// either nothing is known. `router`: empty where the mask comes from none.
[[nodiscard]] std::optional<Routed> routed_choice(std::int64_t all, std::optional<Router> router,
                                                  LoadOptions::Experts given);

/// A router's choice by the sizes of what it chooses from along an axis, of what it chooses along
/// it, and of all that it chooses; empty where these are of no router.
[[nodiscard]] std::optional<Router> router_of(std::int64_t experts, std::int64_t chosen,
                                              std::int64_t choices);

/// What a person is told where `places` ops choose so.
[[nodiscard]] std::string routing_note(std::int64_t places, LoadOptions::Experts experts);
/// For --experts where nothing chooses any.
[[nodiscard]] std::string no_routing_note(LoadOptions::Experts given);

}  // namespace berth::frontend
