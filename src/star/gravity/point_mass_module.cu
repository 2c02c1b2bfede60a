// The passes of a point mass and of the angular momentum on devices. Compiled without contraction to fused
// multiply-adds, like those for workers.
#include "star/device/portable_operation.hpp"
#include "star/gravity/point_mass_passes.hpp"

namespace plx::star::gravity {

PLX_DEFINE_PORTABLE_LAUNCH(point_mass_source)
PLX_DEFINE_PORTABLE_LAUNCH(point_mass_energy)
PLX_DEFINE_PORTABLE_LAUNCH(angular_momentum)

}  // namespace plx::star::gravity
