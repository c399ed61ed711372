#include "reference_simulator.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "berth/simulator.h"
#include "berth/support/index.h"

namespace berth::test {
namespace {

/// A tensor, or (kNoTensor) the control edges of an op, with those of its consumers that are meant.
struct Sending {
  OpId producer;
  TensorId tensor;
  std::vector<OpId> consumers;
};

/// The part of the tensor that is in the place of an input: all, where it becomes one that is as large, as tangled_graph
/// has no other states in place.
std::int64_t in_place_bytes(const Graph& graph, TensorId tensor) {
  if (graph.is_input(graph.producer(tensor))) return 0;
  const auto in_place = [&](const Graph::State& state) {
    return state.result == tensor && graph.bytes(tensor) <= graph.output_bytes(state.input);
  };
  return std::any_of(graph.states().begin(), graph.states().end(), in_place) ? graph.bytes(tensor)
                                                                             : 0;
}

/// Whether the op is the tensor's only reader, and the tensor no input's, nor in the memory of one, or of what others
/// read or the step returns. As summing_graph has them.
bool reads_alone(const Graph& graph, TensorId tensor) {
  int readers = 0;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const auto inputs = graph.inputs(op);
    readers += static_cast<int>(std::count(inputs.begin(), inputs.end(), tensor));
  }
  const OpId maker = graph.producer(tensor);
  if (readers != 1 || graph.is_result(tensor) || graph.is_input(maker)) return false;
  if (graph.op_type(maker) != "Identity") return true;
  const TensorId whole = graph.inputs(maker)[0];
  return graph.bytes(whole) >= graph.bytes(tensor) && reads_alone(graph, whole);
}

/// The input that a sum writes its result over.
TensorId overwritten(const Problem& problem, OpId op) {
  const Graph& graph = problem.graph();
  if (graph.op_type(op) != "AddV2" || !counts_lifetimes(problem.options())) return kNoTensor;
  const TensorId sum = graph.outputs(op)[0];
  if (graph.is_result(sum) || graph.bytes(sum) == 0) return kNoTensor;
  for (const TensorId tensor : graph.inputs(op)) {
    if (graph.bytes(tensor) == graph.bytes(sum) && reads_alone(graph, tensor)) return tensor;
  }
  return kNoTensor;
}

/// As tangled_graph has views; inputs are none, nor what gives all that it gives to the places of inputs.
bool says_view(const Problem& problem, OpId op) {
  const Graph& graph = problem.graph();
  if (graph.op_type(op) == "Identity" || overwritten(problem, op) != kNoTensor) return true;
  if (graph.attribute(op, "view") == nullptr || graph.is_input(op)) return false;
  if (graph.is_constant(op)) return false;
  std::int64_t in_place = 0;
  for (const TensorId tensor : graph.outputs(op)) in_place += in_place_bytes(graph, tensor);
  return in_place == 0 || in_place != graph.output_bytes(op);
}

/// Until when an op holds a tensor that it reads: a view's inputs are held until `over`, what an op reads beside the
/// input that it writes over until its `end`. By op.
int reads_until(const Problem& problem, OpId op, TensorId tensor, const std::vector<int>& over,
                const std::vector<int>& end) {
  const TensorId kept = overwritten(problem, op);
  return (kept == kNoTensor || kept == tensor ? over : end)[static_cast<std::size_t>(op)];
}

std::int64_t bytes_of(const Graph& graph, TensorId tensor) {
  return tensor == kNoTensor ? 0 : graph.bytes(tensor);
}

std::int64_t highest(const std::vector<std::int64_t>& changes, std::int64_t start) {
  std::int64_t usage = start;
  std::int64_t peak = start;
  for (const std::int64_t change : changes) peak = std::max(peak, usage += change);
  return peak;
}

// --- placeto ---------------------------------------------------------------------------------

/// The published event loop: a set of (time, kind, name, name), kinds in alphabetical order.
class PlacetoReference {
 public:
  PlacetoReference(const Problem& problem, const Placement& placement)
      : problem_(problem),
        graph_(problem.graph()),
        placement_(placement),
        missing_(at(graph_.op_count())),
        devices_(at(problem.cluster().device_count())) {
    step_.start_us.resize(at(graph_.op_count()));
  }

