// An embedder that another compiler has compiled, in a later mode of the language, against the same
// standard library: it registers a policy of its own and places by it.
#include <berth/engine.h>
#include <berth/run.h>

#include <cstdio>

namespace {

class Last final : public berth::Policy {
 public:
  explicit Last(const berth::Options& options) : back_(options.integer("back")) {}
  berth::PolicyAnswer place(berth::Evaluator& evaluator, const berth::PlaceContext&) override {
    const berth::Problem& problem = evaluator.problem();
    return berth::Placement(
        static_cast<std::size_t>(problem.graph().op_count()),
        problem.cluster().device_count() - 1 - static_cast<berth::DeviceId>(back_));
  }

 private:
  std::int64_t back_;
};

constexpr berth::OptionSpec kOptions[] = {
    {"back", berth::OptionType::integer, "1", "devices from the last"}};
constexpr berth::PluginDescriptor kLast =
    berth::describe_plugin<Last>("last", "1.0", "all on one of the last devices", kOptions);

}  // namespace

int main() try {
  berth::Engine engine({"/no/plugins"});
  engine.register_plugin(kLast);
  berth::GraphBuilder builder("chain");
  for (int i = 0; i < 3; ++i)
    builder.set_cost(builder.add_op("op" + std::to_string(i), "Op"), "", 5);
  const auto graph = builder.build();
  const berth::Settings settings = berth::parse_settings(
      R"({"format": "berth.settings/1", "cluster": "k80x4", "policy": "last"})", "the test");
  const auto cluster = berth::make_cluster(settings);
  const berth::Task task = berth::make_task(engine, graph, cluster, settings);
  const berth::Outcome outcome = berth::place(engine, task, settings);
  const berth::DeviceId wanted = cluster->device_count() - 2;
  for (const berth::DeviceId device : outcome.placement) {
    if (device != wanted) return std::puts("an op is elsewhere"), 1;
  }
  try {
    static_cast<void>(engine.make_policy("lost"));
    return std::puts("an unknown name was accepted"), 1;
  } catch (const berth::Error& error) {
    return error.code() == berth::ErrorCode::not_found ? 0 : 1;
  }
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
