#include "journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace berth::store {
namespace {

constexpr std::string_view kMagic = "BERTHJN1";
constexpr std::size_t kPrefix = 8;            // CRC and length
constexpr std::size_t kBodyHead = 1 + 8 + 4;  // kind, number, length of the key

std::uint32_t crc_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

template <typename T>
T number_at(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

template <typename T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

/// Visits the whole records; where they end.
std::size_t visit_records(std::string_view content, const Journal::Visit& visit) {
  std::size_t at = kMagic.size();
  while (content.size() - at >= kPrefix + kBodyHead) {
    const auto crc = number_at<std::uint32_t>(content, at);
    const auto length = number_at<std::uint32_t>(content, at + 4);
    if (length < kBodyHead || length > content.size() - at - kPrefix) break;
    const std::string_view body = content.substr(at + kPrefix, length);
    const auto key_bytes = number_at<std::uint32_t>(body, 9);
    if (crc_of(body) != crc || key_bytes > length - kBodyHead) break;
    visit(body[0] == 1, body.substr(kBodyHead, key_bytes), body.substr(kBodyHead + key_bytes),
          number_at<std::int64_t>(body, 1));
    at += kPrefix + length;
  }
  return at;
}

}  // namespace

void Journal::fail(const char* what) const {
  throw std::runtime_error("the store's journal " + file_.string() + " cannot be " + what + ": " +
                           std::generic_category().message(errno) +
                           "; free space there, or name another place");
}

void Journal::open(const std::filesystem::path& file, int flags) {
  descriptor_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND | flags, 0600);
  if (descriptor_ < 0) fail("opened");
}

Journal::Journal(std::filesystem::path file, const Visit& visit) : file_(std::move(file)) {
  std::error_code none;
  std::string content;
  // A device has nothing to be read.
  if (std::filesystem::is_regular_file(file_, none)) {
    std::ifstream in(file_, std::ios::binary);
    content.assign(std::istreambuf_iterator<char>(in), {});
  }
  if (!content.empty() && !content.starts_with(kMagic)) {
    throw std::runtime_error(file_.string() + ": this is no journal of a store; name another file");
  }
  const std::size_t whole = content.empty() ? 0 : visit_records(content, visit);
  open(file_, 0);
  if (whole == 0) {
    write(kMagic);
  } else {
    if (::ftruncate(descriptor_, static_cast<off_t>(whole)) != 0) fail("shortened");
    bytes_ = whole;
  }
}

Journal::~Journal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Journal::write(std::string_view bytes) {
  const std::size_t before = bytes_;
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int why = written == 0 ? ENOSPC : errno;
      // A part of a record would hide those that follow.
      if (::ftruncate(descriptor_, static_cast<off_t>(before)) == 0) bytes_ = before;
      errno = why;
      fail("written");
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
    bytes_ += static_cast<std::size_t>(written);
  }
  changed_ = true;
}

void Journal::record(char kind, std::string_view key, std::string_view value, std::int64_t number) {
  std::string bytes(kPrefix, '\0');
  bytes.reserve(kPrefix + kBodyHead + key.size() + value.size());
  bytes += kind;
  append(bytes, number);
  append(bytes, static_cast<std::uint32_t>(key.size()));
  bytes += key;
  bytes += value;
  const std::uint32_t crc = crc_of(std::string_view(bytes).substr(kPrefix));
  const auto length = static_cast<std::uint32_t>(bytes.size() - kPrefix);
  std::memcpy(bytes.data(), &crc, 4);
  std::memcpy(bytes.data() + 4, &length, 4);
  write(bytes);
}

void Journal::set(std::string_view key, std::string_view value, std::int64_t number) {
  record(1, key, value, number);
}
void Journal::erase(std::string_view key) {
  record(2, key, {}, 0);
}

void Journal::flush() {
  if (!changed_) return;
  // What is no file on a disk has nothing to flush.
  if (::fdatasync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) fail("flushed");
  changed_ = false;
}

void Journal::rewrite(const std::function<void()>& write_all) {
  const std::filesystem::path next = file_.string() + ".next";
  const int old = std::exchange(descriptor_, -1);
  const std::size_t old_bytes = std::exchange(bytes_, 0);
  try {
    open(next, O_TRUNC);
    write(kMagic);
    write_all();
    if (::fdatasync(descriptor_) != 0) fail("flushed");
    std::filesystem::rename(next, file_);
  } catch (...) {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = old;
    bytes_ = old_bytes;
    throw;
  }
  ::close(old);
}

}  // namespace berth::store
