#include "berth/error.h"
#include "berth/files.h"
#include "support/text.h"

namespace berth {

std::shared_ptr<const Costs> load_costs(const std::filesystem::path& path, const Graph& graph,
                                        const Cluster& cluster) {
  const std::shared_ptr<const Graph> carrier = load_graph(path);
  const std::shared_ptr<const Costs> carried = Costs::stated(*carrier, cluster);
  std::vector<std::vector<double>> us(static_cast<std::size_t>(cluster.kind_count()));
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const auto source = carrier->find_op(graph.op_name(op));
    if (!source) {
      throw Error(ErrorCode::invalid_file,
                  cat(path.string(), ": no cost for op '", graph.op_name(op), "' of graph '",
                      graph.name(), "'; add it to \"ops\", or these costs (of graph '",
                      carrier->name(), "') are for another graph"));
    }
    for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
      us[static_cast<std::size_t>(kind)].push_back(carried->op_us(*source, kind));
    }
  }
  return std::make_shared<const Costs>(std::move(us), std::vector<std::int64_t>(), path.string());
}

}  // namespace berth
