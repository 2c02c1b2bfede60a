#include "star/gravity/self_gravity.hpp"

#include <fmt/format.h>

#include "base/config.hpp"
#include "star/gravity/passes.hpp"

namespace plx::star::gravity {

using step::node_set;
using step::stencil;

namespace {

// The module's fields, in this order.
enum class owned : std::size_t { masses, moments, locals, results, sums, correction };

layout layout_of(const lattice_table& t, double constant, const std::vector<node_field>& own, int table) {
  const auto index = [&](owned which) { return own[static_cast<std::size_t>(which)].index; };
  layout l;
  l.order = t.order, l.reach = t.reach, l.near = t.near;
  l.masses = index(owned::masses), l.moments = index(owned::moments), l.locals = index(owned::locals);
  l.results = index(owned::results), l.sums = index(owned::sums), l.correction = index(owned::correction);
  l.table = table, l.constant = constant;
  return l;
}

}  // namespace

void gravity_options::describe(config_table& table) {
  table.section("gravity", "Self-gravity");
  table.add("gravity.self", self, {.help = "self-gravity of the gas; the domain is isolated (no mass outside)"});
  table.add("gravity.constant", constant,
            {.unit = "length^3/mass/time^2",
             .help = "the gravitational constant in code units; 0: that of [units], or 1 without",
             .min = 0.0});
  table.add(
      "gravity.theta", theta,
      {.unit = "1",
       .help = "cells closer than 1/theta cells interact on a finer level; smaller values are more accurate and slower",
       .min = 0.25,
       .max = 0.5});
  table.add("gravity.order", order,
            {.help = "order of the multipole expansions; higher orders are more accurate and slower",
             .min = least_order,
             .max = largest_order});
}

result<std::unique_ptr<self_gravity>> self_gravity::make(const gravity_options& o, int block_size) {
  if (!(o.constant > 0.0)) return error{fmt::format("gravity.constant is {}: expected a positive number", o.constant)};
  if (block_size % 8 != 0)
    return error{fmt::format("mesh.block_size is {}: self-gravity takes multiples of 8", block_size)};
  auto table = make_lattice(o.theta, static_cast<int>(o.order), block_size);
  if (!table) return table.error();
  std::unique_ptr<self_gravity> made(new self_gravity);
  made->constant_ = o.constant;
  made->block_cells_ = block_size * block_size * block_size;
  made->table_ = std::move(*table);
  return made;
}

void self_gravity::before_stage(step::recipe& r, const stage_fields& f, std::vector<node_field>& own,
                                gas_passes& on) const {
  const int n3 = block_cells_, n_moments = count_up_to(table_.order);
  const std::vector<node_field> before = own;
  const auto add = [&](owned which, const char* name, int doubles, node_set nodes, std::vector<stencil> at) {
    own.push_back(on.add_node_field(r, name, doubles, nodes, std::move(at),
                                    before.empty() ? nullptr : &before[static_cast<std::size_t>(which)]));
  };
  own.clear();
  add(owned::masses, "gravity masses", n3, node_set::blocks,
      {stencil::children, stencil::level_neighbours, stencil::neighbours});
  add(owned::moments, "gravity moments", n_moments * n3, node_set::refined,
      {stencil::children, stencil::level_neighbours});
  add(owned::locals, "gravity expansions", n_moments * n3, node_set::refined, {stencil::parent});
  add(owned::results, "gravity", 4 * n3, node_set::blocks, {});
  add(owned::sums, "gravity sums", node_sum_count, node_set::blocks_and_refined, {stencil::children});
  add(owned::correction, "gravity correction", correction_count, node_set::blocks_and_refined, {stencil::parent});
  layout l = layout_of(table_, constant_, own, on.add_table(r, table_.values));
  l.energy = f.sums.index;
  const auto field = [&](owned which) { return own[static_cast<std::size_t>(which)].field; };
  const auto pass = [&](const char* name, node_set where, std::vector<step::access> reads, owned writes, code c) {
    r.add({.name = name,
           .where = where,
           .reads = std::move(reads),
           .writes = {field(writes)},
           .kernel = on.portable(std::move(c), f.stage)});
  };
  pass(names::masses, node_set::blocks, {{f.now}}, owned::masses, masses_pass(l));
  pass(names::moments, node_set::refined,
       {{field(owned::masses), stencil::children}, {field(owned::moments), stencil::children}}, owned::moments,
       moments_pass(l));
  pass(names::interactions, node_set::refined,
       {{field(owned::moments)},
        {field(owned::moments), stencil::level_neighbours},
        {field(owned::masses), stencil::level_neighbours}},
       owned::locals, interactions_pass(l));
  pass(names::translations, node_set::refined, {{field(owned::locals)}, {field(owned::locals), stencil::parent}},
       owned::locals, translations_pass(l));
  pass(names::accelerations, node_set::blocks,
       {{field(owned::locals), stencil::parent},
        {field(owned::masses)},
        {field(owned::masses), stencil::level_neighbours},
        {field(owned::masses), stencil::neighbours},
        {field(owned::moments), stencil::level_neighbours}},
       owned::results, accelerations_pass(l));
  if (f.stage == 0)
    r.add({.name = names::energy,
           .where = node_set::blocks,
           .reads = {{field(owned::masses)}, {field(owned::results)}},
           .writes = {f.sums.field},
           .kernel = on.portable(energy_pass(l), f.stage)});
  pass(names::node_sums, node_set::blocks_and_refined,
       {{field(owned::masses)}, {field(owned::results)}, {field(owned::sums), stencil::children}}, owned::sums,
       node_sums_pass(l));
  pass(names::corrections, node_set::blocks_and_refined,
       {{field(owned::sums)}, {field(owned::correction), stencil::parent}}, owned::correction, corrections_pass(l));
}

void self_gravity::after_stage(step::recipe& r, const stage_fields& f, std::vector<node_field>& own,
                               gas_passes& on) const {
  const layout l = layout_of(table_, constant_, own, on.add_table(r, table_.values));
  r.add({.name = names::source,
         .where = node_set::blocks,
         .reads = {{f.now}, {own[results_field].field}, {own[correction_field].field}, {f.next}},
         .writes = {f.next},
         .kernel = on.portable(source_pass(l), f.stage)});
}

}  // namespace plx::star::gravity
