// ONNX's own tests of its ops (Debian: libonnx-testdata) against the kernels.
#include <doctest/doctest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <set>

#include "backends/onnx/values.h"
#include "frontends/onnx/model_text.h"
#include "runtime/onnx/kernels.h"

namespace berth::test {
namespace {

namespace fs = std::filesystem;

/// BERTH_ONNX_TEST_DATA: where the package is that is not installed.
fs::path onnx_test_data() {
  const char* const given = std::getenv("BERTH_ONNX_TEST_DATA");
  return given != nullptr ? given : "/usr/share/libonnx-testdata/data";
}

// Op types of these tests without a kernel. One that gets a kernel must leave the list; one that
// loses it, or a new one, fails the test.
const std::set<std::string> kUnsupportedOps = {
    "StringNormalizer",
    "TfIdfVectorizer",
    "ai.onnx.preview.training.Adagrad",
    "ai.onnx.preview.training.Adam",
    "ai.onnx.preview.training.Gradient",
    "ai.onnx.preview.training.Momentum",
};

// The same of ONNX 1.13 to 1.17, whose tests Debian 13 has.
const std::set<std::string> kUnsupportedNewerOps = {
    "ImageDecoder",
    "RegexFullMatch",
    "StringConcat",
    "StringSplit",
    "ai.onnx.ml.ArrayFeatureExtractor",
    "ai.onnx.ml.Binarizer",
    "ai.onnx.ml.LabelEncoder",
    "ai.onnx.ml.TreeEnsemble",
};

// Parts of the names of those versions' tests that ask for what no kernel does; they must not pass.
const std::map<std::string, std::string> kUnsupportedTests = {
    {"FLOAT8", "no kernel computes with 8-bit floats"},
    {"_to_INT4", "no kernel rounds to 4 bits"},
    {"_to_UINT4", "no kernel rounds to 4 bits"},
    {"_e4m3fn", "no kernel computes with 8-bit floats"},
    {"_e5m2", "no kernel computes with 8-bit floats"},
    {"test_equal_string", "no kernel compares texts"},
};

// What is drawn is not what NumPy once drew: shapes and types are compared.
const std::set<std::string> kRandomTests = {
    "test_bernoulli",
    "test_bernoulli_double",
    "test_bernoulli_double_expanded",
    "test_bernoulli_expanded",
    "test_bernoulli_seed",
    "test_bernoulli_seed_expanded",
    "test_training_dropout",
    "test_training_dropout_default",
    "test_training_dropout_default_mask",
    "test_training_dropout_mask",
};

// Tests whose outputs are not what the op's text says, with the reason; they must differ.
const std::map<std::string, std::string> kDisputedTests = {
    {"test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True",
     "counts what is beyond the padding; ONNX Runtime 1.32 does not"},
    {"test_qlinearmatmul_2D_int8_float16", "wraps around; the op saturates"},
    {"test_qlinearmatmul_2D_int8_float32", "wraps around; the op saturates"},
    {"test_qlinearmatmul_3D_int8_float16", "wraps around; the op saturates"},
    {"test_qlinearmatmul_3D_int8_float32", "wraps around; the op saturates"},
    {"test_cast_FLOAT_to_BFLOAT16", "cuts bits off; ONNX since says round to nearest"},
    {"test_castlike_FLOAT_to_BFLOAT16", "cuts bits off; ONNX since says round to nearest"},
    {"test_castlike_FLOAT_to_BFLOAT16_expanded", "cuts bits off; ONNX since says round to nearest"},
    {"test_resize_downsample_scales_cubic_align_corners", "counts with a length before rounding"},
    {"test_resize_downsample_scales_linear_align_corners", "counts with a length before rounding"},
};

onnx::ModelProto read_model(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  onnx::ModelProto model;
  REQUIRE_MESSAGE(model.ParseFromIstream(&in), file);
  return model;
}

void collect_ops(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes,
                 std::set<std::string>& ops) {
  for (const auto& node : nodes) {
    const std::string& domain = node.domain();
    ops.insert(domain.empty() || domain == "ai.onnx" ? node.op_type()
                                                     : domain + "." + node.op_type());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) collect_ops(attribute.g().node(), ops);
    }
  }
}

struct Tally {
  int passed = 0;
  int total = 0;
  std::map<std::string, int> lacking;  // op types, and how many tests each holds back
  std::set<std::string> seen;          // tests
  std::set<std::string> passing;
  std::set<std::string> disputed;
  std::set<std::string> unsupported;  // of kUnsupportedTests
  std::vector<std::string> failures;
};

