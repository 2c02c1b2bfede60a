#include "star/gravity/point_mass_module.hpp"

#include "base/config.hpp"
#include "star/device/portable_operation.hpp"
#include "star/gravity/point_mass_passes.hpp"

namespace plx::star::gravity {

void point_mass_options::describe(config_table& t) {
  t.add("gravity.point_mass", mass,
        {.unit = "mass", .help = "of a body at a fixed place that attracts the gas; 0: none", .min = 0.0});
  t.add("gravity.point_mass_position", position, {.unit = "length", .help = "of this body"});
  t.add(
      "gravity.point_mass_softening", softening,
      {.unit = "length", .help = "s of its potential -G M / (r^2 + s^2)^(1/2), above 0; some cells wide", .min = 0.0});
}

void point_mass_module::after_stage(step::recipe& r, const stage_fields& f, std::vector<node_field>&,
                                    gas_passes& on) const {
  r.add({.name = point_mass_source::name,
         .reads = {{f.now}, {f.next}},
         .writes = {f.next},
         .kernel = on.portable(device::portable(point_mass_source{field_}), f.stage)});
}

void point_mass_module::after_step(step::recipe& r, const stage_fields& f, std::vector<node_field>&,
                                   gas_passes& on) const {
  r.add({.name = point_mass_energy::name,
         .reads = {{f.now}},
         .writes = {f.sums.field},
         .kernel = on.portable(device::portable(point_mass_energy{field_, f.sums.index}), f.stage)});
}

void angular_momentum_module::after_step(step::recipe& r, const stage_fields& f, std::vector<node_field>&,
                                         gas_passes& on) const {
  r.add({.name = angular_momentum::name,
         .reads = {{f.now}},
         .writes = {f.sums.field},
         .kernel = on.portable(device::portable(angular_momentum{f.sums.index}), f.stage)});
}

}  // namespace plx::star::gravity
