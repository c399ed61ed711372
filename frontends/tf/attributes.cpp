#include "tf/attributes.h"

#include <bit>
#include <cstring>

#include "berth/error.h"
#include "support/text.h"

namespace berth::tf_frontend {

using frontend::WireType;

namespace {

// Field numbers; the messages are in proto/graph.proto.
namespace value_field {
constexpr std::uint32_t kList = 1, kText = 2, kInteger = 3, kReal = 4, kBoolean = 5, kType = 6,
                        kShape = 7, kTensor = 8, kPlaceholder = 9, kFunction = 10;
}
namespace tensor_field {
constexpr std::uint32_t kType = 1, kShape = 2, kContent = 4, kFloat = 5, kDouble = 6, kInt = 7,
                        kInt64 = 10, kBool = 11, kUint32 = 16, kUint64 = 17;
}

int plain_type(std::uint64_t type) {
  const int value = static_cast<int>(type & 0xFFFF);
  return value > kReferenceOffset ? value - kReferenceOffset : value;
}

/// Numbers of a repeated field: packed or one by one.
template <typename Add>
void each_number(const WireReader& reader, const Add& add) {
  if (reader.type() == WireType::varint) {
    add(reader.value());
  } else if (reader.type() == WireType::bytes) {
    std::string_view packed = reader.payload();
    std::uint64_t value = 0;
    while (!packed.empty()) {
      if (!frontend::take_varint(packed, value)) reader.refuse("a list of numbers is incomplete");
      add(value);
    }
  }
}

}  // namespace

Attr Attributes::decode(std::string_view value) const {
  Attr attr;
  for (WireReader reader(value, *source_); reader.next();) {
    using Kind = Attr::Kind;
    const bool bytes = reader.type() == WireType::bytes;
    const bool number = reader.type() == WireType::varint;
    const std::uint32_t field = reader.field();
    if (field == value_field::kReal && reader.type() == WireType::fixed32) {
      attr.kind = Kind::real;
      attr.real = std::bit_cast<float>(static_cast<std::uint32_t>(reader.value()));
    } else if (number && (field == value_field::kInteger || field == value_field::kBoolean ||
                          field == value_field::kType)) {
      attr.kind = field == value_field::kInteger   ? Kind::integer
                  : field == value_field::kBoolean ? Kind::boolean
                                                   : Kind::type;
      attr.integer = static_cast<std::int64_t>(reader.value());
    } else if (bytes) {
      switch (field) {
        case value_field::kList:
          attr.kind = Kind::list;
          break;
        case value_field::kText:
          attr.kind = Kind::text;
          break;
        case value_field::kShape:
          attr.kind = Kind::shape;
          break;
        case value_field::kTensor:
          attr.kind = Kind::tensor;
          break;
        case value_field::kPlaceholder:
          attr.kind = Kind::placeholder;
          break;
        case value_field::kFunction:
          attr.kind = Kind::function;
          break;
        default:
          continue;
      }
      attr.bytes = reader.payload();
    } else if (field <= value_field::kFunction) {
      reader.refuse(
          cat("field ", field, " of an attribute has wire type ", static_cast<int>(reader.type())));
    }
  }
  return attr;
}

Attr Attributes::find(std::string_view key) const {
  for (const auto list : {entries_, defaults_}) {
    for (const AttrEntry& entry : list) {
      if (entry.key != key) continue;
      const Attr attr = decode(entry.value);
      if (attr.kind != Attr::Kind::placeholder) return attr;
      return call_ == nullptr ? Attr() : call_->find(attr.bytes);
    }
  }
  return {};
}

std::int64_t Attributes::integer(std::string_view key, std::int64_t fallback) const {
  const Attr attr = find(key);
  return attr.kind == Attr::Kind::integer ? attr.integer : fallback;
}

bool Attributes::boolean(std::string_view key, bool fallback) const {
  const Attr attr = find(key);
  return attr.kind == Attr::Kind::boolean ? attr.integer != 0 : fallback;
}

std::string_view Attributes::text(std::string_view key, std::string_view fallback) const {
  const Attr attr = find(key);
  return attr.kind == Attr::Kind::text ? attr.bytes : fallback;
}

int Attributes::type(std::string_view key, int fallback) const {
  const Attr attr = find(key);
  return attr.kind == Attr::Kind::type ? plain_type(static_cast<std::uint64_t>(attr.integer))
                                       : fallback;
}

std::vector<std::int64_t> Attributes::integers(std::string_view key) const {
  std::vector<std::int64_t> numbers;
  const Attr attr = find(key);
  if (attr.kind != Attr::Kind::list) return numbers;
  for (WireReader reader(attr.bytes, *source_); reader.next();) {
    if (reader.field() != value_field::kInteger) continue;
    each_number(reader, [&](std::uint64_t v) { numbers.push_back(static_cast<std::int64_t>(v)); });
  }
  return numbers;
}

std::vector<double> Attributes::reals(std::string_view key) const {
  std::vector<double> numbers;
  const Attr attr = find(key);
  if (attr.kind != Attr::Kind::list) return numbers;
  const auto add = [&](std::uint32_t bits) { numbers.push_back(std::bit_cast<float>(bits)); };
  for (WireReader reader(attr.bytes, *source_); reader.next();) {
    if (reader.field() != value_field::kReal) continue;
    if (reader.type() == WireType::fixed32) add(static_cast<std::uint32_t>(reader.value()));
    if (reader.type() != WireType::bytes) continue;
    const std::string_view packed = reader.payload();
    for (std::size_t at = 0; at + sizeof(std::uint32_t) <= packed.size();
         at += sizeof(std::uint32_t)) {
      std::uint32_t bits;
      std::memcpy(&bits, packed.data() + at, sizeof(bits));
      add(bits);
    }
  }
  return numbers;
}

std::vector<std::string_view> Attributes::texts(std::string_view key) const {
  std::vector<std::string_view> texts;
  const Attr attr = find(key);
  if (attr.kind != Attr::Kind::list) return texts;
  for (WireReader reader(attr.bytes, *source_); reader.next();) {
    if (reader.is_bytes(value_field::kText)) texts.push_back(reader.payload());
  }
  return texts;
}

std::vector<int> Attributes::types(std::string_view key) const {
  std::vector<int> types;
  const Attr attr = find(key);
  if (attr.kind != Attr::Kind::list) return types;
  for (WireReader reader(attr.bytes, *source_); reader.next();) {
    if (reader.field() != value_field::kType) continue;
    each_number(reader, [&](std::uint64_t v) { types.push_back(plain_type(v)); });
  }
  return types;
}

bool Attributes::shape(std::string_view key, Value& value) const {
  const Attr attr = find(key);
  if (attr.kind != Attr::Kind::shape) return false;
  const Value shape = read_shape(attr.bytes, *source_);
  value.ranked = shape.ranked;
  value.dims = shape.dims;
  return true;
}

std::vector<Value> Attributes::shapes(std::string_view key) const {
  std::vector<Value> shapes;
  const Attr attr = find(key);
  if (attr.kind != Attr::Kind::list) return shapes;
  for (WireReader reader(attr.bytes, *source_); reader.next();) {
    if (reader.is_bytes(value_field::kShape)) {
      shapes.push_back(read_shape(reader.payload(), *source_));
    }
  }
  return shapes;
}

namespace {

Attributes::Function read_function(std::string_view bytes, const WireSource& source) {
  Attributes::Function function;
  for (WireReader reader(bytes, source); reader.next();) {
    if (reader.is_bytes(1)) function.name = reader.payload();
    if (reader.is_bytes(2)) {
      const NamePair pair = read_pair(reader.payload(), source);
      function.attrs.push_back({pair.key, pair.value});
    }
  }
  return function;
}

}  // namespace

Attributes::Function Attributes::function(std::string_view key) const {
  const Attr attr = find(key);
  return attr.kind == Attr::Kind::function ? read_function(attr.bytes, *source_) : Function();
}

std::vector<Attributes::Function> Attributes::functions(std::string_view key) const {
  std::vector<Function> functions;
  const Attr attr = find(key);
  if (attr.kind != Attr::Kind::list) return functions;
  constexpr std::uint32_t kListFunction = 9;
  for (WireReader reader(attr.bytes, *source_); reader.next();) {
    if (reader.is_bytes(kListFunction)) {
      functions.push_back(read_function(reader.payload(), *source_));
    }
  }
  return functions;
}

namespace {

[[noreturn]] void refuse_constant(const WireReader& place, std::string_view node,
                                  const std::string& what) {
  place.refuse(cat("the constant of node '", frontend::readable(node), "' ", what));
}

}  // namespace

Value read_shape(std::string_view bytes, const WireSource& source, std::string_view node) {
  Value value;
  value.ranked = true;
  for (WireReader reader(bytes, source); reader.next();) {
    if (reader.is_bytes(2)) {
      std::int64_t size = 0;
      for (WireReader dim(reader.payload(), source); dim.next();) {
        if (dim.field() == 1 && dim.type() == WireType::varint) {
          size = static_cast<std::int64_t>(dim.value());
        }
      }
      if (size < 0 || size > kMaxDim) {
        if (!node.empty()) refuse_constant(reader, node, cat("has a dimension of ", size));
        size = kUnknownDim;
      }
      value.dims.push_back(size);
      if (value.dims.size() > kMaxRank) {
        reader.refuse(cat("a shape has more than ", kMaxRank, " dimensions"));
      }
    } else if (reader.field() == 3 && reader.type() == WireType::varint && reader.value() != 0) {
      if (!node.empty()) refuse_constant(reader, node, "has no rank");
      return {};
    }
  }
  return value;
}

namespace {

template <typename Number>
void append_raw(std::string_view content, std::vector<std::int64_t>& out) {
  for (std::size_t at = 0; at + sizeof(Number) <= content.size(); at += sizeof(Number)) {
    Number number;
    std::memcpy(&number, content.data() + at, sizeof(Number));
    out.push_back(static_cast<std::int64_t>(number));
  }
}

/// tensor_content of an integer type, little-endian as TensorFlow writes it.
void append_content(std::string_view content, int type, std::vector<std::int64_t>& out) {
  switch (dtype_of(type)) {
    case DType::i64:
    case DType::u64:
      return append_raw<std::int64_t>(content, out);
    case DType::i32:
      return append_raw<std::int32_t>(content, out);
    case DType::u32:
      return append_raw<std::uint32_t>(content, out);
    case DType::i16:
      return append_raw<std::int16_t>(content, out);
    case DType::u16:
      return append_raw<std::uint16_t>(content, out);
    case DType::i8:
      return append_raw<std::int8_t>(content, out);
    case DType::u8:
    case DType::boolean:
      return append_raw<std::uint8_t>(content, out);
    default:
      return;
  }
}

/// The same of floating-point numbers; false for a type that is not read.
bool append_content(std::string_view content, DType dtype, std::vector<double>& out) {
  const auto append = [&]<typename Number>(Number number) {
    for (std::size_t at = 0; at + sizeof(Number) <= content.size(); at += sizeof(Number)) {
      std::memcpy(&number, content.data() + at, sizeof(Number));
      out.push_back(static_cast<double>(number));
    }
  };
  if (dtype == DType::f32) append(float{});
  if (dtype == DType::f64) append(double{});
  return dtype == DType::f32 || dtype == DType::f64;
}

/// The numbers of a floating-point tensor with this many elements; null where they are not read. The
/// last number given stands for all that follow; none given means zeros.
ops::RealsPtr read_reals(std::string_view bytes, const WireSource& source, int type,
                         std::size_t count, std::string_view content) {
  std::vector<double> numbers;
  if (!append_content(content, dtype_of(type), numbers)) return nullptr;
  const std::uint32_t own =
      dtype_of(type) == DType::f32 ? tensor_field::kFloat : tensor_field::kDouble;
  const std::size_t width = dtype_of(type) == DType::f32 ? sizeof(float) : sizeof(double);
  for (WireReader reader(bytes, source); content.empty() && reader.next();) {
    if (reader.field() != own) continue;
    if (reader.type() == WireType::bytes) {
      const std::string_view packed = reader.payload();
      append_content(packed.substr(0, std::min(packed.size(), count * width)), dtype_of(type),
                     numbers);
    } else if (numbers.size() < count) {
      const std::uint64_t bits = reader.value();
      append_content({reinterpret_cast<const char*>(&bits), width}, dtype_of(type), numbers);
    }
  }
  numbers.resize(count, numbers.empty() ? 0 : numbers.back());
  return std::make_shared<const std::vector<double>>(std::move(numbers));
}

}  // namespace

Value read_tensor(std::string_view bytes, const WireSource& source, std::string_view node) {
  Value value;
  value.ranked = true;  // a tensor without a shape field is a scalar
  std::string_view content;
  for (WireReader reader(bytes, source); reader.next();) {
    if (reader.field() == tensor_field::kType && reader.type() == WireType::varint) {
      value.type = plain_type(reader.value());
    } else if (reader.is_bytes(tensor_field::kShape)) {
      value.dims = read_shape(reader.payload(), source, node).dims;
    } else if (reader.is_bytes(tensor_field::kContent)) {
      content = reader.payload();
    }
  }
  const std::int64_t count = product(value.dims);
  const WireReader place(bytes, source);
  if (count == kUnknownDim) {
    refuse_constant(place, node, "has more elements than any machine holds");
  }
  const int bits = dtype_bits(dtype_of(value.type));
  if (!content.empty() && bits >= 8 &&
      static_cast<std::uint64_t>(count) != content.size() / (static_cast<unsigned>(bits) / 8)) {
    refuse_constant(place, node,
                    cat("has ", count, " elements and ", content.size(), " bytes of content"));
  }
  if (count > static_cast<std::int64_t>(Data::kMaxElements)) return value;
  if (is_float_type(value.type)) {
    value.reals = read_reals(bytes, source, value.type, static_cast<std::size_t>(count), content);
  }
  if (!is_integer_type(value.type)) return value;
  std::vector<std::int64_t> numbers;
  append_content(content, value.type, numbers);
  if (content.empty()) {
    for (WireReader reader(bytes, source); reader.next();) {
      switch (reader.field()) {
        case tensor_field::kInt:
        case tensor_field::kInt64:
        case tensor_field::kBool:
        case tensor_field::kUint32:
        case tensor_field::kUint64:
          each_number(reader, [&](std::uint64_t v) {
            if (numbers.size() <= Data::kMaxElements) {
              numbers.push_back(static_cast<std::int64_t>(v));
            }
          });
          break;
        default:
          break;
      }
    }
    // The last number given stands for all that follow; none given means zeros.
    numbers.resize(static_cast<std::size_t>(count), numbers.empty() ? 0 : numbers.back());
  }
  value.data = std::make_shared<const std::vector<std::int64_t>>(std::move(numbers));
  return value;
}

}  // namespace berth::tf_frontend
