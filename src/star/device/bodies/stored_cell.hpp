// Floors and the dual-energy rules for cells in the memory of a block, and the report of a thread on its cells.
//
// Thread safety: as bodies. Cost: about 250 operations per cell.
// Example: star/device/bodies/correction_body.hpp
#pragma once

#include "star/device/bodies/body.hpp"
#include "star/device/data/step_data.hpp"
#include "star/hydro/kernel/kernel_update.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

/// Settles cell `index` of a block in place, as check_cells() does. Shapes: u: its variables, `variable` doubles apart.
template <class Eos, class Centre>
PLX_INLINE void settle_stored(const hydro_parameters& p, double* u, std::ptrdiff_t variable, int index, Centre centre,
                              tally& sums) {
  double finite = 0.0;
  for (int v = 0; v < variable_count(p); ++v) finite = finite + u[v * variable] * 0.0;
  settle<Eos>(p, u, variable, finite, 0.0, index, every_lane, centre, sums);
}

/// Adds the results of a thread's cells to the block's report. `part`: of device::bad_key().
PLX_INLINE void report_cells(device::block_report& report, bool last, int stage, int part, const tally& sums) {
  if (last) raise_together(&report.speed_bits, sums.signal_speed);
  if (sums.density_floors != 0) add_to(&report.density_floors, static_cast<std::uint64_t>(sums.density_floors));
  if (sums.pressure_floors != 0) add_to(&report.pressure_floors, static_cast<std::uint64_t>(sums.pressure_floors));
  if (sums.first_bad >= 0) lower_to(&report.bad, device::bad_key(stage, part, sums.first_bad));
}

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