  ReferenceStep run() {
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      missing_[at(op)] = graph_.in_edges(op).size();
      if (missing_[at(op)] == 0) enqueue(0, op);
    }
    while (!events_.empty()) {
      const Event event = events_.begin()->first;
      const Sending subject = events_.begin()->second;
      events_.erase(events_.begin());
      const auto& [time, kind, name, other, counter] = event;
      step_.runtime_us = std::max(step_.runtime_us, time);
      if (kind == "remove_dependency") {
        const OpId consumer = subject.consumers.front();
        if (--missing_[at(consumer)] == 0) enqueue(time, consumer);
      } else if (kind == "run_bus") {
        run_bus(time, *problem_.cluster().find_device(name));
      } else {
        run_device(time, *problem_.cluster().find_device(name));
      }
    }
    measure_memory();
    return step_;
  }

 private:
  using Event = std::tuple<double, std::string, std::string, std::string, int>;

  struct DeviceState {
    std::set<std::tuple<double, int, OpId>> queue;
    std::deque<std::pair<double, Sending>> bus;
    double bus_free_us = 0;
    bool awake = false;  ///< has a run_dev event to come
  };

  const std::string& device_name(DeviceId d) const { return problem_.cluster().device(d).name; }

  void push(double time, const std::string& kind, const std::string& name,
            const std::string& other = {}, Sending subject = {kNoOp, kNoTensor, {}}) {
    events_.emplace(Event(time, kind, name, other, counter_++), std::move(subject));
  }

  void enqueue(double time, OpId op) {
    DeviceState& device = devices_[at(placement_[at(op)])];
    device.queue.emplace(time, counter_++, op);
    if (!device.awake) push(time, "run_dev", device_name(placement_[at(op)]));
    device.awake = true;
  }

  void release(double time, OpId producer, OpId consumer) {
    push(time, "remove_dependency", graph_.op_name(producer), graph_.op_name(consumer),
         {producer, kNoTensor, {consumer}});
  }

  void run_device(double time, DeviceId d) {
    DeviceState& device = devices_[at(d)];
    device.awake = !device.queue.empty();
    if (!device.awake) return;
    const OpId op = std::get<2>(*device.queue.begin());
    device.queue.erase(device.queue.begin());
    const double cost_us = problem_.cost_us(op, d);
    const double end_us = time + cost_us;
    step_.start_us[at(op)] = time;
    std::vector<Sending> sendings;
    for (const Edge& edge : graph_.out_edges(op)) {
      if (placement_[at(edge.dst)] == d) {
        release(end_us, op, edge.dst);
        continue;
      }
      auto sending = std::find_if(sendings.begin(), sendings.end(),
                                  [&](const Sending& one) { return one.tensor == edge.tensor; });
      if (sending == sendings.end()) {
        sending = sendings.insert(sending, {op, edge.tensor, {}});
      }
      sending->consumers.push_back(edge.dst);
    }
    for (Sending& sending : sendings) {
      device.bus.emplace_back(end_us, std::move(sending));
      push(end_us, "run_bus", device_name(d));
    }
    push(cost_us == 0 ? end_us : end_us + problem_.options().device_gap_us, "run_dev",
         device_name(d));
  }

  void run_bus(double time, DeviceId d) {
    DeviceState& device = devices_[at(d)];
    if (device.bus.empty() || device.bus.front().first > time || device.bus_free_us > time) return;
    const Sending sending = device.bus.front().second;
    device.bus.pop_front();
    double bytes_per_us = kCannotRun;
    for (const OpId consumer : sending.consumers) {
      const Route& route = problem_.cluster().route(d, placement_[at(consumer)]);
      bytes_per_us = std::min(bytes_per_us, route.bandwidth_bytes_per_s / 1e6);
    }
    const double arrival_us =
        time + static_cast<double>(bytes_of(graph_, sending.tensor)) / bytes_per_us;
    for (const OpId consumer : sending.consumers) release(arrival_us, sending.producer, consumer);
    device.bus_free_us = arrival_us + problem_.options().transfer_gap_us;
    push(device.bus_free_us, "run_bus", device_name(d));
  }

