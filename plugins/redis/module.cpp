#include "module.h"

#include <string>

#include "certificate.h"
#include "common/guarded.h"
#include "connection.h"

struct berth_redis {
  berth_redis(const berth::redis::Endpoint& endpoint, std::uint32_t timeout_ms)
      : connection(endpoint, timeout_ms) {}
  berth::redis::Connection connection;
};

namespace berth::redis {
namespace {

std::string& last_error() {
  thread_local std::string text;
  return text;
}

/// Runs the body; 0, 1 where the connection is lost, 2 for every other failure.
template <typename Body>
int guarded(const Body& body) noexcept {
  bool lost = false;
  const bool fine = berth::guarded(last_error(), [&] {
    try {
      body();
    } catch (const ConnectionLost&) {
      lost = true;
      throw;
    }
  });
  return fine ? 0 : lost ? 1 : 2;
}

}  // namespace
}  // namespace berth::redis

using berth::redis::guarded;

int berth_redis_interface(void) {
  return kBerthRedisInterface;
}

const char* berth_redis_error(void) {
  return berth::redis::last_error().c_str();
}

int berth_redis_connect(const berth_redis_endpoint* endpoint, int timeout_ms, berth_redis** out) {
  return guarded([&] {
    berth::redis::Endpoint to;
    to.path = endpoint->path;
    to.host = endpoint->host;
    to.port = static_cast<std::uint16_t>(endpoint->port);
    to.tls = endpoint->tls != 0;
    to.plain = endpoint->plain != 0;
    to.secret = endpoint->secret;
    to.authorities = endpoint->authorities;
    to.certificate = endpoint->certificate;
    to.key = endpoint->key;
    *out = new berth_redis(to, static_cast<std::uint32_t>(timeout_ms));
  });
}

int berth_redis_append(berth_redis* client, int count, const char** parts, const size_t* bytes) {
  return guarded([&] { client->connection.append(count, parts, bytes); });
}

int berth_redis_exchange(berth_redis* client, int timeout_ms) {
  return guarded([&] { client->connection.exchange(static_cast<std::uint32_t>(timeout_ms)); });
}

void berth_redis_close(berth_redis* client) {
  delete client;
}

const redisReply* berth_redis_reply(berth_redis* client, int index) {
  return client->connection.replies()[static_cast<std::size_t>(index)].get();
}

const redisReply* berth_redis_item(const redisReply* reply, int index) {
  return reply->element[index];
}

int berth_redis_kind(const redisReply* reply) {
  switch (reply->type) {
    case REDIS_REPLY_NIL:
      return 0;
    case REDIS_REPLY_INTEGER:
      return 2;
    case REDIS_REPLY_ARRAY:
      return 3;
    case REDIS_REPLY_ERROR:
      return 4;
    default:  // a text, or a status
      return 1;
  }
}

int64_t berth_redis_number(const redisReply* reply) {
  switch (reply->type) {
    case REDIS_REPLY_INTEGER:
      return reply->integer;
    case REDIS_REPLY_ARRAY:
      return static_cast<int64_t>(reply->elements);
    default:
      return static_cast<int64_t>(reply->len);
  }
}

const char* berth_redis_text(const redisReply* reply) {
  return reply->str;
}

int berth_redis_write_certificate(const char* secret, const char* certificate_file,
                                  const char* key_file) {
  return guarded([&] { berth::redis::write_certificate(secret, certificate_file, key_file); });
}
