// Values of variables from the checkpoint beside a model; tests/frontends/tf/data/make_graphs.py writes both.
#include <algorithm>
#include <cstring>

#include "berth/error.h"
#include "berth/sdk/program.h"
#include "support/data.h"
#include "support/expect_error.h"
#include "text_graph.h"

namespace berth::tf_frontend {
namespace {

namespace fs = std::filesystem;

LoadedProgram load_program(const fs::path& path, const LoadOptions& options = {}) {
  TensorFlowFrontend frontend{Options{}};
  return frontend.load_program(path, options);
}

/// The value of the variable with `name` in its op's name; null where it is drawn.
const TensorContent* value_of(const Program& program, const std::string& name) {
  for (const Instruction& op : program.instructions) {
    const bool variable = op.type == "VarHandleOp" || op.type == "VariableV2";
    if (variable && op.name.find(name) != op.name.npos)
      return op.attribute<TensorContent>("initial_value");
  }
  FAIL("no variable is named ", name);
  return nullptr;
}

bool says(const LoadedProgram& loaded, const std::string& note) {
  return std::find(loaded.notes.begin(), loaded.notes.end(), note) != loaded.notes.end();
}

template <class Number>
std::vector<Number> numbers(const TensorContent* content) {
  REQUIRE(content != nullptr);
  std::vector<Number> out(content->bytes.size() / sizeof(Number));
  std::memcpy(out.data(), content->bytes.data(), content->bytes.size());
  return out;
}

fs::path file(const std::string& name) {
  return test::source_path("tests/frontends/tf/data") / name;
}

TEST_CASE("a SavedModel's variables have the values of its checkpoint") {
  const LoadedProgram loaded = load_program(file("saved_values"));
  const Program& program = *loaded.program;
  // Two of them were given the same name, and of {2, 4, 8} a copy was saved.
  std::vector<std::vector<float>> floats;
  std::vector<std::int64_t> integers;
  std::vector<std::uint16_t> halves;
  for (const Instruction& op : program.instructions) {
    if (op.type != "VarHandleOp") continue;
    const auto* content = op.attribute<TensorContent>("initial_value");
    REQUIRE(content != nullptr);
    if (content->dtype == DType::f32) floats.push_back(numbers<float>(content));
    if (content->dtype == DType::i64) integers = numbers<std::int64_t>(content);
    if (content->dtype == DType::bf16) halves = numbers<std::uint16_t>(content);
  }
  std::sort(floats.begin(), floats.end());
  CHECK(floats == std::vector<std::vector<float>>{{0, 1, 2, 3, 4, 5}, {2, 4, 8}, {10, 20, 30}});
  CHECK(integers == std::vector<std::int64_t>{7});
  CHECK(halves == std::vector<std::uint16_t>{0x3fc0, 0xc000, 0});
}

TEST_CASE("a graph of TensorFlow 1 has those of the checkpoint of its name") {
  LoadOptions options;
  options.fetches = {"y"};
  const LoadedProgram loaded = load_program(file("session_values.meta"), options);
  const Program& program = *loaded.program;
  CHECK(numbers<float>(value_of(program, "matrix")) == std::vector<float>{1, 2, 3, 4});
  CHECK(numbers<float>(value_of(program, "row")) == std::vector<float>{5, 6});
  SUBCASE("but for variables that were saved in parts") {
    CHECK(says(loaded,
               "variables that begin as their initializers say, or drawn, for the checkpoint does "
               "not have them in one "
               "piece: 'table/part_0', 'table/part_1'"));
  }
}

/// Copies of a model's files, to be damaged.
struct Copy {
  test::TemporaryFolder folder;
  fs::path model = folder / "model", index = model / "variables/variables.index",
           data = model / "variables/variables.data-00000-of-00001";
  Copy() { fs::copy(file("saved_values"), model, fs::copy_options::recursive); }
};

TEST_CASE("a checkpoint that is not there is said") {
  const Copy copy;
  fs::remove_all(copy.model / "variables");
  const LoadedProgram loaded = load_program(copy.model);
  CHECK(says(loaded, "variables begin as their initializers say, or drawn: there is no " +
                         copy.index.string() + " with what was learned"));
}

TEST_CASE("a data file that is not there or too short") {
  const Copy copy;
  SUBCASE("missing") {
    fs::remove(copy.data);
    test::expect_error(ErrorCode::not_found, {copy.data.string()},
                       [&] { load_program(copy.model); });
  }
  SUBCASE("cut short") {
    fs::resize_file(copy.data, 40);
    test::expect_error(ErrorCode::invalid_file, {"reaches beyond the end of its data file"},
                       [&] { load_program(copy.model); });
  }
  SUBCASE("of another model, with other shapes") {
    // The entry of the matrix says [2, 3].
    std::string index = read_file(copy.index);
    const std::string dims("\x12\x02\x08\x02\x12\x02\x08\x03", 8);
    const std::size_t at = index.find(dims);
    REQUIRE(at != index.npos);
    index[at + 3] = 3;
    index[at + 7] = 2;
    write_file(copy.index, index);
    test::expect_error(ErrorCode::invalid_file, {"has the shape [3, 2]", "[2, 3]"},
                       [&] { load_program(copy.model); });
  }
  SUBCASE("placing needs neither") {
    fs::remove(copy.data);
    fs::remove(copy.index);
    TensorFlowFrontend frontend{Options{}};
    CHECK(frontend.load(copy.model, {}).graph->op_count() > 0);
  }
}

TEST_CASE("an index with any byte changed or of any length loads or is refused") {
  const Copy copy;
  const std::string whole = read_file(copy.index);
  int refused = 0;
  const auto try_with = [&](const std::string& bytes) {
    write_file(copy.index, bytes);
    try {
      static_cast<void>(load_program(copy.model));
    } catch (const Error& error) {
      ++refused;
      CHECK(std::string(error.what()).find(copy.model.string()) != std::string::npos);
    }
  };
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      try_with(bytes);
    }
  }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const int before = refused;
    try_with(whole.substr(0, size));
    CHECK(refused == before + 1);
  }
}

}  // namespace
}  // namespace berth::tf_frontend
