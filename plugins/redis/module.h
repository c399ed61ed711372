// The C interface of the module, for LuaJIT's FFI: scripts/berth/redis.lua holds the same text and is its
// only caller. No exception leaves it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "berth/export.h"

struct redisReply;

extern "C" {

/// Raised with every change of this file.
inline constexpr int kBerthRedisInterface = 1;

typedef struct berth_redis berth_redis;

/// As Endpoint of connection.h; no text is null.
typedef struct berth_redis_endpoint {
  const char* path;
  const char* host;
  int port;
  int tls;
  int plain;
  const char* secret;
  const char* authorities;
  const char* certificate;
  const char* key;
} berth_redis_endpoint;

BERTH_EXPORT int berth_redis_interface(void);
/// The message of this thread's last failure.
BERTH_EXPORT const char* berth_redis_error(void);

/// 0; 1: nobody answers; 2: it is refused.
BERTH_EXPORT int berth_redis_connect(const berth_redis_endpoint* endpoint, int timeout_ms,
                                     berth_redis** out);
/// 0; 2: no memory.
BERTH_EXPORT int berth_redis_append(berth_redis* client, int count, const char** parts,
                                    const size_t* bytes);
/// 0; 1: the connection is lost; 2: no memory.
BERTH_EXPORT int berth_redis_exchange(berth_redis* client, int timeout_ms);
BERTH_EXPORT void berth_redis_close(berth_redis* client);

/// A reply of the last exchange, and what is in it. Valid until the next exchange.
BERTH_EXPORT const struct redisReply* berth_redis_reply(berth_redis* client, int index);
BERTH_EXPORT const struct redisReply* berth_redis_item(const struct redisReply* reply, int index);
/// 0 nil, 1 text, 2 number, 3 items, 4 error.
BERTH_EXPORT int berth_redis_kind(const struct redisReply* reply);
/// A number, or how many bytes or items.
BERTH_EXPORT int64_t berth_redis_number(const struct redisReply* reply);
BERTH_EXPORT const char* berth_redis_text(const struct redisReply* reply);

/// 0; 2.
BERTH_EXPORT int berth_redis_write_certificate(const char* secret, const char* certificate_file,
                                               const char* key_file);
}
