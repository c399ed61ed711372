// A client's connection with Redis or Valkey: Asio carries the bytes over TCP, TLS or a Unix socket, and
// hiredis writes commands and reads replies. (The connections of Debian's hiredis have no TLS, and raise
// SIGPIPE.)
#pragma once

// Asio 1.74 forgets <utility>.
#include <hiredis/hiredis.h>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "redis/certificate.h"

namespace berth::redis {

/// The connection is of no more use; another one may be.
struct ConnectionLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Endpoint {
  std::string path;  ///< of a Unix socket; empty = host and port
  std::string host;
  std::uint16_t port = 0;
  bool tls = false;
  bool plain = false;  ///< TCP without TLS is allowed elsewhere than on loopback
  /// TLS: with a secret the server's key must be make_key's; otherwise its certificate must be
  /// good for `host` by the authorities of the file `authorities`, or the system's if that is empty.
  std::string secret;
  std::string authorities;
  std::string certificate, key;  ///< files (PEM) by which this client is known; may be empty
};

using Reply = std::unique_ptr<redisReply, decltype(&freeReplyObject)>;

/// [thread-compatible]
class Connection {
 public:
  /// Throws ConnectionLost where nobody answers within `timeout_ms`; std::runtime_error where it would
  /// not be safe, or files cannot be read.
  Connection(const Endpoint& endpoint, std::uint32_t timeout_ms);

  /// Adds a command to those that the next exchange sends. Throws std::bad_alloc.
  void append(int count, const char** parts, const std::size_t* bytes);
  /// Sends what was appended and waits for a reply to each: for `timeout_ms` in all. Throws
  /// ConnectionLost.
  void exchange(std::uint32_t timeout_ms);
  /// The replies of the last exchange, until the next one.
  [[nodiscard]] const std::vector<Reply>& replies() const { return replies_; }

 private:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using Clock = std::chrono::steady_clock;

  void connect(const Endpoint& endpoint, Clock::time_point until);
  void secure(const Endpoint& endpoint, const std::shared_ptr<EVP_PKEY>& expected,
              Clock::time_point until);
  template <typename Start>
  std::size_t complete(const Start& start, Clock::time_point until);
  void receive(Clock::time_point until);

  std::string where_;  ///< "redis.example:6379"
  boost::asio::io_context context_{1};
  Socket socket_{context_};
  std::optional<boost::asio::ssl::context> tls_context_;
  std::optional<boost::asio::ssl::stream<Socket&>> tls_;
  std::string output_;
  std::size_t expected_ = 0;
  std::unique_ptr<redisReader, decltype(&redisReaderFree)> reader_{nullptr, &redisReaderFree};
  std::vector<Reply> replies_;
  std::vector<char> input_;
};

}  // namespace berth::redis
