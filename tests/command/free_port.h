// Ports of the loopback address.
#pragma once

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace berth::test {

/// A socket that listens; `port` gets where.
inline int listen_on_loopback(int& port) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(at);
  REQUIRE(bind(made, reinterpret_cast<sockaddr*>(&at), sizeof(at)) == 0);
  REQUIRE(listen(made, 1) == 0);
  REQUIRE(getsockname(made, reinterpret_cast<sockaddr*>(&at), &size) == 0);
  port = ntohs(at.sin_port);
  return made;
}

/// A port that was free a moment ago.
inline int free_port() {
  int port = 0;
  close(listen_on_loopback(port));
  return port;
}

}  // namespace berth::test
