// Training by many processes: `berth run --workers`, what is lost on the way, and what is refused. Every fault is
// made by the script itself at a certain point of its work.
#include <algorithm>
#include <map>
#include <sstream>

#include "berth.h"

using namespace berth::test;

namespace {

/// Trains on two chains that are best apart. `arg`: name=value pairs that become globals.
constexpr const char* kTrain = R"(
  local berth = require 'berth'
  local processes = require 'berth.processes'
  local train = require 'berth.train'
  local workers = require 'berth.workers'
  local given = {}
  for _, text in ipairs(arg) do
    local name, value = text:match '^(.-)=(.*)$'
    given[name] = tonumber(value) or value
  end
  local rank = workers.rank()
  local length = given.other_graph == rank and 3 or 4

  local builder = berth.graph_builder 'chains'
  local tensors = {}
  for i = 1, 2 * length do
    local op = builder:add_op('op' .. i, 'Op')
    builder:set_cost(op, 100)
    tensors[i] = builder:add_output(op, { bytes = 1e6 })
    if (i - 1) % length > 0 then builder:add_input(op, tensors[i - 1]) end
  end
  local problem = berth.problem { graph = builder:build(), cluster = berth.cluster { name = 'pair',
    devices = { { name = 'd0', kind = 'k' }, { name = 'd1', kind = 'k' } },
    links = { { src = '*', dst = '*', bandwidth_bytes_per_s = 1e10, latency_us = 1 } } } }

  -- True the first `times` times that it is asked of this name by any process.
  local function first(name, times)
    for k = 1, times or 1 do
      if processes.claim(name .. k) then return true end
    end
    return false
  end
  local function die() processes.kill(processes.own_id()) end
  local function store_process()
    local parent = os.getenv 'BERTH_PARENT'
    for pid in io.open('/proc/' .. parent .. '/task/' .. parent .. '/children'):read('*a'):gmatch '%d+' do
      local command = io.open('/proc/' .. pid .. '/cmdline')
      if command and command:read('*a'):find('commands/store.lua', 1, true) then return tonumber(pid) end
    end
    return tonumber(given.store_pid)
  end

  local evaluations = 0
  local function evaluate(placements)
    local found = {}
    for i, placement in ipairs(placements) do
      evaluations = evaluations + 1
      if given.worker_dies and first('worker', given.worker_dies) then die() end
      if given.always_dies then die() end
      if given.worker_hangs and evaluations == 3 and first 'hang' then processes.sleep(1000) end
      if given.worker_fails and evaluations == 3 then error 'the backend is out of luck' end
      found[i] = problem:evaluate(placement)
      if given.slow_rank then
        local factor = rank == given.slow_rank and 10 or 1
        found[i].objective_us, found[i].runtime_us = found[i].objective_us * factor, found[i].runtime_us * factor
      end
    end
    return found
  end

  local own = given.evaluate and function(p)
    return berth.evaluator(p, { evaluate = evaluate, measures = given.slow_rank ~= nil })
  end
  local updates = 0
  local result = train.episodes {
    policy = function() return berth.policy(given.policy or 'placeto', { weights = 'none' }) end,
    problems = { problem }, count = given.count or 12, samples = given.samples or 4, seed = given.seed or 1,
    checkpoint = rank == 0 and given.checkpoint or '', tensorboard = rank == 0 and given.tensorboard or '',
    evaluators = own or false,
    reward = function(before, after)
      if given.controller_dies and first 'controller' then die() end
      if given.reward_fails then error 'no reward today' end
      return math.log(before.objective_us / after.objective_us)
    end,
    progress = rank == 0 and function(record)
      updates = updates + 1
      if given.learner_dies and record.update == given.learner_dies and first 'learner' then die() end
      if given.store_dies and record.update == given.store_dies and first 'store' then
        processes.kill(store_process())
      end
      if given.log then given.logged = given.logged or train.log_progress(given.log, 'placeto') given.logged(record) end
    end or false,
    workers = not given.alone and { mode = given.mode or 'asynchronous', controllers = given.controllers or 0,
      lease_s = given.lease_s or 300, join_s = given.join_s or 60, lost_s = given.lost_s or 60,
      takers = given.takers or 3, staleness = given.staleness or 0 } or false,
  }
  if rank == 0 then
    print(('%d updates, best %.17g, greedy %.17g'):format(result.updates, result.best[1].evaluation.objective_us,
      result.greedy[1].evaluation.objective_us))
  else
    local file = assert(io.open('rank' .. rank, 'w'))
    file:write(('%d updates, best %.17g'):format(result.updates, result.best[1].evaluation.objective_us))
    file:close()
  end
)";

