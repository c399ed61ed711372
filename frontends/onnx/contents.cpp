#include "onnx/contents.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "berth/error.h"
#include "onnx/constants.h"
#include "onnx/types.h"
#include "support/mapped_file.h"
#include "support/text.h"
#include "support/wire.h"

namespace berth::onnx_frontend {
namespace {

using frontend::readable;
using frontend::WireReader;
using frontend::WireType;
using onnx::TensorProto;

// Fields of TensorProto that hold data.
constexpr std::uint32_t kStringData = 6;
constexpr std::uint32_t kRawData = 9;

// A sparse tensor beyond this is not made dense.
constexpr std::int64_t kMaxDenseBytes = std::int64_t{1} << 34;

bool is_data(std::uint32_t field) {
  return (field >= 4 && field <= kRawData && field != 8) || field == 10 || field == 11;
}

std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

TensorContent header(const TensorProto& tensor) {
  TensorContent content;
  const TensorInfo info = tensor_info(type_of_tensor(tensor));
  content.dtype = info.dtype;
  content.shape = info.shape;
  return content;
}

// Elements of the data fields as they lie in memory, `width` bytes per entry.
class TypedData {
 public:
  explicit TypedData(std::size_t width) : width_(width) {}

  void add(const WireReader& reader) {
    if (reader.type() != WireType::bytes) return append(reader.value());
    std::string_view packed = reader.payload();
    const std::uint32_t field = reader.field();
    if (field == 4 || field == 10) {  // of fixed width, as in memory
      bytes_.append(packed);
      return;
    }
    for (std::uint64_t value = 0; !packed.empty();) {
      if (!frontend::take_varint(packed, value)) reader.refuse("a number is cut short");
      append(value);
    }
  }

  // Moves them to where a content can refer to them.
  void move_to(TensorContent& content) {
    const auto owner = std::make_shared<const std::string>(std::move(bytes_));
    content.bytes = as_bytes(*owner);
    content.owner = owner;
  }

 private:
  void append(std::uint64_t value) {
    char little_endian[8];
    std::memcpy(little_endian, &value, sizeof value);
    bytes_.append(little_endian, width_);
  }

  std::size_t width_;
  std::string bytes_;
};

// Bytes of this type in one entry of the data fields: an element, two int4, half a complex.
std::size_t entry_bytes(DType dtype) {
  if (dtype == DType::c64) return 4;
  if (dtype == DType::c128) return 8;
  const int bits = dtype_bits(dtype);
  return bits < 8 ? 1 : static_cast<std::size_t>(bits) / 8;
}

std::size_t number_of(const TensorProto& tensor, const char* key, std::size_t fallback, bool& bad) {
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() != key) continue;
    const std::string& text = entry.value();
    std::size_t value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    bad = bad || failed != std::errc() || end != text.data() + text.size();
    return value;
  }
  return fallback;
}

[[noreturn]] void refuse_data(const std::string& file, std::string_view name,
                              const std::string& what) {
  throw Error(ErrorCode::invalid_file,
              cat(file, ": tensor '", readable(name), "' ", what,
                  "; the file is damaged: export or download the model again"));
}

template <class T>
TensorContent list_content(DType dtype, std::vector<std::int64_t> shape, std::vector<T> values) {
  TensorContent content;
  content.dtype = dtype;
  content.shape = std::move(shape);
  const auto owner = std::make_shared<const std::vector<T>>(std::move(values));
  content.bytes = std::as_bytes(std::span(*owner));
  content.owner = owner;
  return content;
}

template <class T>
TensorContent scalar_content(DType dtype, T value) {
  return list_content<T>(dtype, {}, {value});
}

TensorContent text_content(std::vector<std::int64_t> shape, std::vector<std::string> texts) {
  TensorContent content;
  content.dtype = DType::string;
  content.shape = std::move(shape);
  content.texts = std::move(texts);
  return content;
}

}  // namespace

std::string location_of(const TensorProto& tensor) {
  std::string location;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
  }
  return location;
}

ExternalPlace external_place(const TensorProto& tensor, std::string_view name,
                             std::size_t file_bytes, const std::string& file) {
  const std::int64_t asked = bytes_of(tensor_info(type_of_tensor(tensor)));
  if (asked < 0) refuse_data(file, name, "has external data of a type without a fixed size");
  bool bad = false;
  const std::size_t offset = number_of(tensor, "offset", 0, bad);
  const std::size_t length = number_of(tensor, "length", static_cast<std::size_t>(asked), bad);
  if (bad)
    refuse_data(file, name, "has an offset or length of its external data that is no number");
  if (length != static_cast<std::size_t>(asked)) {
    refuse_data(file, name,
                cat("has ", length, " bytes of external data and its shape asks for ", asked));
  }
  if (offset > file_bytes || length > file_bytes - offset) {
    refuse_data(file, name,
                cat("has its data, ", length, " bytes, behind byte ", offset, " of '",
                    readable(location_of(tensor)), "', which has ", file_bytes));
  }
  return {offset, length};
}

