/// @file
/// Constants of the step: ops that a runtime computes once, when it loads the model.
#pragma once

#include <memory>
#include <string_view>

#include "berth/export.h"
#include "berth/graph.h"

namespace berth::ops {

/// The attribute of an op whose first output is one number that the frontend knows, such as the size of the
/// batch: a double.
inline constexpr std::string_view kKnownNumber = "known_number";

/// Whether an op of this type gives the same outputs for the same inputs and does nothing else: it
/// draws no random numbers, holds no state and has no body that might. False for a type that the
/// tables of `dialect` do not have. [thread-safe]
[[nodiscard]] BERTH_EXPORT bool is_pure(std::string_view dialect, std::string_view type);

/// The attribute, 1, of an op that runs in the step though it reads parameters alone: a caller may have
/// others in their place, or the step trains them.
inline constexpr std::string_view kInStepAttribute = "in_step";

/// The attribute, 1, of an op that reads_sizes_alone in a model whose file fixes all sizes: no caller gives any. Those
/// behind branches and loops are the step's all the same.
inline constexpr std::string_view kFixedSizesAttribute = "fixed_sizes";

/// Whether an op of this type, such as Shape, reads the sizes of its inputs and nothing of what they hold.
/// [thread-safe]
[[nodiscard]] BERTH_EXPORT bool reads_sizes_alone(std::string_view dialect, std::string_view type);

/// The graph with all ops marked as constants (Graph::is_constant) that are pure, wait for no op of
/// the step and read nothing but parameters and other constants. A variable that the step only reads
/// is a parameter.
///
///  - Weights that are dequantised for a matrix product or beside quantised activations stay
///    quantised, as does what turns them around: kernels dequantise as they read. ONNX Runtime's constant
///    folding leaves DequantizeLinear alone, and fuses it with one MatMul or Gemm where the scales are
///    those of columns of the matrix as it is stored. Before other ops DequantizeLinear stays in the
///    step, with all that follows from it.
///  - An Identity stands for what it reads, and takes no memory beside it.
///  - What is computed of a variable stays in the step: another run may assign the variable.
///  - TensorFlow folds an op that control edges lead to: what reads the constant waits in its place.
///  - What grows is computed in the step by TensorFlow and compilers: a result that is larger than
///    all that it is made of, and than 10 MiB (the constant folding of TensorFlow's runtime) or 100 KiB
///    (for compilers). ONNX Runtime folds it.
///  - Sizes that the file fixes are constants, whatever makes the tensor (kFixedSizesAttribute): ONNX Runtime
///    folds Shape of it, and Grappler materializes shapes. What is computed of them follows. What may have other
///    sizes in another step, behind branches, loops and searches, is left alone.
///  - An op with kInStepAttribute stays in the step.
///
/// Equal results of equal ops, of the same inputs, are one constant in graphs of ONNX and TensorFlow: it
/// resides once (Graph::kept_for).
///
/// The same graph where there is nothing to fold, where it was folded before, or where nothing that
/// takes time would be left in the step. [thread-safe]
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Graph> fold_constants(
    std::shared_ptr<const Graph> graph);

/// A folded graph as a runtime has it whose parameters are of another file: what only turns a parameter
/// around or gives it another shape stands for it, and takes no memory beside it. Quantised weights
/// are read as they are stored, whatever the file dequantises them for and does to them then (Transpose,
/// Reshape, Cast). [thread-safe]
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Graph> with_parameters_as_stored(
    std::shared_ptr<const Graph> graph);

}  // namespace berth::ops
