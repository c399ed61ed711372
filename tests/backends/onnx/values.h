// Values for tests of ONNX kernels: read from the files ONNX keeps its test data in, and compared.
#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/kernel.h"

namespace berth::test {

/// A program on the CPU from a model file, with parameters where the file has them. `dims` as
/// LoadOptions::dims. Throws what loading and make_kernel throw.
class CpuModel {
 public:
  explicit CpuModel(const std::filesystem::path& model,
                    const std::map<std::string, std::int64_t>& dims = {});
  ~CpuModel();
  [[nodiscard]] const Program& program() const;
  /// `inputs` by position in Program::inputs; absent ones beyond the end.
  [[nodiscard]] std::vector<runtime::Value> run(std::vector<runtime::Value> inputs) const;

  /// Gives every weight that the file does not carry random numbers.
  void draw_weights(std::uint64_t seed);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A number tensor or a text from a TensorProto.
[[nodiscard]] runtime::Value value_of(const onnx::TensorProto& tensor);

/// A file that holds a value of this type: a tensor, a sequence, an optional.
[[nodiscard]] runtime::Value read_value(const std::filesystem::path& file,
                                        const onnx::TypeProto& type);

struct Tolerance {
  double relative = 1e-3;  ///< as ONNX's own runner compares
  double absolute = 1e-7;
};

/// Empty where the two are the same within the tolerance, else how they differ. `only_type`: the
/// elements may be others.
[[nodiscard]] std::string difference(const runtime::Value& expected, const runtime::Value& got,
                                     const Tolerance& tolerance, bool only_type = false);

}  // namespace berth::test
