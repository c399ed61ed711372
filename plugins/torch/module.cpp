#include "module.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Logging.h>
#include <malloc.h>
#include <omp.h>
#include <torch/version.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "berth/support/text.h"
#include "guard.h"
#include "operation.h"

// OpenBLAS has its own threads, as many for the whole process. Absent with another BLAS.
extern "C" void openblas_set_num_threads(int) __attribute__((weak));

namespace berth::torch_module {
namespace {

static_assert(sizeof(std::atomic<std::int64_t>) == sizeof(std::int64_t));
/// As berth_torch_memory; Lua reads it without a call.
struct Allocated {
  std::atomic<std::int64_t> bytes{0};
  std::atomic<std::int64_t> tensors{0};
  std::atomic<std::int64_t> owners{0};
} allocated;

/// LibTorch's allocator, counted: intermediate values that a gradient needs are held by no object of
/// Lua's, and only the allocator knows them.
class CountingAllocator final : public c10::Allocator {
 public:
  // None says `override`: LibTorch 1.13 declares the const one alone, 2.3 and later the other two.
  c10::DataPtr allocate(std::size_t bytes) const {
    void* const memory = c10::alloc_cpu(bytes);
    if (memory != nullptr) {
      allocated.bytes.fetch_add(static_cast<std::int64_t>(malloc_usable_size(memory)),
                                std::memory_order_relaxed);
    }
    return {memory, memory, &forget, at::Device(at::kCPU)};
  }
  c10::DataPtr allocate(std::size_t bytes) { return std::as_const(*this).allocate(bytes); }
  void copy_data(void* to, const void* from, std::size_t bytes) const {
    std::memcpy(to, from, bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return &forget; }

 private:
  static void forget(void* memory) {
    if (memory == nullptr) return;
    allocated.bytes.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(memory)),
                              std::memory_order_relaxed);
    c10::free_cpu(memory);
  }
};

void count_memory() {
  static CountingAllocator allocator;
  static std::once_flag once;
  std::call_once(once, [] { c10::SetAllocator(at::kCPU, &allocator, /*priority=*/1); });
}

/// LibTorch warns of its own plans, such as an operation that may change: scripts can do nothing about it.
struct Silence final : c10::WarningHandler {
#if TORCH_VERSION_MAJOR >= 2
  void process(const c10::Warning&) override {}
  void begin() {
    c10::WarningUtils::set_warning_handler(this);
  }
#else
  void process(const c10::SourceLocation&, const std::string&, const bool) override {}
  void begin() {
    c10::Warning::set_warning_handler(this);
  }
#endif
};

/// An error of LibTorch's walks the stack for a trace, which no message here shows. The walk aborts at
/// code that LuaJIT has compiled (libgcc 12's unwinder with LuaJIT 2.1).
void walk_no_stack() {
  c10::SetStackTraceFetcher(std::function<std::string()>([] { return std::string(); }));
}

/// Lua's own number of threads for as long as a call runs. OpenMP's setting is of the calling thread
/// alone; policies and backends in this process keep theirs.
int own_threads = 1;
class Threads {
 public:
  Threads() {
    static thread_local const int ready =
        at::get_num_threads();  // which overwrites it at first use
    static_cast<void>(ready);
    before_ = omp_get_max_threads();
    if (before_ != own_threads) omp_set_num_threads(own_threads);
  }
  ~Threads() {
    if (before_ != own_threads) omp_set_num_threads(before_);
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

std::mutex released_lock;
std::vector<std::int64_t> released;  ///< owners whose tensors are no more

/// "float32 [2, 3]"
std::string described(const Tensor& tensor) {
  std::string text = cat(c10::toString(tensor.scalar_type()), " [");
  for (std::int64_t d = 0; d < tensor.dim(); ++d) text += cat(d > 0 ? ", " : "", tensor.size(d));
  return text + "]";
}

/// " of float32 [2, 3], float32 [4]": the tensors among an operation's arguments.
std::string described(const Operation& operation, const berth_torch_argument* arguments) {
  std::string text;
  const auto add = [&](void* tensor) {
    text += cat(text.empty() ? " of " : ", ", described(borrowed(tensor)));
  };
  std::istringstream kinds(operation.kinds);
  std::string kind;
  for (int i = 0; kinds >> kind; ++i) {
    // Fields that an argument's kind does not use hold what an earlier call left there.
    if (kind == "tensors") {
      for (int t = 0; t < arguments[i].count; ++t) add(arguments[i].tensors[t]);
    } else if (arguments[i].tensor != nullptr) {
      add(arguments[i].tensor);
    }
  }
  return text;
}

std::vector<std::int64_t> shape_of(const std::int64_t* shape, int dimensions) {
  return {shape, shape + dimensions};
}

/// The text with every number that `pattern` finds, its only group, one larger; those below 0 stay.
std::string shifted(const std::string& text, const std::regex& pattern) {
  std::string out;
  auto at = text.begin();
  for (std::sregex_iterator found(text.begin(), text.end(), pattern), end; found != end; ++found) {
    const auto& number = (*found)[1];
    out.append(at, number.first);
    out += std::to_string(std::stol(number) + (*number.first == '-' ? 0 : 1));
    at = number.second;
  }
  return out.append(at, text.end());
}

/// LibTorch's messages count positions and dimensions from 0; Lua counts from 1.
std::string counted_from_one(const std::string& text) {
  std::smatch found;
  static const std::regex dimension(
      R"(Dimension out of range \(expected to be in range of \[-(\d+), (\d+)\], but got (-?\d+)\))");
  if (std::regex_search(text, found, dimension)) {
    const long count = std::stol(found[1]), got = std::stol(found[3]);
    return berth::cat(count, count == 1 ? " dimension" : " dimensions", ", and dimension ",
                      got < 0 ? got : got + 1,
                      " is asked for; they count from 1, or from -1 for "
                      "the last");
  }
  static const std::regex position(
      R"(index (-?\d+) is out of bounds for dimension (\d+) with size (\d+))");
  if (std::regex_search(text, found, position)) {
    return berth::cat("position ", std::stol(found[1]) + 1, " along dimension ",
                      std::stol(found[2]) + 1, ", which has ", std::string(found[3]),
                      "; positions count from 1");
  }
  static const std::regex below(
      R"(Class values must be (non-negative|smaller)|index out of range in self|out of DATA bounds|)"
      R"(index out of bounds|Target -?\d+ is out of bounds|start.*must be non-negative|)"
      R"(out of range|IndexError)");
  if (std::regex_search(text, below)) return "a position that is not there; positions count from 1";
  static const std::regex named(
      R"((?:singleton dimension|except in dimension|apart from dimension|match at dimension|)"
      R"(Dimension specified as|for dim:|Indexing dim|^dim|tensor number|\(at position|start \() ?(-?\d{1,9}))");
  return shifted(text, named);
}

}  // namespace

void* given_out(Tensor tensor) {
  allocated.tensors.fetch_add(1, std::memory_order_relaxed);
  return tensor.unsafeReleaseTensorImpl();
}

std::string& last_error() {
  static thread_local std::string text;
  return text;
}

}  // namespace berth::torch_module

using namespace berth::torch_module;  // NOLINT: what follows is C

int berth_torch_interface() {
  count_memory();
  walk_no_stack();
  static Silence silence;
  silence.begin();
  return kBerthTorchInterface;
}

const char* berth_torch_error() {
  return last_error().c_str();
}

const volatile berth_torch_memory* berth_torch_allocated() {
  return reinterpret_cast<const berth_torch_memory*>(&allocated);
}

int berth_torch_operation_at(int row, berth_torch_operation* out) {
  if (row < 0 || row >= static_cast<int>(operations().size())) return 0;
  const Operation& operation = operations()[static_cast<std::size_t>(row)];
  *out = {operation.name, operation.parameters, operation.kinds.c_str(), operation.doc};
  return 1;
}

int berth_torch_call(int row, const berth_torch_argument* arguments, int count,
                     berth_torch_result* result) {
  const Operation& operation = operations()[static_cast<std::size_t>(row)];
  result->count = 0;
  const int failed = guarded([&] {
    TORCH_CHECK(static_cast<std::size_t>(count) == operation.count, count, " arguments given");
    const Threads threads;
    operation.call(arguments, *result);
  });
  if (failed != 0) {
    guarded([&] {
      last_error() = berth::cat("torch.", operation.name, described(operation, arguments), ": ",
                                counted_from_one(last_error()), "; it takes (",
                                operation.parameters, "): ", operation.doc);
    });
  }
  return failed;
}

void berth_torch_release(void* tensor) {
  allocated.tensors.fetch_sub(1, std::memory_order_relaxed);
  static_cast<void>(Tensor(c10::intrusive_ptr<at::TensorImpl, at::UndefinedTensorImpl>::reclaim(
      static_cast<at::TensorImpl*>(tensor))));
}

int berth_torch_inspect(void* tensor, berth_torch_info* out) {
  return guarded([&] {
    const Tensor self = borrowed(tensor);
    TORCH_CHECK(self.dim() <= 16, "a tensor of ", self.dim(), " dimensions; Lua sees at most 16");
    std::copy(self.sizes().begin(), self.sizes().end(), out->shape);
    out->dimensions = static_cast<std::int32_t>(self.dim());
    out->type = number_of_type(self.scalar_type());
    out->count = self.numel();
    out->data = self.is_contiguous() ? self.data_ptr() : nullptr;
    out->requires_grad = self.requires_grad() ? 1 : 0;
  });
}

int berth_torch_read(void* tensor, double* out) {
  return guarded([&] {
    const Tensor values = borrowed(tensor).detach().to(at::kDouble).contiguous();
    // LuaJIT keeps its other values in the bits of NaNs: any of a kernel's or of a file's would be one.
    std::transform(values.data_ptr<double>(), values.data_ptr<double>() + values.numel(), out,
                   [](double value) {
                     return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
                   });
  });
}

int berth_torch_make(const double* values, const std::int64_t* shape, int dimensions,
                     const char* type, void** out) {
  return guarded([&] {
    Tensor tensor = at::empty(shape_of(shape, dimensions), at::kDouble);
    std::copy_n(values, tensor.numel(), tensor.data_ptr<double>());
    *out = given_out(tensor.to(type_named(type)));
  });
}

int berth_torch_wrap(void* data, const std::int64_t* shape, int dimensions, const char* type,
                     std::int64_t owner, void** out) {
  return guarded([&] {
    *out = given_out(at::from_blob(
        data, shape_of(shape, dimensions),
        [owner](void*) {
          const std::lock_guard lock(released_lock);
          released.push_back(owner);
          allocated.owners.store(static_cast<std::int64_t>(released.size()));
        },
        at::TensorOptions(type_named(type))));
  });
}

int berth_torch_released(std::int64_t* owners, int capacity) {
  const std::lock_guard lock(released_lock);
  const auto count = std::min(static_cast<std::size_t>(capacity), released.size());
  std::copy_n(released.end() - static_cast<std::ptrdiff_t>(count), count, owners);
  released.resize(released.size() - count);
  allocated.owners.store(static_cast<std::int64_t>(released.size()));
  return static_cast<int>(count);
}

int berth_torch_require_grad(void* tensor, int required) {
  return guarded([&] { borrowed(tensor).requires_grad_(required != 0); });
}

int berth_torch_backward(void* tensor, void* gradient, int retain) {
  return guarded([&] {
    const Threads threads;
    const Tensor self = borrowed(tensor);
    TORCH_CHECK(gradient != nullptr || self.numel() == 1, "torch.backward of ", described(self),
                ": a gradient of the same shape is needed where there is not one value; take the "
                "sum or mean first");
    TORCH_CHECK(self.requires_grad(), "torch.backward of ", described(self),
                ": nothing that led to it requires a gradient; call requires_grad_ on what is "
                "learned, and not under no_grad");
    self.backward(gradient != nullptr ? borrowed(gradient) : Tensor(), retain != 0);
  });
}

int berth_torch_grad(void* tensor, void** out) {
  return guarded([&] {
    const Tensor gradient = borrowed(tensor).grad();
    *out = gradient.defined() ? given_out(gradient) : nullptr;
  });
}

int berth_torch_set_grad(void* tensor, void* gradient) {
  return guarded([&] {
    Tensor self = borrowed(tensor);
    const Tensor given = gradient != nullptr ? borrowed(gradient) : Tensor();
    TORCH_CHECK(!given.defined() ||
                    (given.sizes() == self.sizes() && given.scalar_type() == self.scalar_type()),
                "a gradient of ", described(given), " for ", described(self),
                "; give one of the same type and shape");
    self.mutable_grad() = given;
  });
}

int berth_torch_grad_mode(int enabled) {
  const bool before = at::GradMode::is_enabled();
  at::GradMode::set_enabled(enabled != 0);
  return before ? 1 : 0;
}

int berth_torch_seed(double seed) {
  return guarded([&] { generator().set_current_seed(static_cast<std::uint64_t>(seed)); });
}

int berth_torch_threads(int count) {
  if (count >= 1) {
    own_threads = count;
    if (openblas_set_num_threads != nullptr) openblas_set_num_threads(count);
  }
  return own_threads;
}
