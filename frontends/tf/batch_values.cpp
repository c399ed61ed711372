// Constants of a graph at another batch than the file's.
#include <cstring>
#include <set>
#include <utility>

#include "berth/error.h"
#include "berth/support/text.h"
#include "support/text.h"
#include "support/wire.h"
#include "tf/batch.h"
#include "tf/tensor_content.h"

namespace berth::tf_frontend {
namespace {

using frontend::readable;

/// Little-endian, one after the other.
template <typename Number>
std::string packed(const std::vector<double>& numbers) {
  std::string out;
  for (const double number : numbers) {
    const auto value = static_cast<Number>(number);
    char bytes[sizeof(Number)];
    std::memcpy(bytes, &value, sizeof(Number));
    out.append(bytes, sizeof(Number));
  }
  return out;
}
std::string packed(const std::vector<std::int64_t>& numbers) {
  std::string out;
  for (const std::int64_t number : numbers) {
    frontend::append_varint(out, static_cast<std::uint64_t>(number));
  }
  return out;
}

std::string shape_message(const Dims& dims) {
  std::string shape;
  for (const std::int64_t dim : dims) {
    std::string one;
    frontend::append_varint_field(one, 1, static_cast<std::uint64_t>(dim));
    frontend::append_bytes_field(shape, 2, one);
  }
  return shape;
}

constexpr std::uint32_t kTensorType = 1, kTensorShape = 2, kTensorContent = 4, kValueTensor = 8;
constexpr std::uint32_t kFloats = 5, kDoubles = 6, kInts = 7, kInt64s = 10;

/// The tensor with other numbers, element by element: readers copy those, whoever keeps these bytes.
std::string tensor_of(const Value& value) {
  std::string tensor;
  frontend::append_varint_field(tensor, kTensorType, static_cast<std::uint64_t>(value.type));
  frontend::append_bytes_field(tensor, kTensorShape, shape_message(value.dims));
  switch (dtype_of(value.type)) {
    case DType::i32:
      frontend::append_bytes_field(tensor, kInts, packed(*value.data));
      break;
    case DType::i64:
      frontend::append_bytes_field(tensor, kInt64s, packed(*value.data));
      break;
    case DType::f32:
      frontend::append_bytes_field(tensor, kFloats, packed<float>(*value.reals));
      break;
    case DType::f64:
      frontend::append_bytes_field(tensor, kDoubles, packed<double>(*value.reals));
      break;
    default:
      return {};
  }
  return tensor;
}

/// The tensor with another shape, its one number as often as that asks for.
std::string tensor_of_shape(std::string_view bytes, const Dims& dims, const WireSource& source) {
  std::string tensor;
  bool written = false;
  for (WireReader reader(bytes, source); reader.next();) {
    if (reader.is_bytes(kTensorShape)) {
      frontend::append_bytes_field(tensor, kTensorShape, shape_message(dims));
      written = true;
    } else if (!reader.is_bytes(kTensorContent)) {
      tensor += reader.whole();
    }
  }
  return written ? tensor : std::string();
}

}  // namespace

std::string value_at(const NodeDef& node, const Attributes& attributes, const FixedBatch& fixed,
                     std::int64_t batch) {
  std::optional<Value> value;
  bool dimension = false;
  const Attr attr = attributes.find("value");
  for (const BatchSite& site : fixed.sites) {
    if (site.node != &node || attr.kind != Attr::Kind::tensor) continue;
    if (!value) value = read_tensor(attr.bytes, attributes.source(), node.name);
    const auto scaled = [&](auto number) {
      return static_cast<decltype(number)>(number / static_cast<decltype(number)>(fixed.size) *
                                           static_cast<decltype(number)>(batch));
    };
    if (site.dimension) {
      dimension = true;
      value->dims[site.index] = scaled(value->dims[site.index]);
    } else if (value->data != nullptr) {
      auto numbers = *value->data;
      numbers[site.index] = scaled(numbers[site.index]);
      value->data = std::make_shared<const std::vector<std::int64_t>>(std::move(numbers));
    } else if (value->reals != nullptr) {
      auto numbers = *value->reals;
      numbers[site.index] = scaled(numbers[site.index]);
      value->reals = std::make_shared<const std::vector<double>>(std::move(numbers));
    }
  }
  if (!value) return {};
  const std::string tensor =
      dimension ? tensor_of_shape(attr.bytes, value->dims, attributes.source()) : tensor_of(*value);
  if (tensor.empty()) return {};
  std::string bytes;
  frontend::append_bytes_field(bytes, kValueTensor, tensor);
  return bytes;
}

std::string value_of_share(const NodeDef& node, const Attributes& attributes,
                           const FixedBatch& fixed, const Share& share) {
  const Attr attr = attributes.find("value");
  std::vector<std::size_t> axes;
  for (const BatchSite& site : fixed.sites) {
    if (site.node == &node && site.dimension) axes.push_back(site.index);
  }
  const auto same = [&] { return value_at(node, attributes, fixed, share.samples); };
  if (axes.empty() || attr.kind != Attr::Kind::tensor) return same();
  const Value value = read_tensor(attr.bytes, attributes.source(), node.name);
  const auto width = static_cast<std::size_t>(dtype_bits(dtype_of(value.type))) / 8;
  if (width == 0) return same();
  const TensorContent content = read_content(attr.bytes, attributes.source(), node.name, nullptr);
  std::string bytes(reinterpret_cast<const char*>(content.bytes.data()), content.bytes.size());
  // One number that is repeated is as long as any share.
  if (bytes.compare(0, bytes.size() - std::min(width, bytes.size()), bytes,
                    std::min(width, bytes.size())) == 0) {
    return same();
  }
  if (share.of != fixed.size) {
    throw Error(ErrorCode::unsupported,
                cat(attributes.source().file, ": the constant of node '", readable(node.name),
                    "' has a row for each of the ", fixed.size,
                    " samples that the file fixes, and none for a batch of ", share.of,
                    "; make an input of it, or leave the batch at ", fixed.size));
  }
  Dims dims = value.dims;
  for (const std::size_t axis : axes) {
    const auto inner = static_cast<std::size_t>(product(dims, axis + 1, dims.size())) * width *
                       static_cast<std::size_t>(dims[axis] / fixed.size);
    std::string part;
    for (std::size_t at = 0; at < bytes.size();
         at += inner * static_cast<std::size_t>(fixed.size)) {
      part += bytes.substr(at + inner * static_cast<std::size_t>(share.begin),
                           inner * static_cast<std::size_t>(share.samples));
    }
    bytes = std::move(part);
    dims[axis] = dims[axis] / fixed.size * share.samples;
  }
  std::string tensor, rows;
  frontend::append_varint_field(tensor, kTensorType, static_cast<std::uint64_t>(value.type));
  frontend::append_bytes_field(tensor, kTensorShape, shape_message(dims));
  frontend::append_bytes_field(tensor, kTensorContent, bytes);
  frontend::append_bytes_field(rows, kValueTensor, tensor);
  return rows;
}

void set_batch(Program& program, const FixedBatch& fixed, std::int64_t batch) {
  std::set<const NodeDef*> touched;
  for (const BatchSite& site : fixed.sites) touched.insert(site.node);
  for (Node& node : program.nodes) {
    if (node.op != "Const" || !touched.contains(node.def)) continue;
    std::string bytes = value_at(*node.def, node.attributes, fixed, batch);
    if (bytes.empty()) continue;
    const std::string& kept = program.names.emplace_back(std::move(bytes));
    const auto entries = node.attributes.entries();
    auto& attrs = program.attrs.emplace_back(entries.begin(), entries.end());
    for (AttrEntry& entry : attrs) {
      if (entry.key == "value") entry.value = kept;
    }
    const Call& call = program.calls[static_cast<std::size_t>(node.call)];
    node.attributes = Attributes(attrs, call.attributes.get(), node.attributes.source());
  }
}

}  // namespace berth::tf_frontend
