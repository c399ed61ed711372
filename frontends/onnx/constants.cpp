#include "onnx/constants.h"

#include "onnx/model.h"

namespace berth::onnx_frontend {
namespace {

using onnx::TensorProto;

Type of_integers(Dims dims, std::vector<std::int64_t> values) {
  Type type = tensor_type(TensorProto::INT64, std::move(dims));
  if (values.size() <= ops::Data::kMaxElements) {
    type.data = std::make_shared<const std::vector<std::int64_t>>(std::move(values));
  }
  return type;
}

Type of_reals(Dims dims, std::vector<double> values) {
  Type type = tensor_type(TensorProto::FLOAT, std::move(dims));
  if (values.size() <= ops::Data::kMaxElements) {
    type.reals = std::make_shared<const std::vector<double>>(std::move(values));
  }
  return type;
}

}  // namespace

Type type_of_tensor(const TensorProto& tensor) {
  return tensor_type(tensor.data_type(), Dims(tensor.dims().begin(), tensor.dims().end()));
}

// A sparse initializer is the dense tensor it stands for: ONNX Runtime makes it dense when it loads it.
Type type_of_sparse_tensor(const onnx::SparseTensorProto& tensor) {
  Type type = tensor_type(tensor.values().data_type());
  Dims dims(tensor.dims().begin(), tensor.dims().end());
  if (dims.size() > static_cast<std::size_t>(kMaxRank)) return type;
  for (std::int64_t& dim : dims) {
    if (dim < 0 || dim > kMaxDim) dim = kUnknownDim;
  }
  type.set_shape(std::move(dims));
  return type;
}

Constant read_constant(const onnx::NodeProto& node) {
  Constant constant;
  for (const auto& a : node.attribute()) {
    const std::string& name = a.name();
    if (name == "value" && a.has_t()) {
      constant.tensor = &a.t();
      constant.type = type_of_tensor(a.t());
      read_content(a.t(), constant.type);
    } else if (name == "sparse_value" && a.has_sparse_tensor()) {
      constant.type = type_of_sparse_tensor(a.sparse_tensor());
    } else if (name == "value_int") {
      constant.type = of_integers({}, {a.i()});
    } else if (name == "value_ints") {
      if (dropped_bytes(a) == 0) {
        constant.type = of_integers({a.ints_size()}, {a.ints().begin(), a.ints().end()});
      }
    } else if (name == "value_float") {
      constant.type = of_reals({}, {static_cast<double>(a.f())});
    } else if (name == "value_floats") {
      if (dropped_bytes(a) == 0) {
        constant.type = of_reals({a.floats_size()}, {a.floats().begin(), a.floats().end()});
      } else {
        constant.type = tensor_type(TensorProto::FLOAT, {dropped_bytes(a) / 4});
      }
    } else if (name == "value_string") {
      constant.type = tensor_type(TensorProto::STRING, {});
    } else if (name == "value_strings") {
      constant.type = tensor_type(TensorProto::STRING, {a.strings_size()});
    }
  }
  return constant;
}

}  // namespace berth::onnx_frontend
