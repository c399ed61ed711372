// The store: keys with values, and queues of tasks, for processes that train together.
//
// One thread does everything, request by request, so that each operation happens at once or not at
// all. Keys outlive the store by its journal; queues do not: who submitted a task asks for it
// again, and is told that it is absent.
//
// A task belongs to its taker until the lease ends or the connection closes, whichever is first;
// then it is the next to be taken. After so many takers it is lost. The first result counts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace berth::store {

struct ServerSettings {
  std::string address = "127.0.0.1";  ///< to listen on
  std::uint16_t port = 0;             ///< 0 = one that is free
  std::string secret;   ///< demanded of every client; may be empty on a loopback address only
  std::string journal;  ///< file; empty = nothing is kept
  std::size_t most_bytes = std::size_t{256} << 20;  ///< of one request
  std::size_t most_stored = std::size_t{8} << 30;   ///< of all values and tasks
  /// How long the tasks of a client are kept that is no longer connected.
  std::uint32_t grace_ms = 60000;
};

/// [thread-compatible]
class Server {
 public:
  /// Listens. Throws std::runtime_error saying what cannot be had.
  explicit Server(const ServerSettings& settings);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  /// Serves for so long. Throws std::runtime_error where the journal cannot be written any more; by
  /// then every client has been told.
  void serve(std::uint32_t ms);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::store
