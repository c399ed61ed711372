// Training by many processes: `berth run --workers`, what is lost on the way, and what is refused. Every fault is
// made by the script itself at a certain point of its work.
#include "workers.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <sstream>

#include "free_port.h"
#include "support/data.h"

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
  -- Stops a process as a terminal's Ctrl-Z does; a second later it goes on.
  local function pause(pid)
    processes.start({ '/bin/sh', '-c', ('sleep 1; kill -CONT %d'):format(pid) }, {})
    os.execute(('kill -STOP %d && touch paused'):format(pid))
  end
  local function store_process()
    local parent = os.getenv 'BERTH_PARENT'
    for pid in io.open('/proc/' .. parent .. '/task/' .. parent .. '/children'):read('*a'):gmatch '%d+' do
      local file = io.open('/proc/' .. pid .. '/cmdline')
      local command = file and file:read '*a'  -- nil where the process has ended meanwhile
      if file then file:close() end
      if command and (command:find('commands/store.lua', 1, true) or command:find('redis-server', 1, true)) then
        return tonumber(pid)
      end
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
      if given.worker_pauses and evaluations == 3 and first 'pause' then pause(processes.own_id()) end
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
      if given.controller_pauses and first 'pause' then pause(processes.own_id()) end
      if given.reward_fails then error 'no reward today' end
      return math.log(before.objective_us / after.objective_us)
    end,
    progress = rank == 0 and function(record)
      updates = updates + 1
      if record.update == 4 then
        if given.learner_pauses then pause(processes.own_id()) end
        if given.store_pauses then pause(store_process()) end
      end
      if record.update == 6 and given.watched then
        os.execute(('"%s" watch "%s" > watched 2>&1'):format(processes.program(), os.getenv 'BERTH_STORE'))
      end
      if given.waits_for and record.update == 4 then  -- until another process has said so into a file
        local said = io.open('said', 'r')
        while not said:read('*a'):find(given.waits_for, 1, true) do
          said:seek('set')
          processes.sleep(0.01)
        end
        said:close()
      end
      if given.learner_dies and record.update == given.learner_dies and first 'learner' then die() end
      if given.store_dies and record.update == given.store_dies and first 'store' then
        local before = store_process()
        processes.kill(before)
        if given.store_dies_twice then  -- while it starts
          repeat local pid = store_process() until pid and pid ~= before and processes.kill(pid) == nil
        end
      end
      if given.log then given.logged = given.logged or train.log_progress(given.log, 'placeto') given.logged(record) end
    end or false,
    workers = not given.alone and { mode = given.mode or 'asynchronous', controllers = given.controllers or 0,
      lease_s = given.lease_s or 300, join_s = given.join_s or 60, lost_s = given.lost_s or 60,
      takers = given.takers or 3, staleness = given.staleness or 0 } or false,
  }
  if rank == 0 then
    print(('%d updates, best %.17g, greedy %.17g, measured %d'):format(result.updates,
      result.best[1].evaluation.objective_us, result.greedy[1].evaluation.objective_us, result.measured))
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

