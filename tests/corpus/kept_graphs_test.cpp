// The graphs of tests/corpus/graphs, unpacked, through kept_graphs.lua.
#include "corpus/unpacked.h"
#include "lua/support/host_fixture.h"
#include "support/paths.h"

namespace berth {
namespace {

TEST_CASE_FIXTURE(test::HostFixture, "graphs of today's exporters load whole and are placed") {
  test::unpack(test::source_path("tests/corpus/graphs"), folder.path() / "graphs");
  try {
    host.run_script(test::source_path("tests/corpus/kept_graphs.lua"),
                    {(folder.path() / "graphs").string()});
  } catch (const Error& error) {
    FAIL(std::string(error.what()));
  }
}

}  // namespace
}  // namespace berth
