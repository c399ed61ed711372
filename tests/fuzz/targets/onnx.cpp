// Any bytes as an ONNX model.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "input_file.h"
#include "onnx/frontend.h"
#include "refused.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  static const test::TemporaryFolder folder;  // where external data would lie
  test::refused([&] {
    static_cast<void>(onnx_frontend::load_program(test::text_of(data, size), nullptr,
                                                  folder / "model.onnx", LoadOptions{}));
  });
  return 0;
}
