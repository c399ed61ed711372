#include "onnx/constants.h"

#include "onnx/model.h"

namespace berth::onnx_frontend {
namespace {

using onnx::TensorProto;

Constant of_numbers(int elem, Dims dims, Data data) {
  Constant constant;
  constant.type = tensor_type(elem, dims);
  data.dims = std::move(dims);
  if (data.size() <= Data::kMaxElements) constant.data = std::make_shared<Data>(std::move(data));
  return constant;
}

Constant of_integers(Dims dims, std::vector<std::int64_t> values) {
  Data data;
  data.ints = std::move(values);
  return of_numbers(TensorProto::INT64, std::move(dims), std::move(data));
}

Constant of_reals(Dims dims, std::vector<double> values) {
  Data data;
  data.real = true;
  data.reals = std::move(values);
  return of_numbers(TensorProto::FLOAT, std::move(dims), std::move(data));
}

}  // namespace

Type type_of_tensor(const TensorProto& tensor) {
  return tensor_type(tensor.data_type(), Dims(tensor.dims().begin(), tensor.dims().end()));
}

// A sparse initializer is read by ops as the dense tensor it stands for.
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
      constant.data = data_from_proto(a.t());
    } else if (name == "sparse_value" && a.has_sparse_tensor()) {
      constant.type = type_of_sparse_tensor(a.sparse_tensor());
    } else if (name == "value_int") {
      constant = of_integers({}, {a.i()});
    } else if (name == "value_ints") {
      if (dropped_bytes(a) == 0) {
        constant = of_integers({a.ints_size()}, {a.ints().begin(), a.ints().end()});
      }
    } else if (name == "value_float") {
      constant = of_reals({}, {static_cast<double>(a.f())});
    } else if (name == "value_floats") {
      if (dropped_bytes(a) == 0) {
        constant = of_reals({a.floats_size()}, {a.floats().begin(), a.floats().end()});
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
