// The engine in an archive: policies in process and tables in C are there, and a plugin that would bring
// a second engine with it is refused.
#include <berth/berth.h>

#include <cstdio>

namespace {

class First final : public berth::Policy {
 public:
  berth::PolicyAnswer place(berth::Evaluator& evaluator, const berth::PlaceContext&) override {
    return berth::Placement(static_cast<std::size_t>(evaluator.problem().graph().op_count()), 0);
  }
};
constexpr berth::PluginDescriptor kFirst =
    berth::describe_plugin<First>("first", "1.0", "all on the first device");

int failed(const char* what, const std::string& why) {
  std::printf("%s: %s\n", what, why.c_str());
  return 1;
}

}  // namespace

int main() try {
  const std::string fixtures = FIXTURES_DIR;
  berth::GraphBuilder builder("one");
  builder.set_cost(builder.add_op("op", "Op"), "", 5);
  const auto graph = builder.build();
  const auto cluster = berth::load_cluster("k80x2");
  berth::Engine tables({fixtures + "/table_good"});
  tables.register_plugin(kFirst);
  const berth::Task task = berth::make_task(tables, graph, cluster, {});
  for (const auto& [policy, device] : {std::pair("first", 0), std::pair("fixture", 2)}) {
    berth::Settings settings;
    settings.policy = policy;
    const berth::Outcome outcome = berth::place(tables, task, settings);
    if (outcome.placement.at(0) != device) return failed(policy, "the op is elsewhere");
  }
  berth::Engine linked({fixtures + "/good"});
  try {
    static_cast<void>(linked.make_policy("fixture"));
    return failed("a plugin of another engine", "was opened");
  } catch (const berth::Error& error) {
    const std::string why = error.what();
    if (why.find("is linked to another copy of the engine") == std::string::npos ||
        why.find("libberth.so") == std::string::npos) {
      return failed("the refusal", why);
    }
  }
  return 0;
} catch (const std::exception& error) {
  return failed("an error", error.what());
}
