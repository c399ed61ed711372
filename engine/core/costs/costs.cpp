#include "berth/costs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "costs/arithmetic.h"
#include "costs/efficiency.h"
#include "costs/op_work.h"
#include "costs/thread_blocks.h"
#include "ops/gpu_kernels.h"

namespace berth {
namespace {

/// Whether an accelerator can hold every tensor of the op: text and sequences reside on the host.
bool host_only(const Graph& graph, OpId op) {
  const auto on_host = [&](TensorId tensor) {
    if (tensor == kNoTensor) return false;
    const DType dtype = graph.dtype(tensor);
    return dtype == DType::string || dtype == DType::opaque;
  };
  const auto inputs = graph.inputs(op), outputs = graph.outputs(op);
  return std::any_of(inputs.begin(), inputs.end(), on_host) ||
         std::any_of(outputs.begin(), outputs.end(), on_host);
}

bool lists(const std::vector<DType>& dtypes, const Graph& graph, TensorId tensor) {
  if (tensor == kNoTensor || graph.dtype(tensor) == DType::unknown) return true;
  return std::find(dtypes.begin(), dtypes.end(), graph.dtype(tensor)) != dtypes.end();
}

/// The first tensor of a type that the list does not have; kNoTensor = there is none.
TensorId unlisted(const std::vector<DType>& dtypes, const Graph& graph, OpId op) {
  if (dtypes.empty()) return kNoTensor;
  for (const auto tensors : {graph.inputs(op), graph.outputs(op)}) {
    for (const TensorId tensor : tensors) {
      if (!lists(dtypes, graph, tensor)) return tensor;
    }
  }
  return kNoTensor;
}

bool lists_type(const DeviceOps& runs, const std::string& type) {
  return runs.types.empty() ||
         std::find(runs.types.begin(), runs.types.end(), type) != runs.types.end();
}

/// Inputs are held and not computed.
bool refused(const Graph& graph, OpId op, const Device& device) {
  if (graph.is_input(op)) return false;
  return !lists_type(device.runs, graph.op_type(op)) ||
         unlisted(device.runs.dtypes, graph, op) != kNoTensor;
}

bool has_host(const Cluster& cluster) {
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
    if (cluster.kind_device(kind).host) return true;
  }
  return false;
}

/// Arithmetic in 16 bits is twice as fast as in 32 where it is packed, and eight times with tensor
/// cores.
bool has_tensor_cores(const Device& device) {
  return device.flops_16 > 3 * device.flops;
}

/// The gradient of a 3 x 3 filter by minimal filtering F(3 x 3, 2 x 2) (Lavin and Gray, CVPR 2016),
/// its transforms in kernels of their own and sixteen products between them, which together are
/// 2.25 times shorter. Libraries have had it since cuDNN 5.1, of 2016.
double minimal_gradient_us(const ops::Estimate& estimate, const Device& device) {
  const MatrixProducts& direct = estimate.work.products;
  const MatrixProducts between = {direct.rows / 9, direct.columns, direct.inner / 4,
                                  direct.count * 16};
  const double flops =
      device.flops * costs::share_of(costs::product_shares(device), estimate.work.dtype);
  const double bandwidth =
      device.memory_bandwidth * costs::efficiency(OpClass::elementwise, device.host).bandwidth;
  return costs::product_us(between, flops, ops::work::element_bytes(estimate.work.dtype), device) +
         estimate.transformed_bytes / bandwidth * 1e6;
}

double op_cost_us(const ops::Estimate& estimate, const Device& device,
                  const Arithmetic& arithmetic) {
  const Work& work = estimate.work;
  if (work.launches <= 0) return 0;
  double us = roofline_us(work, device, arithmetic);
  // Whether a machine has such a library is known where tensor cores need a later one. On the cards
  // before them it was measured both ways (results of the costs).
  if (estimate.transformed_bytes > 0 && work.products.count > 0 && device.multiprocessors > 0 &&
      has_tensor_cores(device)) {
    us = std::min(us, minimal_gradient_us(estimate, device));
  }
  // The simulator pays one overhead per op with a cost. The other launches of a body are paid here.
  us += std::max(0.0, work.launches - 1) * device.op_overhead_us;
  // A cost beyond doubles does not say that the device cannot run the op: problems refuse it in words.
  return std::min(us, std::numeric_limits<double>::max());
}

/// The cost stated for `kind`: its own entry, otherwise the one for any kind; the later of equals.
double stated_us(std::span<const Graph::StatedCost> stated, const std::string& kind) {
  double any = kCannotRun, own = kCannotRun;
  bool has_own = false;
  for (const Graph::StatedCost& cost : stated) {
    if (cost.kind.empty()) {
      any = cost.us;
    } else if (cost.kind == kind) {
      own = cost.us;
      has_own = true;
    }
  }
  return has_own ? own : any;
}

/// A table that grows op by op: costs of every kind, and the workspace.
struct Table {
  std::vector<std::vector<double>> us;  // by kind, then op; no kind can run any
  std::vector<std::int64_t> workspace;

