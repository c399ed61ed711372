#include "client.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>

namespace berth::store {
namespace {

std::string reason(int code) {
  return std::generic_category().message(code);
}

/// False where that is not to be had before `until_ms`.
bool wait_for(int socket, short what, std::int64_t until_ms) {
  for (;;) {
    pollfd asked{socket, what, 0};
    const std::int64_t left = std::max<std::int64_t>(0, until_ms - now_ms());
    const int found = poll(&asked, 1, static_cast<int>(std::min<std::int64_t>(left, 1 << 30)));
    if (found > 0) return true;
    if (found == 0) return false;
    if (errno != EINTR) return true;  // what follows says what it is
  }
}

/// A connected socket; negative: minus the error.
int connect_to(const addrinfo& where, std::int64_t until_ms) {
  const int made = socket(where.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) return -errno;
  int code = connect(made, where.ai_addr, where.ai_addrlen) == 0 ? 0 : errno;
  if (code == EINPROGRESS) {
    socklen_t size = sizeof(code);
    if (!wait_for(made, POLLOUT, until_ms)) {
      code = ETIMEDOUT;
    } else if (getsockopt(made, SOL_SOCKET, SO_ERROR, &code, &size) != 0) {
      code = errno;
    }
  }
  if (code != 0) {
    close(made);
    return -code;
  }
  const int on = 1;
  setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(made, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  return made;
}

}  // namespace

Client::Client(const std::string& address, std::uint16_t port, const std::string& secret,
               std::uint32_t timeout_ms)
    : where_(address + ":" + std::to_string(port)) {
  const std::int64_t until_ms = now_ms() + timeout_ms;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
      code != 0) {
    throw ConnectionLost("the store's machine '" + address +
                         "' is not known: " + gai_strerror(code));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, &freeaddrinfo);
  int code = ECONNREFUSED;
  for (const addrinfo* each = found; each != nullptr && socket_ < 0; each = each->ai_next) {
    const int made = connect_to(*each, until_ms);
    if (made < 0) {
      code = -made;
    } else {
      socket_ = made;
    }
  }
  if (socket_ < 0) {
    throw ConnectionLost("no store answers at " + where_ + ": " + reason(code));
  }
  try {
    greet(secret, timeout_ms);
  } catch (...) {
    close(socket_);
    throw;
  }
}

Client::~Client() {
  close(socket_);
}

void Client::greet(const std::string& secret, std::uint32_t timeout_ms) {
  const std::int64_t until_ms = now_ms() + timeout_ms;
  std::array<char, kGreetingBytes> theirs{};
  receive(theirs.data(), theirs.size(), until_ms);
  const std::string_view magic(theirs.data(), kMagic.size());
  if (magic.substr(0, 7) != kMagic.substr(0, 7)) {
    throw std::runtime_error("what answers at " + where_ +
                             " is no store of Berth; another program has that port");
  }
  if (magic != kMagic) {
    throw std::runtime_error("the store at " + where_ + " is of another version of Berth ('" +
                             std::string(magic) + "', and this one speaks '" + std::string(kMagic) +
                             "'); install the same everywhere");
  }
  Nonce of_store;
  std::copy_n(theirs.data() + kMagic.size(), kNonceBytes, of_store.data());
  const Nonce own = make_nonce();
  const Proof proof = prove(secret, "client", of_store, own);
  std::string greeting(kMagic);
  greeting.append(own.data(), own.size()).append(proof.data(), proof.size());
  send(greeting.data(), greeting.size(), until_ms);
  char accepted = 0;
  receive(&accepted, 1, until_ms);
  const std::string wrong =
      "the store at " + where_ + " has another secret; give all processes the same BERTH_SECRET";
  if (accepted != 1) throw std::runtime_error(wrong);
  Proof shown;
  receive(shown.data(), shown.size(), until_ms);
  if (!same(shown, prove(secret, "store", of_store, own))) throw std::runtime_error(wrong);
}

void Client::send(const char* bytes, std::size_t count, std::int64_t until_ms) {
  while (count > 0) {
    const ssize_t sent = ::send(socket_, bytes, count, MSG_NOSIGNAL);
    if (sent > 0) {
      bytes += sent;
      count -= static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN) {
      if (!wait_for(socket_, POLLOUT, until_ms)) {
        throw ConnectionLost("the store at " + where_ + " takes nothing any more");
      }
    } else if (errno != EINTR) {
      throw ConnectionLost("the connection with the store at " + where_ +
                           " broke: " + reason(errno));
    }
  }
}

void Client::receive(char* bytes, std::size_t count, std::int64_t until_ms) {
  while (count > 0) {
    const ssize_t got = ::recv(socket_, bytes, count, 0);
    if (got > 0) {
      bytes += got;
      count -= static_cast<std::size_t>(got);
    } else if (got == 0) {
      throw ConnectionLost("the store at " + where_ + " closed the connection");
    } else if (errno == EAGAIN) {
      if (!wait_for(socket_, POLLIN, until_ms)) {
        throw ConnectionLost("the store at " + where_ + " does not answer");
      }
    } else if (errno != EINTR) {
      throw ConnectionLost("the connection with the store at " + where_ +
                           " broke: " + reason(errno));
    }
  }
}

void Client::request(Operation operation, std::string_view key, std::string_view value,
                     std::int64_t number, std::uint32_t wait_ms, std::uint32_t timeout_ms,
                     Reply& reply) {
  const Head head{static_cast<std::uint8_t>(operation), number, wait_ms,
                  static_cast<std::uint32_t>(key.size())};
  const auto frame = frame_of(head, value.size());
  const std::int64_t sent_until_ms = now_ms() + timeout_ms;
  if (value.size() <= 65536) {  // one packet rather than three
    std::string all(frame.data(), frame.size());
    all.append(key).append(value);
    send(all.data(), all.size(), sent_until_ms);
  } else {
    send(frame.data(), frame.size(), sent_until_ms);
    send(key.data(), key.size(), sent_until_ms);
    send(value.data(), value.size(), sent_until_ms);
  }
  const std::int64_t until_ms = now_ms() + wait_ms + timeout_ms;
  std::array<char, kFrameBytes> got{};
  receive(got.data(), got.size(), until_ms);
  std::uint32_t length = 0;
  std::memcpy(&length, got.data(), 4);
  const Head answer = head_of(got.data() + 4);
  if (answer.key_bytes > kMostKeyBytes || length < kHeadBytes + answer.key_bytes ||
      length > kMostReplyBytes) {
    throw ConnectionLost("the store at " + where_ + " answered what is no reply");
  }
  reply.status = static_cast<Status>(answer.kind);
  reply.number = answer.number;
  reply.key.resize(answer.key_bytes);
  reply.value.resize(length - kHeadBytes - answer.key_bytes);
  receive(reply.key.data(), reply.key.size(), until_ms);
  receive(reply.value.data(), reply.value.size(), until_ms);
}

}  // namespace berth::store
