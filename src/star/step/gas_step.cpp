#include "star/step/gas_step.hpp"

#include <fmt/format.h>

namespace plx::star {

using step::field_id;
using step::node_set;
using step::stencil;

// For each Runge-Kutta stage s: the state u[s + 1] of each block from u[s], of which it reads its neighbours' cells,
// and from u[0]. Where a neighbour across a face is finer, the block's fluxes are then replaced by those of the finer
// blocks.
step::recipe gas_step(const integrator& scheme, gas_passes& gas, std::span<const step_module* const> modules) {
  step::recipe r;
  const auto state = [&](int s) {
    return r.add_field({.name = fmt::format("u{}", s),
                        .given = s == 0,
                        .storage = state_place(s),
                        .tag = s - 1,
                        .transfers = gas.state_transfers(s)});
  };
  std::vector<std::vector<node_field>> fields(modules.size());  // by module
  stage_fields f;
  f.start = f.now = state(0);
  for (f.stage = 0; f.stage < scheme.stages; ++f.stage) {
    f.next = state(f.stage + 1);
    const field_id fluxes = r.add_field(
        {.name = fmt::format("fluxes{}", f.stage), .tag = f.stage, .transfers = gas.flux_transfers(f.stage)});
    for (std::size_t m = 0; m < modules.size(); ++m) modules[m]->before_stage(r, f, fields[m], gas);
    r.add({.name = "star.stage",
           .where = node_set::blocks,
           .reads = {{f.now, stencil::neighbours}, {f.now}, {f.start}},
           .writes = {f.next, fluxes},
           .kernel = gas.advance(f.stage)});
    r.add({.name = "star.flux_correction",
           .where = node_set::beside_finer,
           .reads = {{fluxes, stencil::finer_faces}, {f.next}},
           .writes = {f.next},
           .kernel = gas.correct_fluxes(f.stage)});
    const std::size_t passes = r.passes().size();
    for (std::size_t m = 0; m < modules.size(); ++m) modules[m]->after_stage(r, f, fields[m], gas);
    if (r.passes().size() > passes)
      r.add({.name = "star.check_state",
             .where = node_set::blocks,
             .reads = {{f.next}},
             .writes = {f.next},
             .kernel = gas.check_state(f.stage)});
    f.now = f.next;
  }
  r.publish({f.now, stencil::neighbours});
  return r;
}

}  // namespace plx::star