TEST_CASE("updates of their own and placements of one pass are learned by many processes") {
  if (!has_workers()) return;
  for (const char* name : {"ppo", "evolution", "one_pass"}) {
    CAPTURE(name);
    // Evolution's policy has ten weights.
    const std::size_t tail = name == std::string("evolution") ? 40 : 4000;
    const std::string policy =
        "policy=" + source_path("examples/lua").string() + "/" + name + ".lua";
    const Training alone;
    const ProcessResult expected =
        alone.run({"--threads", "1"}, {policy, "alone=1", "checkpoint=c", "count=6"});
    REQUIRE_MESSAGE(expected.status == 0, expected.err);
    CHECK(expected.err == "");  // nor a word of LibTorch's
    const std::string weights = file_text(alone / "c");
    for (const int workers : {1, 3}) {
      const Training work;
      const ProcessResult result = work.run(
          workers, {policy, "controllers=1", "mode=synchronous", "checkpoint=c", "count=6"});
      CHECK_MESSAGE(result.out == expected.out, result.err);
      const std::string own = file_text(work / "c");
      REQUIRE(own.size() > tail);
      CHECK(own.substr(own.size() - tail) == weights.substr(weights.size() - tail));
    }
    const Training together, again;
    for (const Training* work : {&together, &again}) {
      const ProcessResult result =
          work->run(3, {policy, "mode=synchronous", "checkpoint=c", "count=6"});
      CHECK_MESSAGE(result.status == 0, result.err);
      CHECK_MESSAGE(contains(result.out, "6 updates, best "), result.out);
      // The last line is about all of the training, and not about the idle moment of its end.
      CHECK_MESSAGE(!contains(result.err, ": 0 samples/s"), result.err);
    }
    const std::string one = file_text(together / "c"), other = file_text(again / "c");
    REQUIRE(one.size() > tail);
    CHECK(one.substr(one.size() - tail) == other.substr(other.size() - tail));
    // A process that dies is started again.
    const Training faults;
    const ProcessResult result =
        faults.run(3, {policy, "controllers=2", "evaluate=1", "count=30", "learner_dies=3",
                       "controller_dies=1", "worker_dies=1"});
    CHECK_MESSAGE(result.status == 0, result.err);
    CHECK_MESSAGE(contains(result.out, "30 updates, best "), result.out);
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

TEST_CASE("watch reads the log of a training by many processes") {
  if (!has_workers()) return;
  const Training work;
  check_trained(work.run(3, {"controllers=1", "evaluate=1", "log=train.jsonl"}));
  const ProcessResult watched = work.berth({"watch", "train.jsonl"});
  CHECK_MESSAGE(watched.status == 0, watched.err);
  for (const char* part : {"placeto", "400.0 us", "ended: done"}) {
    CHECK_MESSAGE(contains(watched.out, part), part, " is not in: ", watched.out);
  }
}

TEST_CASE("who is killed is started again, and only what was in flight is measured again") {
  if (!has_workers()) return;
  const std::map<std::string, int> cases = {
      {"worker_dies=3", 3}, {"controller_dies=1", 1}, {"learner_dies=5", 1}};
  const auto measured = [](const ProcessResult& result) {
    return result.out.substr(result.out.find("measured"));
  };
  for (const auto& [fault, deaths] : cases) {
    for (const char* mode : {"mode=asynchronous", "mode=synchronous"}) {
      CAPTURE(fault);
      CAPTURE(mode);
      const Training work;
      const ProcessResult result =
          work.run(4, {fault, mode, "controllers=2", "evaluate=1", "takers=9"});
      check_trained(result);
      // Every update's samples are counted, whoever learned from them. In step, an update may be of
      // those that are there.
      if (mode == std::string("mode=asynchronous")) {
        const Training undisturbed;
        CHECK(measured(result) ==
              measured(undisturbed.run(4, {mode, "controllers=2", "evaluate=1", "takers=9"})));
      }
      int said = 0;
      std::istringstream lines(result.err);
      for (std::string line; std::getline(lines, line);) {
        said += contains(line, "was ended by signal 9 and is ") ? 1 : 0;
      }
      CHECK_MESSAGE(said == deaths, result.err);
    }
  }
}

TEST_CASE("processes end with the one that started them, also where they do not train together") {
  if (!has_workers()) return;
  const Training work;
  // Rank 0 holds a file while it lives. Once it has another parent it is one that stayed behind.
  work.write_text("stays.lua", R"(
    local ffi = require 'ffi'
    local processes = require 'berth.processes'
    if require('berth.workers').rank() > 0 then processes.sleep(1000) end
    assert(processes.lock 'held')
    local parent = tonumber(os.getenv 'BERTH_PARENT')
    processes.kill(parent)
    while ffi.C.getppid() == parent do processes.sleep(0.001) end
    io.open('stayed', 'w'):close()
  )");
  const ProcessResult result = work.berth({"run", "--workers", "1", "stays.lua"});
  CHECK(result.status == 128 + SIGKILL);
  const int held = open((work / "held").c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(held >= 0);
  CHECK(lockf(held, F_LOCK, 0) == 0);
  close(held);
  CHECK_FALSE(std::filesystem::exists(work / "stayed"));
}

TEST_CASE("a process whose launcher ended before it began does not begin") {
  Training work;
  work.write_text("begins.lua", "io.open('begun', 'w'):close()");
  work.settings.environment.push_back("BERTH_PARENT=" + std::to_string(getpid()));
  CHECK(work.berth({"run", "begins.lua"}).status == 0);
  REQUIRE(std::filesystem::remove(work / "begun"));
  work.settings.environment.back() = "BERTH_PARENT=2147483647";  // more than any process has
  CHECK(work.berth({"run", "begins.lua"}).status == 128 + SIGKILL);
  CHECK_FALSE(std::filesystem::exists(work / "begun"));
}

TEST_CASE("a store that is killed goes on from its journal") {
  if (!has_workers()) return;
  for (const char* mode : {"mode=asynchronous", "mode=synchronous"}) {
    const Training work;
    check_trained(work.run(4, {"store_dies=4", mode, "controllers=2", "evaluate=1"}));
  }
  const Training work;
  check_trained(work.run(2, {"store_dies=4", "store_dies_twice=1"}));
}

TEST_CASE("a worker that hangs is asked no more, after its lease") {
  if (!has_workers()) return;
  const Training work;
  // The hanging one is killed with the rest at the end.
  check_trained(work.run(4, {"worker_hangs=1", "controllers=1", "evaluate=1", "lease_s=0.5"}));
}

TEST_CASE("who is stopped and continued goes on, and nobody is started twice") {
  if (!has_workers()) return;
  for (const char* who : {"worker", "controller", "learner", "store"}) {
    for (const char* mode : {"mode=asynchronous", "mode=synchronous"}) {
      CAPTURE(who);
      CAPTURE(mode);
      const Training work;
      const ProcessResult result =
          work.run(4, {std::string(who) + "_pauses=1", mode, "controllers=2", "evaluate=1",
                       "lease_s=0.3", "lost_s=0.5"});
      check_trained(result);
      CHECK_MESSAGE(!contains(result.err, "is started again"), result.err);
      CHECK(std::filesystem::exists(work / "paused"));
      // Who was stopped knows the end as the others do.
      for (const char* file : {"rank1", "rank2", "rank3"}) {
        CHECK(file_text(work / file).starts_with("12 updates, best 400"));
      }
    }
  }
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

TEST_CASE("a policy's placements are measured by all, and those that are lost are measured again") {
  if (!has_workers()) return;
  const Training work;
  // The graph and the evaluator are those of trainings; what is done with them is another thing.
  std::string script = kTrain;
  const std::size_t end = script.find("  local updates = 0\n");
  REQUIRE(end != std::string::npos);
  work.write_text("train.lua", script.substr(0, end) + R"(
  local count = 0
  local placement, outcome = workers.place { problem = problem, seed = 3, evaluator = own,
    policy = function() count = count + 1 return berth.policy(given.policy, { [given.option] = 40 }) end,
    workers = { join_s = given.join_s or 60, lost_s = 60 } }
  local file = assert(io.open('rank' .. rank, 'w'))
  file:write(('%d %d %.17g %s'):format(count, evaluations > 0 and 1 or 0, outcome.objective_us, table.concat(placement, ' ')))
  file:close()
  if rank == 0 then print(('%.17g %d'):format(outcome.objective_us, outcome.evaluations)) end
)");
  const std::vector<std::string> alone_options;
  const auto rank = [&](int i) { return file_text(work / ("rank" + std::to_string(i))); };
  for (const std::string& policy : {std::string("random"), std::string("mcmc")}) {
    CAPTURE(policy);
    const std::vector<std::string> arguments = {
        "policy=" + policy, policy == "random" ? "option=samples" : "option=moves", "evaluate=1"};
    const ProcessResult alone = work.run(alone_options, arguments);
    REQUIRE_MESSAGE(alone.status == 0, alone.err);
    const std::string placed = rank(0).substr(4);
    CHECK(rank(0).starts_with("1 1 "));

    const ProcessResult many = work.run(3, arguments);
    CHECK_MESSAGE(many.status == 0, many.err);
    CHECK(many.out == alone.out);
    CHECK(rank(0) == "1 0 " + placed);  // it asks, and measures nothing
    for (const int i : {1, 2, 3}) CHECK(rank(i).substr(4) == placed);

    std::vector<std::string> dying = arguments;
    dying.emplace_back("worker_dies=2");
    const ProcessResult killed = work.run(3, dying);
    CHECK_MESSAGE(killed.status == 0, killed.err);
    CHECK(killed.out == alone.out);
    // Started again, unless the last of them had measured all before the death was seen.
    CHECK_MESSAGE(contains(killed.err, "was ended by signal 9 and is "), killed.err);
    std::filesystem::remove(work / "worker1");
    std::filesystem::remove(work / "worker2");

    std::vector<std::string> failing = arguments;
    failing.emplace_back("worker_fails=1");
    const ProcessResult failed = work.run(3, failing);
    CHECK(failed.status != 0);
    CHECK_MESSAGE(contains(failed.err, "the backend is out of luck"), failed.err);
  }
  const ProcessResult none = work.run(alone_options, {"policy=nobody", "option=samples"});
  CHECK(none.status == 1);
  CHECK_MESSAGE(contains(none.err, "nobody"), none.err);
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

namespace {

/// Runs processes at once, as a launcher on this machine would: each with its part of a shell's
/// line before the command. What they print is in `out` and `err`, one after another as it comes;
/// their statuses are the last line of `out`.
ProcessResult run_all(const Training& work, const std::vector<std::string>& environments,
                      const std::string& arguments) {
  std::string script;
  for (const std::string& environment : environments) {
    script += "( " + environment + " exec " BERTH_COMMAND " run --threads 1 train.lua " +
              arguments + " ) & pids=\"$pids $!\"\n";
  }
  script += "for pid in $pids; do wait $pid; statuses=\"$statuses $?\"; done; echo \"$statuses\"\n";
  work.write_text("all.sh", script);
  return run_process({"/bin/sh", "all.sh"}, work.settings);
}

std::string slurm(int rank, int size, int port, const std::string& more = "") {
  return "SLURM_PROCID=" + std::to_string(rank) + " SLURM_NTASKS=" + std::to_string(size) +
         " SLURM_LOCALID=" + std::to_string(rank) + " SLURM_NODELIST=this SLURM_JOB_ID=7" +
         " BERTH_STORE_PORT=" + std::to_string(port) + " " + more;
}

std::string torchrun(int rank, int size, int port, const std::string& more = "") {
  return "RANK=" + std::to_string(rank) + " WORLD_SIZE=" + std::to_string(size) +
         " LOCAL_WORLD_SIZE=" + std::to_string(size) +
         " MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(port - 1) + " " + more;
}

}  // namespace

TEST_CASE("srun's environment, and nothing is left of the store") {
  if (!has_workers()) return;
  const Training work;
  const int port = free_port();
  const ProcessResult result = run_all(
      work, {slurm(2, 3, port), slurm(0, 3, port), slurm(1, 3, port)}, "controllers=1 evaluate=1");
  CHECK_MESSAGE(result.out.find("12 updates, best 400") != std::string::npos, result.err);
  CHECK_MESSAGE(result.out.ends_with(" 0 0 0\n"), result.out);
  CHECK(file_text(work / "rank1").starts_with("12 updates, best 400"));
  CHECK(file_text(work / "rank2").starts_with("12 updates, best 400"));
  CHECK_FALSE(std::filesystem::exists(work / "berth-store-7"));
}

TEST_CASE("a launched training goes on from the store's journal after all of it was killed") {
  if (!has_workers()) return;
  const Training work;
  const int port = free_port();
  // Rank 0 is not started again by a launcher without restarts: the others wait, and give up.
  const ProcessResult killed = run_all(work, {torchrun(0, 2, port), torchrun(1, 2, port)},
                                       "learner_dies=5 mode=synchronous lost_s=1 join_s=30");
  CHECK_MESSAGE(killed.out.ends_with(" 137 1\n"), killed.out);
  CHECK_MESSAGE(contains(killed.err, "store: no server answers at 127.0.0.1:"), killed.err);
  CHECK(std::filesystem::exists(work / "berth-store-none"));
  const ProcessResult result = run_all(work, {torchrun(0, 2, port), torchrun(1, 2, port)},
                                       "learner_dies=5 mode=synchronous lost_s=1 join_s=30");
  CHECK_MESSAGE(result.out.ends_with(" 0 0\n"), result.out, result.err);
  CHECK(contains(result.out, "12 updates, best 400"));
  CHECK_FALSE(std::filesystem::exists(work / "berth-store-none"));
}

TEST_CASE("what keeps processes apart is said on both sides, and none hangs") {
  if (!has_workers()) return;
  const auto rank = [](int number, int size, int port, const std::string& more = "") {
    return torchrun(number, size, port, more);
  };
  SUBCASE("no master") {
    const Training work;
    const ProcessResult result = run_all(work, {rank(1, 2, free_port())}, "join_s=1");
    CHECK(result.out.ends_with(" 1\n"));
    CHECK_MESSAGE(contains(result.err, "rank 0 has not written berth-store-none/secret within 1 s"),
                  result.err);
    const ProcessResult shared =
        run_all(work, {rank(1, 2, free_port(), "BERTH_SECRET=s")}, "join_s=1");
    CHECK(shared.out.ends_with(" 1\n"));
    CHECK_MESSAGE(contains(shared.err, "no server answers at 127.0.0.1:"), shared.err);
    CHECK(contains(shared.err, "tried for 1 s"));
  }
  SUBCASE("nobody but the master") {
    const Training work;
    const ProcessResult result = run_all(work, {rank(0, 3, free_port())}, "join_s=1 lost_s=1");
    CHECK(result.out.ends_with(" 1\n"));
    CHECK_MESSAGE(contains(result.err, "there have been 0/2 controllers"), result.err);
  }
  SUBCASE("a port in use") {
    const Training work;
    int port = 0;
    const int listening = listen_on_loopback(port);
    const ProcessResult result = run_all(work, {rank(0, 2, port), rank(1, 2, port)}, "join_s=1");
    close(listening);
    CHECK(result.out.ends_with(" 1 1\n"));
    CHECK_MESSAGE(contains(result.err, "the store cannot listen on 127.0.0.1:"), result.err);
    CHECK(contains(result.err, "BERTH_STORE_PORT"));
    CHECK(contains(result.err, "does not answer"));
  }
  SUBCASE("two rank 0") {
    const Training work;
    const int port = free_port();
    const ProcessResult result = run_all(
        work,
        {rank(0, 2, port, "BERTH_STORE_FOLDER=one"), rank(0, 2, port, "BERTH_STORE_FOLDER=other")},
        "join_s=2 lost_s=2");
    CHECK(result.out.ends_with(" 1 1\n"));
    CHECK_MESSAGE(contains(result.err, "another store, has that port"), result.err);
  }
  SUBCASE("two of another rank") {
    const Training work;
    const int port = free_port();
    // Whichever is refused, both write there.
    work.write_text("said", "");
    const std::string second = rank(1, 3, port, "2>>said");
    const ProcessResult result = run_all(work, {rank(0, 3, port), second, second},
                                         "join_s=5 \"waits_for='rank 1' is already\"");
    CHECK_MESSAGE(contains(file_text(work / "said"), "'rank 1' is already "), result.err);
    CHECK(contains(result.out, "12 updates"));
  }
  SUBCASE("a wrong secret") {
    const Training work;
    const int port = free_port();
    const ProcessResult result = run_all(
        work, {rank(0, 2, port, "BERTH_SECRET=one"), rank(1, 2, port, "BERTH_SECRET=other")},
        "join_s=8 lost_s=1");
    CHECK(result.out.ends_with(" 1 1\n"));
    CHECK_MESSAGE(
        contains(result.err, "has another secret; give all processes the same BERTH_SECRET"),
        result.err);
    CHECK(contains(result.err, "there have been 0/1 controllers"));
  }
  SUBCASE("an address that others reach, without a secret") {
    const Training work;
    const int port = free_port();
    const std::string there = "BERTH_STORE_ADDRESS=0.0.0.0";
    const ProcessResult result = run_all(work, {rank(0, 2, port, there)}, "join_s=1");
    CHECK(result.out.ends_with(" 1\n"));
    CHECK_MESSAGE(contains(result.err, "set BERTH_SECRET"), result.err);
    const ProcessResult fine = run_all(
        work, {rank(0, 2, port, there + " BERTH_SECRET=s"), rank(1, 2, port, "BERTH_SECRET=s")},
        "");
    CHECK_MESSAGE(fine.out.ends_with(" 0 0\n"), fine.out, fine.err);
  }
  SUBCASE("another model") {
    const Training work;
    const int port = free_port();
    const ProcessResult result =
        run_all(work, {rank(0, 3, port), rank(1, 3, port), rank(2, 3, port)},
                "other_graph=2 count=300 mode=asynchronous");
    CHECK_MESSAGE(result.out.ends_with(" 0 0 1\n"), result.out, result.err);
    const std::string said = "trains with problem 1, ";
    const std::size_t at = result.err.find(said);
    CHECK_MESSAGE(at != std::string::npos, result.err);
    // By the one that is refused, and by rank 0.
    CHECK_MESSAGE(result.err.find(said, at + 1) != std::string::npos, result.err);
  }
  SUBCASE("a full disk") {
    const Training work;
    const int port = free_port();
    // A limit on the size of files stands for it.
    const ProcessResult result =
        run_all(work, {"trap '' XFSZ; ulimit -f 800; " + rank(0, 2, port), rank(1, 2, port)},
                "join_s=5 lost_s=1 count=400");
    CHECK(result.out.ends_with(" 1 1\n"));
    CHECK_MESSAGE(contains(result.err, "it cannot write its files"), result.err);
  }
  SUBCASE("one folder, two trainings") {
    const Training work;
    const ProcessResult result =
        run_all(work, {rank(0, 2, free_port()), rank(0, 2, free_port())}, "join_s=1 lost_s=1");
    CHECK(result.out.ends_with(" 1 1\n"));
    CHECK_MESSAGE(contains(result.err, "another store has the folder berth-store-none"),
                  result.err);
  }
}

namespace {

/// A shell's lines that start a server of Redis which Berth does not, in `$server`; it listens when they
/// are over.
std::string start_server(const std::string& arguments, const std::string& probe) {
  return "program=$(command -v redis-server || command -v redis-check-rdb)\n"
         "bash -c 'exec -a redis-server \"$0\" \"$@\"' \"$program\" --save '' --bind 127.0.0.1 " +
         arguments + " > server.log 2>&1 & server=$!\n" + "until redis-cli " + probe +
         " ping 2>/dev/null | grep -q PONG; do kill -0 $server || exit 9; sleep 0.05; done\n";
}

constexpr const char* kEnd = "status=$?; kill $server; wait $server; exit $status\n";

}  // namespace

TEST_CASE("a server that is there already, and nothing is left in it") {
  if (!has_workers()) return;
  const Training work;
  const std::string port = std::to_string(free_port());
  work.write_text("all.sh",
                  start_server("--port " + port + " --user trainer on '>secret' '~berth:*' +@all",
                               "-p " + port) +
                      "export BERTH_STORE=redis://trainer:secret@127.0.0.1:" + port +
                      "\n" BERTH_COMMAND
                      " run --workers 3 train.lua controllers=1 evaluate=1 watched=1\n"
                      "status=$?; redis-cli -p " +
                      port + " keys '*' > keys; kill $server; exit $status\n");
  const ProcessResult result = run_process({"/bin/sh", "all.sh"}, work.settings);
  check_trained(result);
  CHECK(file_text(work / "keys") == "\n");
  const std::string watched = file_text(work / "watched");
  for (const char* part : {"rank 0", "rank 3", "here", "queue 1/measure"}) {
    CHECK_MESSAGE(contains(watched, part), part, " is not in: ", watched);
  }
}

TEST_CASE("a server that is there already, by TLS") {
  if (!has_workers()) return;
  const Training work;
  if (run_process({"/bin/sh", "-c", "command -v openssl"}).status != 0) {
    MESSAGE("skipped: openssl is not installed");
    return;
  }
  const std::string port = std::to_string(free_port());
  const auto rank = [&](int number, const std::string& more = "") {
    return "RANK=" + std::to_string(number) +
           " WORLD_SIZE=3 BERTH_JOB=tls BERTH_STORE=rediss://trainer:secret@localhost:" + port +
           " BERTH_STORE_CA=ca.pem " + more;
  };
  std::string script =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem "
      "-out ca.pem -days 1 "
      "-subj /CN=x -addext subjectAltName=DNS:localhost 2>/dev/null || exit 8\n" +
      start_server("--port 0 --tls-port " + port +
                       " --tls-cert-file ca.pem --tls-key-file key.pem --tls-ca-cert-file ca.pem "
                       "--tls-auth-clients optional"
                       " --user trainer on '>secret' '~berth:tls:*' +@all",
                   "--tls --cacert ca.pem -h localhost -p " + port);
  SUBCASE("processes meet there") {
    for (int number = 0; number < 3; ++number) {
      script += rank(number) +
                " " BERTH_COMMAND
                " run --threads 1 train.lua controllers=1 evaluate=1 & pids=\"$pids $!\"\n";
    }
    script +=
        "for pid in $pids; do wait $pid || failed=1; done; redis-cli --tls --cacert ca.pem -h "
        "localhost -p " +
        port + " keys '*' > keys; kill $server; exit $failed\n";
    work.write_text("all.sh", script);
    const ProcessResult result = run_process({"/bin/sh", "all.sh"}, work.settings);
    check_trained(result);
    CHECK(file_text(work / "keys") == "\n");
  }
  const auto refused = [&](const std::string& more, const std::string& said) {
    work.write_text("all.sh",
                    script + rank(1, more) + " " BERTH_COMMAND " run train.lua join_s=1\n" + kEnd);
    const ProcessResult result = run_process({"/bin/sh", "all.sh"}, work.settings);
    CHECK(result.status == 1);
    CHECK_MESSAGE(contains(result.err, said), result.err);
  };
  SUBCASE("authorities that did not sign its certificate") {
    refused("BERTH_STORE_CA=", "shows a certificate that is not trusted");
  }
  SUBCASE("another name") {
    refused("BERTH_STORE=rediss://trainer:secret@127.0.0.1:" + port,
            "shows a certificate of another name");
  }
  SUBCASE("a wrong password") {
    refused("BERTH_STORE=rediss://trainer:guess@localhost:" + port,
            "user and password are not the server's");
  }
  SUBCASE("a user of another training") {
    refused("BERTH_JOB=other", "its user may not do that");
  }
}

TEST_CASE("a real torchrun") {
  if (!has_workers()) return;
#ifndef BERTH_TEST_PYTHON
#define BERTH_TEST_PYTHON "/bin/false"
#endif
  const std::string python = BERTH_TEST_PYTHON;
  if (run_process({python, "-c", "import torch.distributed.run"}).status != 0) {
    MESSAGE("skipped: BERTH_TEST_PYTHON names no Python with PyTorch");
    return;
  }
  const Training work;
  SUBCASE("one node") {
    const ProcessResult result =
        run_process({python, "-m", "torch.distributed.run", "--no-python", "--nnodes", "1",
                     "--nproc-per-node", "3", "--rdzv-backend", "c10d", "--rdzv-endpoint",
                     "localhost:" + std::to_string(free_port()), BERTH_COMMAND, "run", "--threads",
                     "1", "train.lua", "controllers=1", "evaluate=1"},
                    work.settings);
    CHECK_MESSAGE(result.status == 0, result.err);
    CHECK_MESSAGE(contains(result.out, "12 updates, best 400"), result.out, result.err);
    CHECK(file_text(work / "rank2").starts_with("12 updates, best 400"));
  }
  SUBCASE("two nodes, which reach each other by name and share a secret") {
    const std::string rendezvous = "localhost:" + std::to_string(free_port());
    std::string script = "export BERTH_SECRET=secret\n";
    for (int node = 0; node < 2; ++node) {
      script += python + " -m torch.distributed.run --no-python --nnodes 2" +
                " --nproc-per-node 2 --rdzv-id 7 --rdzv-backend c10d --rdzv-endpoint " +
                rendezvous +
                " " BERTH_COMMAND
                " run --threads 1 train.lua controllers=1 evaluate=1 & pids=\"$pids $!\"\n";
    }
    script += "for pid in $pids; do wait $pid || exit 1; done\n";
    work.write_text("nodes.sh", script);
    const ProcessResult result = run_process({"/bin/sh", "nodes.sh"}, work.settings);
    CHECK_MESSAGE(result.status == 0, result.err);
    CHECK_MESSAGE(contains(result.out, "12 updates, best 400"), result.out, result.err);
    for (const char* rank : {"rank1", "rank2", "rank3"}) {
      CHECK(file_text(work / rank).starts_with("12 updates, best 400"));
    }
  }
}