std::vector<runtime::Value> read_inputs(const CpuModel& model, const onnx::GraphProto& graph,
                                        const fs::path& set) {
  std::map<std::string, runtime::Value> by_name;
  for (int i = 0; i < graph.input_size(); ++i) {
    const fs::path file = set / ("input_" + std::to_string(i) + ".pb");
    if (fs::exists(file)) by_name[graph.input(i).name()] = read_value(file, graph.input(i).type());
  }
  std::vector<runtime::Value> inputs;
  for (const std::string& name : model.program().input_names) inputs.push_back(by_name[name]);
  return inputs;
}

bool is_unsupported(const std::string& name) {
  return std::any_of(kUnsupportedTests.begin(), kUnsupportedTests.end(), [&](const auto& entry) {
    return name.find(entry.first) != std::string::npos;
  });
}

// Each value of a Fourier transform is a sum over all of the signal: where it cancels to 0, the terms'
// rounding is left.
Tolerance tolerance_of(const std::string& name, const runtime::Value& expected) {
  Tolerance tolerance;
  if (name.starts_with("test_dft") || name.starts_with("test_stft")) {
    tolerance.absolute =
        std::numeric_limits<float>::epsilon() * expected.tensor.abs().max().item<double>();
  }
  return tolerance;
}

// Empty = passed.
std::string failure_of(const fs::path& folder, const onnx::GraphProto& graph) {
  const CpuModel model(folder / "model.onnx");
  for (int set = 0;; ++set) {
    const fs::path data = folder / ("test_data_set_" + std::to_string(set));
    if (!fs::exists(data)) return set > 0 ? std::string() : "it has no data to compare with";
    const auto outputs = model.run(read_inputs(model, graph, data));
    const bool is_random = kRandomTests.contains(folder.filename().string());
    for (int i = 0; i < graph.output_size(); ++i) {
      const fs::path file = data / ("output_" + std::to_string(i) + ".pb");
      if (!fs::exists(file)) continue;
      const auto& names = model.program().output_names;
      const auto at = std::find(names.begin(), names.end(), graph.output(i).name());
      if (at == names.end()) return "output " + graph.output(i).name() + " is not computed";
      const runtime::Value expected = read_value(file, graph.output(i).type());
      const std::string differs =
          difference(expected, outputs.at(static_cast<std::size_t>(at - names.begin())),
                     tolerance_of(folder.filename().string(), expected), is_random);
      if (!differs.empty()) return "output " + graph.output(i).name() + ": " + differs;
    }
  }
}

void run_test(const fs::path& folder, Tally& tally) {
  const onnx::ModelProto proto = read_model(folder / "model.onnx");
  ++tally.total;
  std::set<std::string> ops;
  collect_ops(proto.graph().node(), ops);
  for (const auto& function : proto.functions()) collect_ops(function.node(), ops);
  std::vector<std::string> lacking;
  for (const std::string& op : ops) {
    if (runtime::onnx_kernels().find(op) == nullptr) lacking.push_back(op);
  }
  for (const std::string& op : lacking) ++tally.lacking[op];
  if (!lacking.empty()) return;
  const std::string name = folder.filename().string();
  tally.seen.insert(name);
  std::string failure;
  try {
    failure = failure_of(folder, proto.graph());
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (failure.empty()) {
    ++tally.passed;
    tally.passing.insert(name);
  } else if (kDisputedTests.contains(name)) {
    tally.disputed.insert(name);
  } else if (is_unsupported(name)) {
    tally.unsupported.insert(name);
  } else {
    tally.failures.push_back(name + ": " + failure);
  }
}

onnx::TensorProto tensor_of(std::initializer_list<std::int64_t> dims,
                            std::initializer_list<float> values) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t dim : dims) tensor.add_dims(dim);
  for (const float value : values) tensor.add_float_data(value);
  return tensor;
}

/// y of a graph of ops, given x.
runtime::Value computed(const std::string& graph, int opset, const onnx::TensorProto& x) {
  ModelFolder models;
  const CpuModel model(models.save(parse_graph(graph, opset)));
  return model.run({value_of(x)}).at(0);
}

