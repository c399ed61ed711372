#include "auto/team.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <system_error>
#include <thread>

#include "berth/sdk/random.h"

namespace berth::policies::auto_policy {

Team::Team(const std::shared_ptr<const Simulator>& simulator, std::span<const Grain> grains,
           const Structure& structure, int threads) {
  for (int i = 0; i < threads; ++i) {
    annealers_.push_back(std::make_unique<Annealer>(simulator, grains, structure));
  }
}

SearchWork Team::work() const noexcept {
  SearchWork all;
  for (const auto& annealer : annealers_) all += annealer->work();
  return all;
}

std::vector<Result> Team::run(std::span<const Task> tasks,
                              const std::function<bool()>& should_stop) {
  std::vector<Result> results(tasks.size());
  std::vector<std::exception_ptr> errors(annealers_.size());
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> working{0};
  std::atomic<bool> over{false};
  const auto work = [&](std::size_t thread, const std::function<bool()>& stop) {
    try {
      for (std::size_t i = next++; i < tasks.size(); i = next++) {
        const Task& task = tasks[i];
        Random random(task.seed);
        results[i].best = task.start;
        for (const Annealer::Schedule& stage : task.stages) {
          // Even to begin takes a while for a large graph.
          if (stop()) break;
          Annealer::Result result =
              annealers_[thread]->run(results[i].best, stage, random.next(), stop);
          results[i].best = std::move(result.best);
          results[i].moves.push_back(result.moves);
        }
      }
    } catch (...) {
      errors[thread] = std::current_exception();
      over = true;
    }
  };
  std::vector<std::thread> helpers;
  helpers.reserve(annealers_.size() - 1);
  for (std::size_t thread = 1; thread < annealers_.size(); ++thread) {
    ++working;
    try {
      helpers.emplace_back([&, thread] {
        work(thread, [&over] { return over.load(std::memory_order_relaxed); });
        --working;
      });
    } catch (const std::system_error&) {
      // The system starts no more: those that there are do all tasks.
      --working;
      break;
    }
  }
  // Only this thread may ask: the caller's function need not be safe to call from others.
  const auto ask = [&] {
    if (!over && should_stop()) over = true;
    return over.load();
  };
  work(0, ask);
  while (working > 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    try {
      ask();
    } catch (...) {
      errors[0] = std::current_exception();
      over = true;
    }
  }
  for (std::thread& helper : helpers) helper.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return results;
}

}  // namespace berth::policies::auto_policy