  void measure_memory() {
    // (time, given back, bytes), per device.
    std::vector<std::vector<std::tuple<double, bool, std::int64_t>>> changes(devices_.size());
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      const std::int64_t bytes = graph_.output_bytes(op);
      if (bytes == 0) continue;
      double end_us = step_.start_us[at(op)];
      for (const Edge& edge : graph_.out_edges(op)) {
        const double cost_us = problem_.cost_us(edge.dst, placement_[at(edge.dst)]);
        end_us =
            std::max(end_us, std::trunc(step_.start_us[at(edge.dst)]) + std::trunc(cost_us) - 1);
      }
      auto& own = changes[at(placement_[at(op)])];
      own.emplace_back(step_.start_us[at(op)], false, bytes);
      own.emplace_back(end_us, true, -bytes);
    }
    for (auto& own : changes) {
      std::sort(own.begin(), own.end());
      std::vector<std::int64_t> deltas;
      for (const auto& change : own) deltas.push_back(std::get<2>(change));
      step_.peak_bytes.push_back(highest(deltas, 0));
    }
  }

  const Problem& problem_;
  const Graph& graph_;
  const Placement& placement_;
  std::vector<std::size_t> missing_;
  std::vector<DeviceState> devices_;
  std::map<Event, Sending> events_;
  int counter_ = 0;
  ReferenceStep step_;
};

// --- dataflow --------------------------------------------------------------------------------

class DataflowReference {
 public:
  DataflowReference(const Problem& problem, const Placement& placement)
      : problem_(problem),
        graph_(problem.graph()),
        placement_(placement),
        priority_(priorities_us(problem)),
        missing_(at(graph_.op_count())),
        start_at_(at(graph_.op_count())),
        end_at_(at(graph_.op_count())),
        devices_(at(problem.cluster().device_count())) {
    step_.start_us.resize(at(graph_.op_count()));
  }