TEST_CASE("cases that ONNX's tests of this version lack") {
  SUBCASE("columns before rows") {
    const auto y = computed(
        "g (float[1,2,2,2] x) => (float[1,8,1,1] y) { y = SpaceToDepth<blocksize = 2, mode = "
        "\"CRD\">(x) }",
        17, tensor_of({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
    CHECK(difference(value_of(tensor_of({1, 8, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8})), y, {}) == "");
  }
  SUBCASE("the bits of a number without a sign") {
    const auto y = computed(
        "g (float[2] x) => (float[2] y) { a = Cast<to = 4>(x) b = BitwiseNot(a) y = Cast<to = "
        "1>(b) "
        "}",
        18, tensor_of({2}, {0, 65534}));
    CHECK(difference(value_of(tensor_of({2}, {65535, 1})), y, {}) == "");
  }
}

TEST_CASE("kernels that ONNX's tests of Debian 12's version do not reach") {
  SUBCASE("the largest of a region is of weighted neighbours") {
    // One sample between four pixels: each counts by a quarter.
    const std::string graph =
        "g (float[1,1,2,2] x) => (float[1,1,1,1] y) { r = Constant<value = float[1,4] {0, 0, 1, "
        "1}>() "
        "i = Constant<value = int64[1] {0}>() y = RoiAlign<mode = \"max\", output_height = 1, "
        "output_width = 1, sampling_ratio = 1, coordinate_transformation_mode = "
        "\"output_half_pixel\">(x, r, i) }";
    const auto y = computed(graph, 16, tensor_of({1, 1, 2, 2}, {1, -2, 3, 8}));
    CHECK(difference(value_of(tensor_of({1, 1, 1, 1}, {2})), y, {}) == "");
  }
  SUBCASE("the extremes of nothing are the type's") {
    const auto y = computed(
        "g (float[2,0] x) => (float[2] y) { a = Constant<value = int64[1] {1}>() y = "
        "ReduceMax<keepdims = 0>(x, a) }",
        18, tensor_of({2, 0}, {}));
    const float infinity = std::numeric_limits<float>::infinity();
    CHECK(difference(value_of(tensor_of({2}, {-infinity, -infinity})), y, {}) == "");
  }
  SUBCASE("averages of windows with gaps") {
    const auto y = computed(
        "g (float[1,1,5] x) => (float[1,1,3] y) { y = AveragePool<kernel_shape = [2], dilations = "
        "[2]>(x) }",
        19, tensor_of({1, 1, 5}, {1, 2, 3, 4, 9}));
    CHECK(difference(value_of(tensor_of({1, 1, 3}, {2, 3, 6})), y, {}) == "");
  }
  SUBCASE("the nearest voxel between two is the even one") {
    // Along the width of four, -1 is at -0.5 (voxel 0) and -0.5 at 0.5 (voxel 0), 0 at 1.5 (voxel 2).
    const std::string graph =
        "g (float[1,1,1,1,4] x) => (float[1,1,1,1,3] y) { p = Constant<value = float[1,1,1,3,3] "
        "{-1, 0, 0, -0.5, 0, 0, 0, 0, 0}>() y = GridSample<mode = \"nearest\">(x, p) }";
    const auto y = computed(graph, 20, tensor_of({1, 1, 1, 1, 4}, {5, 6, 7, 8}));
    CHECK(difference(value_of(tensor_of({1, 1, 1, 1, 3}, {5, 5, 7})), y, {}) == "");
  }
  SUBCASE("the nearest pixel of fewer is the next, before opset 11") {
    const auto y = computed(
        "g (float[1,1,10] x) => (float[1,1,7] y) { s = Constant<value = float[3] {1, 1, 0.75}>() y "
        "= "
        "Resize<mode = \"nearest\">(x, s) }",
        10, tensor_of({1, 1, 10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
    CHECK(difference(value_of(tensor_of({1, 1, 7}, {0, 2, 3, 4, 6, 7, 8})), y, {}) == "");
  }
}

TEST_CASE("ONNX's own tests of its ops") {
  const fs::path data = onnx_test_data();
  if (!fs::exists(data)) {
    MESSAGE("skipped: ONNX's test data is not installed (Debian: libonnx-testdata)");
    return;
  }
  Tally tally;
  for (const char* const kind : {"node", "simple", "pytorch-operator", "pytorch-converted"}) {
    std::vector<fs::path> folders;
    for (const auto& entry : fs::directory_iterator(data / kind)) {
      if (fs::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
    }
    std::sort(folders.begin(), folders.end());
    for (const fs::path& folder : folders) run_test(folder, tally);
  }
  std::cout << "ONNX op tests: " << tally.passed << " of " << tally.total << " pass, "
            << tally.unsupported.size() << " ask for types or options without a kernel\n";
  for (const auto& [op, count] : tally.lacking) {
    std::cout << "  no kernel: " << op << " (" << count << " tests)\n";
    CHECK_MESSAGE((kUnsupportedOps.contains(op) || kUnsupportedNewerOps.contains(op)), op);
  }
  for (const std::string& op : kUnsupportedOps) CHECK_MESSAGE(tally.lacking.contains(op), op);
  for (const auto& [name, reason] : kDisputedTests) {
    if (!tally.seen.contains(name)) continue;  // of another version
    std::cout << "  disputed: " << name << " (" << reason << ")\n";
    CHECK_MESSAGE(tally.disputed.contains(name), name);
  }
  for (const std::string& name : tally.passing) CHECK_FALSE_MESSAGE(is_unsupported(name), name);
  for (const std::string& failure : tally.failures) {
    CAPTURE(failure);
    CHECK_MESSAGE(false, failure);
  }
}

}  // namespace
}  // namespace berth::test
