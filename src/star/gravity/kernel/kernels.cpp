#include "star/gravity/kernel/kernels.hpp"

namespace plx::star::gravity {

const kernel_table& kernels_of(isa which) noexcept {
#if defined(PLX_HYDRO_X86)
  if (which == isa::avx2) return isa_avx2::table;
  if (which == isa::avx512) return isa_avx512::table;
#endif
  (void)which;
  return isa_baseline::table;
}

}  // namespace plx::star::gravity
