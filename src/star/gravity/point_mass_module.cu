// The passes of a point mass and of the angular momentum on devices. Compiled without contraction to fused
// multiply-adds, like those for workers.
#include "gpu/cuda/kernel.hpp"
#include "star/device/portable_operation.hpp"
#include "star/gravity/point_mass_passes.hpp"

namespace plx::star::gravity {

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
void point_mass_source::PLX_LAUNCH(const gpu::launch& where, const void* items, unsigned n) {
  launch_all<point_mass_source>(where, items, n);
}
void point_mass_energy::PLX_LAUNCH(const gpu::launch& where, const void* items, unsigned n) {
  launch_all<point_mass_energy>(where, items, n);
}
void angular_momentum::PLX_LAUNCH(const gpu::launch& where, const void* items, unsigned n) {
  launch_all<angular_momentum>(where, items, n);
}

}  // namespace plx::star::gravity
