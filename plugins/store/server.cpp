#include "server.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "connection.h"
#include "journal.h"

namespace berth::store {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::uint32_t kSweepMs = 100;
/// Values above this are written to the journal once a second at most: weights change with every
/// update, and whoever set them last sets them again.
constexpr std::size_t kLargeValue = 65536;
constexpr std::int64_t kLargeEveryMs = 1000;
constexpr std::size_t kLeastRewritten = std::size_t{64} << 20;

struct Value {
  Bytes value;
  std::int64_t number = 0;
};

/// A client of every worker of a large machine, and some.
void allow_many_connections() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

class Server::Impl final : public Service {
 public:
  explicit Impl(const ServerSettings& settings);
  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  void serve(std::uint32_t ms);

 private:
  void listen();
  void accept();
  void sweep();
  void keep_journal();

  [[nodiscard]] const std::string& secret() const override { return settings_.secret; }
  [[nodiscard]] std::size_t most_bytes() const override { return settings_.most_bytes; }
  void handle(const Peer& peer, const Head& head, std::string key, std::string value) override;
  void closed(const Peer& peer) override;
  void hello(const Peer& peer, const std::string& name, const std::string& identity);
  void set(const Peer& peer, const std::string& key, std::string value, std::int64_t number);
  void get(const Peer& peer, const Head& head, const std::string& key);
  void add(const Peer& peer, const std::string& key, std::int64_t number);
  void compare_set(const Peer& peer, const std::string& key, const std::string& both,
                   std::int64_t expected_bytes);
  void erase(const Peer& peer, const std::string& prefix);
  void submit(const Peer& peer, const Head& head, const std::string& key, std::string value);
  void take(const Peer& peer, const Head& head, const std::string& queue);
  void done(const Peer& peer, const std::string& key, std::string value);
  void result(const Peer& peer, const Head& head, const std::string& key);
  [[nodiscard]] std::string members() const;

  void put(const std::string& key, Bytes value, std::int64_t number);
  void offer(const std::string& queue);
  void answer_result(const std::string& queue, const std::string& id);
  void released(const std::vector<Queues::Named>& tasks);
  /// False, and answered, where there is no room for so much more.
  bool has_room(const Peer& peer, std::size_t bytes);

  ServerSettings settings_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  asio::steady_timer sweeper_{context_};
  asio::steady_timer accept_again_{context_};
  std::set<Peer> peers_;
  std::map<std::string, Value> values_;
  std::size_t value_bytes_ = 0;
  Queues queues_;
  std::map<std::string, std::shared_ptr<Member>> members_;
  /// Who waits for a key, a task of a queue, the result of a task.
  std::unordered_map<std::string, std::vector<Waiter>> key_waiters_;
  std::map<std::string, std::deque<Waiter>> takers_;
  std::map<Queues::Named, Waiter> result_waiters_;
  std::unique_ptr<Journal> journal_;
  std::map<std::string, std::int64_t> written_ms_;  ///< large keys, when last written
  std::set<std::string> unwritten_;                 ///< large keys whose value is newer
  std::int64_t flushed_ms_ = 0;
  std::string broken_;  ///< why nothing can be kept any more
};

Server::Impl::Impl(const ServerSettings& settings) : settings_(settings) {
  allow_many_connections();
  listen();
  if (!settings_.journal.empty()) {
    journal_ = std::make_unique<Journal>(
        settings_.journal,
        [this](bool set, std::string_view key, std::string_view value, std::int64_t number) {
          if (set) {
            put(std::string(key), bytes_of(std::string(value)), number);
          } else if (const auto at = values_.find(std::string(key)); at != values_.end()) {
            value_bytes_ -= at->second.value->size();
            values_.erase(at);
          }
        });
  }
  accept();
  sweep();
}

void Server::Impl::listen() {
  const std::string where = settings_.address + ":" + std::to_string(settings_.port);
  tcp::resolver resolver(context_);
  error_code error;
  const auto found =
      resolver.resolve(settings_.address, std::to_string(settings_.port),
                       tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error || found.empty()) {
    throw std::runtime_error("the store's address " + where + " is not known: " + error.message());
  }
  const tcp::endpoint endpoint = *found.begin();
  if (!endpoint.address().is_loopback() && settings_.secret.empty()) {
    throw std::runtime_error("the store would listen on " + where +
                             ", where others may reach it; set BERTH_SECRET to the same text for "
                             "all processes, or let it listen on 127.0.0.1");
  }
  acceptor_.open(endpoint.protocol());
  acceptor_.set_option(asio::socket_base::reuse_address(true));
  acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    throw std::runtime_error("the store cannot listen on " + where + ": " + error.message() +
                             (error == asio::error::address_in_use
                                  ? "; another program, or another store, has that port: set "
                                    "BERTH_STORE_PORT to one that is free"
                                  : ""));
  }
}