  ReferenceStep run() {
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      missing_[at(op)] = graph_.in_edges(op).size();
      if (missing_[at(op)] == 0) make_ready(op);
    }
    for (;;) {
      start_transfers();
      start_receiving();
      start_ops();
      double next_us = kCannotRun;
      for (const DeviceState& device : devices_) {
        if (device.busy()) next_us = std::min(next_us, device.end_us);
      }
      for (const Moving& moving : moving_) {
        if (moving.started) next_us = std::min(next_us, moving.end_us);
      }
      if (next_us == kCannotRun) break;
      now_us_ = next_us;
      end_ops();
      end_transfers(/*signals=*/false);
      end_transfers(/*signals=*/true);
    }
    step_.runtime_us = now_us_;
    measure_memory();
    return step_;
  }

 private:
  struct DeviceState {
    std::vector<OpId> ready;  ///< in the order in which they became so
    OpId running = kNoOp;
    std::deque<std::size_t> mail;  ///< in moving_
    bool receiving = false;        ///< the first of them
    double end_us = 0;

    [[nodiscard]] bool busy() const { return running != kNoOp || receiving; }
  };

  /// A transfer or a signal to one receiver, kept after its end.
  struct Moving {
    Sending sending;
    DeviceId src = kNoDevice, dst = kNoDevice;
    bool signal = false;
    bool copied = false, is_mail = false;  ///< by its receiver; it waits there
    bool started = false, done = false;
    double end_us = 0;
    int start_at = 0, end_at = 0;  ///< in the order of events
    std::set<std::string> needs;   ///< engines and channels
  };

  void make_ready(OpId op) { devices_[at(placement_[at(op)])].ready.push_back(op); }

  void release(OpId op) {
    if (--missing_[at(op)] == 0) make_ready(op);
  }

  /// Consumers by tensor in port order, control edges last; within one the most urgent first.
  std::vector<Sending> sendings(OpId op) const {
    std::vector<TensorId> tensors(graph_.outputs(op).begin(), graph_.outputs(op).end());
    tensors.push_back(kNoTensor);
    std::vector<Sending> all;
    for (const TensorId tensor : tensors) {
      Sending sending{op, tensor, {}};
      for (const Edge& edge : graph_.out_edges(op)) {
        if (edge.tensor == tensor) sending.consumers.push_back(edge.dst);
      }
      std::sort(sending.consumers.begin(), sending.consumers.end(), [&](OpId a, OpId b) {
        return std::pair(-priority_[at(a)], a) < std::pair(-priority_[at(b)], b);
      });
      all.push_back(sending);
    }
    return all;
  }

  void end_ops() {
    for (DeviceId d = 0; d < problem_.cluster().device_count(); ++d) {
      DeviceState& device = devices_[at(d)];
      if (!device.busy() || device.end_us != now_us_) continue;
      if (device.receiving) {
        Moving& moving = moving_[device.mail.front()];
        device.mail.pop_front();
        device.receiving = false;
        moving.done = true;
        moving.end_at = ++events_;
        for (const OpId consumer : moving.sending.consumers) release(consumer);
        continue;
      }
      const OpId op = device.running;
      device.running = kNoOp;
      end_at_[at(op)] = ++events_;
      for (const Sending& sending : sendings(op)) {
        for (const OpId consumer : sending.consumers) {
          const DeviceId dst = placement_[at(consumer)];
          if (dst == d) {
            release(consumer);
          } else {
            send(sending, consumer, d, dst);
          }
        }
      }
    }
  }

  void send(const Sending& sending, OpId consumer, DeviceId src, DeviceId dst) {
    for (Moving& moving : moving_) {
      if (moving.sending.producer == sending.producer && moving.sending.tensor == sending.tensor &&
          moving.dst == dst) {
        moving.sending.consumers.push_back(consumer);
        return;
      }
    }
    Moving moving;
    moving.sending = {sending.producer, sending.tensor, {consumer}};
    moving.src = src;
    moving.dst = dst;
    moving.signal = sending.tensor == kNoTensor;
    const Route& route = problem_.cluster().route(src, dst);
    moving.copied = !moving.signal && route.receiver_us.has_value();
    if (moving.signal) {
      moving.started = true;
      moving.end_us = now_us_ + route.latency_us;
    } else if (!route.parallel) {
      const std::string from = std::to_string(src), to = std::to_string(dst);
      const Cluster& cluster = problem_.cluster();
      moving.needs = {"out of " + from + (cluster.device(src).engine_per_link ? " to " + to : ""),
                      "into " + to + (cluster.device(dst).engine_per_link ? " from " + from : "")};
      for (const ChannelId channel : route.channels) {
        moving.needs.insert("channel " + std::to_string(channel));
      }
    }
    moving_.push_back(moving);
  }

  /// Holds nothing on its way.
  static bool flies(const Moving& moving) { return moving.needs.empty(); }

  void end_transfers(bool signals) {
    std::vector<Moving*> ending;
    for (Moving& moving : moving_) {
      if (flies(moving) == signals && moving.started && moving.end_us == now_us_) {
        ending.push_back(&moving);
      }
    }
    // Signals in the order of sending; transfers by sender and receiver, one at a time between two.
    if (!signals) {
      std::sort(ending.begin(), ending.end(), [](const Moving* a, const Moving* b) {
        return std::pair(a->src, a->dst) < std::pair(b->src, b->dst);
      });
    }
    for (Moving* moving : ending) {
      moving->started = false;
      if (moving->copied) {
        moving->is_mail = true;
        devices_[at(moving->dst)].mail.push_back(static_cast<std::size_t>(moving - moving_.data()));
        continue;
      }
      moving->done = true;
      moving->end_at = ++events_;
      for (const OpId consumer : moving->sending.consumers) release(consumer);
    }
  }

  void start_transfers() {
    std::set<std::string> taken;                       // by transfers under way, and by older heads
    std::set<std::pair<DeviceId, DeviceId>> had_head;  // by engine: with its receiver, or none
    const auto engine = [&](const Moving& moving) {
      const bool each = problem_.cluster().device(moving.src).engine_per_link;
      return std::pair(moving.src, each ? moving.dst : kNoDevice);
    };
    for (const Moving& moving : moving_) {
      if (moving.started) taken.insert(moving.needs.begin(), moving.needs.end());
      if (moving.started && !flies(moving)) had_head.insert(engine(moving));
    }
    for (Moving& moving : moving_) {
      if (moving.started || moving.is_mail || moving.done) continue;
      if (!flies(moving) && !had_head.insert(engine(moving)).second) continue;
      const bool free = std::none_of(moving.needs.begin(), moving.needs.end(),
                                     [&](const std::string& one) { return taken.count(one) > 0; });
      taken.insert(moving.needs.begin(), moving.needs.end());
      if (!free) continue;
      moving.started = true;
      moving.start_at = ++events_;
      const Route& route = problem_.cluster().route(moving.src, moving.dst);
      moving.end_us =
          now_us_ + (moving.copied ? route.latency_us
                                   : route.transfer_us(graph_.bytes(moving.sending.tensor)));
    }
  }

  void start_receiving() {
    for (DeviceState& device : devices_) {
      if (device.busy() || device.mail.empty()) continue;
      Moving& moving = moving_[device.mail.front()];
      const Route& route = problem_.cluster().route(moving.src, moving.dst);
      device.receiving = true;
      device.end_us =
          now_us_ +
          std::max(0.0, route.transfer_us(graph_.bytes(moving.sending.tensor)) - route.latency_us);
      moving.start_at = ++events_;
    }
  }

  void start_ops() {
    for (DeviceId d = 0; d < problem_.cluster().device_count(); ++d) {
      DeviceState& device = devices_[at(d)];
      if (device.busy() || device.ready.empty()) continue;
      const auto best =
          std::max_element(device.ready.begin(), device.ready.end(),
                           [&](OpId a, OpId b) { return priority_[at(a)] < priority_[at(b)]; });
      const OpId op = *best;
      device.ready.erase(best);
      const double cost_us = problem_.cost_us(op, d);
      device.running = op;
      device.end_us =
          now_us_ + (cost_us == 0 ? 0 : cost_us + problem_.cluster().device(d).op_overhead_us);
      step_.start_us[at(op)] = now_us_;
      start_at_[at(op)] = ++events_;
    }
  }

  /// The event until which a tensor is held where it was made, if an op's inputs are until `over`.
  int held_until(OpId op, TensorId tensor, const std::vector<int>& over) const {
    if (graph_.is_result(tensor)) return events_ + 1;
    int until = end_at_[at(op)];
    for (const Edge& edge : graph_.out_edges(op)) {
      if (edge.tensor == tensor && placement_[at(edge.dst)] == placement_[at(op)]) {
        until = std::max(until, reads_until(problem_, edge.dst, tensor, over, end_at_));
      }
    }
    for (const Moving& moving : moving_) {
      if (moving.sending.tensor == tensor) until = std::max(until, moving.end_at);
    }
    return until;
  }

  /// The event until which each op's inputs are held: its end, or that of what a view gives.
  std::vector<int> inputs_until() const {
    std::vector<int> over = end_at_;
    const auto order = graph_.topological_order();
    for (auto op = order.rbegin(); op != order.rend(); ++op) {
      if (!says_view(problem_, *op)) continue;
      for (const TensorId tensor : graph_.outputs(*op)) {
        if (graph_.bytes(tensor) == 0) continue;
        over[at(*op)] = std::max(over[at(*op)], held_until(*op, tensor, over));
      }
    }
    return over;
  }

  /// From the order of events alone: what is held from which event to which.
  void measure_memory() {
    using Changes = std::multimap<int, std::int64_t>;
    std::vector<Changes> changes(devices_.size());
    std::vector<std::int64_t> resident(devices_.size(), 0);
    const auto hold = [&](DeviceId d, int from, int to, std::int64_t bytes) {
      const auto where = at(problem_.cluster().works_in(d));
      changes[where].emplace(from, bytes);
      changes[where].emplace(to, -bytes);
    };
    const std::vector<int> over = inputs_until();
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      const DeviceId d = placement_[at(op)];
      resident[at(d)] += graph_.own_param_bytes(op);
      if (graph_.is_input(op)) {
        resident[at(problem_.cluster().works_in(d))] += graph_.output_bytes(op);
      }
      hold(d, start_at_[at(op)], end_at_[at(op)], problem_.costs().workspace_bytes(op));
      for (const TensorId tensor : graph_.outputs(op)) {
        if (graph_.is_input(op) || graph_.is_constant(op) || says_view(problem_, op)) continue;
        hold(d, start_at_[at(op)], held_until(op, tensor, over),
             graph_.bytes(tensor) - in_place_bytes(graph_, tensor));
      }
    }
    for (const Moving& moving : moving_) {
      if (moving.signal) continue;
      int until = 0;
      for (const OpId consumer : moving.sending.consumers) {
        until =
            std::max(until, reads_until(problem_, consumer, moving.sending.tensor, over, end_at_));
      }
      hold(moving.dst, moving.start_at, until, graph_.bytes(moving.sending.tensor));
    }
    for (const Graph::SharedParameter& shared : graph_.shared_parameters()) {
      std::set<DeviceId> devices;
      for (const OpId consumer : shared.consumers) devices.insert(placement_[at(consumer)]);
      for (const DeviceId d : devices) resident[at(d)] += shared.bytes;
    }
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      // One event takes or gives, never both, so its changes count together.
      std::vector<std::int64_t> deltas;
      int last = -1;
      for (const auto& [event, bytes] : changes[d]) {
        if (event == last) {
          deltas.back() += bytes;
        } else {
          deltas.push_back(bytes);
        }
        last = event;
      }
      step_.peak_bytes.push_back(highest(deltas, resident[d]));
    }
  }

  const Problem& problem_;
  const Graph& graph_;
  const Placement& placement_;
  const std::vector<double> priority_;
  std::vector<std::size_t> missing_;
  std::vector<int> start_at_, end_at_;  // by op, in the order of events
  std::vector<DeviceState> devices_;
  std::vector<Moving> moving_;  // in the order in which they were queued
  double now_us_ = 0;
  int events_ = 0;
  ReferenceStep step_;
};

}  // namespace

