#include "connection.h"

#include <fcntl.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/write.hpp>
#include <mutex>
#include <new>

namespace berth::redis {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kInputBytes = 16384;

std::string named(const Endpoint& endpoint) {
  if (!endpoint.path.empty()) return endpoint.path;
  const bool is_v6 = endpoint.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" + std::to_string(endpoint.port);
}

/// make_key's of the last secret: a process has one, and connects again and again.
std::shared_ptr<EVP_PKEY> key_of(const std::string& secret) {
  static std::mutex mutex;
  static std::string last;
  static std::shared_ptr<EVP_PKEY> key;
  const std::lock_guard lock(mutex);
  if (key == nullptr || last != secret) {
    key = make_key(secret);
    last = secret;
  }
  return key;
}

/// Names a file, which OpenSSL's own errors do not.
void load(const std::string& file, const error_code& error) {
  if (error) throw std::runtime_error(file + " cannot be used for TLS: " + error.message());
}

}  // namespace

Connection::Connection(const Endpoint& endpoint, std::uint32_t timeout_ms)
    : where_(named(endpoint)), reader_(redisReaderCreate(), &redisReaderFree), input_(kInputBytes) {
  if (reader_ == nullptr) throw std::bad_alloc();
  // Its time is not the server's.
  const auto key = endpoint.secret.empty() ? nullptr : key_of(endpoint.secret);
  const auto until = Clock::now() + std::chrono::milliseconds(timeout_ms);
  connect(endpoint, until);
  if (endpoint.tls) secure(endpoint, key, until);
}

/// Runs one asynchronous operation to its end: asynchronous only because Asio's other ones have no
/// time-out.
template <typename Start>
std::size_t Connection::complete(const Start& start, Clock::time_point until) {
  error_code error = asio::error::would_block;
  std::size_t bytes = 0;
  start([&](error_code found, std::size_t count) {
    error = found;
    bytes = count;
  });
  context_.restart();
  context_.run_until(until);
  if (error == asio::error::would_block) {
    error_code ignored;
    socket_.close(ignored);
    context_.run();  // the operation ends, and with it what refers to this frame
    throw ConnectionLost("the server at " + where_ + " does not answer");
  }
  if (error == asio::error::eof || error == asio::ssl::error::stream_truncated) {
    throw ConnectionLost("the server at " + where_ + " closed the connection");
  }
  if (error) {
    throw ConnectionLost("the connection with the server at " + where_ +
                         " broke: " + error.message());
  }
  return bytes;
}

void Connection::connect(const Endpoint& endpoint, Clock::time_point until) {
  std::vector<asio::generic::stream_protocol::endpoint> found;
  error_code error;
  if (!endpoint.path.empty()) {
    constexpr std::size_t kMostPathBytes = 107;
    if (endpoint.path.size() > kMostPathBytes) {
      throw std::runtime_error(endpoint.path + ": too long for a Unix socket, whose path has " +
                               std::to_string(kMostPathBytes) +
                               " bytes at most; set TMPDIR to a shorter one");
    }
    found.emplace_back(asio::local::stream_protocol::endpoint(endpoint.path));
  } else {
    tcp::resolver resolver(context_);
    for (const auto& each : resolver.resolve(endpoint.host, std::to_string(endpoint.port),
                                             tcp::resolver::numeric_service, error)) {
      if (!endpoint.tls && !endpoint.plain && !each.endpoint().address().is_loopback()) {
        throw std::runtime_error(
            where_ +
            " is another machine, and redis:// sends what is trained, and the password, as they "
            "are; use rediss://, or set BERTH_STORE_TLS=off where the network is trusted");
      }
      found.emplace_back(each.endpoint());
    }
    if (error) {
      throw ConnectionLost("the server's machine '" + endpoint.host +
                           "' is not known: " + error.message());
    }
  }
  std::string why = ": nothing";
  for (const auto& each : found) {
    error_code ignored;
    socket_.close(ignored);
    try {
      complete(
          [&](auto done) {
            socket_.async_connect(each, [done](error_code code) mutable { done(code, 0); });
          },
          until);
      // A process that this one starts must not keep the connection, which says that this one lives.
      fcntl(socket_.native_handle(), F_SETFD, FD_CLOEXEC);
      if (endpoint.path.empty()) {
        socket_.set_option(tcp::no_delay(true), ignored);
        socket_.set_option(asio::socket_base::keep_alive(true), ignored);
      }
      return;
    } catch (const ConnectionLost& lost) {
      why = lost.what();
    }
  }
  throw ConnectionLost("no server answers at " + where_ + ": " + why.substr(why.rfind(": ") + 2));
}

