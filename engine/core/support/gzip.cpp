#include "berth/sdk/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <limits>

#include "berth/error.h"
#include "berth/support/text.h"

namespace berth {

namespace {

constexpr std::size_t kMostBytes = std::size_t{2} << 30;
constexpr std::size_t kHarmlessBytes = std::size_t{64} << 20;
constexpr std::size_t kMostRatio = 300;
constexpr std::size_t kStep = std::size_t{1} << 18;
constexpr int kGzipWindow = 15 + 16;  // zlib's code for the gzip wrapper

/// zlib counts in 32 bits.
uInt chunk(std::size_t bytes) {
  return static_cast<uInt>(std::min<std::size_t>(bytes, std::numeric_limits<uInt>::max()));
}

class Inflater {
 public:
  explicit Inflater(std::string_view bytes) : bytes_(bytes) {
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  enum class State { more, end, damaged };

  /// Appends up to `room` bytes to `out`.
  State step(std::string& out, std::size_t room) {
    const std::size_t size = out.size();
    out.resize(size + room);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes_.data() + position_));
    stream_.avail_in = chunk(bytes_.size() - position_);
    const uInt given = stream_.avail_in;
    stream_.next_out = reinterpret_cast<Bytef*>(out.data() + size);
    stream_.avail_out = chunk(room);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    const std::size_t written = room - stream_.avail_out;
    out.resize(size + written);
    position_ += given - stream_.avail_in;
    if (result == Z_STREAM_END) {
      if (position_ == bytes_.size()) return State::end;
      // Another member may follow.
      return inflateReset(&stream_) == Z_OK ? State::more : State::damaged;
    }
    if (result != Z_OK) return State::damaged;
    return written == 0 && given == stream_.avail_in ? State::damaged : State::more;
  }

 private:
  std::string_view bytes_;
  std::size_t position_ = 0;
  z_stream stream_{};
};

}  // namespace

bool is_gzip(std::string_view bytes) noexcept {
  return bytes.size() > 2 && bytes.substr(0, 3) == "\x1f\x8b\x08";
}

std::string gunzip(std::string_view bytes, const std::string& file) {
  const std::size_t most =
      std::min(kMostBytes, std::max(kHarmlessBytes, bytes.size() * kMostRatio));
  std::string out;
  Inflater inflater(bytes);
  for (auto state = Inflater::State::more; state != Inflater::State::end;) {
    if (out.size() > most) {
      throw Error(ErrorCode::invalid_file,
                  cat(file, ": holds more than ", most >> 20, " MB in ", bytes.size(),
                      " bytes, as no graph does; decompress it yourself if it is one"));
    }
    // Growing by halves keeps the copies few without doubling the memory.
    out.reserve(std::max(out.capacity(), out.size() + std::max(kStep, out.size() / 2)));
    state = inflater.step(out, std::min(kStep, out.capacity() - out.size()));
    if (state == Inflater::State::damaged) {
      throw Error(ErrorCode::invalid_file,
                  cat(file, ": the gzip data is damaged or cut short after ", out.size(),
                      " bytes of content; download or compress it again"));
    }
  }
  out.shrink_to_fit();
  return out;
}

std::string gunzip_front(std::string_view bytes, std::size_t limit) {
  std::string out;
  Inflater inflater(bytes);
  while (out.size() < limit && inflater.step(out, limit - out.size()) == Inflater::State::more) {
  }
  return out;
}

std::string gzip(std::string_view content) {
  z_stream stream{};
  constexpr int kMemoryLevel = 8;
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  std::string out;
  std::size_t position = 0;
  for (int result = Z_OK; result == Z_OK;) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data() + position));
    stream.avail_in = chunk(content.size() - position);
    const uInt given = stream.avail_in;
    const std::size_t size = out.size();
    out.resize(size + kStep);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + size);
    stream.avail_out = chunk(kStep);
    result = deflate(&stream, position + given == content.size() ? Z_FINISH : Z_NO_FLUSH);
    position += given - stream.avail_in;
    out.resize(size + kStep - stream.avail_out);
  }
  deflateEnd(&stream);
  return out;
}

}  // namespace berth
