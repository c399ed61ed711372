// The store: what it promises to its clients, and what it refuses.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "store/client.h"
#include "store/server.h"
#include "support/temporary_folder.h"

using namespace berth::store;
using berth::test::TemporaryFolder;

namespace {

/// A bound on what hangs; nothing waits so long that works.
constexpr std::uint32_t kSafetyMs = 20000;

/// A server on a thread of its own.
class Served {
 public:
  explicit Served(ServerSettings settings = {}) : server_(settings) {
    port = server_.port();
    thread_ = std::thread([this] {
      try {
        while (!stop_) server_.serve(20);
      } catch (const std::runtime_error& error) {
        failure = error.what();
      }
    });
  }
  ~Served() { end(); }
  void end() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

  std::uint16_t port = 0;
  std::string failure;

 private:
  Server server_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// A client that throws away what it does not ask for.
struct Asker {
  explicit Asker(std::uint16_t port, const std::string& secret = "")
      : client("127.0.0.1", port, secret, kSafetyMs) {}

  Status ask(Operation operation, const std::string& key, const std::string& value = "",
             std::int64_t number = 0, std::uint32_t wait_ms = 0) {
    client.request(operation, key, value, number, wait_ms, kSafetyMs, reply);
    return reply.status;
  }

  Client client;
  Reply reply;
};

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A socket that is connected and speaks no protocol.
int raw_socket(std::uint16_t port) {
  const int made = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(connect(made, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0);
  return made;
}

}  // namespace

TEST_CASE("keys hold values and numbers") {
  const Served served;
  Asker a(served.port), b(served.port);
  CHECK(a.ask(Operation::get, "x") == Status::absent);
  CHECK(a.ask(Operation::set, "x", std::string("a\0b", 3), 7) == Status::ok);
  CHECK(b.ask(Operation::get, "x") == Status::ok);
  CHECK(b.reply.value == std::string("a\0b", 3));
  CHECK(b.reply.number == 7);
  CHECK(b.ask(Operation::add, "x", "", 5) == Status::ok);
  CHECK(b.reply.number == 12);
  CHECK(a.ask(Operation::add, "new", "", -3) == Status::ok);
  CHECK(a.reply.number == -3);
  CHECK(a.ask(Operation::erase, "x") == Status::ok);
  CHECK(a.ask(Operation::get, "x") == Status::absent);
}

TEST_CASE("compare_set changes what is as expected, and says what is not") {
  const Served served;
  Asker a(served.port);
  CHECK(a.ask(Operation::compare_set, "x", "first", -1) == Status::ok);
  CHECK(a.ask(Operation::compare_set, "x", "second", -1) == Status::different);
  CHECK(a.reply.value == "first");
  CHECK(a.ask(Operation::compare_set, "x", "firstsecond", 5) == Status::ok);
  CHECK(a.ask(Operation::get, "x") == Status::ok);
  CHECK(a.reply.value == "second");
  CHECK(a.ask(Operation::compare_set, "absent", "oldnew", 3) == Status::absent);
  CHECK(a.ask(Operation::compare_set, "x", "ab", 3) == Status::failed);
}

TEST_CASE("get waits for a number, and no longer than it is told") {
  const Served served;
  Asker a(served.port), b(served.port);
  CHECK(a.ask(Operation::get, "w", "", 0, 1) == Status::late);
  std::thread later([&] {
    CHECK(b.ask(Operation::set, "w", "old", 1) == Status::ok);
    CHECK(b.ask(Operation::set, "w", "new", 2) == Status::ok);
  });
  CHECK(a.ask(Operation::get, "w", "", 2, kSafetyMs) == Status::ok);
  CHECK(a.reply.value == "new");
  later.join();
}

TEST_CASE("a task is taken once, and its result comes back once") {
  const Served served;
  Asker owner(served.port), a(served.port), b(served.port);
  CHECK(owner.ask(Operation::submit, "q\n1", "payload", 3) == Status::ok);
  CHECK(owner.reply.number == 1);
  CHECK(owner.ask(Operation::submit, "q\n1", "payload", 3) == Status::ok);
  CHECK(owner.reply.number == 0);  // it is there already
  CHECK(a.ask(Operation::take, "q", "", 60000) == Status::ok);
  CHECK(a.reply.key == "1");
  CHECK(a.reply.value == "payload");
  CHECK(b.ask(Operation::take, "q", "", 60000, 1) == Status::late);
  CHECK(owner.ask(Operation::result, "q\n1", "", 0, 1) == Status::late);
  CHECK(a.ask(Operation::done, "q\n1", "result") == Status::ok);
  CHECK(a.reply.number == 1);
  CHECK(b.ask(Operation::done, "q\n1", "another") == Status::ok);
  CHECK(b.reply.number == 0);  // the first result counts
  CHECK(owner.ask(Operation::result, "q\n1", "", 0, kSafetyMs) == Status::ok);
  CHECK(owner.reply.value == "result");
  CHECK(owner.ask(Operation::result, "q\n1", "", 0, 1) == Status::absent);
}

TEST_CASE("takers and askers wait for what comes") {
  const Served served;
  Asker owner(served.port);
  std::thread worker([&] {
    Asker a(served.port);
    CHECK(a.ask(Operation::take, "q", "", 60000, kSafetyMs) == Status::ok);
    CHECK(a.ask(Operation::done, "q\n" + a.reply.key, a.reply.value + "!") == Status::ok);
  });
  CHECK(owner.ask(Operation::submit, "q\n1", "x", 1) == Status::ok);
  CHECK(owner.ask(Operation::result, "q\n1", "", 0, kSafetyMs) == Status::ok);
  CHECK(owner.reply.value == "x!");
  worker.join();
}

TEST_CASE("what was waited for too long answers nothing that is asked for later") {
  // While `a` waits for what `later` brings, `early` brings what it no longer waits for: many
  // times, as `a` begins to wait at a moment that nobody is told.
  const Served served;
  Asker a(served.port), b(served.port);
  const auto brings = [&b](const std::function<void(const std::string&)>& early,
                           const std::function<void()>& later) {
    return std::thread([&b, early, later] {
      for (int k = 0; k < 100; ++k) {
        early(std::to_string(k));
        b.ask(Operation::get, "pause", "", 0, 1);
      }
      later();
    });
  };
  SUBCASE("a task") {
    CHECK(a.ask(Operation::take, "late", "", 60000, 1) == Status::late);
    auto other = brings(
        [&](const auto& k) {
          CHECK(b.ask(Operation::submit, "late\n" + k, "not asked for", 1) == Status::ok);
        },
        [&] { CHECK(b.ask(Operation::set, "key", "asked for", 1) == Status::ok); });
    CHECK(a.ask(Operation::get, "key", "", 1, kSafetyMs) == Status::ok);
    CHECK(a.reply.value == "asked for");
    other.join();
    CHECK(a.ask(Operation::take, "late", "", 60000, kSafetyMs) == Status::ok);
    CHECK(a.reply.key == "0");
  }
  SUBCASE("a key") {
    CHECK(a.ask(Operation::get, "late", "", 1, 1) == Status::late);
    auto other = brings(
        [&](const auto&) { CHECK(b.ask(Operation::set, "late", "no", 60000) == Status::ok); },
        [&] { CHECK(b.ask(Operation::submit, "queue\n0", "asked for", 1) == Status::ok); });
    CHECK(a.ask(Operation::take, "queue", "", 60000, kSafetyMs) == Status::ok);
    CHECK(a.reply.value == "asked for");
    other.join();
  }
  SUBCASE("a result") {
    CHECK(b.ask(Operation::submit, "late\n0", "work", 1) == Status::ok);
    CHECK(a.ask(Operation::result, "late\n0", "", 0, 1) == Status::late);
    auto other = brings([&](const auto&) { b.ask(Operation::done, "late\n0", "the work's"); },
                        [&] { CHECK(b.ask(Operation::set, "key", "asked for", 1) == Status::ok); });
    CHECK(a.ask(Operation::get, "key", "", 1, kSafetyMs) == Status::ok);
    CHECK(a.reply.value == "asked for");
    other.join();
    CHECK(a.ask(Operation::result, "late\n0", "", 0, kSafetyMs) == Status::ok);
    CHECK(a.reply.value == "the work's");
  }
}

TEST_CASE("a task whose taker goes is the next to be taken, until it has had as many as it may") {
  const Served served;
  Asker owner(served.port);
  owner.ask(Operation::submit, "q\n1", "first", 2);
  owner.ask(Operation::submit, "q\n2", "second", 2);
  {
    auto lost = std::make_unique<Asker>(served.port);
    CHECK(lost->ask(Operation::hello, "rank 1", "host:1:1") == Status::ok);
    CHECK(lost->ask(Operation::take, "q", "", 60000) == Status::ok);
    CHECK(lost->reply.value == "first");
  }
  auto again = std::make_unique<Asker>(served.port);
  CHECK(again->ask(Operation::hello, "rank 2", "host:2:1") == Status::ok);
  do {  // the store hears of the end of a connection when it comes to it
    CHECK(again->ask(Operation::take, "q", "", 60000, kSafetyMs) == Status::ok);
  } while (again->reply.value != "first" && again->ask(Operation::done, "q\n2", "2") == Status::ok);
  CHECK(again->reply.number == 2);
  again.reset();
  CHECK(owner.ask(Operation::result, "q\n1", "", 0, kSafetyMs) == Status::lost);
  CHECK(owner.reply.value == "rank 1 (host:1:1), rank 2 (host:2:1)");
  CHECK(owner.ask(Operation::members, "") == Status::ok);
  CHECK(contains(owner.reply.value, "member\trank 1\thost:1:1\tlost\t"));
}

TEST_CASE("a lease ends, and a result that comes late still counts where it is the first") {
  const Served served;
  Asker owner(served.port), slow(served.port), other(served.port);
  owner.ask(Operation::submit, "q\n1", "x", 3);
  CHECK(slow.ask(Operation::take, "q", "", 1) == Status::ok);  // a lease of 1 ms
  CHECK(other.ask(Operation::take, "q", "", 60000, kSafetyMs) == Status::ok);
  CHECK(other.reply.key == "1");
  CHECK(slow.ask(Operation::done, "q\n1", "late") == Status::ok);
  CHECK(slow.reply.number == 1);
  CHECK(owner.ask(Operation::result, "q\n1", "", 0, kSafetyMs) == Status::ok);
  CHECK(owner.reply.value == "late");
}

TEST_CASE("members: one of a name, the same client may come back, and leaving is not being lost") {
  const Served served;
  Asker watcher(served.port);
  auto first = std::make_unique<Asker>(served.port);
  CHECK(first->ask(Operation::hello, "rank 0", "host:1:1") == Status::ok);
  Asker second(served.port);
  CHECK(second.ask(Operation::hello, "rank 0", "host:2:2") == Status::different);
  CHECK(second.reply.value == "host:1:1");
  Asker back(served.port);
  CHECK(back.ask(Operation::hello, "rank 0", "host:1:1") == Status::ok);
  CHECK_THROWS_AS(first->ask(Operation::members, ""), ConnectionLost);
  // What was on its way to the connection before is not lost for as long as the lease.
  watcher.ask(Operation::submit, "q\n1", "x", 3);
  CHECK(back.ask(Operation::take, "q", "", 60000, kSafetyMs) == Status::ok);
  Asker once_more(served.port);
  CHECK(once_more.ask(Operation::hello, "rank 0", "host:1:1") == Status::ok);
  CHECK(once_more.ask(Operation::take, "q", "", 60000, kSafetyMs) == Status::ok);
  CHECK(once_more.ask(Operation::done, "q\n1", "y") == Status::ok);
  CHECK(once_more.ask(Operation::bye, "") == Status::ok);
  watcher.ask(Operation::members, "");
  CHECK(contains(watcher.reply.value, "host:1:1"));
}

TEST_CASE("keys outlive the store by its journal, cut off as it may be") {
  const TemporaryFolder folder;
  ServerSettings settings;
  settings.journal = folder / "journal";
  const std::string large(200000, 'w');
  {
    const Served served(settings);
    Asker a(served.port);
    a.ask(Operation::set, "kept", "value", 3);
    a.ask(Operation::set, "erased", "value");
    a.ask(Operation::erase, "erased");
    a.ask(Operation::add, "counter", "", 41);
    a.ask(Operation::set, "last", "cut off");
  }
  std::filesystem::resize_file(settings.journal, std::filesystem::file_size(settings.journal) - 3);
  for (int restart = 0; restart < 2; ++restart) {
    const Served served(settings);
    Asker a(served.port);
    CHECK(a.ask(Operation::get, "kept") == Status::ok);
    CHECK(a.reply.value == "value");
    CHECK(a.reply.number == 3);
    CHECK(a.ask(Operation::get, "erased") == Status::absent);
    CHECK(a.ask(Operation::get, "last") == Status::absent);
    CHECK(a.ask(Operation::add, "counter", "", 1) == Status::ok);
    CHECK(a.reply.number == 42 + restart);
    // Large values are written within a second.
    a.ask(Operation::set, "weights", large, restart);
    while (std::filesystem::file_size(settings.journal) < large.size()) std::this_thread::yield();
  }
  const Served served(settings);
  Asker a(served.port);
  CHECK(a.ask(Operation::get, "weights") == Status::ok);
  CHECK(a.reply.value == large);
}

TEST_CASE("a journal that is none, or cannot be written, is said") {
  const TemporaryFolder folder;
  ServerSettings settings;
  settings.journal = folder / "journal";
  std::ofstream(settings.journal) << "something else entirely";
  CHECK(contains(message_of([&] { Server server(settings); }), "no journal of a store"));
  settings.journal = folder / "missing" / "journal";
  CHECK(contains(message_of([&] { Server server(settings); }), "No such file or directory"));
  settings.journal = "/dev/full";
  CHECK(contains(message_of([&] { Server server(settings); }), "No space left on device"));
}

TEST_CASE("a disk that fills up on the way ends the store, and everybody is told") {
  const TemporaryFolder folder;
  ServerSettings settings;
  settings.journal = folder / "journal";
  Served served(settings);
  Asker waiting(served.port), writing(served.port);
  std::thread hears([&] {
    CHECK(waiting.ask(Operation::take, "q", "", 60000, kSafetyMs) == Status::failed);
    CHECK(contains(waiting.reply.value, "cannot be written"));
  });
  // A limit on the size of files stands for a full disk.
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
  rlimit small = limit;
  small.rlim_cur = 10000;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  int kept = 0;
  while (writing.ask(Operation::set, "k" + std::to_string(kept), std::string(1000, 'x')) ==
         Status::ok) {
    ++kept;
  }
  CHECK(writing.reply.status == Status::failed);
  CHECK(contains(writing.reply.value, "cannot be written"));
  hears.join();
  served.end();
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  CHECK(contains(served.failure, "cannot be written"));
  // What was there before is whole.
  const Served again(settings);
  Asker reading(again.port);
  CHECK(kept > 5);
  for (int k = 0; k < kept; ++k) {
    CHECK(reading.ask(Operation::get, "k" + std::to_string(k)) == Status::ok);
  }
}

TEST_CASE("a secret is needed elsewhere than on loopback, and by both sides") {
  ServerSettings settings;
  settings.address = "0.0.0.0";
  CHECK(contains(message_of([&] { Server server(settings); }), "set BERTH_SECRET"));
  settings.secret = "open sesame";
  const Served served(settings);
  CHECK(contains(message_of([&] { Asker a(served.port, "guessed"); }), "another secret"));
  CHECK(contains(message_of([&] { Asker a(served.port); }), "another secret"));
  Asker a(served.port, "open sesame");
  CHECK(a.ask(Operation::set, "x", "y") == Status::ok);
}

TEST_CASE("a port in use is said, and so is a store that is none") {
  const Served served;
  ServerSettings settings;
  settings.port = served.port;
  CHECK(contains(message_of([&] { Server server(settings); }), "BERTH_STORE_PORT"));
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(at);
  REQUIRE(bind(listening, reinterpret_cast<sockaddr*>(&at), sizeof(at)) == 0);
  REQUIRE(listen(listening, 4) == 0);
  REQUIRE(getsockname(listening, reinterpret_cast<sockaddr*>(&at), &size) == 0);
  const std::uint16_t port = ntohs(at.sin_port);
  const struct {
    std::string answer;
    const char* said;
  } cases[] = {{"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n<html></html>",
                "is no store of Berth"},
               {"BERTHST2" + std::string(kNonceBytes, 'n'), "is of another version of Berth"}};
  for (const auto& each : cases) {
    std::thread answering([&] {
      const int other = accept(listening, nullptr, nullptr);
      CHECK(write(other, each.answer.data(), each.answer.size()) > 0);
      close(other);
    });
    CHECK(
        contains(message_of([&] { Client client("127.0.0.1", port, "", kSafetyMs); }), each.said));
    answering.join();
  }
  close(listening);
  CHECK(contains(message_of([&] { Client client("127.0.0.1", port, "", kSafetyMs); }),
                 "no store answers at 127.0.0.1:"));
}

TEST_CASE("what is no request, or too large, ends its connection and nothing else") {
  ServerSettings settings;
  settings.most_bytes = 1000;
  settings.most_stored = 1500;
  const Served served(settings);
  Asker good(served.port);
  // Before the greeting nothing is read but the greeting.
  const int raw = raw_socket(served.port);
  const std::string rubbish(4096, '\xff');
  CHECK(send(raw, rubbish.data(), rubbish.size(), MSG_NOSIGNAL) > 0);
  char byte = 0;
  while (recv(raw, &byte, 1, 0) > 0) {
  }
  close(raw);
  {
    Asker large(served.port);
    CHECK(message_of([&] {
            CHECK(large.ask(Operation::set, "x", std::string(2000, 'x')) == Status::failed);
            CHECK(contains(large.reply.value, "the most is 1000"));
          }) == "");
    CHECK_THROWS_AS(large.ask(Operation::get, "x"), ConnectionLost);
  }
  CHECK(good.ask(Operation::set, "a", std::string(900, 'x')) == Status::ok);
  CHECK(good.ask(Operation::set, "b", std::string(900, 'x')) == Status::failed);
  CHECK(contains(good.reply.value, "the store is full"));
  CHECK(good.ask(static_cast<Operation>(99), "x") == Status::failed);
  CHECK(good.ask(Operation::submit, "without a task") == Status::failed);
  CHECK(good.ask(Operation::get, "a") == Status::ok);
}
