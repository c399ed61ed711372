#include "support/wire.h"

#include "berth/error.h"
#include "support/text.h"

namespace berth::frontend {

void WireReader::refuse(const std::string& what) const {
  throw Error(ErrorCode::invalid_file,
              cat(file_, ": byte ", offset_ + begin_, ": ", what,
                  "; the file is damaged or holds no model: export or download it again"));
}

std::uint64_t WireReader::read_varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (position_ >= bytes_.size()) refuse("a number is cut short");
    const auto byte = static_cast<std::uint8_t>(bytes_[position_++]);
    if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  refuse("a number is longer than 64 bits");
}

bool WireReader::next() {
  begin_ = position_;
  if (position_ >= bytes_.size()) return false;
  const std::uint64_t tag = read_varint();
  if (tag >> 3 == 0 || tag >> 32 != 0) refuse("no field has this number");
  field_ = static_cast<std::uint32_t>(tag >> 3);
  type_ = static_cast<WireType>(tag & 7);
  payload_ = {};
  const std::size_t left = bytes_.size() - position_;
  switch (type_) {
    case WireType::varint:
      value_ = read_varint();
      return true;
    case WireType::fixed64:
    case WireType::fixed32: {
      const std::size_t size = type_ == WireType::fixed64 ? 8 : 4;
      if (left < size) refuse("a number is cut short");
      value_ = 0;
      for (std::size_t i = 0; i < size; ++i) {
        value_ |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(bytes_[position_ + i]))
                  << (8 * i);
      }
      position_ += size;
      return true;
    }
    case WireType::bytes: {
      const std::uint64_t length = read_varint();
      if (length > bytes_.size() - position_) {
        refuse(cat("field ", field_, " claims ", length, " bytes and ", bytes_.size() - position_,
                   " are left"));
      }
      payload_ = bytes_.substr(position_, static_cast<std::size_t>(length));
      position_ += payload_.size();
      return true;
    }
  }
  refuse(cat("field ", field_, " has wire type ", tag & 7, ", which no model file has"));
}

bool take_varint(std::string_view& bytes, std::uint64_t& value) noexcept {
  value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << (7 * i);
    if ((byte & 0x80) == 0) {
      bytes.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

void append_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>((value & 0x7F) | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

std::size_t varint_size(std::uint64_t value) noexcept {
  std::size_t size = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++size;
  }
  return size;
}

void append_tag(std::string& out, std::uint32_t field, WireType type) {
  append_varint(out, (static_cast<std::uint64_t>(field) << 3) | static_cast<std::uint64_t>(type));
}

void append_varint_field(std::string& out, std::uint32_t field, std::uint64_t value) {
  append_tag(out, field, WireType::varint);
  append_varint(out, value);
}

void append_bytes_field(std::string& out, std::uint32_t field, std::string_view payload) {
  append_tag(out, field, WireType::bytes);
  append_varint(out, payload.size());
  out += payload;
}

}  // namespace berth::frontend
