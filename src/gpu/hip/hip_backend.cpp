#include "gpu/core/backends.hpp"

#include "gpu/hip/cuda_names.hpp"

#include <memory>

#define PLX_GPU_CODE_OF hip
#define PLX_GPU_CODE_IS_HIP
#include "gpu/cuda/cuda_backend_body.hpp"

namespace plx::gpu::hip {
namespace {

#if HIP_VERSION_MAJOR >= 6
outcome call(native_device d, native_stream s, void (*f)(void*), void* arg) {
  use(d);
  return outcome_of(hipLaunchHostFunc(of(s), f, arg), "hipLaunchHostFunc");
}
#else
// The headers of HIP 5.2 declare hipLaunchHostFunc, but the library lacks it.
struct host_call {
  void (*f)(void*);
  void* arg;
  static void run(hipStream_t, hipError_t status, void* self) {
    const std::unique_ptr<host_call> c(static_cast<host_call*>(self));
    if (status == hipSuccess) c->f(c->arg);  // after an error nothing is called; the stream's status reports it
  }
};
outcome call(native_device d, native_stream s, void (*f)(void*), void* arg) {
  use(d);
  auto c = std::make_unique<host_call>(host_call{f, arg});
  const outcome o = outcome_of(hipStreamAddCallback(of(s), host_call::run, c.get(), 0), "hipStreamAddCallback");
  if (o) static_cast<void>(c.release());
  return o;
}
#endif
outcome write_flag(native_device d, native_stream s, std::uint32_t* flag, std::uint32_t value) {
  use(d);
  return outcome_of(hipStreamWriteValue32(of(s), flag, value, 0), "hipStreamWriteValue32");
}

launch_function kernel_of(const any_operation& op) { return op.hip; }
const activity_functions* records() noexcept { return nullptr; }

}  // namespace

const backend& table() noexcept {
  static const backend the_table = PLX_GPU_TABLE("hip");
  return the_table;
}

}  // namespace plx::gpu::hip