void Server::Impl::accept() {
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    if (!error) {
      const auto peer = std::make_shared<Connection>(*this, context_, std::move(socket));
      peers_.insert(peer);
      peer->start();
      return accept();
    }
    // No descriptor is free: one may be when somebody goes.
    accept_again_.expires_after(std::chrono::milliseconds(kSweepMs));
    accept_again_.async_wait([this](error_code) { accept(); });
  });
}

void Server::Impl::serve(std::uint32_t ms) {
  context_.restart();
  context_.run_for(std::chrono::milliseconds(ms));
  if (broken_.empty()) return;
  // Those who are connected hear of it.
  for (const Peer& peer : std::set<Peer>(peers_)) {
    if (peer->waiting()) peer->refuse(broken_);
  }
  context_.restart();
  context_.run_for(std::chrono::milliseconds(2000));
  throw std::runtime_error(broken_);
}

void Server::Impl::sweep() {
  sweeper_.expires_after(std::chrono::milliseconds(kSweepMs));
  sweeper_.async_wait([this](error_code) {
    released(queues_.sweep(now_ms(), settings_.grace_ms));
    keep_journal();
    sweep();
  });
}

void Server::Impl::keep_journal() {
  if (journal_ == nullptr || !broken_.empty()) return;
  const std::int64_t now = now_ms();
  try {
    for (auto each = unwritten_.begin(); each != unwritten_.end();) {
      const auto at = values_.find(*each);
      if (at != values_.end() && now - written_ms_[*each] < kLargeEveryMs) {
        ++each;
        continue;
      }
      if (at != values_.end()) {
        journal_->set(*each, *at->second.value, at->second.number);
        written_ms_[*each] = now;
      }
      each = unwritten_.erase(each);
    }
    if (now - flushed_ms_ >= kLargeEveryMs) {
      journal_->flush();
      flushed_ms_ = now;
    }
    if (journal_->bytes() > kLeastRewritten && journal_->bytes() > 4 * value_bytes_) {
      journal_->rewrite([this] {
        for (const auto& [key, value] : values_) journal_->set(key, *value.value, value.number);
      });
      unwritten_.clear();
    }
  } catch (const std::exception& error) {
    broken_ = error.what();
  }
}

void Server::Impl::closed(const Peer& peer) {
  peers_.erase(peer);
  Member& member = *peer->member;
  if (member.here) {
    member.here = false;
    member.gone_ms = now_ms();
    if (!member.left) ++member.times_lost;
  }
  released(queues_.give_back(peer->member));
}

void Server::Impl::released(const std::vector<Queues::Named>& tasks) {
  for (const auto& [queue, id] : tasks) {
    answer_result(queue, id);  // it may be lost for good
    offer(queue);
  }
}

void Server::Impl::handle(const Peer& peer, const Head& head, std::string key, std::string value) {
  if (!broken_.empty()) return peer->refuse(broken_);
  try {
    switch (static_cast<Operation>(head.kind)) {
      case Operation::hello:
        return hello(peer, key, value);
      case Operation::set:
        return set(peer, key, std::move(value), head.number);
      case Operation::get:
        return get(peer, head, key);
      case Operation::add:
        return add(peer, key, head.number);
      case Operation::compare_set:
        return compare_set(peer, key, value, head.number);
      case Operation::erase:
        return erase(peer, key);
      case Operation::submit:
        return submit(peer, head, key, std::move(value));
      case Operation::take:
        return take(peer, head, key);
      case Operation::done:
        return done(peer, key, std::move(value));
      case Operation::result:
        return result(peer, head, key);
      case Operation::members:
        return peer->reply(Status::ok, 0, {}, bytes_of(members()));
      case Operation::bye:
        peer->member->left = true;
        return peer->reply(Status::ok);
    }
  } catch (const std::bad_alloc&) {
    return peer->refuse("the store has no memory left");
  } catch (const std::exception& error) {
    broken_ = error.what();  // the journal; nothing else throws
    return peer->refuse(broken_);
  }
  peer->refuse("the store knows no operation " + std::to_string(head.kind));
}

