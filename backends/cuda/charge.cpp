#include "cuda/charge.h"

#include <memory>
#include <utility>

namespace berth::cuda {
namespace {

void release(void* context) {
  const std::unique_ptr<Charge> charge(static_cast<Charge*>(context));
  charge->meter->give(charge->bytes);
}

const c10::DataPtr& pointer_of(const at::Tensor& tensor) noexcept {
  return tensor.storage().data_ptr();
}

}  // namespace

Charge* charge_of(const at::Tensor& tensor) noexcept {
  const c10::DataPtr& pointer = pointer_of(tensor);
  return pointer.get_deleter() == &release ? static_cast<Charge*>(pointer.get_context()) : nullptr;
}

const c10::DataPtr& block_of(const at::Tensor& tensor) noexcept {
  const Charge* const known = charge_of(tensor);
  return known == nullptr ? pointer_of(tensor) : known->block;
}

// The storage keeps its identity, so that views made before and after share the charge.
void charge(const at::Tensor& tensor, runtime::MemoryMeter& meter, Event arrival) {
  if (charge_of(tensor) != nullptr) return;
  const auto bytes = static_cast<std::int64_t>(tensor.storage().nbytes());
  meter.take(bytes);
  c10::StorageImpl* const storage = tensor.storage().unsafeGetStorageImpl();
  void* const data = storage->data_ptr().get();
  const c10::Device device = storage->data_ptr().device();
  auto known = std::make_unique<Charge>(Charge{{}, &meter, bytes, arrival});
  known->block = storage->set_data_ptr({data, known.get(), &release, device});
  static_cast<void>(known.release());
}

}  // namespace berth::cuda
