// Shape computations that standard and contributed operators share.
#pragma once

#include "onnx/op_context.h"

namespace berth::onnx_frontend {

/// All inputs broadcast against each other; the element type of input `from`.
void broadcast_inputs(OpContext& op, const std::vector<std::size_t>& inputs, std::size_t from);

/// Shape of a matrix product by numpy.matmul's rules; false if the shapes do not fit.
/// `transpose_a/b` swap the last two dimensions first.
bool matmul_shape(const Dims& a, const Dims& b, bool transpose_a, bool transpose_b, Dims& result);

/// Output 0 of a convolution of input `x` with weights `w`; element type `elem`.
/// channels_last: x and the output are N..C.
void convolution_shape(OpContext& op, std::size_t x, std::size_t w, int elem, bool channels_last);

/// Output 0 (and a second one of the same shape, of int64) of a pooling of input 0.
void pooling_shape(OpContext& op, bool channels_last);

/// Output 0 of a convolution's transpose, of input 0 with weights in input 1.
void transposed_convolution_shape(OpContext& op);

/// Output 0 of the reverse of a pooling; its shape is input 2 or follows from the window.
void unpooling_shape(OpContext& op);

/// Output 0 of a pooling of the regions in input 1 of the data in input 0.
void region_pooling_shape(OpContext& op);

/// Output 0 of a pooling over all spatial dimensions.
void global_pooling_shape(OpContext& op, bool channels_last);

}  // namespace berth::onnx_frontend
