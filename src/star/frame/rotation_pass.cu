// The rotation of momenta on devices. Compiled without contraction to fused multiply-adds, like that for workers.
#include "star/frame/rotation_pass.hpp"

#include "gpu/cuda/kernel.hpp"
#include "star/device/portable_operation.hpp"

namespace plx::star {

#if defined(__HIPCC__)
void rotation_pass::launch_hip(const gpu::launch& where, const void* items, unsigned count) {
#else
void rotation_pass::launch_cuda(const gpu::launch& where, const void* items, unsigned count) {
#endif
  device::launch_portable(where, static_cast<const device::portable_item<rotation_pass>*>(items), count);
}

}  // namespace plx::star
