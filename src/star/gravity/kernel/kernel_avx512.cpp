#define PLX_HYDRO_ISA isa_avx512
#include "star/gravity/kernel/kernel_body.hpp"
