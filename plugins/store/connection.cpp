#include "connection.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace berth::store {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::uint32_t kGreetingMs = 5000;
constexpr std::uint32_t kMostWaitMs = 60000;

}  // namespace

Bytes bytes_of(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

Peer Waiter::lock() const {
  const Peer peer = peer_.lock();
  return peer != nullptr && peer->waiting() && peer->request() == request_ ? peer : nullptr;
}

void Connection::start() {
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
#ifdef TCP_KEEPIDLE
  // A machine that is gone says nothing: found out after some ten seconds.
  using Idle = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPIDLE>;
  using Interval = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPINTVL>;
  using Count = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPCNT>;
  socket_.set_option(Idle(5), ignored);
  socket_.set_option(Interval(2), ignored);
  socket_.set_option(Count(3), ignored);
#endif
  nonce_ = make_nonce();
  auto greeting = bytes_of(std::string(kMagic) + std::string(nonce_.data(), nonce_.size()));
  timer_.expires_after(std::chrono::milliseconds(kGreetingMs));
  timer_.async_wait([self = shared_from_this()](error_code error) {
    if (!error) self->close();
  });
  asio::async_write(socket_, asio::buffer(*greeting),
                    [self = shared_from_this(), greeting](error_code error, std::size_t) {
                      if (error) return self->close();
                      self->read_greeting();
                    });
}

void Connection::read_greeting() {
  body_.resize(kGreetingBytes + kProofBytes);
  asio::async_read(socket_, asio::buffer(body_),
                   [self = shared_from_this()](error_code error, std::size_t) {
                     if (error) return self->close();
                     self->answer_greeting();
                   });
}

void Connection::answer_greeting() {
  timer_.cancel();
  Nonce theirs;
  Proof proof;
  std::copy_n(body_.data() + kMagic.size(), kNonceBytes, theirs.data());
  std::copy_n(body_.data() + kGreetingBytes, kProofBytes, proof.data());
  const bool fine =
      body_.starts_with(kMagic) && same(proof, prove(service_.secret(), "client", nonce_, theirs));
  std::string answer(1, fine ? '\1' : '\0');
  if (fine) {
    const Proof own = prove(service_.secret(), "store", nonce_, theirs);
    answer.append(own.data(), own.size());
  }
  auto bytes = bytes_of(std::move(answer));
  asio::async_write(socket_, asio::buffer(*bytes),
                    [self = shared_from_this(), bytes, fine](error_code error, std::size_t) {
                      if (error || !fine) return self->close();
                      self->read_frame();
                    });
}

/// Reads ahead of the reply, so that a client that goes while it waits is noticed.
void Connection::read_frame() {
  asio::async_read(socket_, asio::buffer(frame_),
                   [self = shared_from_this()](error_code error, std::size_t) {
                     // One request at a time.
                     if (error || self->replying_) return self->close();
                     self->begin_request();
                   });
}

void Connection::begin_request() {
  std::uint32_t length = 0;
  std::memcpy(&length, frame_.data(), 4);
  replying_ = true;
  ++request_;
  member->heard_ms = now_ms();
  const Head head = head_of(frame_.data() + 4);
  if (length < kHeadBytes + head.key_bytes || head.key_bytes > kMostKeyBytes ||
      length > service_.most_bytes()) {
    last_ = true;  // what follows is no request
    return refuse("a request of " + std::to_string(length) + " bytes is refused; the most is " +
                  std::to_string(service_.most_bytes()));
  }
  read_body(length);
}

void Connection::read_body(std::uint32_t length) {
  body_.resize(length - kHeadBytes);
  asio::async_read(socket_, asio::buffer(body_),
                   [self = shared_from_this()](error_code error, std::size_t) {
                     if (error) return self->close();
                     const Head head = head_of(self->frame_.data() + 4);
                     std::string key = self->body_.substr(0, head.key_bytes);
                     std::string value = self->body_.substr(head.key_bytes);
                     std::string().swap(self->body_);
                     self->read_frame();
                     self->service_.handle(self, head, std::move(key), std::move(value));
                   });
}

void Connection::reply(Status status, std::int64_t number, std::string key, Bytes value) {
  if (!open_) return;
  waiting_ = false;
  timer_.cancel();
  struct Message {
    std::array<char, kFrameBytes> frame;
    std::string key;
    Bytes value;
  };
  auto message = std::make_shared<Message>();
  Head head{static_cast<std::uint8_t>(status), number, 0, static_cast<std::uint32_t>(key.size())};
  message->frame = frame_of(head, value == nullptr ? 0 : value->size());
  message->key = std::move(key);
  message->value = std::move(value);
  const std::array<asio::const_buffer, 3> parts = {
      asio::buffer(message->frame), asio::buffer(message->key),
      message->value == nullptr ? asio::const_buffer() : asio::buffer(*message->value)};
  replying_ = false;
  asio::async_write(socket_, parts,
                    [self = shared_from_this(), message](error_code error, std::size_t) {
                      if (error || self->last_) self->close();
                    });
}

void Connection::wait(std::uint32_t ms) {
  if (ms == 0) return reply(Status::late);
  waiting_ = true;
  timer_.expires_after(std::chrono::milliseconds(std::min(ms, kMostWaitMs)));
  timer_.async_wait([self = shared_from_this()](error_code error) {
    if (!error && self->waiting_) self->reply(Status::late);
  });
}

void Connection::close() {
  if (!open_) return;
  open_ = false;
  waiting_ = false;
  timer_.cancel();
  error_code ignored;
  socket_.close(ignored);
  service_.closed(shared_from_this());
}

}  // namespace berth::store