ReferenceStep reference_step(const Problem& problem, const Placement& placement) {
  return problem.options().semantics == Semantics::placeto
             ? PlacetoReference(problem, placement).run()
             : DataflowReference(problem, placement).run();
}

namespace {

/// The position until which each op's device holds its inputs.
std::vector<int> inputs_until(const Problem& problem, const Placement& placement,
                              const std::vector<int>& position) {
  const Graph& graph = problem.graph();
  std::vector<int> over = position;
  const auto order = graph.topological_order();
  for (auto op = order.rbegin(); op != order.rend(); ++op) {
    if (!says_view(problem, *op)) continue;
    for (const Edge& edge : graph.out_edges(*op)) {
      if (edge.tensor == kNoTensor || graph.bytes(edge.tensor) == 0) continue;
      if (placement[at(edge.dst)] != placement[at(*op)]) continue;
      const int until = reads_until(problem, edge.dst, edge.tensor, over, position);
      over[at(*op)] = std::max(over[at(*op)], until);
    }
    for (const TensorId tensor : graph.outputs(*op)) {
      if (graph.is_result(tensor) && graph.bytes(tensor) > 0) over[at(*op)] = graph.op_count();
    }
  }
  return over;
}

/// Outputs and copies of a step on a device when the op at this position runs; -1 = before any does.
std::int64_t held_at(const Problem& problem, const Placement& placement,
                     const std::vector<int>& position, DeviceId d, int now) {
  const Graph& graph = problem.graph();
  const std::vector<int> over = inputs_until(problem, placement, position);
  std::int64_t held = 0;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (graph.is_constant(op)) continue;  // its outputs are parameters
    const bool here = placement[at(op)] == d;
    for (const TensorId tensor : graph.outputs(op)) {
      int last = here ? position[at(op)] : -2;
      bool reads = false;
      for (const Edge& edge : graph.out_edges(op)) {
        if (edge.tensor != tensor || placement[at(edge.dst)] != d) continue;
        reads = true;
        last = std::max(last, reads_until(problem, edge.dst, tensor, over, position));
      }
      if (here && says_view(problem, op)) continue;
      if (here && (graph.is_input(op) || graph.is_result(tensor))) last = graph.op_count();
      const int first = here && !graph.is_input(op) ? position[at(op)] : -1;
      if (!(here || reads) || first > now || now > last) continue;
      held += graph.bytes(tensor) - (here ? in_place_bytes(graph, tensor) : 0);
    }
  }
  return held;
}

}  // namespace

