// The bodies of the device use the kernels of star/hydro with one lane: there a lane is a thread. Before anything of
// them.
#pragma once

#ifndef PLX_HYDRO_ONE_LANE
#define PLX_HYDRO_ONE_LANE
#endif
