#include "berth/profile_trace.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "files/json_reader.h"

namespace berth {
namespace {

/// One event of a trace, as far as it counts here.
struct Event {
  std::string name;
  std::string category;
  std::string phase;
  std::string provider;
  double us = -1;
};

enum Where : std::size_t { kOnHost, kOnGpu, kPlaces };

/// Durations by op, as the events come in.
class Times {
 public:
  explicit Times(const Graph& graph) : graph_(graph), us_(at(graph.op_count())) {}

  void add(const Event& event) {
    if (event.phase != "X" || !(event.us >= 0)) return;
    std::string_view name = event.name;
    Where where = kOnHost;
    if (event.category == "Node") {  // ONNX Runtime's
      constexpr std::string_view kEnd = "_kernel_time";
      if (!name.ends_with(kEnd)) return;
      name.remove_suffix(kEnd.size());
      if (event.provider != "CPUExecutionProvider") {
        elsewhere_ += graph_.find_op(name) ? 1 : 0;
        return;
      }
    } else if (event.category == "gpu_user_annotation") {
      where = kOnGpu;
    } else if (event.category != "user_annotation" && event.category != "cpu_op") {
      return;
    }
    const auto op = graph_.find_op(name);
    if (op) {
      us_[at(*op)][where].push_back(event.us);
    } else if (strangers_.size() < 4) {
      strangers_.emplace(name);
    }
  }

  /// The median; nothing where there is no time.
  [[nodiscard]] std::optional<double> of(OpId op, Where where) {
    std::vector<double>& all = us_[at(op)][where];
    if (all.empty()) return std::nullopt;
    std::sort(all.begin(), all.end());
    return (all[(all.size() - 1) / 2] + all[all.size() / 2]) / 2;
  }
  [[nodiscard]] std::vector<std::string> strangers() const {
    return {strangers_.begin(), strangers_.end()};
  }
  /// Nodes of other providers than the processor's.
  [[nodiscard]] int elsewhere() const { return elsewhere_; }

 private:
  const Graph& graph_;
  std::vector<std::array<std::vector<double>, kPlaces>> us_;
  std::set<std::string> strangers_;
  int elsewhere_ = 0;
};

/// Hands events on one by one: a trace may be far larger than what counts of it.
class EventReader final : public nlohmann::json_sax<Json> {
 public:
  explicit EventReader(Times& times) : times_(times) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool string(string_t& text) override {
    if (in_event_) {
      const std::size_t inside = depth_ - event_depth_;
      if (inside == 0 && key_ == "name") event_.name = text;
      if (inside == 0 && key_ == "cat") event_.category = text;
      if (inside == 0 && key_ == "ph") event_.phase = text;
      if (inside == 1 && key_ == "provider") event_.provider = text;
    }
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    ++depth_;
    if (list_depth_ != 0 && !in_event_ && depth_ == list_depth_ + 1) {
      in_event_ = true;
      event_depth_ = depth_;
      event_ = {};
    }
    return true;
  }
  bool key(string_t& key) override {
    key_ = key;
    return true;
  }
  bool end_object() override {
    if (in_event_ && depth_ == event_depth_) {
      times_.add(event_);
      in_event_ = false;
    }
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    ++depth_;
    // The whole file, or the "traceEvents" of the object that it is.
    if (list_depth_ == 0 && (depth_ == 1 || (depth_ == 2 && key_ == "traceEvents"))) {
      list_depth_ = depth_;
    }
    return true;
  }
  bool end_array() override {
    if (depth_ == list_depth_) list_depth_ = 0;
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    broken_at = position;
    return false;
  }

  std::size_t broken_at = 0;

 private:
  bool number(double value) {
    if (in_event_ && depth_ == event_depth_ && key_ == "dur") event_.us = value;
    return true;
  }

  Times& times_;
  Event event_;
  std::string key_;
  std::size_t depth_ = 0;
  std::size_t list_depth_ = 0;  ///< of the list of events; 0 = not in it
  std::size_t event_depth_ = 0;
  bool in_event_ = false;
};

}  // namespace

bool is_profile_trace(std::string_view json) {
  const std::size_t first = json.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  // No file of Berth's is a list. What stands before PyTorch's events is short.
  return json[first] == '[' || json.substr(0, 1 << 20).find("\"traceEvents\"") != json.npos;
}

MeasuredCosts parse_profile_trace(std::string_view json, const std::string& origin,
                                  const Graph& graph, const Cluster& cluster) {
  Times times(graph);
  EventReader reader(times);
  if (!Json::sax_parse(json, &reader)) {
    throw Error(ErrorCode::invalid_file,
                cat(origin, ": is broken at byte ", reader.broken_at,
                    "; a profiler that was not stopped writes only a part"));
  }
  MeasuredTimes measured(graph, cluster);
  bool any = false;
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
    const Where where = cluster.kind_device(kind).host ? kOnHost : kOnGpu;
    for (OpId op = 0; op < graph.op_count(); ++op) {
      const std::optional<double> us = times.of(op, where);
      any = any || us;
      if (us) measured.us[at(kind)][at(op)] = *us;
    }
  }
  if (!any) {
    const std::string seen = join(times.strangers(), 4);
    throw Error(
        ErrorCode::invalid_file,
        cat(origin, ": measures no op of graph '", graph.name(),
            "' on a kind of device of cluster '", cluster.name(), "'",
            seen.empty() ? "" : cat("; its events are called ", seen),
            "; mark ops by their names (record_function), and let ONNX Runtime optimize nothing"));
  }
  MeasuredCosts made = costs_of_measured(std::move(measured), graph, cluster, origin);
  if (times.elsewhere() > 0) {
    made.note += cat("; ", times.elsewhere(),
                     " events are of other providers than ONNX Runtime's own for processors, whose "
                     "times its profile lacks");
  }
  return made;
}

}  // namespace berth
