#include "star/sources/source_terms.hpp"

#include <fmt/format.h>

#include "base/config.hpp"
#include "star/device/portable_operation.hpp"
#include "star/hydro/state.hpp"
#include "star/sources/source_passes.hpp"

namespace plx::star {

void frame_options::describe(config_table& table) {
  table.section("frame", "Rotating frame");
  table.add(
      "frame.omega", omega,
      {.unit = "1/code time",
       .help = "angular velocity of the mesh about the z axis; velocities of problems and in files are those of an "
               "inertial frame, in the directions of the mesh"});
  table.add("frame.of_problem", of_problem,
            {.help = "the angular velocity is that of the stars of the problem (binary, rotating_star)"});
}

void rotating_frame::after_stage(step::recipe& r, const stage_fields& f, std::vector<node_field>&,
                                 gas_passes& on) const {
  r.add({.name = rotation_pass::name,
         .where = step::node_set::blocks,
         .reads = {{f.start}, {f.next}},
         .writes = {f.next},
         .kernel = on.portable(device::portable(rotation_pass{omega_, spin_}), f.stage)});
}

void driving_options::describe(config_table& t) {
  t.section("driving", "Driving: angular momentum taken out of the gas, and heat added to it");
  t.add("driving.angular_momentum", angular_momentum,
        {.unit = "1/period", .help = "share of the angular momentum about the z axis that the gas loses per period"});
  t.add("driving.heating", heating,
        {.unit = "1/period", .help = "share of its thermal energy that the gas gains per period; below 0: loses"});
  t.add("driving.period", period,
        {.unit = "run.time_unit", .help = "the period of these rates, such as that of the orbit", .min = 0});
  t.add("driving.start", start, {.unit = "run.time_unit", .help = "when driving begins", .min = 0});
  t.add("driving.periods", periods, {.unit = "periods", .help = "how long it lasts", .above = 0});
  t.add("driving.least_density", least_density,
        {.unit = "density", .help = "gas of a lower density is not driven", .min = 0});
}

result<void> driving_options::check(const eos_parameters& eos) const {
  if (!present()) return {};
  if (!(period > 0.0)) return error{fmt::format("driving.period = {:g}: expected a time above 0", period)};
  if (heating != 0.0 && !equation_of_state(eos).has_gamma_law())
    return error{fmt::format("driving.heating: expected 0 with eos.kind = \"{}\", or an ideal gas", name_of(eos.kind))};
  return {};
}

driving_module::driving_module(const driving_options& o, const eos_parameters& eos)
    : rates_{.loss = o.angular_momentum / o.period,
             .heat = o.heating / o.period,
             .gamma = eos.gamma,
             .begin = o.start,
             .end = o.start + o.periods * o.period,
             .least_density = o.least_density} {}

void driving_module::after_stage(step::recipe& r, const stage_fields& f, std::vector<node_field>& own,
                                 gas_passes& on) const {
  const bool is_first = own.empty();
  if (is_first) own.push_back(on.add_node_field(r, {.name = "driving ledger", .doubles = 3}, {}));
  r.add({.name = driving_source::name,
         .reads = {{f.now}, {f.next}},
         .writes = {f.next},
         .kernel = on.portable(device::portable(driving_source{rates_}), f.stage)});
  std::vector<step::access> reads{{f.now}};
  if (!is_first) reads.push_back({own[0].field});
  r.add({.name = driving_ledger::name,
         .reads = std::move(reads),
         .writes = {own[0].field},
         .kernel = on.portable(device::portable(driving_ledger{rates_, own[0].index, is_first}), f.stage)});
}

void driving_module::after_step(step::recipe& r, const stage_fields& f, std::vector<node_field>& own,
                                gas_passes& on) const {
  r.add({.name = driving_sums::name,
         .reads = {{own[0].field}},
         .writes = {f.sums.field},
         .kernel = on.portable(device::portable(driving_sums{own[0].index, f.sums.index}), f.stage)});
}

}  // namespace plx::star

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
