#define PLX_HYDRO_ISA isa_avx2
#include "star/hydro/kernel_table.hpp"