void Server::Impl::hello(const Peer& peer, const std::string& name, const std::string& identity) {
  auto& member = members_[name];
  if (member != nullptr && member->here && member->identity != identity) {
    return peer->reply(Status::different, 0, {}, bytes_of(member->identity));
  }
  if (member == nullptr || member->identity != identity) {
    const auto before = member;
    member = std::make_shared<Member>();
    if (before != nullptr) member->times_lost = before->times_lost;
    member->name = name;
    member->identity = identity;
  }
  for (const Peer& other : std::set<Peer>(peers_)) {
    if (other != peer && other->member == member) {
      other->member = std::make_shared<Member>();  // the same client by a new connection
      other->close();
    }
  }
  // It asks anew for what it had asked for by a connection before, and knows of no task that it was given there.
  released(queues_.give_back(member));
  peer->member = member;
  member->here = true;
  member->left = false;
  member->heard_ms = now_ms();
  peer->reply(Status::ok);
}

void Server::Impl::put(const std::string& key, Bytes value, std::int64_t number) {
  Value& at = values_[key];
  value_bytes_ += value->size();
  value_bytes_ -= at.value == nullptr ? 0 : at.value->size();
  at = {std::move(value), number};
  const auto waiters = key_waiters_.find(key);
  if (waiters == key_waiters_.end()) return;
  auto list = std::move(waiters->second);
  key_waiters_.erase(waiters);
  for (const Waiter& each : list) {
    const Peer waiter = each.lock();
    if (waiter == nullptr) continue;
    if (number >= waiter->wanted) {
      waiter->reply(Status::ok, number, {}, at.value);
    } else {
      key_waiters_[key].push_back(each);
    }
  }
}

bool Server::Impl::has_room(const Peer& peer, std::size_t bytes) {
  if (value_bytes_ + queues_.bytes() + bytes <= settings_.most_stored) return true;
  peer->refuse("the store is full: it holds " + std::to_string(value_bytes_ + queues_.bytes()) +
               " bytes, and the most is " + std::to_string(settings_.most_stored));
  return false;
}

void Server::Impl::set(const Peer& peer, const std::string& key, std::string value,
                       std::int64_t number) {
  if (!has_room(peer, value.size())) return;
  if (journal_ != nullptr) {
    if (value.size() > kLargeValue) {
      unwritten_.insert(key);
    } else {
      journal_->set(key, value, number);
    }
  }
  put(key, bytes_of(std::move(value)), number);
  peer->reply(Status::ok, number);
}

void Server::Impl::get(const Peer& peer, const Head& head, const std::string& key) {
  const auto at = values_.find(key);
  if (at != values_.end() && at->second.number >= head.number) {
    return peer->reply(Status::ok, at->second.number, {}, at->second.value);
  }
  if (head.wait_ms == 0) return peer->reply(Status::absent);
  peer->wanted = head.number;
  auto& waiters = key_waiters_[key];
  std::erase_if(waiters, [](const Waiter& each) { return each.lock() == nullptr; });
  waiters.emplace_back(peer);
  peer->wait(head.wait_ms);
}

void Server::Impl::add(const Peer& peer, const std::string& key, std::int64_t number) {
  const auto at = values_.find(key);
  const Bytes value = at == values_.end() ? bytes_of("") : at->second.value;
  const std::int64_t sum = number + (at == values_.end() ? 0 : at->second.number);
  if (journal_ != nullptr) journal_->set(key, *value, sum);
  put(key, value, sum);
  peer->reply(Status::ok, sum);
}

void Server::Impl::compare_set(const Peer& peer, const std::string& key, const std::string& both,
                               std::int64_t expected_bytes) {
  const auto at = values_.find(key);
  const bool expects_none = expected_bytes < 0;
  const auto size = expects_none ? 0 : static_cast<std::size_t>(expected_bytes);
  if (size > both.size()) return peer->refuse("compare_set: the expected value is cut off");
  const bool as_expected =
      expects_none
          ? at == values_.end()
          : at != values_.end() && *at->second.value == std::string_view(both).substr(0, size);
  if (!as_expected) {
    if (at == values_.end()) return peer->reply(Status::absent);
    return peer->reply(Status::different, at->second.number, {}, at->second.value);
  }
  const std::int64_t number = at == values_.end() ? 0 : at->second.number;
  set(peer, key, both.substr(size), number);
}

void Server::Impl::erase(const Peer& peer, const std::string& prefix) {
  std::int64_t count = 0;
  for (auto at = values_.lower_bound(prefix); at != values_.end() && at->first.starts_with(prefix);
       ++count) {
    if (journal_ != nullptr) journal_->erase(at->first);
    written_ms_.erase(at->first);
    unwritten_.erase(at->first);
    value_bytes_ -= at->second.value->size();
    at = values_.erase(at);
  }
  peer->reply(Status::ok, count);
}

