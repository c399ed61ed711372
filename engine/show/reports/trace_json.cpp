// A simulated step in the Chrome trace event format: "Trace Event Format", Google, 2016.
#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "berth/files.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "reports/drawable.h"

namespace berth {
namespace {

using Json = nlohmann::ordered_json;

/// Devices and links are two processes of the trace; each device is a thread of it, and each link is
/// as many as it has transfers at once.
constexpr int kDevices = 1;
constexpr int kLinks = 2;

class TraceWriter {
 public:
  TraceWriter(const Problem& problem, const Placement& placement, const StepTrace& trace)
      : problem_(problem),
        graph_(problem.graph()),
        cluster_(problem.cluster()),
        placement_(placement),
        trace_(trace),
        critical_(trace) {}

  std::string write() {
    name_rows();
    for (OpId op = 0; op < graph_.op_count(); ++op) write_op(op);
    for (std::size_t i = 0; i < trace_.transfers.size(); ++i) write_transfer(i);
    for (const MemorySample& sample : trace_.memory) write_memory(sample);
    Json document;
    document["displayTimeUnit"] = "ms";
    document["otherData"] = {{"graph", graph_.name()},
                             {"cluster", cluster_.name()},
                             {"semantics", semantics_name(problem_.options().semantics)},
                             {"runtime_us", trace_.runtime_us}};
    document["traceEvents"] = std::move(events_);
    return document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }

 private:
  using Ends = std::pair<DeviceId, DeviceId>;

  static Ends ends_of(const Transfer& transfer) { return {transfer.src, transfer.dst}; }
  static bool is_signal(const Transfer& transfer) {
    return transfer.tensor == kNoTensor && transfer.dst != kNoDevice;
  }

  void name_rows() {
    name("process_name", kDevices, 0, "devices");
    for (DeviceId d = 0; d < cluster_.device_count(); ++d) {
      name("thread_name", kDevices, d, cluster_.device(d).name);
    }
    if (trace_.transfers.empty()) return;
    find_lanes();
    std::map<std::pair<Ends, int>, int> rows;
    for (std::size_t i = 0; i < trace_.transfers.size(); ++i) {
      rows.emplace(std::pair(ends_of(trace_.transfers[i]), row_of_[i]), 0);
    }
    name("process_name", kLinks, 0, "links");
    int row = 0;
    for (auto& [link, number] : rows) {
      const auto& [ends, lane] = link;
      number = row++;
      name("thread_name", kLinks, number,
           cat(ends.second == kNoDevice ? cat("bus of ", cluster_.device(ends.first).name)
                                        : cat(cluster_.device(ends.first).name, " to ",
                                              cluster_.device(ends.second).name),
               lane == 0 ? std::string() : cat(" (", lane + 1, ")")));
    }
    for (std::size_t i = 0; i < trace_.transfers.size(); ++i) {
      row_of_[i] = rows.at({ends_of(trace_.transfers[i]), row_of_[i]});
    }
  }

  /// Numbers transfers of a link that run at once, as those of a parallel one do: spans of one row must
  /// not overlap.
  void find_lanes() {
    using Busy = std::pair<double, int>;  // until when, lane
    struct Link {
      int lanes = 0;
      std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
    };
    std::vector<std::size_t> order(trace_.transfers.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return trace_.transfers[a].start_us < trace_.transfers[b].start_us;
    });
    row_of_.assign(order.size(), 0);
    std::map<Ends, Link> links;
    for (const std::size_t i : order) {
      const Transfer& transfer = trace_.transfers[i];
      if (is_signal(transfer)) continue;
      Link& link = links[ends_of(transfer)];
      if (link.busy.empty() || link.busy.top().first > transfer.start_us) {
        row_of_[i] = link.lanes++;
      } else {
        row_of_[i] = link.busy.top().second;
        link.busy.pop();
      }
      link.busy.emplace(transfer.end_us, row_of_[i]);
    }
  }

  void name(const char* what, int process, int thread, const std::string& text) {
    events_.push_back({{"ph", "M"},
                       {"name", what},
                       {"pid", process},
                       {"tid", thread},
                       {"args", {{"name", text}}}});
  }

  void write_op(OpId op) {
    const auto o = at(op);
    events_.push_back({{"ph", "X"},
                       {"name", graph_.op_name(op)},
                       {"cat", "op"},
                       {"pid", kDevices},
                       {"tid", cluster_.works_in(placement_[o])},
                       {"ts", trace_.op_start_us[o]},
                       {"dur", trace_.op_end_us[o] - trace_.op_start_us[o]},
                       {"args",
                        {{"type", graph_.op_type(op)},
                         {"output_bytes", graph_.output_bytes(op)},
                         {"critical", static_cast<bool>(critical_.op[o])}}}});
  }

  void write_transfer(std::size_t i) {
    const Transfer& transfer = trace_.transfers[i];
    const std::string& producer = graph_.op_name(transfer.producer);
    const int row = row_of_[i];
    if (is_signal(transfer)) {
      // Signals hold no link and may overlap.
      events_.push_back({{"ph", "i"},
                         {"name", cat("signal of ", producer)},
                         {"cat", "signal"},
                         {"pid", kLinks},
                         {"tid", row},
                         {"ts", transfer.end_us},
                         {"s", "t"}});
      return;
    }
    const bool weights = sends_weights(cluster_, transfer);
    const std::string tensor = weights                        ? cat("weights of ", producer)
                               : transfer.tensor == kNoTensor ? std::string()
                                                              : graph_.tensor_name(transfer.tensor);
    events_.push_back({{"ph", "X"},
                       {"name", tensor.empty() ? producer : tensor},
                       {"cat", "transfer"},
                       {"pid", kLinks},
                       {"tid", row},
                       {"ts", transfer.start_us},
                       {"dur", transfer.end_us - transfer.start_us},
                       {"args",
                        {{"producer", producer},
                         {"bytes", transfer.bytes},
                         {"queued_us", transfer.queued_us},
                         {"critical", static_cast<bool>(critical_.transfer[i])}}}});
    // An arrow from the producer, or to the reader of weights. It starts in the middle of the span, to be surely inside.
    const auto p = at(transfer.producer);
    const double middle_us = (trace_.op_start_us[p] + trace_.op_end_us[p]) / 2;
    flow(weights ? "f" : "s", i, kDevices, cluster_.works_in(placement_[p]), middle_us);
    flow(weights ? "s" : "f", i, kLinks, row, transfer.start_us);
  }

  void flow(const char* phase, std::size_t id, int process, int thread, double us) {
    Json event = {{"ph", phase},    {"name", "sent"}, {"cat", "flow"}, {"id", id},
                  {"pid", process}, {"tid", thread},  {"ts", us}};
    if (*phase == 'f') event["bp"] = "e";
    events_.push_back(std::move(event));
  }

  void write_memory(const MemorySample& sample) {
    events_.push_back({{"ph", "C"},
                       {"name", cat("memory of ", cluster_.device(sample.device).name)},
                       {"pid", kDevices},
                       {"tid", sample.device},
                       {"ts", sample.us},
                       {"args", {{"bytes", sample.bytes}}}});
  }

  const Problem& problem_;
  const Graph& graph_;
  const Cluster& cluster_;
  const Placement& placement_;
  const StepTrace& trace_;
  CriticalFlags critical_;
  std::vector<int> row_of_;  // by transfer
  Json events_ = Json::array();
};

}  // namespace

std::string trace_json(const Problem& problem, const Placement& placement, const StepTrace& trace) {
  check_drawable(problem, placement, trace);
  return TraceWriter(problem, placement, trace).write();
}

}  // namespace berth