std::vector<std::int64_t> reference_stages(const Problem& problem, const Placement& placement) {
  const Graph& graph = problem.graph();
  std::vector<int> position(at(graph.op_count()));
  int next = 0;
  for (const OpId op : graph.topological_order()) position[at(op)] = next++;
  std::vector<std::int64_t> found;
  for (DeviceId d = 0; d < problem.cluster().device_count(); ++d) {
    std::int64_t parameters = 0;
    for (OpId op = 0; op < graph.op_count(); ++op) {
      if (placement[at(op)] == d) parameters += graph.own_param_bytes(op);
    }
    for (const Graph::SharedParameter& shared : graph.shared_parameters()) {
      const bool here = std::any_of(shared.consumers.begin(), shared.consumers.end(),
                                    [&](OpId op) { return placement[at(op)] == d; });
      if (here) parameters += shared.bytes;
    }
    // Memory that is held while each op of the device runs, and before any does; its workspace once.
    std::int64_t most = 0, running = 0;
    for (int now = -1; now < next; ++now) {
      std::int64_t held = 0, workspace = 0;
      bool runs = now < 0;
      for (DeviceId source = 0; source < problem.cluster().device_count(); ++source) {
        if (problem.cluster().works_in(source) != d) continue;
        held += held_at(problem, placement, position, source, now);
        for (OpId op = 0; op < graph.op_count(); ++op) {
          if (placement[at(op)] != source || position[at(op)] != now) continue;
          runs = true;
          workspace = problem.costs().workspace_bytes(op);
        }
      }
      if (!runs) continue;
      most = std::max(most, held);
      running = std::max(running, held + workspace);
    }
    const std::int64_t steps = problem.options().in_flight;
    found.push_back(steps == 0 ? parameters : parameters + (steps - 1) * most + running);
  }
  return found;
}

