#include "auto/race.h"

namespace berth::policies::auto_policy {

std::vector<Round> rounds_of_race(std::size_t runners, double share) {
  std::vector<Round> rounds;
  for (std::size_t left = runners; left > 1; left = rounds.back().survivors()) {
    rounds.push_back({left, 0});
  }
  double left = 1;
  for (Round& round : rounds) {
    const double of_all = share / static_cast<double>(rounds.size());
    round.share = of_all / left;
    left -= of_all;
  }
  return rounds;
}

}  // namespace berth::policies::auto_policy
