// A host with the library of scripts/, and scripts written on the spot.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "berth/engine.h"
#include "lua/host.h"
#include "support/data.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace berth::test {

class HostFixture {
 public:
  HostFixture() : engine({test::plugin_folder()}), host(engine, source_path("scripts")) {}

  /// Writes a file of the fixture's own folder.
  std::filesystem::path write(const std::string& name, const std::string& content) {
    std::ofstream(folder / name, std::ios::binary) << content;
    return folder / name;
  }

  void run(const std::string& script, const std::vector<std::string>& args = {}) {
    host.run_script(write("test.lua", script), args);
  }

  TemporaryFolder folder;
  Engine engine;
  lua::Host host;
};

}  // namespace berth::test
