// A client's connection with the store.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "protocol.h"

namespace berth::store {

/// The connection is of no more use; another one may be.
struct ConnectionLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Reply {
  Status status = Status::ok;
  std::int64_t number = 0;
  std::string key;
  std::string value;
};

/// [thread-compatible]
class Client {
 public:
  /// Throws ConnectionLost where nobody answers within `timeout_ms`, std::runtime_error where the
  /// store refuses this client or is none.
  Client(const std::string& address, std::uint16_t port, const std::string& secret,
         std::uint32_t timeout_ms);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Sends a request and waits for its reply: as long as it may wait there, and `timeout_ms` for
  /// the way. Throws ConnectionLost.
  void request(Operation operation, std::string_view key, std::string_view value,
               std::int64_t number, std::uint32_t wait_ms, std::uint32_t timeout_ms, Reply& reply);

 private:
  void greet(const std::string& secret, std::uint32_t timeout_ms);
  void send(const char* bytes, std::size_t count, std::int64_t until_ms);
  void receive(char* bytes, std::size_t count, std::int64_t until_ms);

  int socket_ = -1;
  std::string where_;  ///< "127.0.0.1:29500"
};

}  // namespace berth::store
