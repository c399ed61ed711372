// A policy plugin with one thing wrong, which the build names with a FIXTURE_ definition; without
// one it is a good plugin.
#include <stdexcept>

#include "berth/plugin.h"

#ifndef FIXTURE_MAGIC
#define FIXTURE_MAGIC berth::kPluginMagic
#endif
#ifndef FIXTURE_ABI
#define FIXTURE_ABI BERTH_ABI_VERSION
#endif
#ifndef FIXTURE_SIZE
#define FIXTURE_SIZE sizeof(berth::PluginDescriptor)
#endif
#ifndef FIXTURE_KIND
#define FIXTURE_KIND berth::PluginKind::policy
#endif
#ifndef FIXTURE_FINGERPRINT
#define FIXTURE_FINGERPRINT BERTH_BUILD_FINGERPRINT
#endif
#ifndef FIXTURE_NAME
#define FIXTURE_NAME "fixture"
#endif
#ifndef FIXTURE_DESCRIPTION
#define FIXTURE_DESCRIPTION "a fixture"
#endif
#ifndef FIXTURE_OPTIONS
#define FIXTURE_OPTIONS kOptions
#endif
#ifndef FIXTURE_SYMBOL
#define FIXTURE_SYMBOL berth_plugin
#endif
#ifndef FIXTURE_FACTORY
#define FIXTURE_FACTORY &create
#endif

#ifdef FIXTURE_UNRESOLVED
extern int defined_nowhere;
#endif
#ifdef FIXTURE_UNRESOLVED_FUNCTION
void called_but_defined_nowhere();
#endif
#ifdef FIXTURE_CRASHES
[[maybe_unused]] const int crash = (__builtin_trap(), 0);
#endif

extern "C" {
/// How often the engine has called into this plugin; read by the test.
BERTH_EXPORT int fixture_calls = 0;
#ifdef FIXTURE_UNRESOLVED
BERTH_EXPORT int* fixture_needs = &defined_nowhere;
#endif
}

namespace {

class AllOnFirst final : public berth::Policy {
 public:
  berth::PolicyAnswer place(berth::Evaluator& evaluator, const berth::PlaceContext&) override {
#ifdef FIXTURE_UNRESOLVED_FUNCTION
    called_but_defined_nowhere();
#endif
    const berth::Problem& problem = evaluator.problem();
    return berth::Placement(static_cast<std::size_t>(problem.graph().op_count()), 0);
  }
};

[[maybe_unused]] berth::Policy* create(const berth::Options&, const berth::PolicyMaker&, void*) {
  ++fixture_calls;
  return new AllOnFirst;
}
[[maybe_unused]] berth::Policy* create_nothing(const berth::Options&, const berth::PolicyMaker&,
                                               void*) {
  return nullptr;
}
[[maybe_unused]] berth::Policy* create_with_error(const berth::Options&, const berth::PolicyMaker&,
                                                  void*) {
  throw std::runtime_error("no licence today");
}
[[maybe_unused]] berth::Policy* create_with_int(const berth::Options&, const berth::PolicyMaker&,
                                                void*) {
  throw 42;
}

[[maybe_unused]] constexpr berth::OptionSpec kOptions[] = {
    {"rounds", berth::OptionType::integer, "8", "passes", berth::OptionRange::at_least(1)}};
[[maybe_unused]] constexpr berth::OptionSpec kBadDefault[] = {
    {"rounds", berth::OptionType::integer, "many", "passes, >= 1"}};
[[maybe_unused]] constexpr berth::OptionSpec kDefaultOutOfRange[] = {
    {"rounds", berth::OptionType::integer, "0", "passes", berth::OptionRange::at_least(1)}};
[[maybe_unused]] constexpr berth::OptionSpec kNamelessOption[] = {
    {nullptr, berth::OptionType::integer, "8", "passes, >= 1"}};

}  // namespace

extern "C" BERTH_EXPORT const berth::PluginDescriptor FIXTURE_SYMBOL;
extern "C" const berth::PluginDescriptor FIXTURE_SYMBOL = {FIXTURE_MAGIC,
                                                           FIXTURE_ABI,
                                                           FIXTURE_SIZE,
                                                           FIXTURE_KIND,
                                                           FIXTURE_FINGERPRINT,
                                                           "9.9.9",
                                                           FIXTURE_NAME,
                                                           "1.0",
                                                           FIXTURE_DESCRIPTION,
                                                           FIXTURE_OPTIONS,
                                                           1,
                                                           nullptr,
                                                           FIXTURE_FACTORY,
                                                           nullptr,
                                                           nullptr};