  Table(const Graph& graph, const Cluster& cluster)
      : us(at(cluster.kind_count()), std::vector<double>(at(graph.op_count()), kCannotRun)),
        workspace(at(graph.op_count()), 0) {
    for (OpId op = 0; op < graph.op_count(); ++op) {
      if (!graph.is_constant(op)) continue;
      for (std::vector<double>& row : us) row[at(op)] = 0;
    }
  }
};

void check_figures(const Cluster& cluster) {
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
    const Device& device = cluster.kind_device(kind);
    if (device.flops > 0 && device.memory_bandwidth > 0) continue;
    throw Error(ErrorCode::invalid_argument,
                cat("device '", device.name, "' of cluster '", cluster.name(), "' states no ",
                    device.flops > 0 ? "memory bandwidth" : "peak FLOP/s",
                    ", which roofline costs need: add it to the cluster, or use stated costs or a "
                    "costs file"));
  }
}

void estimate(const Graph& graph, const Cluster& cluster, OpId op, const Arithmetic& arithmetic,
              Table& table) {
  const ops::Estimate estimate = costs::estimate_work(graph, op);
  const bool stays_on_host = host_only(graph, op);
  // A machine file without a host leaves it out; the runtime's processor still runs what GPUs cannot.
  const bool no_gpu_kernel = has_host(cluster) && ops::lacks_gpu_kernel(graph, op);
  table.workspace[at(op)] =
      static_cast<std::int64_t>(std::min(estimate.work.workspace_bytes, 1e18));
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
    const Device& device = cluster.kind_device(kind);
    if (stays_on_host && !device.host) continue;
    if (device.runs.every() ? no_gpu_kernel && !device.host : refused(graph, op, device)) continue;
    table.us[at(kind)][at(op)] = op_cost_us(estimate, device, arithmetic);
  }
}

void take_stated(const Graph& graph, const Cluster& cluster, OpId op, Table& table) {
  if (const auto& work = graph.stated_work(op)) {
    table.workspace[at(op)] = static_cast<std::int64_t>(work->workspace_bytes);
  }
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
    if (refused(graph, op, cluster.kind_device(kind))) continue;
    table.us[at(kind)][at(op)] = stated_us(graph.stated_costs(op), cluster.kind_name(kind));
  }
}

}  // namespace

std::string op_refusal(const Graph& graph, OpId op, const Device& device) {
  if (graph.is_input(op)) return {};
  if (!lists_type(device.runs, graph.op_type(op))) {
    return cat("runs no op of type '", graph.op_type(op), "'");
  }
  const TensorId tensor = unlisted(device.runs.dtypes, graph, op);
  return tensor == kNoTensor ? "" : cat("runs nothing in ", dtype_name(graph.dtype(tensor)));
}

