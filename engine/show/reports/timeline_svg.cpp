// A picture of one simulated step: a row per device and per used link, the critical path on top.
//
//   row_of_*    the row in which something is drawn
//   bars        intervals of one row; those too close to tell apart are drawn as one
//   write       title, axis, rows, critical path, legend
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/files.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "reports/drawable.h"
#include "support/units.h"

namespace berth {
namespace {

constexpr double kLeft = 150;   // names
constexpr double kPlot = 900;   // the step
constexpr double kRight = 210;  // figures
constexpr double kTop = 70;     // title and axis
constexpr double kBottom = 44;  // legend
constexpr double kDevice = 30;  // height of a device's row
constexpr double kLink = 18;    // height of a link's row
constexpr double kGap = 12;     // between devices and links
constexpr double kMargin = 3;   // above and below a bar in its row
constexpr std::size_t kMaxLinks = 24;
/// Neighbours closer than this become one bar, so that a picture of any graph stays small.
constexpr double kMergePixels = 0.4;

constexpr std::string_view kOp = "op";
constexpr std::string_view kTransfer = "tr";
constexpr std::string_view kCritical = "cp";

constexpr std::string_view kStyle =
    "text{font:12px system-ui,sans-serif;fill:#24292f}.h{font-size:16px;font-weight:600}"
    ".s{fill:#57606a}.r{fill:#f6f8fa}.g{stroke:#d0d7de}.op{fill:#8fb3d9}.tr{fill:#a7c4a0}"
    ".cp{fill:#d9480f}.w{fill:none;stroke:#d9480f;stroke-width:1;opacity:.45}";

std::string number(double value) {
  return format_fixed(value, 2);
}

/// Text that every XML reader accepts, whatever bytes a name has.
std::string xml_text(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c >= 0x20 && c < 0x7F ? c : '?';
    }
  }
  return safe;
}

/// At most `length` letters; a longer name loses its middle.
std::string shortened(const std::string& name, std::size_t length) {
  if (name.size() <= length) return name;
  const std::size_t tail = (length - 2) / 2;
  return name.substr(0, length - 2 - tail) + ".." + name.substr(name.size() - tail);
}

struct Interval {
  double start_us;
  double end_us;
  std::string label;
};

struct Row {
  std::string name;
  std::string figures;
  double y = 0;
  double height = 0;
  std::vector<Interval> plain;
  std::vector<Interval> critical;
};

class TimelineWriter {
 public:
  TimelineWriter(const Problem& problem, const Placement& placement, const StepTrace& trace)
      : problem_(problem),
        graph_(problem.graph()),
        cluster_(problem.cluster()),
        placement_(placement),
        trace_(trace),
        scale_(trace.runtime_us > 0 ? kPlot / trace.runtime_us : 0),
        critical_(trace) {}

