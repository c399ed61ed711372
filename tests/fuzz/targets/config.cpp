// Any text as a Lua config.
#include <cstddef>
#include <cstdint>

#include "berth/engine.h"
#include "input_file.h"
#include "lua/host.h"
#include "refused.h"
#include "support/paths.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  static Engine engine;
  static lua::Host host(engine, test::source_folder() / "scripts");
  static const test::InputFile file("config.lua");
  const auto& path = file.write(test::text_of(data, size));
  test::refused([&] { static_cast<void>(host.read_config(path)); });
  return 0;
}
