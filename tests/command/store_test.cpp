// The store of processes that train together: what it promises (store.lua), and servers that are none.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <thread>

#include "free_port.h"
#include "support/data.h"
#include "workers.h"

using namespace berth::test;

namespace {

ProcessResult run_part(const Workplace& work, const std::string& part,
                       const std::string& limit = "") {
  const std::string script = source_path("tests/command/store.lua").string();
  const std::string command = limit + "exec '" BERTH_COMMAND "' run '" + script + "' " + part +
                              " '" + (work / "store").string() + "' " + std::to_string(free_port());
  return run_process({"/bin/sh", "-c", command}, work.settings);
}

/// Answers whatever a client says with one text, one client after another.
class Answering {
 public:
  explicit Answering(std::string answer) : socket_(listen_on_loopback(port)) {
    thread_ = std::thread([this, text = std::move(answer)] {
      for (;;) {
        const int client = accept(socket_, nullptr, nullptr);
        if (client < 0) return;
        char heard[4096];
        if (recv(client, heard, sizeof heard, 0) > 0) {
          CHECK(send(client, text.data(), text.size(), MSG_NOSIGNAL) > 0);
          while (recv(client, heard, sizeof heard, 0) > 0) {
          }
        }
        close(client);
      }
    });
  }
  ~Answering() {
    shutdown(socket_, SHUT_RDWR);
    thread_.join();
    close(socket_);
  }
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;

  int port = 0;

 private:
  int socket_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("what the store promises") {
  if (!has_workers()) return;
  for (const char* part : {"keys", "queues", "killed", "refused", "addresses", "tls"}) {
    CAPTURE(part);
    const Workplace work;
    const ProcessResult result = run_part(work, part);
    CHECK_MESSAGE(result.status == 0, result.err);
    CHECK(work.files().size() == 4);  // nothing is left in its folder but that
  }
}

TEST_CASE("a store on a disk that takes long to sync keeps what it acknowledged") {
  if (!has_workers()) return;
  const Workplace work;
  const ProcessResult result = run_part(work, "slow", "export LD_PRELOAD='" BERTH_SLOW_SYNC "'; ");
  CHECK_MESSAGE(result.status == 0, result.err);
}

TEST_CASE("a store on a full disk says so") {
  if (!has_workers()) return;
  const Workplace work;
  // A limit on the size of files stands for a full disk.
  const ProcessResult result = run_part(work, "full", "trap '' XFSZ; ulimit -f 128; ");
  CHECK_MESSAGE(result.status == 0, result.err);
}

TEST_CASE("what is no server that will do is said") {
  if (!has_workers()) return;
  const auto hello = [](const std::string& mode, const std::string& role, const std::string& info) {
    return "*8\r\n$2\r\nid\r\n:7\r\n$4\r\nmode\r\n+" + mode + "\r\n$4\r\nrole\r\n+" + role +
           "\r\n$5\r\nproto\r\n:2\r\n$" + std::to_string(info.size()) + "\r\n" + info + "\r\n";
  };
  const struct {
    std::string answer;
    const char* said;
  } cases[] = {
      {"-ERR unknown command `HELLO`, with args beginning with: `2`, \r\n+x\r\n",
       "is too old: Redis 7.0"},
      {hello("standalone", "master", "redis_version:6.2.14\r\nrun_id:1\r\n"), "and it is 6.2.14"},
      {hello("cluster", "master", "redis_version:7.0.15\r\nrun_id:1\r\n"),
       "is a cluster; name a server"},
      {hello("sentinel", "master", "redis_version:7.0.15\r\nrun_id:1\r\n"),
       "is a sentinel; name a server"},
      {hello("standalone", "replica", "redis_version:7.0.15\r\nrun_id:1\r\n"), "is a replica"},
      {"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", "is no Redis: "},
      {"$9999999999999999999\r\n", "is no Redis: "},
      {"*-7\r\n", "is no Redis: "},
      {"*2\r\n+a\r\n", "does not answer"},
      {"-DENIED Redis is running in protected mode\r\n+x\r\n", "protected mode"},
  };
  const Workplace work;
  work.write_text("connect.lua", R"(
    local redis, store = require 'berth.redis', require 'berth.store'
    store.connect { server = redis.server((...)), join_s = 0.1, timeout_s = 1 }
  )");
  for (const auto& each : cases) {
    CAPTURE(each.answer);
    const Answering server(each.answer);
    const ProcessResult result =
        work.berth({"run", "connect.lua", "redis://127.0.0.1:" + std::to_string(server.port)});
    CHECK(result.status == 1);
    CHECK_MESSAGE(contains(result.err, each.said), result.err);
  }
}

TEST_CASE("watch shows who trains in a server, and says where there is none") {
  if (!has_workers()) return;
  const Workplace work;
  const ProcessResult none = work.berth({"watch", "unix:///nowhere/redis.sock"});
  CHECK(none.status == 1);
  CHECK_MESSAGE(contains(none.err, "no server answers at /nowhere/redis.sock"), none.err);
  CHECK_MESSAGE(!contains(none.err, "traceback"), none.err);
}