  std::string write() {
    add_device_rows();
    add_link_rows();
    fill_rows();
    const double height = bottom_ + kBottom;
    const double width = kLeft + kPlot + kRight;
    svg_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) + "\" height=\"" +
           number(height) + "\" viewBox=\"0 0 " + number(width) + " " + number(height) +
           "\"><style>" + std::string(kStyle) + "</style>\n";
    rectangle({}, 0, 0, width, height, "fill=\"#fff\"");
    write_title();
    for (const Row& row : rows_) write_row(row);
    write_axis();
    for (Row& row : rows_) {
      write_bars(row, row.plain, row.height == kDevice ? kOp : kTransfer);
      write_bars(row, row.critical, kCritical);
    }
    write_path();
    write_legend();
    return svg_ + "</svg>\n";
  }

 private:
  using Ends = std::pair<DeviceId, DeviceId>;

  [[nodiscard]] double x(double us) const { return kLeft + us * scale_; }

  void add_device_rows() {
    for (DeviceId id = 0; id < cluster_.device_count(); ++id) {
      const DeviceUsage& usage = trace_.devices[at(id)];
      const double share = trace_.runtime_us > 0 ? usage.busy_us / trace_.runtime_us : 0;
      add_row(cluster_.device(id).name,
              format_percent(share) + " busy, peak " + format_bytes(usage.peak_bytes), kDevice);
    }
    bottom_ += kGap;
  }

  /// The busiest links, if there are too many to show.
  void add_link_rows() {
    std::vector<LinkUsage> links = trace_.links;
    std::stable_sort(links.begin(), links.end(),
                     [](const LinkUsage& a, const LinkUsage& b) { return a.busy_us > b.busy_us; });
    links.resize(std::min(links.size(), kMaxLinks));
    std::sort(links.begin(), links.end(), [](const LinkUsage& a, const LinkUsage& b) {
      return Ends(a.src, a.dst) < Ends(b.src, b.dst);
    });
    for (const LinkUsage& link : links) {
      link_row_[{link.src, link.dst}] = rows_.size();
      const std::string to = link.dst == kNoDevice ? "all" : cluster_.device(link.dst).name;
      add_row(cluster_.device(link.src).name + " -> " + to,
              format_bytes(link.bytes) + ", " + format_us(link.busy_us), kLink);
    }
  }

  void add_row(std::string name, std::string figures, double height) {
    rows_.push_back({std::move(name), std::move(figures), bottom_, height, {}, {}});
    bottom_ += height;
  }

  void fill_rows() {
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      const auto index = at(op);
      Row& row = rows_[at(problem_.cluster().works_in(placement_[index]))];
      (critical_.op[index] ? row.critical : row.plain)
          .push_back({trace_.op_start_us[index], trace_.op_end_us[index],
                      graph_.op_name(op) + " (" + graph_.op_type(op) + ")"});
    }
    for (std::size_t i = 0; i < trace_.transfers.size(); ++i) {
      const Transfer& transfer = trace_.transfers[i];
      const auto found = link_row_.find({transfer.src, transfer.dst});
      if (found == link_row_.end()) continue;
      Row& row = rows_[found->second];
      (critical_.transfer[i] ? row.critical : row.plain)
          .push_back({transfer.start_us, transfer.end_us,
                      cat(format_bytes(transfer.bytes),
                          sends_weights(problem_.cluster(), transfer) ? " of weights of " : " of ",
                          graph_.op_name(transfer.producer))});
    }
  }

  void write_title() {
    text("h", 12, 24, "start", "One step of " + graph_.name() + " on " + cluster_.name());
    text("s", 12, 42, "start",
         format_us(trace_.runtime_us) + ", " +
             std::string(semantics_name(problem_.options().semantics)) + " semantics, " +
             format_count(graph_.op_count()) + " ops");
  }

  /// Ticks at a round distance, at most ten of them.
  void write_axis() {
    if (trace_.runtime_us <= 0) return;
    double tick = std::pow(10, std::floor(std::log10(trace_.runtime_us)) - 1);
    for (const double factor : {2.0, 2.5, 2.0, 2.0}) {
      if (trace_.runtime_us / tick > 10) tick *= factor;
    }
    for (double us = 0; us <= trace_.runtime_us; us += tick) {
      svg_ += "<path class=\"g\" d=\"M" + number(x(us)) + " " + number(kTop - 6) + "V" +
              number(bottom_) + "\"/>\n";
      text("s", x(us), kTop - 10, "middle", format_us(us));
    }
  }

  void write_row(const Row& row) {
    rectangle("r", kLeft, row.y + 1, kPlot, row.height - 2);
    text({}, kLeft - 8, row.y + row.height / 2 + 4, "end", shortened(row.name, 20));
    text("s", kLeft + kPlot + 8, row.y + row.height / 2 + 4, "start", row.figures);
  }

  void write_bars(const Row& row, std::vector<Interval>& intervals, std::string_view kind) {
    std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
      return std::pair(a.start_us, a.end_us) < std::pair(b.start_us, b.end_us);
    });
    const double merge_us = scale_ > 0 ? kMergePixels / scale_ : 0;
    for (std::size_t i = 0; i < intervals.size();) {
      const double start_us = intervals[i].start_us;
      double end_us = intervals[i].end_us;
      std::size_t next = i + 1;
      // Only bars that are too thin to tell apart are merged.
      const auto thin = [merge_us](const Interval& bar) {
        return bar.end_us - bar.start_us < merge_us;
      };
      while (next < intervals.size() && thin(intervals[next - 1]) && thin(intervals[next]) &&
             intervals[next].start_us - end_us < merge_us) {
        end_us = std::max(end_us, intervals[next++].end_us);
      }
      std::string label = intervals[i].label;
      if (next - i > 1) label += " and " + std::to_string(next - i - 1) + " more";
      rectangle(kind, x(start_us), row.y + kMargin,
                std::max((end_us - start_us) * scale_, kMergePixels), row.height - 2 * kMargin, {},
                label + ": " + format_us(end_us - start_us) + " from " + format_us(start_us));
      i = next;
    }
  }

  /// Connects the steps of the critical path, so that the eye can follow it from row to row.
  void write_path() {
    std::string line;
    const Row* current = nullptr;
    double end_us = 0;
    const auto leave_row = [&] { line += current == nullptr ? "" : "H" + number(x(end_us)); };
    for (const CriticalStep& step : trace_.critical_path) {
      const Row* row = row_of(step);
      if (row == nullptr) continue;
      if (row != current) {
        leave_row();
        line += (line.empty() ? "M" : "L") + number(x(step.start_us)) + " " +
                number(row->y + row->height / 2);
        current = row;
      }
      end_us = step.end_us;
    }
    leave_row();
    if (!line.empty()) svg_ += "<path class=\"w\" d=\"" + line + "\"/>\n";
  }

  [[nodiscard]] const Row* row_of(const CriticalStep& step) const {
    if (step.op != kNoOp) {
      return &rows_[at(problem_.cluster().works_in(placement_[at(step.op)]))];
    }
    const Transfer& transfer = trace_.transfers[at(step.transfer)];
    const auto found = link_row_.find({transfer.src, transfer.dst});
    return found == link_row_.end() ? nullptr : &rows_[found->second];
  }

  void write_legend() {
    double left = kLeft;
    const double y = bottom_ + 16;
    const std::pair<std::string_view, std::string> entries[] = {
        {kOp, "ops"},
        {kTransfer, "transfers"},
        {kCritical, "critical path: what the step waited for"}};
    for (const auto& [kind, meaning] : entries) {
      rectangle(kind, left, y, 14, 14);
      text({}, left + 20, y + 11, "start", meaning);
      left += 120;
    }
    if (trace_.links.size() > kMaxLinks) {
      text("s", kLeft + kPlot, y + 11, "end",
           std::to_string(trace_.links.size() - kMaxLinks) + " less busy links are not shown");
    }
  }

  void rectangle(std::string_view kind, double left, double top, double width, double height,
                 std::string_view attributes = {}, const std::string& label = {}) {
    svg_ += "<rect";
    if (!kind.empty()) svg_ += " class=\"" + std::string(kind) + "\"";
    if (!attributes.empty()) svg_ += " " + std::string(attributes);
    svg_ += " x=\"" + number(left) + "\" y=\"" + number(top) + "\" width=\"" + number(width) +
            "\" height=\"" + number(height) + "\"";
    svg_ += label.empty() ? "/>\n" : "><title>" + xml_text(label) + "</title></rect>\n";
  }

  void text(std::string_view kind, double left, double top, std::string_view anchor,
            const std::string& content) {
    svg_ += "<text";
    if (!kind.empty()) svg_ += " class=\"" + std::string(kind) + "\"";
    svg_ += " x=\"" + number(left) + "\" y=\"" + number(top) + "\" text-anchor=\"" +
            std::string(anchor) + "\">" + xml_text(content) + "</text>\n";
  }

  const Problem& problem_;
  const Graph& graph_;
  const Cluster& cluster_;
  const Placement& placement_;
  const StepTrace& trace_;
  const double scale_;  // pixels per microsecond
  CriticalFlags critical_;
  std::vector<Row> rows_;  // devices by id, then links
  std::map<Ends, std::size_t> link_row_;
  double bottom_ = kTop;
  std::string svg_;
};

}  // namespace

std::string timeline_svg(const Problem& problem, const Placement& placement,
                         const StepTrace& trace) {
  check_drawable(problem, placement, trace);
  return TimelineWriter(problem, placement, trace).write();
}

}  // namespace berth