struct Training : Workplace {
  Training() {
    write_text("train.lua", kTrain);
    settings.environment = {"TMPDIR=" + (*this / "").string()};
  }

  [[nodiscard]] ProcessResult run(const std::vector<std::string>& options,
                                  const std::vector<std::string>& arguments) const {
    std::vector<std::string> all = {"run"};
    all.insert(all.end(), options.begin(), options.end());
    all.push_back("train.lua");
    all.insert(all.end(), arguments.begin(), arguments.end());
    return berth(all);
  }
  [[nodiscard]] ProcessResult run(int workers, const std::vector<std::string>& arguments) const {
    return run({"--workers", std::to_string(workers)}, arguments);
  }
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// What a build may lack: Lua, OpenSSL, LibTorch.
bool has_workers() {
  const Workplace work;
  work.write_text("try.lua",
                  "local berth = require 'berth'\nberth.module_file 'store'\n"
                  "berth.policy('placeto', { weights = 'none' })");
  if (work.berth({"run", "try.lua"}).status == 0) return true;
  MESSAGE("skipped: this build has no Lua, no OpenSSL or no LibTorch");
  return false;
}

void check_trained(const ProcessResult& result, int updates = 12) {
  CHECK_MESSAGE(result.status == 0, result.err);
  CHECK_MESSAGE(result.out.starts_with(std::to_string(updates) + " updates, best 400, greedy "),
                result.out, result.err);
}

}  // namespace

TEST_CASE("one controller in step is one process, bit for bit, whoever measures") {
  if (!has_workers()) return;
  const Training alone;
  const ProcessResult expected = alone.run({"--threads", "1"}, {"alone=1", "checkpoint=c"});
  REQUIRE_MESSAGE(expected.status == 0, expected.err);
  const std::string weights = file_text(alone / "c");
  for (const std::vector<std::string>& how :
       std::vector<std::vector<std::string>>{{"controllers=1"}, {"controllers=1", "evaluate=1"}}) {
    for (const int workers : {1, 3}) {
      const Training work;
      std::vector<std::string> arguments = how;
      arguments.insert(arguments.end(), {"mode=synchronous", "checkpoint=c"});
      const ProcessResult result = work.run(workers, arguments);
      CHECK_MESSAGE(result.out == expected.out, result.err);
      // The file ends with the weights; before them is a note with what else is kept.
      const std::string own = file_text(work / "c");
      const std::size_t tail = 4000;
      REQUIRE(own.size() > tail);
      CHECK(own.substr(own.size() - tail) == weights.substr(weights.size() - tail));
    }
  }
}

TEST_CASE("averaged gradients do not depend on who is first") {
  if (!has_workers()) return;
  const Training a, b;
  const std::vector<std::string> arguments = {"mode=synchronous", "checkpoint=c", "count=6"};
  check_trained(a.run(3, arguments), 6);
  check_trained(b.run(3, arguments), 6);
  const std::string one = file_text(a / "c"), other = file_text(b / "c");
  REQUIRE(one.size() > 4000);
  CHECK(one.substr(one.size() - 4000) == other.substr(other.size() - 4000));
  CHECK(file_text(a / "rank3").starts_with("6 updates, best 400"));
}

