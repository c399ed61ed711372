// What the store holds, apart from the network: keys, queues of tasks, members.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace berth::store {

using Bytes = std::shared_ptr<const std::string>;

/// A client as the store knows it; one more of the same name and identity is the same, come back.
struct Member {
  std::string name;      ///< "worker 12"; empty: it has not said
  std::string identity;  ///< host, process, and when that began
  bool here = false;
  bool left = false;  ///< by itself
  std::int64_t heard_ms = 0;
  std::int64_t gone_ms = 0;  ///< when its connection closed
  std::int64_t done = 0;     ///< tasks
  std::int64_t lost = 0;     ///< tasks that it took and did not do
  int times_lost = 0;        ///< its connection closed and it had not left
};

struct Task {
  enum class Stage : std::uint8_t { waiting, taken, done, lost };
  Stage stage = Stage::waiting;
  Bytes payload, result;
  std::int64_t most_takers = 1;
  std::int64_t takers = 0;
  std::int64_t due_ms = 0;      ///< end of the lease
  std::weak_ptr<Member> owner;  ///< who submitted it
  std::weak_ptr<Member> taker;
  std::int64_t unowned_ms = 0;  ///< since when nobody has asked for it
  std::string lost_to;
};

struct Queue {
  std::map<std::string, Task, std::less<>> tasks;
  std::deque<std::string> waiting;  ///< ids; those of tasks that are no longer waiting are skipped
};

/// [thread-compatible]
class Queues {
 public:
  /// False where it is there already: submitted before, or done by a taker that outlived the store.
  bool submit(const std::string& queue, const std::string& id, Bytes payload,
              std::int64_t most_takers, const std::shared_ptr<Member>& owner);
  /// The next task for `taker`; null where there is none. `id` gets its name.
  const Task* take(const std::string& queue, const std::shared_ptr<Member>& taker,
                   std::int64_t due_ms, std::string& id);
  /// False where somebody else's result came first.
  bool done(const std::string& queue, const std::string& id, Bytes result,
            const std::shared_ptr<Member>& taker, std::int64_t now_ms);
  /// Null where it is absent.
  Task* find(const std::string& queue, const std::string& id);
  void forget(const std::string& queue, const std::string& id);

  /// (queue, task)
  using Named = std::pair<std::string, std::string>;
  /// Gives back what `member` has taken.
  std::vector<Named> give_back(const std::shared_ptr<Member>& member);
  /// Gives back what is overdue, and drops what nobody has asked for in `grace_ms`.
  std::vector<Named> sweep(std::int64_t now_ms, std::int64_t grace_ms);

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// "queue\twaiting\ttaken\tdone\n" for each.
  [[nodiscard]] std::string text() const;

 private:
  void release(Queue& queue, const std::string& id, Task& task);

  std::map<std::string, Queue, std::less<>> queues_;
  std::size_t bytes_ = 0;
};

}  // namespace berth::store