double costs::kernel_us(const Graph& graph, OpId op, const Device& device,
                        const Arithmetic& arithmetic) {
  return op_cost_us(estimate_work(graph, op), device, arithmetic);
}

double roofline_us(const Work& work, const Device& device, const Arithmetic& arithmetic) noexcept {
  const costs::Efficiency& share = costs::efficiency(work.op_class, device.host);
  double us = 0;
  if (work.bytes > 0) us = work.bytes / (device.memory_bandwidth * share.bandwidth) * 1e6;
  if (work.flops > 0 && !share.matrix) {
    const double flops = costs::peak_flops(device, work.dtype, /*matrix=*/false) * share.compute;
    us = std::max(us, work.flops / flops * 1e6);
  } else if (work.flops > 0) {
    const costs::ProductRate rate = costs::product_rate(work, device, arithmetic);
    const bool has_sizes = work.products.count > 0;
    us = std::max(us, has_sizes && device.multiprocessors > 0
                          ? costs::product_us(work.products, rate.flops, rate.element_bytes, device)
                          : work.flops / rate.flops * 1e6);
    if (has_sizes && work.op_class == OpClass::matmul) {
      const double vector_flops =
          costs::peak_flops(device, work.dtype, /*matrix=*/false) * share.compute;
      us = std::min(us, costs::few_rows_us(work.products, vector_flops, work.bytes, device));
    }
  }
  return us > 0 && device.multiprocessors > 0 ? std::max(us, costs::kFillUs) : us;
}

struct Costs::Data {
  std::vector<std::vector<double>> us;
  std::vector<std::int64_t> workspace_bytes;
  std::string source;
  std::vector<Joined> joined;
};

Costs::Costs(std::vector<std::vector<double>> us, std::vector<std::int64_t> workspace_bytes,
             std::string source, std::vector<Joined> joined) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::invalid_argument, cat("costs '", source, "': ", what));
  };
  if (us.empty()) refuse("no device kind has costs; give one row per kind");
  const std::size_t ops = us.front().size();
  for (std::size_t kind = 0; kind < us.size(); ++kind) {
    if (us[kind].size() != ops) {
      refuse(cat("kind ", kind, " has costs of ", us[kind].size(), " ops and kind 0 of ", ops,
                 "; give every kind one cost per op"));
    }
    for (std::size_t op = 0; op < ops; ++op) {
      if (!(us[kind][op] >= 0)) {
        refuse(cat("op ", op, " on kind ", kind, " (both counted from 0) costs ", us[kind][op],
                   " us; a cost is 0 or more, or infinite where the kind cannot run the op"));
      }
    }
  }
  if (!workspace_bytes.empty() && workspace_bytes.size() != ops) {
    refuse(cat("workspace is given for ", workspace_bytes.size(), " ops and costs for ", ops,
               "; give it for all ops or for none"));
  }
  for (std::size_t op = 0; op < workspace_bytes.size(); ++op) {
    if (workspace_bytes[op] < 0) {
      refuse(cat("op ", op, " has a workspace of ", workspace_bytes[op],
                 " bytes; it must be 0 or more"));
    }
  }
  for (const Joined& pair : joined) {
    const auto is_op = [&](OpId op) { return op >= 0 && at(op) < ops; };
    if (!is_op(pair.op) || !is_op(pair.with)) {
      refuse(cat("op ", pair.op, " is joined with op ", pair.with, " of ", ops,
                 "; join ops that are there"));
    }
  }
  data_ = std::make_shared<const Data>(
      Data{std::move(us), std::move(workspace_bytes), std::move(source), std::move(joined)});
}

