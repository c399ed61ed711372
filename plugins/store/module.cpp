#include "module.h"

#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "client.h"
#include "server.h"

struct berth_store_server {
  explicit berth_store_server(const berth::store::ServerSettings& settings) : server(settings) {}
  berth::store::Server server;
};

struct berth_store_client {
  berth_store_client(const std::string& address, std::uint16_t port, const std::string& secret,
                     std::uint32_t timeout_ms)
      : client(address, port, secret, timeout_ms) {}
  berth::store::Client client;
  berth::store::Reply reply;
};

namespace berth::store {
namespace {

std::string& last_error() {
  thread_local std::string text;
  return text;
}

/// Runs the body; its result, 1 where the connection is lost, 2 for every other failure.
template <typename Body>
int guarded(const Body& body) noexcept {
  try {
    try {
      body();
      return 0;
    } catch (const ConnectionLost& error) {
      last_error() = error.what();
      return 1;
    } catch (const std::bad_alloc&) {
      last_error() = "out of memory";
    } catch (const std::exception& error) {
      last_error() = error.what();
    } catch (...) {
      last_error() = "failed for an unknown reason";
    }
  } catch (const std::bad_alloc&) {
    last_error().clear();  // no memory for the text
  }
  return 2;
}

}  // namespace
}  // namespace berth::store

using berth::store::guarded;

int berth_store_interface(void) {
  return kBerthStoreInterface;
}

const char* berth_store_error(void) {
  return berth::store::last_error().c_str();
}

berth_store_server* berth_store_listen(const char* address, int port, const char* secret,
                                       const char* journal, double most_bytes, double most_stored,
                                       int grace_ms) {
  berth_store_server* server = nullptr;
  guarded([&] {
    berth::store::ServerSettings settings;
    settings.address = address;
    settings.port = static_cast<std::uint16_t>(port);
    settings.secret = secret;
    settings.journal = journal;
    settings.most_bytes = static_cast<std::size_t>(most_bytes);
    settings.most_stored = static_cast<std::size_t>(most_stored);
    settings.grace_ms = static_cast<std::uint32_t>(grace_ms);
    server = new berth_store_server(settings);
  });
  return server;
}

int berth_store_port(berth_store_server* server) {
  return server->server.port();
}

int berth_store_serve(berth_store_server* server, int ms) {
  return guarded([&] { server->server.serve(static_cast<std::uint32_t>(ms)); });
}

void berth_store_stop(berth_store_server* server) {
  delete server;
}

int berth_store_connect(const char* address, int port, const char* secret, int timeout_ms,
                        berth_store_client** out) {
  return guarded([&] {
    *out = new berth_store_client(address, static_cast<std::uint16_t>(port), secret,
                                  static_cast<std::uint32_t>(timeout_ms));
  });
}

int berth_store_request(berth_store_client* client, int operation, const char* key,
                        int64_t key_bytes, const char* value, int64_t value_bytes, int64_t number,
                        int wait_ms, int timeout_ms, berth_store_reply* reply) {
  return guarded([&] {
    berth::store::Reply& got = client->reply;
    client->client.request(static_cast<berth::store::Operation>(operation),
                           std::string_view(key, static_cast<std::size_t>(key_bytes)),
                           std::string_view(value, static_cast<std::size_t>(value_bytes)), number,
                           static_cast<std::uint32_t>(wait_ms),
                           static_cast<std::uint32_t>(timeout_ms), got);
    *reply = {static_cast<int32_t>(got.status),
              got.number,
              got.key.data(),
              static_cast<int64_t>(got.key.size()),
              got.value.data(),
              static_cast<int64_t>(got.value.size())};
  });
}

void berth_store_close(berth_store_client* client) {
  delete client;
}
