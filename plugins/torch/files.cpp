// Files of parameters: the format of the learned policies, so that one reads the other's.
#include <ATen/ATen.h>

#include <cstring>

#include "berth/error.h"
#include "berth/support/text.h"
#include "guard.h"
#include "learning/checkpoint.h"
#include "module.h"
#include "operation.h"

using berth::learning::Checkpoint;
using berth::learning::NamedTensor;
using namespace berth::torch_module;  // NOLINT: what follows is C

struct berth_torch_file {
  Checkpoint checkpoint;
};

int berth_torch_save(const char* path, const char* kind, const char* note, const char* const* names,
                     void* const* tensors, int count) {
  return guarded([&] {
    Checkpoint checkpoint{kind, "1", {}, note, {}};
    for (int i = 0; i < count; ++i) {
      const at::Tensor given = borrowed(tensors[i]);
      TORCH_CHECK(given.scalar_type() == at::kFloat, path, ": tensor '", names[i], "' is ",
                  given.scalar_type(), "; the file holds float32, so convert with :to 'float32'");
      const at::Tensor values = given.detach().contiguous();
      const float* const begin = values.data_ptr<float>();
      checkpoint.tensors.push_back(
          {names[i], values.sizes().vec(), {begin, begin + values.numel()}});
    }
    berth::learning::save_checkpoint(path, checkpoint);
  });
}

int berth_torch_open(const char* path, const char* kind, berth_torch_file** out) {
  return guarded([&] {
    auto file = std::make_unique<berth_torch_file>();
    file->checkpoint = berth::learning::load_checkpoint(path);
    // An empty kind takes any file, so that weights of a policy in C++ can be studied.
    if (*kind != '\0' && file->checkpoint.policy != kind) {
      throw berth::Error(berth::ErrorCode::incompatible,
                         berth::cat(path, ": it is of '", file->checkpoint.policy, "', not of '",
                                    kind, "'; load it where it was saved"));
    }
    *out = file.release();
  });
}

const char* berth_torch_note(const berth_torch_file* file, std::int64_t* length) {
  *length = static_cast<std::int64_t>(file->checkpoint.note.size());
  return file->checkpoint.note.data();
}

const char* berth_torch_name(const berth_torch_file* file, int index) {
  const auto& tensors = file->checkpoint.tensors;
  if (index < 0 || index >= static_cast<int>(tensors.size())) return nullptr;
  return tensors[static_cast<std::size_t>(index)].name.c_str();
}

int berth_torch_tensor_of(const berth_torch_file* file, int index, void** out) {
  return guarded([&] {
    const NamedTensor& from = file->checkpoint.tensors[static_cast<std::size_t>(index)];
    const at::Tensor tensor = at::empty(from.shape, at::kFloat);
    std::copy(from.values.begin(), from.values.end(), tensor.data_ptr<float>());
    *out = given_out(tensor);
  });
}

void berth_torch_close(berth_torch_file* file) {
  delete file;
}
