// Profiles of Nsight Systems as costs: files with the tables and columns that its exporter writes.
#include <doctest/doctest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "berth/error.h"
#include "nsight/frontend.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "support/two_matmuls.h"

namespace berth::nsight_frontend {
namespace {

using test::expect_error;
using test::TemporaryFolder;

std::shared_ptr<const Graph> graph() {
  return test::two_matmuls({"a", "b"});
}

void write(const std::filesystem::path& file, const std::string& sql) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &database) == SQLITE_OK);
  char* message = nullptr;
  const int result = sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &message);
  INFO(std::string(message == nullptr ? "" : message));
  CHECK(result == SQLITE_OK);
  sqlite3_free(message);
  sqlite3_close(database);
}

constexpr const char* kRanges = R"(
  CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
  CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
    rangeId INTEGER, text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER);
)";
constexpr const char* kKernels = R"(
  CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,
    globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER);
  CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
    deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER,
    globalPid INTEGER, shortName INTEGER NOT NULL);
)";

/// As a table row: "(start, end, type, NULL, 'text', thread, NULL, 0)".
std::string range(const std::string& name, int start_ns, int end_ns, std::int64_t thread,
                  int type = 59) {
  return "INSERT INTO NVTX_EVENTS VALUES (" + std::to_string(start_ns) + ", " +
         std::to_string(end_ns) + ", " + std::to_string(type) + ", NULL, '" + name + "', " +
         std::to_string(thread) + ", NULL, 0);\n";
}

/// A kernel of `us`, long after its launch.
std::string kernel(int correlation, int launched_ns, int us, std::int64_t thread) {
  const std::string id = std::to_string(correlation);
  const std::string process = std::to_string(thread >> 24 << 24);
  const int start_ns = 1'000'000 + launched_ns;
  return "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" + std::to_string(launched_ns) + ", " +
         std::to_string(launched_ns + 3) + ", " + std::to_string(thread) + ", " + id +
         ", 0, 0);\nINSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + std::to_string(start_ns) +
         ", " + std::to_string(start_ns + 1000 * us) + ", 0, 7, " + id + ", " + process + ", 0);\n";
}

LoadedCosts costs_of(const std::string& sql) {
  const TemporaryFolder folder;
  const auto file = folder / "step.sqlite";
  write(file, sql);
  NsightFrontend frontend;
  CHECK(frontend.claims_costs(file));
  CHECK_FALSE(frontend.claims(file));
  return frontend.load_costs(file, *graph(), *test::host_and_gpu());
}

constexpr std::int64_t kThread = (42LL << 24) + 7;
constexpr std::int64_t kOtherThread = (42LL << 24) + 8;
constexpr std::int64_t kOtherProcess = (43LL << 24) + 7;

