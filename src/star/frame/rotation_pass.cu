// The rotation of momenta on devices. Compiled without contraction to fused multiply-adds, like that for workers.
#include "star/frame/rotation_pass.hpp"

#include "star/device/portable_operation.hpp"

namespace plx::star {

PLX_DEFINE_PORTABLE_LAUNCH(rotation_pass)

}  // namespace plx::star
