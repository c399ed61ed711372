// The graphs of tests/corpus/graphs, unpacked, through kept_graphs.lua.
#include <filesystem>

#include "berth/files.h"
#include "lua/support/host_fixture.h"
#include "support/paths.h"
#include "tf/gzip.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

/// Only the TensorFlow frontend reads compressed files, and no folder with one.
bool is_read_packed(const fs::path& file) {
  return file.string().ends_with(".pb.gz") && file.filename() != "saved_model.pb.gz";
}

void unpack(const fs::path& from, const fs::path& to) {
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    if (!entry.is_regular_file()) continue;
    fs::path target = to / fs::relative(entry.path(), from);
    fs::create_directories(target.parent_path());
    std::string bytes = read_file(entry.path());
    if (target.extension() == ".gz" && !is_read_packed(target)) {
      bytes = tf_frontend::gunzip(bytes, entry.path().string());
      target.replace_extension();
    }
    write_file(target, bytes);
  }
}

TEST_CASE_FIXTURE(test::HostFixture, "graphs of today's exporters load whole and are placed") {
  unpack(test::source_path("tests/corpus/graphs"), folder.path() / "graphs");
  try {
    host.run_script(test::source_path("tests/corpus/kept_graphs.lua"),
                    {(folder.path() / "graphs").string()});
  } catch (const Error& error) {
    FAIL(std::string(error.what()));
  }
}

}  // namespace
}  // namespace berth
