// The bound classes: the engine's own, and those below that tie together what Lua sees as one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "berth/backend.h"
#include "berth/cluster.h"
#include "berth/costs.h"
#include "berth/engine.h"
#include "berth/evaluator.h"
#include "berth/graph.h"
#include "berth/groups.h"
#include "berth/policy.h"
#include "berth/problem.h"
#include "berth/sdk/moves.h"
#include "berth/sdk/random.h"
#include "berth/simulator.h"
#include "berth/support/search_work.h"
#include "object.h"
#include "value.h"

namespace berth::lua {

class PolicyCall;

/// A problem with what its methods need again and again, made when first needed.
class ProblemObject {
 public:
  /// `threads` of its evaluator; 0 = one per core.
  explicit ProblemObject(std::shared_ptr<const Problem> problem, int threads,
                         std::vector<std::string> notes = {}, std::string settings = {});

  [[nodiscard]] const Problem& problem() const noexcept { return *problem_; }
  [[nodiscard]] const std::shared_ptr<const Problem>& shared() const noexcept { return problem_; }
  /// Warnings for the user about how it was made.
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }
  /// Task::settings; empty where it was made of others' parts.
  [[nodiscard]] const std::string& settings() const noexcept { return settings_; }
  Evaluator& evaluator();
  const std::shared_ptr<const Simulator>& simulator();

 private:
  std::shared_ptr<const Problem> problem_;
  int threads_;
  std::vector<std::string> notes_;
  std::string settings_;
  std::unique_ptr<Evaluator> evaluator_;
  std::shared_ptr<const Simulator> simulator_;
};

/// A session with the backend it runs on.
struct SessionObject {
  std::shared_ptr<Backend> backend;
  std::shared_ptr<Session> session;
};

/// An evaluator of Lua's own, or one that a policy was lent for one call.
struct EvaluatorObject {
  std::shared_ptr<ProblemObject> problem;
  std::shared_ptr<SessionObject> session;  ///< what executes; null if it simulates
  std::unique_ptr<Evaluator> owned;
  Evaluator* evaluator = nullptr;  ///< null: the call it was lent for has ended
  PolicyCall* lent_for = nullptr;  ///< null: it is Lua's own, or that call has ended
  // Reused from call to call, so that an evaluation allocates nothing.
  std::vector<Placement> placements;
  std::vector<Evaluation> results;

  /// Throws Error where the loan has ended.
  Evaluator& get() const;
  /// Tells the call that it was lent for what was evaluated. Throws Error where that is to end.
  void tell(std::span<const Placement> found, std::span<const Evaluation> evaluations) const;
};

/// A placement that is kept evaluated, and moves away from it.
struct MovesObject {
  std::shared_ptr<ProblemObject> problem;
  std::shared_ptr<EvaluatorObject> counted;  ///< whose work it is; null = nobody's
  MoveEvaluator moves;
  SearchWork told = {};  ///< of moves.work(), to `counted`
  // Reused from call to call.
  std::vector<Move> proposed = {};
  std::vector<std::int32_t> ids = {};
};

/// warm_up, repeats and seed of a table.
[[nodiscard]] MeasureOptions read_measure_options(const State& state, Fields& fields);

struct PolicyObject {
  std::string name;
  OptionTexts options;  ///< as given
  std::uint64_t seed = 0;
  std::unique_ptr<Policy> policy;
};

/// One call of `place` as a Lua policy sees it.
struct ContextObject {
  const PlaceContext* context = nullptr;  ///< null: the call has ended
  const Options* options = nullptr;
  std::vector<std::string>* notes = nullptr;  ///< of the answer
  LowerBound* proven = nullptr;               ///< of the answer
  PolicyCall* call = nullptr;

  /// Throws Error where the call has ended.
  const PlaceContext& get() const;
};

/// "roofline", "stated" or the path of a file (anything with a '/' or a '.'), as
/// berth::make_costs takes it; throws Error for any other value.
[[nodiscard]] std::string cost_source(const Value& source);

template <>
const Type& type_of<Graph>();
template <>
const Type& type_of<GraphBuilder>();
template <>
const Type& type_of<Cluster>();
template <>
const Type& type_of<Costs>();
template <>
const Type& type_of<Groups>();
template <>
const Type& type_of<ProblemObject>();
template <>
const Type& type_of<EvaluatorObject>();
template <>
const Type& type_of<Program>();
template <>
const Type& type_of<Backend>();
template <>
const Type& type_of<SessionObject>();
template <>
const Type& type_of<PolicyObject>();
template <>
const Type& type_of<ContextObject>();
template <>
const Type& type_of<Random>();
template <>
const Type& type_of<MovesObject>();

}  // namespace berth::lua
