#define PLX_HYDRO_ISA isa_baseline
#include "star/hydro/kernel/kernel_table.hpp"