TEST_CASE("actors, and controllers with workers") {
  if (!has_workers()) return;
  for (const char* policy : {"placeto", "seq2seq"}) {
    for (const char* controllers : {"controllers=0", "controllers=2"}) {
      const Training work;
      const ProcessResult result = work.run(
          4, {controllers, std::string("policy=") + policy, "tensorboard=e.tfevents", "count=20"});
      CHECK_MESSAGE(result.status == 0, result.err);
      CHECK_MESSAGE(result.out.starts_with("20 updates, best "), result.out);
      const std::string events = file_text(work / "e.tfevents");
      CHECK(contains(events, "workers/samples_per_s"));
      CHECK(contains(events, "workers/rank 4/tasks_per_s"));
      CHECK(contains(result.err, "2/2 ") == (controllers == std::string("controllers=2")));
    }
  }
}

TEST_CASE("who is killed is started again, and only what was in flight is measured again") {
  if (!has_workers()) return;
  const std::map<std::string, int> cases = {
      {"worker_dies=3", 3}, {"controller_dies=1", 1}, {"learner_dies=5", 1}};
  for (const auto& [fault, deaths] : cases) {
    for (const char* mode : {"mode=asynchronous", "mode=synchronous"}) {
      CAPTURE(fault);
      CAPTURE(mode);
      const Training work;
      const ProcessResult result =
          work.run(4, {fault, mode, "controllers=2", "evaluate=1", "takers=9"});
      check_trained(result);
      int said = 0;
      std::istringstream lines(result.err);
      for (std::string line; std::getline(lines, line);) {
        said += contains(line, "was ended by signal 9 and is started again") ? 1 : 0;
      }
      CHECK_MESSAGE(said == deaths, result.err);
    }
  }
}

TEST_CASE("a store that is killed goes on from its journal") {
  if (!has_workers()) return;
  for (const char* mode : {"mode=asynchronous", "mode=synchronous"}) {
    const Training work;
    check_trained(work.run(4, {"store_dies=4", mode, "controllers=2", "evaluate=1"}));
  }
}

TEST_CASE("a worker that hangs is asked no more, after its lease") {
  if (!has_workers()) return;
  const Training work;
  // The hanging one is killed with the rest at the end.
  check_trained(work.run(4, {"worker_hangs=1", "controllers=1", "evaluate=1", "lease_s=0.5"}));
}

TEST_CASE("failures end all processes, and are said once with who failed") {
  if (!has_workers()) return;
  const struct {
    std::vector<std::string> arguments;
    std::vector<const char*> said;
  } cases[] = {
      {{"worker_fails=1", "controllers=1", "evaluate=1"}, {"the backend is out of luck", "rank "}},
      {{"reward_fails=1"}, {"no reward today", "rank "}},
      {{"controllers=9"}, {"9 controllers are asked for", "3 processes"}},
      {{"always_dies=1", "controllers=1", "evaluate=1", "takers=2"}, {"a task was lost with each"}},
      {{"other_graph=2"}, {"problem 1, ", "rank 0", "rank 2"}},
      {{"mode=both"}, {"'mode' is both"}},
  };
  for (const auto& each : cases) {
    const Training work;
    const ProcessResult result = work.run(3, each.arguments);
    CHECK(result.status == 1);
    for (const char* part : each.said) {
      CHECK_MESSAGE(contains(result.err, part), part, " is not in: ", result.err);
    }
  }
}

TEST_CASE("a machine that measures ten times slower is named, and what it measured is corrected") {
  if (!has_workers()) return;
  const Training work;
  const ProcessResult result =
      work.run(4, {"slow_rank=3", "controllers=1", "evaluate=1", "count=20"});
  CHECK_MESSAGE(result.status == 0, result.err);
  CHECK_MESSAGE(result.out.starts_with("20 updates, best 400"), result.out);
  CHECK_MESSAGE(contains(result.err, "rank 3 on "), result.err);
  CHECK_MESSAGE(contains(result.err, "measures 10.0 times slower than the median"), result.err);
}
