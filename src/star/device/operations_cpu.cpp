// The operations on the CPU: the reference, and the version that runs without a device.
#define PLX_HYDRO_ISA isa_one_lane
#define PLX_HYDRO_ONE_LANE
#include <algorithm>

#include "star/device/bodies/body.hpp"
#include "star/device/bodies/full3d_body.hpp"
#include "star/device/bodies/ghosts_body.hpp"
#include "star/device/bodies/regrid_body.hpp"
#include "star/device/bodies/species_spin_body.hpp"
#include "star/device/bodies/stage_body.hpp"
#include "star/device/bodies/step_end_body.hpp"
#include "star/device/operations.hpp"

namespace plx::star::device {

void advance_stage_cpu(const stage_arguments& a) {
  isa_one_lane::with_eos(a.hydro.eos.kind, [&]<class Eos>() {
    if (a.hydro.scheme == hydro_scheme::full3d)
      return a.hydro.contact_steepening ? run_body<isa_one_lane::full3d_body<true, Eos>>(a)
                                        : run_body<isa_one_lane::full3d_body<false, Eos>>(a);
    with_scheme(a.hydro, [&]<reconstruction scheme, riemann_solver solver>() {
      isa_one_lane::with_stage_body<scheme, solver, Eos>(a, [&]<class Body>() { run_body<Body>(a); });
    });
  });
}

std::size_t group_bytes_of(const hydro_parameters& p) {
  std::size_t bytes = isa_one_lane::finish_body::shared_bytes({});
  using isa_one_lane::ideal_gas;  // any one: the equation of state needs none
  if (p.scheme == hydro_scheme::full3d)
    return std::max(bytes, isa_one_lane::full3d_body<true, ideal_gas>::shared_bytes({}));
  with_scheme(p, [&]<reconstruction scheme, riemann_solver solver>() {
    bytes = std::max(bytes, isa_one_lane::stage_body<scheme, solver, ideal_gas>::shared_bytes({}));
  });
  return bytes;
}

void advance_species_cpu(const stage_arguments& a) { run_body<isa_one_lane::species_body>(a); }
void advance_spin_cpu(const stage_arguments& a) { run_body<isa_one_lane::spin_body>(a); }
void finish_step_cpu(const finish_arguments& a) { run_body<isa_one_lane::finish_body>(a); }
void make_ghosts_cpu(const ghosts_arguments& a) { run_body<isa_one_lane::ghosts_body>(a); }
void gather_tiles_cpu(const tiles_arguments& a) {
  isa_one_lane::with_eos(a.hydro.eos.kind, [&]<class Eos>() { run_body<isa_one_lane::tiles_body<Eos>>(a); });
}
void correct_fluxes_cpu(const correction_arguments& a) {
  isa_one_lane::with_eos(a.hydro.eos.kind, [&]<class Eos>() { run_body<isa_one_lane::correction_body<Eos>>(a); });
}
void sum_sides_cpu(const side_arguments& a) { run_body<isa_one_lane::side_body>(a); }
void mark_cells_cpu(const marks_arguments& a) {
  isa_one_lane::with_eos(a.hydro.eos.kind, [&]<class Eos>() { run_body<isa_one_lane::marks_body<Eos>>(a); });
}
void move_values_cpu(const move_arguments& a) { run_body<isa_one_lane::move_body>(a); }
void check_blocks_cpu(const check_arguments& a) {
  isa_one_lane::with_eos(a.hydro.eos.kind, [&]<class Eos>() { run_body<isa_one_lane::check_body<Eos>>(a); });
}
void copy_boxes_cpu(const copy_arguments& a) { run_body<isa_one_lane::copy_body>(a); }
void sum_totals_cpu(const totals_arguments& a) { run_body<isa_one_lane::totals_body>(a); }

}  // namespace plx::star::device
