#include "auto/contained.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "plugins/small_problem.h"

using namespace berth;
using namespace berth::test;

namespace {

using policies::auto_policy::collect_starts;
using policies::auto_policy::contained_policies;

/// Four ops that do not know each other, on two devices.
std::shared_ptr<const Problem> four_ops() {
  return small_problem({{"a", "x"}, {"b", "x"}}, {{{1}}, {{1}}, {{1}}, {{1}}}, {});
}

/// Says that it was asked about the whole machine, and puts as many ops as told on the second device.
class Recorded final : public Policy {
 public:
  Recorded(std::string name, int moved, std::vector<std::string>& asked)
      : name_(std::move(name)), moved_(moved), asked_(asked) {}

  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& /*context*/) override {
    Placement placement(4, 0);
    if (evaluator.problem().cluster().device_count() == 2) {
      asked_.push_back(name_);
      for (int op = 0; op < moved_; ++op) placement[static_cast<std::size_t>(op)] = 1;
    }
    return PolicyAnswer(std::move(placement));
  }

 private:
  std::string name_;
  int moved_;
  std::vector<std::string>& asked_;
};

/// Who is asked, in this order, where `heft` and `metis` move so many ops each.
std::vector<std::string> asked_where(int heft, int metis) {
  std::vector<std::string> asked;
  const PolicyMaker make = [&](std::string_view name, const OptionTexts& options) {
    const int moved = name == "heft" ? heft : name == "metis" && options.empty() ? metis : 0;
    return std::make_unique<Recorded>(std::string(name), moved, asked);
  };
  const auto problem = four_ops();
  const auto evaluator = make_simulation_evaluator(problem, 1);
  const auto starts =
      collect_starts(make, contained_policies("single,heft,metis,topo,metis:phases=2,m-etf,dp"),
                     /*skip_missing=*/true, *problem, *evaluator, PlaceContext{});
  CHECK(starts.found.size() >= asked.size());
  return asked;
}

}  // namespace

TEST_CASE("auto: the second list scheduler comes next where the first beats the partitioner") {
  using Names = std::vector<std::string>;
  CHECK(asked_where(2, 1) == Names{"single", "heft", "metis", "m-etf", "topo", "metis", "dp"});
  CHECK(asked_where(1, 2) == Names{"single", "heft", "metis", "topo", "metis", "m-etf", "dp"});
  // Neither is better than one device.
  CHECK(asked_where(0, 0) == Names{"single", "heft", "metis", "topo", "metis", "m-etf", "dp"});
}