TEST_CASE(
    "a range counts on GPUs by the kernels that its thread launched in it, else on the host") {
  const LoadedCosts loaded =
      costs_of(std::string(kRanges) + kKernels + range("a", 100, 20'100, kThread) +
               kernel(1, 200, 5, kThread) + kernel(2, 300, 6, kThread) +
               // Not these: another thread's, another process's of the same number, later.
               kernel(3, 250, 1000, kOtherThread) + kernel(2, 260, 1000, kOtherProcess) +
               kernel(4, 20'100, 1000, kThread) + range("b", 30'000, 37'000, kThread));
  const auto roofline = Costs::roofline(*graph(), *test::host_and_gpu());
  CHECK(loaded.costs->op_us(0, 0) == roofline->op_us(0, 0));
  CHECK(loaded.costs->op_us(0, 1) == 11);
  CHECK(loaded.costs->op_us(1, 0) == 7);
  CHECK(loaded.costs->op_us(1, 1) == roofline->op_us(1, 1));
  REQUIRE(loaded.notes.size() == 1);
  CHECK(
      loaded.notes[0] ==
      "measured ops of 2: 1 on cpu, 1 on gpu; the rest cost what the roofline model says; of 1 ops "
      "that ran on a GPU the host's time is that of launching them and does not count");
}

TEST_CASE("of several ranges the median counts; names may be in the table of texts") {
  const std::string named_by_id =
      "INSERT INTO StringIds VALUES (5, 'b');\n"
      "INSERT INTO NVTX_EVENTS VALUES (0, 7000, 60, 1, NULL, 1, 5, 0);\n";
  const LoadedCosts loaded =
      costs_of(std::string(kRanges) + range("a, seq = 5", 0, 900'000, 1) +
               range("a, op_id = 3, sizes = [[2, 2]]", 0, 4'000, 1) + range("a", 0, 6'000, 1) +
               range("a", 9, 1, 1) + range("a", 0, 1'000, 1, /*type: a mark*/ 34) + named_by_id +
               "INSERT INTO NVTX_EVENTS VALUES (0, NULL, 59, NULL, 'a', 1, NULL, 0);\n");
  CHECK(loaded.costs->op_us(0, 0) == 6);
  CHECK(loaded.costs->op_us(1, 0) == 7);
  CHECK(loaded.notes[0].find("2 on cpu, 0 on gpu") != std::string::npos);
}

TEST_CASE("kernels whose times are broken are told, and what launched them is not measured") {
  const std::string update = "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET ";
  const std::string good = std::string(kRanges) + kKernels + range("a", 100, 20'100, kThread) +
                           kernel(1, 200, 5, kThread) + range("a", 30'000, 40'000, kThread) +
                           kernel(2, 30'200, 9, kThread) + range("b", 50'000, 60'000, kThread) +
                           kernel(3, 50'100, 7, kThread) + kernel(4, 50'200, 7, kThread);
  const auto roofline = Costs::roofline(*graph(), *test::host_and_gpu());
  const std::string kernels =
      "CREATE TABLE bare AS SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL;\n"
      "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;\n"
      "ALTER TABLE bare RENAME TO CUPTI_ACTIVITY_KIND_KERNEL;\n";
  for (const char* broken : {"end = start - 1", "end = NULL", "start = NULL", "end = 'never'",
                             "start = 'x', end = 'y'"}) {
    CAPTURE(broken);
    const LoadedCosts loaded =
        costs_of(good + kernels + update + broken + " WHERE correlationId IN (2, 4)");
    CHECK(loaded.costs->op_us(0, 1) == 5);
    // How long the kernels of b took together is not known, and its range only launched them.
    CHECK(loaded.costs->op_us(1, 0) == roofline->op_us(1, 0));
    CHECK(loaded.costs->op_us(1, 1) == roofline->op_us(1, 1));
    CHECK(loaded.notes[0].find("0 on cpu, 1 on gpu") != std::string::npos);
    CHECK(
        loaded.notes[0].ends_with("; 2 kernels end before they begin or lack a time, and what "
                                  "launched them does not count"));
    expect_error(ErrorCode::invalid_file, {"step.sqlite", "all 4 kernels", "record the step again"},
                 [&] { static_cast<void>(costs_of(good + kernels + update + broken)); });
  }
  const std::string ranges = std::string(kRanges) + range("a", 0, 6000, 1) + range("b", 1, 2, 1);
  const LoadedCosts loaded =
      costs_of(ranges + "UPDATE NVTX_EVENTS SET start = 'x' WHERE text = 'b'");
  CHECK(loaded.notes[0].find("1 on cpu, 0 on gpu") != std::string::npos);
}

TEST_CASE("what is no such profile is refused with what to do") {
  const std::pair<std::string, const char*> cases[] = {
      {"CREATE TABLE x (y)", "nsys profile"},
      {std::string("CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(text) AS (SELECT 'a' UNION ALL "
                   "SELECT text FROM n) SELECT * FROM n"),
       "nsys profile"},
      {"CREATE TABLE NVTX_EVENTS (text)", "SQLite says"},
      {std::string(kRanges) + range("aten::mm", 0, 1, 1), "aten::mm"},
      {kRanges, "'two'"},
  };
  for (const auto& [sql, message] : cases) {
    CAPTURE(sql);
    expect_error(ErrorCode::invalid_file, {"step.sqlite", message},
                 [&sql = sql] { static_cast<void>(costs_of(sql)); });
  }
}

TEST_CASE("a damaged profile is refused or read, whatever is damaged") {
  const TemporaryFolder folder;
  const auto file = folder / "step.sqlite";
  std::string sql = std::string(kRanges) + kKernels;
  for (int i = 0; i < 40; ++i) {
    sql += range("a", 100 * i, 100 * i + 50, kThread) + kernel(i, 100 * i + 1, i, kThread);
  }
  write(file, sql);
  std::ifstream stream(file, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(stream), {}};
  NsightFrontend frontend;
  const auto graph_ = graph();
  const auto machine_ = test::host_and_gpu();
  std::uint64_t state = 1;
  for (int round = 0; round < 2000; ++round) {
    std::string text = whole;
    for (int change = 0; change < 1 + round % 8; ++change) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      text[16 + (state >> 20) % (text.size() - 16)] = static_cast<char>(state >> 56);
    }
    if (round % 10 == 0) text.resize(16 + (state >> 20) % (text.size() - 16));
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
    try {
      const LoadedCosts loaded = frontend.load_costs(file, *graph_, *machine_);
      CHECK(loaded.costs->op_us(0, 0) >= 0);
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find("step.sqlite") != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace berth::nsight_frontend