Contents::Contents(Model& model, std::string_view file, std::shared_ptr<const void> owner)
    : model_(model), file_(file), owner_(std::move(owner)) {}

Contents::~Contents() = default;

void Contents::refuse(std::string_view name, const std::string& what) const {
  refuse_data(model_.file, name, what);
}

TensorContent Contents::inside(const TensorProto& tensor, std::string_view name) {
  TensorContent content = header(tensor);
  const Place place = place_of(tensor);
  TypedData typed(entry_bytes(content.dtype));
  bool has_raw = false;
  WireReader reader(file_.substr(place.offset, place.bytes), place.offset, model_.file);
  while (reader.next()) {
    if (reader.is_bytes(kRawData)) {
      content.bytes = as_bytes(reader.payload());
      content.owner = owner_;
      has_raw = true;
    } else if (reader.is_bytes(kStringData)) {
      content.texts.emplace_back(reader.payload());
    } else if (is_data(reader.field()) && reader.field() != kStringData) {
      typed.add(reader);
    }
  }
  if (!has_raw && content.dtype != DType::string) typed.move_to(content);
  const std::int64_t asked = content.dtype == DType::string
                                 ? element_count(content.shape)
                                 : bytes_of(tensor_info(type_of_tensor(tensor)));
  const std::size_t held =
      content.dtype == DType::string ? content.texts.size() : content.bytes.size();
  if (asked >= 0 && held != static_cast<std::size_t>(asked)) {
    refuse(name, cat("holds ", held, content.dtype == DType::string ? " texts" : " bytes of data",
                     " and its shape asks for ", asked));
  }
  return content;
}

namespace {

/// Whole numbers, and few others, are what shapes are computed from.
bool may_make_shapes(const TensorProto& tensor, std::int64_t count) {
  constexpr std::int64_t kFew = 8;
  return ops::onnx::is_integer_type(tensor.data_type()) || count <= kFew;
}

/// The data of a tensor in a file beside the model; empty where it is not all there, which `model`
/// then knows. `offset`: none where the tensor's is no number.
std::optional<std::string> read_beside(Model& model, const TensorProto& tensor,
                                       std::optional<std::size_t> offset, std::int64_t size) {
  constexpr std::size_t kFront = 64;
  const std::string location = location_of(tensor);
  const std::filesystem::path path = model.path.parent_path() / location;
  const auto lost = [&](const char* why) {
    model.lost_files[why].insert(readable(location));
    return std::nullopt;
  };
  if (!offset) return lost(" at an offset that is no number");
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (!std::filesystem::exists(status)) return lost(" missing");
  if (!std::filesystem::is_regular_file(status)) return lost(" no file");
  std::string raw(static_cast<std::size_t>(size), '\0');
  std::ifstream file(path, std::ios::binary);
  std::string front(kFront, '\0');
  file.read(front.data(), kFront);
  file.clear();
  if (front.starts_with("version https://git-lfs")) {
    return lost(" a pointer of Git LFS (git lfs pull)");
  }
  if (!file.seekg(static_cast<std::streamoff>(*offset)).read(raw.data(), size)) {
    return lost(" cut short");
  }
  return raw;
}

}  // namespace

void read_external_content(Model& model, const TensorProto& tensor, std::string_view name,
                           Type& type) {
  const std::int64_t count = type.fully_known() ? product(type.dims) : kUnknownDim;
  const std::int64_t size = bytes_of(tensor_info(type));
  if (tensor.data_location() != TensorProto::EXTERNAL || size < 0 || count < 0 ||
      count > static_cast<std::int64_t>(ops::Data::kMaxElements)) {
    return;
  }
  if (!may_make_shapes(tensor, count)) return;
  bool bad = false;
  const std::size_t offset = number_of(tensor, "offset", 0, bad);
  auto raw = read_beside(model, tensor, bad ? std::nullopt : std::optional(offset), size);
  if (!raw) {
    model.lost_shapes.push_back(readable(name));
    return;
  }
  TensorProto inside;
  *inside.mutable_dims() = tensor.dims();
  inside.set_data_type(tensor.data_type());
  *inside.mutable_raw_data() = *std::move(raw);
  read_content(inside, type);
}

std::optional<TensorContent> Contents::outside(const TensorProto& tensor, std::string_view name) {
  const std::string location = location_of(tensor);
  if (location.front() == '*') return std::nullopt;  // see check_external
  const auto [entry, is_new] = external_.try_emplace(location);
  if (is_new) {
    const std::filesystem::path path = model_.path.parent_path() / location;
    std::error_code failed;
    if (std::filesystem::exists(path, failed)) {
      entry->second = std::make_shared<const frontend::MappedFile>(path);
    }
  }
  if (entry->second == nullptr) return std::nullopt;
  const std::string_view all = entry->second->bytes();
  TensorContent content = header(tensor);
  const ExternalPlace place = external_place(tensor, name, all.size(), model_.file);
  content.bytes = as_bytes(all.substr(place.offset, place.bytes));
  content.owner = entry->second;
  return content;
}

