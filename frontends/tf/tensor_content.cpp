#include "tf/tensor_content.h"

#include <cstring>
#include <string>
#include <vector>

#include "berth/error.h"
#include "support/text.h"
#include "tf/attributes.h"

namespace berth::tf_frontend {

using frontend::readable;
using frontend::WireType;

namespace {

// Field numbers of a TensorProto; the message is in proto/graph.proto.
namespace field {
constexpr std::uint32_t kContent = 4, kFloat = 5, kDouble = 6, kInt = 7, kString = 8, kComplex = 9,
                        kInt64 = 10, kBool = 11, kComplexDouble = 12, kHalf = 13, kUint32 = 16,
                        kUint64 = 17;
}

/// The field in which elements of a type are written one by one; 0 = none.
std::uint32_t field_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return field::kFloat;
    case DType::f64:
      return field::kDouble;
    case DType::c64:
      return field::kComplex;
    case DType::c128:
      return field::kComplexDouble;
    case DType::f16:
    case DType::bf16:
      return field::kHalf;
    case DType::i64:
      return field::kInt64;
    case DType::u64:
      return field::kUint64;
    case DType::u32:
      return field::kUint32;
    case DType::boolean:
      return field::kBool;
    case DType::i32:
    case DType::i16:
    case DType::i8:
    case DType::u16:
    case DType::u8:
      return field::kInt;
    default:
      return 0;
  }
}

/// Bytes of one number on the wire, where it is not a varint: complex ones are two.
std::size_t fixed_bytes(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::c64:
      return 4;
    case DType::f64:
    case DType::c128:
      return 8;
    default:
      return 0;
  }
}

void append(std::vector<std::byte>& out, std::uint64_t value, std::size_t width) {
  // Little-endian: the low bytes are the narrower number.
  const std::size_t begin = out.size();
  out.resize(begin + width);
  std::memcpy(out.data() + begin, &value, width);
}

/// The numbers of field `wanted`, packed or one by one, each of `width` bytes in memory.
std::vector<std::byte> read_numbers(std::string_view bytes, const WireSource& source,
                                    std::uint32_t wanted, std::size_t fixed, std::size_t width,
                                    std::size_t most_bytes) {
  std::vector<std::byte> out;
  for (WireReader reader(bytes, source); reader.next() && out.size() <= most_bytes;) {
    if (reader.field() != wanted) continue;
    if (reader.type() != WireType::bytes) {
      append(out, reader.value(), width);
      continue;
    }
    std::string_view packed = reader.payload();
    if (fixed > 0) {
      const std::size_t size = packed.size() - packed.size() % fixed;
      const auto* begin = reinterpret_cast<const std::byte*>(packed.data());
      out.insert(out.end(), begin, begin + size);
      continue;
    }
    for (std::uint64_t value = 0; !packed.empty() && out.size() <= most_bytes;) {
      if (!frontend::take_varint(packed, value)) reader.refuse("a list of numbers is incomplete");
      append(out, value, width);
    }
  }
  return out;
}

struct Contents {
  std::string_view raw;
  std::vector<std::string> texts;
};

Contents read_raw(std::string_view bytes, const WireSource& source) {
  Contents contents;
  for (WireReader reader(bytes, source); reader.next();) {
    if (reader.is_bytes(field::kContent)) contents.raw = reader.payload();
    if (reader.is_bytes(field::kString)) contents.texts.emplace_back(reader.payload());
  }
  return contents;
}

}  // namespace

TensorContent read_content(std::string_view bytes, const WireSource& source, std::string_view node,
                           const std::shared_ptr<const void>& owner) {
  const Value value = read_tensor(bytes, source, node);
  const auto count = static_cast<std::size_t>(product(value.dims));
  const auto refuse_excess = [&](std::size_t given) {
    if (given <= count) return;
    throw Error(ErrorCode::invalid_file,
                cat(source.file, ": the constant of node '", readable(node), "' has ", count,
                    " elements, and the content of more; export the graph again"));
  };
  TensorContent content;
  content.dtype = dtype_of(value.type);
  content.shape = value.dims;
  Contents contents = read_raw(bytes, source);
  // A shape alone, with nothing behind it, may ask for more than any machine holds.
  constexpr std::size_t kMostSpelledOut = std::size_t{1} << 30;
  if (content.dtype == DType::string) {
    refuse_excess(contents.texts.size());
    content.texts = std::move(contents.texts);
    if (count <= kMostSpelledOut / sizeof(std::string)) {
      content.texts.resize(count, content.texts.empty() ? std::string() : content.texts.back());
      return content;
    }
  }
  const std::size_t width = static_cast<std::size_t>(dtype_bits(content.dtype)) / 8;
  const std::uint32_t wanted = field_of(content.dtype);
  if (wanted == 0 || count > kMostSpelledOut / width) {
    throw Error(ErrorCode::unsupported,
                cat(source.file, ": the constant of node '", readable(node), "' has ", count,
                    " elements of type ", dtype_name(content.dtype),
                    ", which is not executed; placing needs no content: load the graph alone"));
  }
  if (!contents.raw.empty()) {
    content.bytes = std::as_bytes(std::span(contents.raw));
    content.owner = owner;
    return content;
  }
  const std::size_t fixed = fixed_bytes(content.dtype);
  auto numbers = std::make_shared<std::vector<std::byte>>(
      read_numbers(bytes, source, wanted, fixed, fixed > 0 ? fixed : width, count * width));
  refuse_excess((numbers->size() + width - 1) / width);
  const std::size_t given = numbers->size() / width * width;
  numbers->resize(count * width);
  for (std::size_t at = given; given > 0 && at < numbers->size(); at += width) {
    std::memcpy(numbers->data() + at, numbers->data() + given - width, width);
  }
  content.bytes = *numbers;
  content.owner = std::move(numbers);
  return content;
}

}  // namespace berth::tf_frontend
