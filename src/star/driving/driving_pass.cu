// The passes of driving on devices. Compiled without contraction to fused multiply-adds, like those for workers.
#include "star/driving/driving_pass.hpp"

#include "gpu/cuda/kernel.hpp"
#include "star/device/portable_operation.hpp"

namespace plx::star {

namespace {

template <class Pass>
void launch_all(const gpu::launch& where, const void* items, unsigned n) {
  device::launch_portable(where, static_cast<const device::portable_item<Pass>*>(items), n);
}

}  // namespace

#if defined(__HIPCC__)
#define PLX_LAUNCH launch_hip
#else
#define PLX_LAUNCH launch_cuda
#endif
void driving_source::PLX_LAUNCH(const gpu::launch& where, const void* items, unsigned n) {
  launch_all<driving_source>(where, items, n);
}
void driving_ledger::PLX_LAUNCH(const gpu::launch& where, const void* items, unsigned n) {
  launch_all<driving_ledger>(where, items, n);
}
void driving_sums::PLX_LAUNCH(const gpu::launch& where, const void* items, unsigned n) {
  launch_all<driving_sums>(where, items, n);
}

}  // namespace plx::star
