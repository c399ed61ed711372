// Any bytes as the weights of a learned policy.
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "input_file.h"
#include "learning/checkpoint.h"
#include "refused.h"

namespace {

constexpr std::size_t kChecksumAt = 16, kContentAt = 20;

/// With the checksum that its content asks for: no mutation finds the right one by chance.
std::string with_checksum(std::string_view bytes) {
  std::string file(bytes);
  if (file.size() < kContentAt) return file;
  const auto sum = ::crc32(0, reinterpret_cast<const Bytef*>(file.data()) + kContentAt,
                           static_cast<uInt>(file.size() - kContentAt));
  for (std::size_t i = 0; i < kContentAt - kChecksumAt; ++i) {
    file[kChecksumAt + i] = static_cast<char>(sum >> (8 * i));
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  static const test::InputFile file("policy.weights"), again("again.weights");
  const auto& path = file.write(with_checksum(test::text_of(data, size)));
  learning::Checkpoint checkpoint;
  if (test::refused([&] { checkpoint = learning::load_checkpoint(path); })) return 0;
  // What was read can be written.
  learning::save_checkpoint(again.path(), checkpoint);
  return 0;
}