/// Whether the device does its part of a transfer: between a host and what is none, the latter copies.
bool copies(const Cluster& cluster, DeviceId device, DeviceId other) {
  return !cluster.device(device).host || cluster.device(other).host;
}

std::vector<double> reference_loads(const Problem& problem, const Placement& placement) {
  const Graph& graph = problem.graph();
  const Cluster& cluster = problem.cluster();
  std::vector<double> loads;
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    double load_us = 0;
    for (OpId op = 0; op < graph.op_count(); ++op) {
      const double cost_us = problem.cost_us(op, d);
      if (placement[at(op)] == d && cost_us != 0) {
        load_us += cost_us + cluster.device(d).op_overhead_us;
      }
      for (const TensorId tensor : graph.outputs(op)) {
        double slowest_us = 0;
        bool received = false;
        for (const Edge& edge : graph.out_edges(op)) {
          const DeviceId src = placement[at(op)];
          const DeviceId dst = placement[at(edge.dst)];
          if (edge.tensor != tensor || src == dst) continue;
          const double us = cluster.route(src, dst).transfer_us(graph.bytes(tensor));
          if (copies(cluster, src, dst)) slowest_us = std::max(slowest_us, us);
          if (dst == d && !received && copies(cluster, dst, src)) {
            load_us += us;
            received = true;
          }
        }
        if (placement[at(op)] == d) load_us += slowest_us;
      }
    }
    loads.push_back(load_us);
  }
  return loads;
}

double reference_channel_load(const Problem& problem, const Placement& placement) {
  const Graph& graph = problem.graph();
  std::map<ChannelId, double> loads;
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    const OpId op = graph.producer(tensor);
    if (op == kNoOp) continue;
    std::set<DeviceId> receivers;
    for (const Edge& edge : graph.out_edges(op)) {
      if (edge.tensor == tensor) receivers.insert(placement[at(edge.dst)]);
    }
    receivers.erase(placement[at(op)]);
    for (const DeviceId dst : receivers) {
      const Route& route = problem.cluster().route(placement[at(op)], dst);
      for (const ChannelId channel : route.channels) {
        loads[channel] += route.transfer_us(graph.bytes(tensor));
      }
    }
  }
  double largest_us = 0;
  for (const auto& [channel, us] : loads) largest_us = std::max(largest_us, us);
  return largest_us;
}

}  // namespace berth::test
