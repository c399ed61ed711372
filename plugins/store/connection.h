// One client of the store: its greeting, its requests one at a time, and the replies.
#pragma once

#include <utility>
// Asio 1.74 forgets <utility>.
#include <array>
#include <boost/asio.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "protocol.h"
#include "state.h"

namespace berth::store {

class Connection;
using Peer = std::shared_ptr<Connection>;

[[nodiscard]] Bytes bytes_of(std::string text);

/// What connections are of.
class Service {
 public:
  /// Demanded of every client.
  [[nodiscard]] virtual const std::string& secret() const = 0;
  /// Of one request.
  [[nodiscard]] virtual std::size_t most_bytes() const = 0;
  /// A request: replies to it, or has the connection wait.
  virtual void handle(const Peer& peer, const Head& head, std::string key, std::string value) = 0;
  virtual void closed(const Peer& peer) = 0;

 protected:
  ~Service() = default;
};

/// It keeps itself alive as long as something is to come; `service` and `context` outlive it.
/// [thread-compatible]
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  Connection(Service& service, boost::asio::io_context& context, Socket socket)
      : service_(service), socket_(std::move(socket)), timer_(context) {}

  void start();
  void reply(Status status, std::int64_t number = 0, std::string key = {}, Bytes value = nullptr);
  void refuse(std::string why) { reply(Status::failed, 0, {}, bytes_of(std::move(why))); }
  /// The reply comes later, or after `ms` is Status::late.
  void wait(std::uint32_t ms);
  [[nodiscard]] bool waiting() const noexcept { return waiting_; }
  void close();
  /// Number of the latest one.
  [[nodiscard]] std::uint64_t request() const noexcept { return request_; }

  std::shared_ptr<Member> member = std::make_shared<Member>();
  std::int64_t wanted = 0;  ///< the number that a key must reach, the lease of a task

 private:
  void read_greeting();
  void answer_greeting();
  void read_frame();
  void begin_request();
  void read_body(std::uint32_t length);

  Service& service_;
  Socket socket_;
  boost::asio::steady_timer timer_;
  Nonce nonce_{};
  std::array<char, kFrameBytes> frame_{};
  std::string body_;
  std::uint64_t request_ = 0;
  bool replying_ = false;  // a request is in hand
  bool waiting_ = false;
  bool open_ = true;
  bool last_ = false;  // the reply is the last one
};

/// A request of a connection that waits. The connection may ask for something else later.
class Waiter {
 public:
  explicit Waiter(const Peer& peer) : peer_(peer), request_(peer->request()) {}
  /// Null where the request has been answered, or its client is gone.
  [[nodiscard]] Peer lock() const;

 private:
  std::weak_ptr<Connection> peer_;
  std::uint64_t request_;
};

}  // namespace berth::store
