// The passes of the source terms on devices. Compiled without contraction to fused multiply-adds, like those for
// workers.
#include "star/sources/source_passes.hpp"

#include "star/device/portable_operation.hpp"

namespace plx::star {

PLX_DEFINE_PORTABLE_LAUNCH(rotation_pass)
PLX_DEFINE_PORTABLE_LAUNCH(driving_source)
PLX_DEFINE_PORTABLE_LAUNCH(driving_ledger)
PLX_DEFINE_PORTABLE_LAUNCH(driving_sums)

}  // namespace plx::star

namespace plx::star::gravity {

PLX_DEFINE_PORTABLE_LAUNCH(point_mass_source)
PLX_DEFINE_PORTABLE_LAUNCH(point_mass_energy)
PLX_DEFINE_PORTABLE_LAUNCH(angular_momentum)

}  // namespace plx::star::gravity
