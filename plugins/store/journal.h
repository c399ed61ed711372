// What the store keeps on disk: the keys and values that it holds, so that it goes on after a
// restart.
//
//   "BERTHJN1"
//   records: CRC-32 of the rest, 4 bytes | length of the rest, 4 | kind (1 set, 2 erase), 1
//            number, 8 | length of the key, 4 | key | value
//
// A record is whole in the file when `set` returns: a store that is killed loses none of it. The
// last one of a file may be cut off, and is then left out. The machine's own end may cost what the
// last `flush` did not see.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace berth::store {

/// [thread-compatible]
class Journal {
 public:
  using Visit =
      std::function<void(bool set, std::string_view key, std::string_view value, std::int64_t)>;

  /// Opens or makes the file, and visits what is in it. Throws std::runtime_error naming it.
  Journal(std::filesystem::path file, const Visit& visit);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Each throws std::runtime_error naming the file and why it cannot be written.
  void set(std::string_view key, std::string_view value, std::int64_t number);
  void erase(std::string_view key);
  /// To the disk itself.
  void flush();
  /// Begins a new file; the caller sets everything anew in `write_all`, and the old one is replaced
  /// when that is whole.
  void rewrite(const std::function<void()>& write_all);

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  void open(const std::filesystem::path& file, int flags);
  void write(std::string_view bytes);
  void record(char kind, std::string_view key, std::string_view value, std::int64_t number);
  [[noreturn]] void fail(const char* what) const;

  std::filesystem::path file_;
  int descriptor_ = -1;
  std::size_t bytes_ = 0;
  bool changed_ = false;
};

}  // namespace berth::store