namespace {

std::optional<Queues::Named> named(const std::string& key) {
  const std::size_t end = key.find('\n');
  if (end == std::string::npos) return std::nullopt;
  return Queues::Named{key.substr(0, end), key.substr(end + 1)};
}

}  // namespace

void Server::Impl::submit(const Peer& peer, const Head& head, const std::string& key,
                          std::string value) {
  const auto task = named(key);
  if (!task) return peer->refuse("a task is named by its queue and itself");
  if (!has_room(peer, value.size())) return;
  const bool fresh = queues_.submit(task->first, task->second, bytes_of(std::move(value)),
                                    std::max<std::int64_t>(1, head.number), peer->member);
  peer->reply(Status::ok, fresh ? 1 : 0);
  if (fresh) offer(task->first);
}

void Server::Impl::take(const Peer& peer, const Head& head, const std::string& queue) {
  peer->wanted = std::clamp<std::int64_t>(head.number, 1, std::int64_t{1} << 40);
  takers_[queue].emplace_back(peer);
  peer->wait(head.wait_ms == 0 ? 1 : head.wait_ms);
  offer(queue);
}

/// Gives what waits to those who wait for it.
void Server::Impl::offer(const std::string& queue) {
  const auto found = takers_.find(queue);
  if (found == takers_.end()) return;
  auto& takers = found->second;
  while (!takers.empty()) {
    const Peer taker = takers.front().lock();
    if (taker == nullptr) {
      takers.pop_front();
      continue;
    }
    std::string id;
    const Task* const task = queues_.take(queue, taker->member, now_ms() + taker->wanted, id);
    if (task == nullptr) return;
    takers.pop_front();
    taker->reply(Status::ok, task->takers, std::move(id), task->payload);
  }
  takers_.erase(found);
}

void Server::Impl::done(const Peer& peer, const std::string& key, std::string value) {
  const auto task = named(key);
  if (!task) return peer->refuse("a task is named by its queue and itself");
  if (!has_room(peer, value.size())) return;
  const bool first =
      queues_.done(task->first, task->second, bytes_of(std::move(value)), peer->member, now_ms());
  peer->reply(Status::ok, first ? 1 : 0);
  if (first) answer_result(task->first, task->second);
}

void Server::Impl::result(const Peer& peer, const Head& head, const std::string& key) {
  const auto name = named(key);
  if (!name) return peer->refuse("a task is named by its queue and itself");
  const Task* const task = queues_.find(name->first, name->second);
  if (task == nullptr) return peer->reply(Status::absent);
  result_waiters_.insert_or_assign(*name, Waiter(peer));
  peer->wait(head.wait_ms == 0 ? 1 : head.wait_ms);
  answer_result(name->first, name->second);
}

void Server::Impl::answer_result(const std::string& queue, const std::string& id) {
  const auto waiter = result_waiters_.find({queue, id});
  if (waiter == result_waiters_.end()) return;
  const Task* const task = queues_.find(queue, id);
  if (task != nullptr && task->stage != Task::Stage::done && task->stage != Task::Stage::lost) {
    return;
  }
  const Peer peer = waiter->second.lock();
  result_waiters_.erase(waiter);
  if (peer == nullptr || task == nullptr) return;
  if (task->stage == Task::Stage::done) {
    peer->reply(Status::ok, 0, {}, task->result);
  } else {
    peer->reply(Status::lost, task->takers, {}, bytes_of(task->lost_to));
  }
  queues_.forget(queue, id);
}

/// "name\tidentity\there|left|lost\tms since it was heard\tdone\tlost\ttimes lost\n", then the
/// queues.
std::string Server::Impl::members() const {
  std::string all;
  const std::int64_t now = now_ms();
  for (const auto& [name, member] : members_) {
    const char* const state = member->here ? "here" : member->left ? "left" : "lost";
    all += "member\t" + name + "\t" + member->identity + "\t" + state + "\t" +
           std::to_string(now - member->heard_ms) + "\t" + std::to_string(member->done) + "\t" +
           std::to_string(member->lost) + "\t" + std::to_string(member->times_lost) + "\n";
  }
  return all + queues_.text();
}

Server::Server(const ServerSettings& settings) : impl_(std::make_unique<Impl>(settings)) {}
Server::~Server() = default;
std::uint16_t Server::port() const {
  return impl_->port();
}
void Server::serve(std::uint32_t ms) {
  impl_->serve(ms);
}

}  // namespace berth::store
