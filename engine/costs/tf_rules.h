// The rules behind the table of TensorFlow's op types: how to read an op's inputs and attributes
// into a count.
#pragma once

#include "costs/common_rules.h"

namespace berth::costs::tf {

// --- convolutions: filters are [spatial.., in, out] --------------------------------------------
EstimateFunction convolution;            ///< input, filter
EstimateFunction depthwise_convolution;  ///< input, filter [height, width, in, multiplier]
EstimateFunction input_gradient;         ///< sizes, filter, gradient
EstimateFunction filter_gradient;        ///< input, sizes, gradient
EstimateFunction depthwise_input_gradient;
EstimateFunction depthwise_filter_gradient;

// --- matrix products
// -------------------------------------------------------------------------------
EstimateFunction matmul;         ///< a, b; transpose_a or adj_x
EstimateFunction sparse_matmul;  ///< indices, values, shape, dense

// --- recurrent: rule.flops = matrix products with the weights
// ---------------------------------------
EstimateFunction cell;            ///< x, ..., weights [in + size, gates] at input 3
EstimateFunction gru_cell;        ///< x, h, weights of both parts at inputs 2 and 3
EstimateFunction block;           ///< steps, x [time, batch, in], ..., weights at input 4
EstimateFunction fused_sequence;  ///< x [time, batch, in], states, all weights at input 3

// --- variables
// --------------------------------------------------------------------------------------
/// rule.flops for each weight; weights and `slots` as large are read and written, the gradient
/// read.
template <int slots>
EstimateFunction optimizer;
template <int slots>
EstimateFunction sparse_optimizer;  ///< likewise for the rows a gradient has
EstimateFunction assignment;        ///< variable, value: rule.flops for each element
EstimateFunction scatter;           ///< variable, indices, updates: rule.flops for each update

// --- others
// -----------------------------------------------------------------------------------------
EstimateFunction pooling;     ///< rule.flops for each element of each window
EstimateFunction batch_norm;  ///< rule.flops in training; a factor and an offset in inference
EstimateFunction selection;   ///< TopK

}  // namespace berth::costs::tf