double Costs::op_us(OpId op, KindId kind) const noexcept {
  return data_->us[at(kind)][at(op)];
}
bool Costs::can_run(OpId op, KindId kind) const noexcept {
  return op_us(op, kind) < kCannotRun;
}
std::span<const double> Costs::of_kind(KindId kind) const noexcept {
  return data_->us[at(kind)];
}
KindId Costs::kind_count() const noexcept {
  return static_cast<KindId>(data_->us.size());
}
std::int64_t Costs::workspace_bytes(OpId op) const noexcept {
  return data_->workspace_bytes.empty() ? 0 : data_->workspace_bytes[at(op)];
}
std::span<const Costs::Joined> Costs::joined() const noexcept {
  return data_->joined;
}
const std::string& Costs::source() const noexcept {
  return data_->source;
}

std::shared_ptr<const Costs> Costs::of_step(std::shared_ptr<const Costs> costs, const Graph& graph,
                                            const Cluster& cluster) {
  std::vector<const Device*> limited;  // by kind; null = it runs every op
  bool any_limited = false;
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
    const Device& device = cluster.kind_device(kind);
    limited.push_back(device.runs.every() ? nullptr : &device);
    any_limited = any_limited || limited.back() != nullptr;
  }
  if (graph.constant_count() == 0 && !any_limited) return costs;
  std::vector<std::vector<double>> us = costs->data_->us;
  std::vector<std::int64_t> workspace = costs->data_->workspace_bytes;
  bool changed = false;
  const auto set = [&changed](auto& figure, auto to) {
    changed = changed || figure != to;
    figure = to;
  };
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const bool constant = graph.is_constant(op);
    for (std::size_t kind = 0; kind < us.size(); ++kind) {
      if (constant) {
        set(us[kind][at(op)], 0.0);
      } else if (limited[kind] != nullptr && refused(graph, op, *limited[kind])) {
        set(us[kind][at(op)], kCannotRun);
      }
    }
    if (constant && !workspace.empty()) set(workspace[at(op)], std::int64_t{0});
  }
  if (!changed) return costs;
  return std::make_shared<const Costs>(std::move(us), std::move(workspace), costs->source(),
                                       costs->data_->joined);
}

std::shared_ptr<const Costs> Costs::stated(const Graph& graph, const Cluster& cluster) {
  Table table(graph, cluster);
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (graph.is_constant(op)) continue;
    if (graph.stated_costs(op).empty()) {
      throw Error(ErrorCode::invalid_argument,
                  cat("op '", graph.op_name(op), "' of graph '", graph.name(),
                      "' states no cost: add one (cost_us) or use roofline costs"));
    }
    take_stated(graph, cluster, op, table);
  }
  return std::make_shared<const Costs>(std::move(table.us), std::move(table.workspace), "stated");
}

std::shared_ptr<const Costs> Costs::roofline(const Graph& graph, const Cluster& cluster,
                                             const std::optional<Arithmetic>& arithmetic) {
  check_figures(cluster);
  const Arithmetic taken = arithmetic.value_or(usual_arithmetic(graph));
  Table table(graph, cluster);
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (!graph.is_constant(op)) estimate(graph, cluster, op, taken, table);
  }
  return std::make_shared<const Costs>(std::move(table.us), std::move(table.workspace), "roofline");
}

std::shared_ptr<const Costs> Costs::stated_or_roofline(
    const Graph& graph, const Cluster& cluster, const std::optional<Arithmetic>& arithmetic) {
  const Arithmetic taken = arithmetic.value_or(usual_arithmetic(graph));
  Table table(graph, cluster);
  bool estimated = false;
  bool stated = false;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (graph.is_constant(op)) continue;
    if (!graph.stated_costs(op).empty()) {
      stated = true;
      take_stated(graph, cluster, op, table);
    } else {
      if (!estimated) check_figures(cluster);
      estimated = true;
      estimate(graph, cluster, op, taken, table);
    }
  }
  return std::make_shared<const Costs>(std::move(table.us), std::move(table.workspace),
                                       !estimated ? "stated"
                                       : stated   ? "stated or roofline"
                                                  : "roofline");
}

}  // namespace berth
