// berth.random: a seeded generator.
#include "berth/support/text.h"
#include "call.h"
#include "objects.h"

namespace berth::lua {
namespace {

int make(Call& call) {
  const std::int64_t seed = call.argument(1, "seed").integer(0);
  return call.object(std::make_shared<Random>(static_cast<std::uint64_t>(seed)));
}

int uniform(Call& call) {
  return call.number(call.self<Random>()->uniform());
}

int integer(Call& call) {
  const auto random = call.self<Random>();
  const std::int64_t most = call.argument(1, "most").integer(1);
  return call.integer(static_cast<std::int64_t>(random->below(static_cast<std::uint64_t>(most))) +
                      1);
}

int split(Call& call) {
  return call.object(std::make_shared<Random>(call.self<Random>()->split()));
}

constexpr Binding kFunctions[] = {{"berth.random", &make}};
constexpr Binding kMethods[] = {
    {"random:uniform", &uniform}, {"random:integer", &integer}, {"random:split", &split}};

}  // namespace

template <>
const Type& type_of<Random>() {
  static constexpr Type type{"random", kFunctions, kMethods,
                             [](const void*) { return std::string("generator"); }};
  return type;
}

}  // namespace berth::lua
