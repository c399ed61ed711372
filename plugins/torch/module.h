// The C interface of the module, for LuaJIT's FFI: scripts/berth/torch.lua holds the same text and
// is its only caller. Functions return 0, or another number and a text in berth_torch_error();
// no exception leaves them. Every tensor given out is released once by berth_torch_release.
#pragma once

#include <cstdint>

#include "berth/export.h"

extern "C" {

/// Raised with every change of this file.
inline constexpr int kBerthTorchInterface = 1;

typedef struct berth_torch_argument {
  double number;
  void* tensor;  ///< null: none
  void* const* tensors;
  const double* numbers;
  const char* text;
  int32_t count;      ///< of tensors or numbers
  int32_t is_number;  ///< of a tensor or a number: which
} berth_torch_argument;

typedef struct berth_torch_result {
  void* tensors[64];
  int32_t count;
} berth_torch_result;

/// One row of the table of operations; the texts are static.
typedef struct berth_torch_operation {
  const char* name;
  const char* parameters;
  const char* kinds;  ///< of the parameters, separated by spaces
  const char* doc;
} berth_torch_operation;

typedef struct berth_torch_info {
  int64_t shape[16];
  int32_t dimensions;
  int32_t type;  ///< index into kTypes
  int64_t count;
  void* data;  ///< null: not contiguous
  int32_t requires_grad;
} berth_torch_info;

/// Bytes that tensors hold, for the garbage collector.
typedef struct berth_torch_memory {
  int64_t bytes;    ///< of all LibTorch's memory in this process
  int64_t tensors;  ///< given out and not released
  int64_t owners;   ///< that berth_torch_released would give
} berth_torch_memory;

BERTH_EXPORT int berth_torch_interface(void);
BERTH_EXPORT const char* berth_torch_error(void);
BERTH_EXPORT const volatile berth_torch_memory* berth_torch_allocated(void);
/// 0 where there is no such row.
BERTH_EXPORT int berth_torch_operation_at(int row, berth_torch_operation* out);
BERTH_EXPORT int berth_torch_call(int row, const berth_torch_argument* arguments, int count,
                                  berth_torch_result* result);

BERTH_EXPORT void berth_torch_release(void* tensor);
BERTH_EXPORT int berth_torch_inspect(void* tensor, berth_torch_info* out);
/// `out`: as many as the tensor has values. NaNs are all the same one, which is a number in LuaJIT.
BERTH_EXPORT int berth_torch_read(void* tensor, double* out);
BERTH_EXPORT int berth_torch_make(const double* values, const int64_t* shape, int dimensions,
                                  const char* type, void** out);
/// A tensor over somebody's memory; when nothing uses that any more, `owner` is among those that
/// berth_torch_released gives.
BERTH_EXPORT int berth_torch_wrap(void* data, const int64_t* shape, int dimensions,
                                  const char* type, int64_t owner, void** out);
/// Up to `capacity` owners; returns how many.
BERTH_EXPORT int berth_torch_released(int64_t* owners, int capacity);

BERTH_EXPORT int berth_torch_require_grad(void* tensor, int required);
BERTH_EXPORT int berth_torch_backward(void* tensor, void* gradient, int retain);
/// `*out` is null where there is none.
BERTH_EXPORT int berth_torch_grad(void* tensor, void** out);
/// `gradient` null: none.
BERTH_EXPORT int berth_torch_set_grad(void* tensor, void* gradient);
BERTH_EXPORT int berth_torch_grad_mode(int enabled);  ///< returns what it was

BERTH_EXPORT int berth_torch_seed(double seed);
BERTH_EXPORT int berth_torch_threads(int count);  ///< < 1: changes nothing; returns what holds

typedef struct berth_torch_file berth_torch_file;
BERTH_EXPORT int berth_torch_save(const char* path, const char* kind, const char* note,
                                  const char* const* names, void* const* tensors, int count);
/// The file's tensors, until berth_torch_close.
BERTH_EXPORT int berth_torch_open(const char* path, const char* kind, berth_torch_file** out);
BERTH_EXPORT const char* berth_torch_note(const berth_torch_file* file, int64_t* length);
/// Null where there is no such tensor.
BERTH_EXPORT const char* berth_torch_name(const berth_torch_file* file, int index);
BERTH_EXPORT int berth_torch_tensor_of(const berth_torch_file* file, int index, void** out);
BERTH_EXPORT void berth_torch_close(berth_torch_file* file);
}
