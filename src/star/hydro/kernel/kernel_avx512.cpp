#define PLX_HYDRO_ISA isa_avx512
#include "star/hydro/kernel/kernel_table.hpp"
