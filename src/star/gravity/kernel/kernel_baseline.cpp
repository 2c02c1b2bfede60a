#define PLX_HYDRO_ISA isa_baseline
#include "star/gravity/kernel/kernel_body.hpp"
