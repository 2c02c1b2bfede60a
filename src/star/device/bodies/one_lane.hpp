// The bodies of the device use the kernels of star/hydro with one lane, because each lane is a thread. Include this
// file before those headers.
#pragma once

#ifndef PLX_HYDRO_ONE_LANE
#define PLX_HYDRO_ONE_LANE
#endif