std::optional<TensorContent> Contents::tensor(const TensorProto& tensor, std::string_view name) {
  check_tensor(model_, tensor, name);
  if (tensor.data_location() == TensorProto::EXTERNAL) return outside(tensor, name);
  const std::int64_t count = element_count(tensor_info(type_of_tensor(tensor)).shape);
  if (has_no_data(tensor) && count > 0) return std::nullopt;
  return inside(tensor, name);
}

std::optional<TensorContent> Contents::sparse(const onnx::SparseTensorProto& sparse,
                                              std::string_view name) {
  const auto values = tensor(sparse.values(), name);
  const auto indices = tensor(sparse.indices(), name);
  if (!values || !indices) return std::nullopt;
  TensorContent dense;
  dense.dtype = values->dtype;
  TensorProto shape;
  *shape.mutable_dims() = sparse.dims();
  shape.set_data_type(sparse.values().data_type());
  check_tensor(model_, shape, name);
  dense.shape.assign(sparse.dims().begin(), sparse.dims().end());
  const std::int64_t bytes = bytes_of(tensor_info(type_of_tensor(shape)));
  const std::size_t width = static_cast<std::size_t>(dtype_bits(dense.dtype)) / 8;
  if (width == 0 || bytes < 0 || bytes > kMaxDenseBytes) {
    refuse(name, "is sparse and cannot be made dense");
  }
  const std::size_t count = values->bytes.size() / width;
  const std::size_t rank = dense.shape.size();
  const bool linear = indices->shape.size() == 1;
  if (indices->dtype != DType::i64 ||
      indices->bytes.size() != count * (linear ? 1 : rank) * sizeof(std::int64_t)) {
    refuse(name, cat("is sparse and its indices do not fit its ", count, " values"));
  }
  std::vector<std::byte> out(static_cast<std::size_t>(bytes));
  const auto elements = static_cast<std::int64_t>(out.size() / width);
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t at = 0;
    for (std::size_t axis = 0; axis < (linear ? 1 : rank); ++axis) {
      const std::int64_t limit = linear ? elements : dense.shape[axis];
      std::int64_t index = 0;
      std::memcpy(&index, indices->bytes.data() + (i * (linear ? 1 : rank) + axis) * sizeof index,
                  sizeof index);
      if (index < 0 || index >= limit) refuse(name, cat("is sparse and has the index ", index));
      at = at * limit + index;
    }
    std::memcpy(out.data() + static_cast<std::size_t>(at) * width, values->bytes.data() + i * width,
                width);
  }
  return list_content(dense.dtype, dense.shape, std::move(out));
}

onnx::AttributeProto Contents::attribute(const onnx::AttributeProto& skeleton) {
  if (dropped_bytes(skeleton) == 0) return skeleton;
  const Place place = place_of(skeleton);
  onnx::AttributeProto whole;
  if (place.bytes > std::numeric_limits<int>::max() ||
      !whole.ParseFromArray(file_.data() + place.offset, static_cast<int>(place.bytes))) {
    refuse(skeleton.name(), "(an attribute) cannot be parsed");
  }
  whole.set_name(skeleton.name());
  return whole;
}

std::optional<TensorContent> Contents::constant(const onnx::NodeProto& node,
                                                std::string_view name) {
  for (const auto& skeleton : node.attribute()) {
    const std::string& key = skeleton.name();
    if (key == "value" && skeleton.has_t()) return tensor(skeleton.t(), name);
    if (key == "sparse_value" && skeleton.has_sparse_tensor()) {
      return sparse(skeleton.sparse_tensor(), name);
    }
    if (!key.starts_with("value_")) continue;
    const onnx::AttributeProto whole = attribute(skeleton);
    if (key == "value_int") return scalar_content(DType::i64, std::int64_t{whole.i()});
    if (key == "value_float") return scalar_content(DType::f32, whole.f());
    if (key == "value_string") return text_content({}, {whole.s()});
    if (key == "value_ints") {
      return list_content<std::int64_t>(DType::i64, {whole.ints_size()},
                                        {whole.ints().begin(), whole.ints().end()});
    }
    if (key == "value_floats") {
      return list_content<float>(DType::f32, {whole.floats_size()},
                                 {whole.floats().begin(), whole.floats().end()});
    }
    if (key == "value_strings") {
      return text_content({whole.strings_size()}, {whole.strings().begin(), whole.strings().end()});
    }
  }
  return std::nullopt;
}

}  // namespace berth::onnx_frontend