void Connection::secure(const Endpoint& endpoint, const std::shared_ptr<EVP_PKEY>& expected,
                        Clock::time_point until) {
  error_code error;
  tls_context_.emplace(asio::ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(tls_context_->native_handle(), TLS1_2_VERSION);
  if (!endpoint.authorities.empty()) {
    tls_context_->load_verify_file(endpoint.authorities, error);
    load(endpoint.authorities, error);
  } else {
    tls_context_->set_default_verify_paths(error);
  }
  if (!endpoint.certificate.empty()) {
    tls_context_->use_certificate_chain_file(endpoint.certificate, error);
    load(endpoint.certificate, error);
    tls_context_->use_private_key_file(endpoint.key, asio::ssl::context::pem, error);
    load(endpoint.key, error);
  }
  tls_.emplace(socket_, *tls_context_);
  tls_->set_verify_mode(asio::ssl::verify_peer);
  // The reason of a refusal, which the handshake's own error does not tell.
  auto refusal = std::make_shared<std::string>();
  if (expected != nullptr) {
    tls_->set_verify_callback([refusal, expected](bool, asio::ssl::verify_context& context) {
      X509* const shown = X509_STORE_CTX_get0_cert(context.native_handle());
      if (EVP_PKEY_eq(X509_get0_pubkey(shown), expected.get()) == 1) return true;
      *refusal = "has another secret; give all processes the same BERTH_SECRET";
      return false;
    });
  } else {
    SSL_set_tlsext_host_name(tls_->native_handle(), endpoint.host.c_str());
    tls_->set_verify_callback([refusal, &endpoint](bool good, asio::ssl::verify_context& context) {
      const int code = X509_STORE_CTX_get_error(context.native_handle());
      if (!good) {
        *refusal = std::string("shows a certificate that is not trusted (") +
                   X509_verify_cert_error_string(code) +
                   "); name the file of its authorities in BERTH_STORE_CA";
      } else if (!asio::ssl::host_name_verification(endpoint.host)(good, context)) {
        *refusal = "shows a certificate of another name; name it as its certificate does";
        return false;
      }
      return good;
    });
  }
  try {
    complete(
        [&](auto done) {
          tls_->async_handshake(asio::ssl::stream_base::client,
                                [done](error_code code) mutable { done(code, 0); });
        },
        until);
  } catch (const ConnectionLost&) {
    if (refusal->empty()) throw;
    throw std::runtime_error("the server at " + where_ + " " + *refusal);
  }
  // Callbacks refer to what is gone after this.
  tls_->set_verify_callback([](bool good, asio::ssl::verify_context&) { return good; });
}

void Connection::append(int count, const char** parts, const std::size_t* bytes) {
  char* text = nullptr;
  const auto size = redisFormatCommandArgv(&text, count, parts, bytes);
  if (size < 0) throw std::bad_alloc();
  const std::unique_ptr<char, decltype(&redisFreeCommand)> kept(text, &redisFreeCommand);
  output_.append(text, static_cast<std::size_t>(size));
  ++expected_;
}

void Connection::receive(Clock::time_point until) {
  while (replies_.size() < expected_) {
    void* reply = nullptr;
    if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) {
      throw ConnectionLost("what answers at " + where_ + " is no Redis: " + reader_->errstr);
    }
    if (reply != nullptr) {
      replies_.emplace_back(static_cast<redisReply*>(reply), &freeReplyObject);
      continue;
    }
    const auto buffer = asio::buffer(input_);
    const std::size_t count = complete(
        [&](auto done) {
          if (tls_) {
            tls_->async_read_some(buffer, done);
          } else {
            socket_.async_read_some(buffer, done);
          }
        },
        until);
    if (redisReaderFeed(reader_.get(), input_.data(), count) != REDIS_OK) throw std::bad_alloc();
  }
}

void Connection::exchange(std::uint32_t timeout_ms) {
  const auto until = Clock::now() + std::chrono::milliseconds(timeout_ms);
  replies_.clear();
  const std::string sent = std::exchange(output_, {});
  complete(
      [&](auto done) {
        if (tls_) {
          asio::async_write(*tls_, asio::buffer(sent), done);
        } else {
          asio::async_write(socket_, asio::buffer(sent), done);
        }
      },
      until);
  receive(until);
  expected_ = 0;
}

}  // namespace berth::redis
