// Fields of messages read in place, with their place in the file for complaints.
#pragma once

#include <string>
#include <string_view>

#include "support/wire.h"

namespace berth::tf_frontend {

/// The bytes all views of one file point into.
struct WireSource {
  std::string file;             ///< for messages
  const char* begin = nullptr;  ///< of the bytes, for offsets
};

class WireReader : public frontend::WireReader {
 public:
  /// `bytes` lies in those of `source`, which must outlive this.
  WireReader(std::string_view bytes, const WireSource& source)
      : frontend::WireReader(
            bytes, bytes.empty() ? 0 : static_cast<std::size_t>(bytes.data() - source.begin),
            source.file) {}
};

}  // namespace berth::tf_frontend
