#define PLX_HYDRO_ISA isa_avx2
#include "star/hydro/kernel/kernel_table.hpp"
