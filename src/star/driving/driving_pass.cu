// The passes of driving on devices. Compiled without contraction to fused multiply-adds, like those for workers.
#include "star/driving/driving_pass.hpp"

#include "star/device/portable_operation.hpp"

namespace plx::star {

PLX_DEFINE_PORTABLE_LAUNCH(driving_source)
PLX_DEFINE_PORTABLE_LAUNCH(driving_ledger)
PLX_DEFINE_PORTABLE_LAUNCH(driving_sums)

}  // namespace plx::star
