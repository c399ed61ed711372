// Protobuf's wire format, read in place: https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::frontend {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// Walks the fields of one message. Views point into the given bytes.
class WireReader {
 public:
  /// `offset` is where `bytes` begins in `file`, for messages.
  WireReader(std::string_view bytes, std::size_t offset, const std::string& file)
      : bytes_(bytes), offset_(offset), file_(file) {}

  /// Moves to the next field; false at the end of the message. Throws Error(invalid_file) naming
  /// the byte at which the message is cut short or is not Protobuf.
  bool next();

  [[nodiscard]] std::uint32_t field() const noexcept { return field_; }
  [[nodiscard]] WireType type() const noexcept { return type_; }
  /// True for a length-delimited field of this number.
  [[nodiscard]] bool is_bytes(std::uint32_t field) const noexcept {
    return field_ == field && type_ == WireType::bytes;
  }
  /// The value of a varint or fixed field.
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }
  /// The content of a `bytes` field.
  [[nodiscard]] std::string_view payload() const noexcept { return payload_; }
  /// The field with its tag (and length).
  [[nodiscard]] std::string_view whole() const noexcept {
    return bytes_.substr(begin_, position_ - begin_);
  }
  /// Offsets in the file of the field and of its payload.
  [[nodiscard]] std::size_t offset() const noexcept { return offset_ + begin_; }
  [[nodiscard]] std::size_t payload_offset() const noexcept {
    return offset_ + position_ - payload_.size();
  }
  /// Throws Error(invalid_file) with `what` and the place of this field.
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  std::uint64_t read_varint();

  std::string_view bytes_;
  std::size_t offset_;
  const std::string& file_;
  std::size_t position_ = 0;
  std::size_t begin_ = 0;
  std::uint32_t field_ = 0;
  WireType type_ = WireType::varint;
  std::uint64_t value_ = 0;
  std::string_view payload_;
};

/// Reads a varint at the front of `bytes` and removes it; false if there is none.
bool take_varint(std::string_view& bytes, std::uint64_t& value) noexcept;

void append_varint(std::string& out, std::uint64_t value);
[[nodiscard]] std::size_t varint_size(std::uint64_t value) noexcept;
void append_tag(std::string& out, std::uint32_t field, WireType type);
void append_varint_field(std::string& out, std::uint32_t field, std::uint64_t value);
void append_bytes_field(std::string& out, std::uint32_t field, std::string_view payload);

}  // namespace berth::frontend
