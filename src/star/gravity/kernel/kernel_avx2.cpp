#define PLX_HYDRO_ISA isa_avx2
#include "star/gravity/kernel/kernel_body.hpp"
