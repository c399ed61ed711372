#include "state.h"

#include <utility>

namespace berth::store {
namespace {

std::size_t size_of(const Bytes& bytes) {
  return bytes == nullptr ? 0 : bytes->size();
}

}  // namespace

bool Queues::submit(const std::string& queue, const std::string& id, Bytes payload,
                    std::int64_t most_takers, const std::shared_ptr<Member>& owner) {
  Queue& in = queues_[queue];
  const auto [at, made] = in.tasks.try_emplace(id);
  Task& task = at->second;
  task.owner = owner;
  task.unowned_ms = 0;
  if (!made) return false;
  bytes_ += size_of(payload);
  task.payload = std::move(payload);
  task.most_takers = most_takers;
  in.waiting.push_back(id);
  return true;
}

const Task* Queues::take(const std::string& queue, const std::shared_ptr<Member>& taker,
                         std::int64_t due_ms, std::string& id) {
  const auto in = queues_.find(queue);
  if (in == queues_.end()) return nullptr;
  while (!in->second.waiting.empty()) {
    id = std::move(in->second.waiting.front());
    in->second.waiting.pop_front();
    const auto at = in->second.tasks.find(id);
    if (at == in->second.tasks.end() || at->second.stage != Task::Stage::waiting) continue;
    Task& task = at->second;
    task.stage = Task::Stage::taken;
    task.taker = taker;
    task.due_ms = due_ms;
    ++task.takers;
    return &task;
  }
  return nullptr;
}

bool Queues::done(const std::string& queue, const std::string& id, Bytes result,
                  const std::shared_ptr<Member>& taker, std::int64_t now_ms) {
  const auto [at, made] = queues_[queue].tasks.try_emplace(id);
  Task& task = at->second;
  // Taken from a store that has been restarted since: its owner has yet to ask.
  if (made) task.unowned_ms = now_ms;
  if (task.stage == Task::Stage::done) return false;
  bytes_ += size_of(result);
  bytes_ -= size_of(task.payload);
  task.payload = nullptr;
  task.result = std::move(result);
  task.stage = Task::Stage::done;
  ++taker->done;
  return true;
}

Task* Queues::find(const std::string& queue, const std::string& id) {
  const auto in = queues_.find(queue);
  if (in == queues_.end()) return nullptr;
  const auto at = in->second.tasks.find(id);
  return at == in->second.tasks.end() ? nullptr : &at->second;
}

void Queues::forget(const std::string& queue, const std::string& id) {
  const auto in = queues_.find(queue);
  if (in == queues_.end()) return;
  const auto at = in->second.tasks.find(id);
  if (at == in->second.tasks.end()) return;
  bytes_ -= size_of(at->second.payload) + size_of(at->second.result);
  in->second.tasks.erase(at);
  if (in->second.tasks.empty()) queues_.erase(in);
}

void Queues::release(Queue& queue, const std::string& id, Task& task) {
  if (const auto taker = task.taker.lock()) {
    ++taker->lost;
    if (!task.lost_to.empty()) task.lost_to += ", ";
    task.lost_to += taker->name + " (" + taker->identity + ")";
  }
  task.taker.reset();
  if (task.takers >= task.most_takers) {
    task.stage = Task::Stage::lost;
    return;
  }
  task.stage = Task::Stage::waiting;
  queue.waiting.push_front(id);
}

std::vector<Queues::Named> Queues::give_back(const std::shared_ptr<Member>& member) {
  std::vector<Named> given;
  for (auto& [name, queue] : queues_) {
    for (auto& [id, task] : queue.tasks) {
      if (task.stage != Task::Stage::taken || task.taker.lock() != member) continue;
      release(queue, id, task);
      given.emplace_back(name, id);
    }
  }
  return given;
}

std::vector<Queues::Named> Queues::sweep(std::int64_t now_ms, std::int64_t grace_ms) {
  std::vector<Named> given, dropped;
  for (auto& [name, queue] : queues_) {
    for (auto& [id, task] : queue.tasks) {
      if (task.stage == Task::Stage::taken && task.due_ms <= now_ms) {
        release(queue, id, task);
        given.emplace_back(name, id);
      }
      const auto owner = task.owner.lock();
      if (owner != nullptr && owner->here) {
        task.unowned_ms = 0;
      } else if (task.unowned_ms == 0) {
        task.unowned_ms = now_ms;
      } else if (now_ms - task.unowned_ms > grace_ms) {
        dropped.emplace_back(name, id);
      }
    }
  }
  for (const auto& [queue, id] : dropped) forget(queue, id);
  return given;
}

std::string Queues::text() const {
  std::string all;
  for (const auto& [name, queue] : queues_) {
    int waiting = 0, taken = 0, done = 0;
    for (const auto& [id, task] : queue.tasks) {
      waiting += task.stage == Task::Stage::waiting;
      taken += task.stage == Task::Stage::taken;
      done += task.stage == Task::Stage::done;
    }
    all += "queue\t" + name + "\t" + std::to_string(waiting) + "\t" + std::to_string(taken) + "\t" +
           std::to_string(done) + "\n";
  }
  return all;
}

}  // namespace berth::store
