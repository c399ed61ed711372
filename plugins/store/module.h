// The C interface of the module, for LuaJIT's FFI: scripts/berth/store.lua holds the same text and
// is its only caller. No exception leaves it.
#pragma once

#include <cstdint>

#include "berth/export.h"

extern "C" {

/// Raised with every change of this file.
inline constexpr int kBerthStoreInterface = 1;

typedef struct berth_store_server berth_store_server;
typedef struct berth_store_client berth_store_client;

/// Of the last request of its client, until the next.
typedef struct berth_store_reply {
  int32_t status;  ///< as protocol.h's
  int64_t number;
  const char* key;
  int64_t key_bytes;
  const char* value;
  int64_t value_bytes;
} berth_store_reply;

BERTH_EXPORT int berth_store_interface(void);
/// Of this thread's last failure.
BERTH_EXPORT const char* berth_store_error(void);

/// Null: see berth_store_error. `journal` may be empty.
BERTH_EXPORT berth_store_server* berth_store_listen(const char* address, int port,
                                                    const char* secret, const char* journal,
                                                    double most_bytes, double most_stored,
                                                    int grace_ms);
BERTH_EXPORT int berth_store_port(berth_store_server* server);
/// 0, or 1 where it can serve no more.
BERTH_EXPORT int berth_store_serve(berth_store_server* server, int ms);
BERTH_EXPORT void berth_store_stop(berth_store_server* server);

/// 0; 1: nobody answers; 2: it is refused.
BERTH_EXPORT int berth_store_connect(const char* address, int port, const char* secret,
                                     int timeout_ms, berth_store_client** out);
/// 0; 1: the connection is lost.
BERTH_EXPORT int berth_store_request(berth_store_client* client, int operation, const char* key,
                                     int64_t key_bytes, const char* value, int64_t value_bytes,
                                     int64_t number, int wait_ms, int timeout_ms,
                                     berth_store_reply* reply);
BERTH_EXPORT void berth_store_close(berth_store_client* client);
}
