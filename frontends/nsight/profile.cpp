#include "nsight/profile.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "berth/error.h"
#include "berth/support/text.h"
#include "nsight/database.h"

namespace berth::nsight_frontend {
namespace {

// Event types of NVTX_EVENTS.
constexpr int kPushPopRange = 59;
constexpr int kStartEndRange = 60;

double duration_ns(std::int64_t start_ns, std::int64_t end_ns) {
  return static_cast<double>(end_ns) - static_cast<double>(start_ns);
}

/// The kernels that one thread launched, in the order of their launches, with the sum of the times
/// of those before.
class Launches {
 public:
  /// Below 0: the kernel's time is broken.
  void add(std::int64_t start_ns, double kernel_ns) { launches_.push_back({start_ns, kernel_ns}); }

  void finish() {
    std::sort(launches_.begin(), launches_.end(),
              [](const Launch& a, const Launch& b) { return a.start_ns < b.start_ns; });
    Sum sum;
    before_.push_back(sum);
    for (const Launch& launch : launches_) {
      ++sum.kernels;
      if (launch.kernel_ns < 0) {
        ++sum.broken;
      } else {
        sum.ns += launch.kernel_ns;
      }
      before_.push_back(sum);
    }
  }

  struct Sum {
    std::int64_t kernels = 0, broken = 0;
    double ns = 0;  ///< of those that are not broken
  };

  /// The kernels launched in [start, end).
  [[nodiscard]] Sum between(std::int64_t start_ns, std::int64_t end_ns) const {
    const auto index = [&](std::int64_t time_ns) {
      const auto place = std::lower_bound(
          launches_.begin(), launches_.end(), time_ns,
          [](const Launch& launch, std::int64_t time) { return launch.start_ns < time; });
      return static_cast<std::size_t>(place - launches_.begin());
    };
    const Sum& first = before_[index(start_ns)];
    const Sum& end = before_[index(end_ns)];
    return {end.kernels - first.kernels, end.broken - first.broken, end.ns - first.ns};
  }
  [[nodiscard]] const Sum& all() const { return before_.back(); }

 private:
  struct Launch {
    std::int64_t start_ns;
    double kernel_ns;
  };
  std::vector<Launch> launches_;
  std::vector<Sum> before_;
};

using LaunchesByThread = std::map<std::int64_t, Launches>;

LaunchesByThread read_launches(Database& database) {
  LaunchesByThread all;
  const char* const runtime = "CUPTI_ACTIVITY_KIND_RUNTIME";
  const char* const kernel = "CUPTI_ACTIVITY_KIND_KERNEL";
  if (!database.has(runtime, "correlationId") || !database.has(kernel, "correlationId")) return all;
  // Correlations are of a process; ids of threads have those of their processes in their upper bits.
  const char* const same_process =
      database.has(kernel, "globalPid") ? " AND k.globalPid >> 24 = r.globalTid >> 24" : "";
  Database::Rows rows =
      database.query(cat("SELECT r.globalTid, r.start, k.start, k.end FROM ", kernel, " AS k JOIN ",
                         runtime, " AS r ON r.correlationId = k.correlationId", same_process));
  while (rows.next()) {
    const bool timed = rows.is_integer(2) && rows.is_integer(3);
    all[rows.integer(0)].add(rows.integer(1),
                             timed ? duration_ns(rows.integer(2), rows.integer(3)) : -1);
  }
  for (auto& [thread, launches] : all) launches.finish();
  return all;
}

std::int64_t count_broken(const LaunchesByThread& launches, const std::filesystem::path& file) {
  std::int64_t kernels = 0, broken = 0;
  for (const auto& [thread, of_thread] : launches) {
    kernels += of_thread.all().kernels;
    broken += of_thread.all().broken;
  }
  if (broken == 0 || broken < kernels) return broken;
  throw Error(
      ErrorCode::invalid_file,
      cat(file.string(), ": all ", broken,
          " kernels that ranges could count end before they begin or lack a time; record the "
          "step again"));
}

/// "aten::mm" of "aten::mm, seq = 5", unless an op is called so.
std::string_view op_name(const Graph& graph, std::string_view text) {
  if (graph.find_op(text)) return text;
  for (const std::string_view mark : {", seq = ", ", op_id = ", ", sizes = "}) {
    text = text.substr(0, text.find(mark));
  }
  return text;
}

}  // namespace

Profile read_profile(const std::filesystem::path& file, const Graph& graph) {
  Database database(file);
  if (!database.has("NVTX_EVENTS", "text")) {
    throw Error(ErrorCode::invalid_file,
                cat(file.string(),
                    ": is no profile of Nsight Systems with NVTX ranges; mark ops by their names "
                    "(torch.cuda.nvtx.range, nvtxRangePush), record with nsys profile "
                    "--trace=cuda,nvtx, and export with nsys export --type sqlite"));
  }
  const LaunchesByThread launches = read_launches(database);
  Profile profile{MeasuredEvents(graph)};
  profile.broken_kernels = count_broken(launches, file);
  const bool has_ids = database.has("NVTX_EVENTS", "textId") && database.has("StringIds", "value");
  const std::string name = has_ids ? "COALESCE(n.text, s.value)" : "n.text";
  const std::string names = has_ids ? " LEFT JOIN StringIds AS s ON s.id = n.textId" : "";
  Database::Rows rows = database.query(
      cat("SELECT ", name, ", n.start, n.end, n.globalTid FROM NVTX_EVENTS AS n", names,
          " WHERE n.eventType IN (", kPushPopRange, ", ", kStartEndRange, ")"));
  while (rows.next()) {
    // A range that was open when the recording ended has no end.
    if (rows.is_null(0) || !rows.is_integer(1) || !rows.is_integer(2)) continue;
    const std::int64_t start_ns = rows.integer(1), end_ns = rows.integer(2);
    if (end_ns < start_ns) continue;
    const std::string_view op = op_name(graph, rows.text(0));
    constexpr double kNsPerUs = 1000;
    const auto thread = launches.find(rows.integer(3));
    const Launches::Sum sum =
        thread == launches.end() ? Launches::Sum{} : thread->second.between(start_ns, end_ns);
    if (sum.broken > 0) continue;
    profile.events.add(op, MeasuredEvents::kOnHost, duration_ns(start_ns, end_ns) / kNsPerUs);
    if (sum.kernels > 0) profile.events.add(op, MeasuredEvents::kOnGpu, sum.ns / kNsPerUs);
  }
  return profile;
}

}  // namespace berth::nsight_frontend
