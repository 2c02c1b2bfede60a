#include "star/gravity/self_gravity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/config.hpp"
#include "star/gravity/passes.hpp"

namespace plx::star::gravity {

using step::field_id;
using step::node_set;
using step::stencil;

layout self_gravity::layout_of(const std::vector<node_field>& own, step::recipe& r, gas_passes& on) const {
  layout l;
  l.order = table_.order, l.reach = table_.reach, l.near = table_.near;
  l.masses = own[masses].index, l.moments = own[moments].index, l.locals = own[locals].index;
  l.results = own[results].index, l.sums = own[sums_of_nodes].index, l.correction = own[correction].index;
  l.potential = own[potentials].index, l.around = own[around].index;
  l.work = own[work].index, l.change = own[change].index;
  l.table = on.add_table(r, table_.values), l.constant = constant_;
  if (!periodic_) return l;
  l.totals = own[totals].index, l.mean = own[mean].index;
  l.images = on.add_table(r, images_.values);
  l.top_width = images_.width, l.top_reach = images_.reach;
  std::copy_n(images_.cells.begin(), 3, l.top_cells);
  std::copy_n(lower_.begin(), 3, l.lower);
  return l;
}

void gravity_options::describe(config_table& table) {
  table.section("gravity", "Self-gravity");
  table.add(
      "gravity.self", self,
      {.help = "self-gravity of the gas; with periodic boundaries along all axes that of a periodic box, else the "
               "domain is isolated (no mass outside)"});
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

result<std::unique_ptr<self_gravity>> self_gravity::make(const gravity_options& o, const mesh::domain& box,
                                                         double omega) {
  const int block_size = box.block_size;
  if (!(o.constant > 0.0)) return error{fmt::format("gravity.constant is {}: expected a positive number", o.constant)};
  if (block_size % 8 != 0)
    return error{fmt::format("mesh.block_size is {}: self-gravity takes multiples of 8", block_size)};
  auto table = make_lattice(o.theta, static_cast<int>(o.order), block_size);
  if (!table) return table.error();
  const auto periodic = is_periodic_box(box);
  if (!periodic) return periodic.error();
  std::unique_ptr<self_gravity> made(new self_gravity);
  made->constant_ = o.constant, made->omega_ = omega;
  made->block_edge_ = block_size;
  made->block_cells_ = block_size * block_size * block_size;
  made->table_ = std::move(*table);
  made->periodic_ = *periodic, made->lower_ = box.lower;
  if (*periodic) {
    auto images = make_images(box, made->table_);
    if (!images) return images.error();
    made->images_ = std::move(*images);
  }
  return made;
}

// The potential and the acceleration of the state f.now.
void self_gravity::solve(step::recipe& r, const stage_fields& f, std::vector<node_field>& own, gas_passes& on,
                         bool at_end) const {
  const int n3 = block_cells_, n_moments = count_up_to(table_.order), edge = block_edge_ + 4;
  const node_set refined = node_set::refined, blocks = node_set::blocks, all = node_set::blocks_and_refined;
  const std::vector<node_field> before = std::exchange(own, {});
  const auto add = [&](const char* name, int doubles, node_set nodes, std::vector<stencil> at) {
    const node_field* earlier = before.empty() ? nullptr : &before[own.size()];
    own.push_back(on.add_node_field(r, {.name = name, .nodes = nodes, .doubles = doubles}, std::move(at), earlier));
  };
  const auto keep = [&](const char* name, int doubles) {
    before.empty() ? add(name, doubles, blocks, {}) : own.push_back(before[own.size()]);
  };
  add("gravity masses", n3, blocks, {stencil::children, stencil::level_neighbours, stencil::neighbours});
  add("gravity moments", n_moments * n3, refined, {stencil::children, stencil::level_neighbours});
  add("gravity expansions", n_moments * n3, refined, {stencil::parent});
  add("gravity", 4 * n3, blocks, {});
  add("gravity sums", node_sum_count, all, {stencil::children});
  add("gravity correction", correction_count, all, {stencil::parent});
  add("gravity potential", n3, blocks, {stencil::neighbours});
  keep("gravity potential around", edge * edge * edge);
  keep("gravity work", 3 * n3);
  keep("gravity change", 2 * n3);
  if (periodic_) {
    add("gravity totals", total_count, all, {stencil::children});
    add("gravity mean", mean_count, all, {stencil::parent});
  }
  const field_id mass = own[masses].field, moment = own[moments].field, local = own[locals].field,
                 result = own[results].field, sum = own[sums_of_nodes].field, fix = own[correction].field,
                 near = own[potentials].field;

  layout l = layout_of(own, r, on);
  l.energy = f.sums.index;
  l.at_end = at_end;
  l.may_skip = !at_end && f.stage == 0;
  const auto pass = [&](pass_kind kind, node_set where, std::vector<step::access> reads, std::vector<field_id> writes) {
    r.add({.name = name_of(kind),
           .where = where,
           .reads = std::move(reads),
           .writes = std::move(writes),
           .kernel = on.portable(make_pass(kind, l), f.stage)});
  };
  if (periodic_) {
    const field_id total = own[totals].field, average = own[mean].field;
    pass(pass_kind::totals, all, {{f.now}, {total, stencil::children}}, {total});
    pass(pass_kind::mean, all, {{total}, {average, stencil::parent}}, {average});
  }
  const auto with_mean = [&](std::vector<step::access> reads) {
    if (periodic_) reads.push_back({own[mean].field});
    return reads;
  };
  pass(pass_kind::masses, blocks, with_mean({{f.now}}), {mass});
  pass(pass_kind::moments, refined, {{mass, stencil::children}, {moment, stencil::children}}, {moment});
  pass(pass_kind::interactions, refined,
       with_mean({{moment}, {moment, stencil::level_neighbours}, {mass, stencil::level_neighbours}}), {local});
  pass(pass_kind::translations, refined, {{local}, {local, stencil::parent}}, {local});
  pass(pass_kind::accelerations, blocks,
       {{local, stencil::parent},
        {mass},
        {mass, stencil::level_neighbours},
        {mass, stencil::neighbours},
        {moment, stencil::level_neighbours}},
       {result, near});
  pass(pass_kind::node_sums, all, with_mean({{mass}, {result}, {sum, stencil::children}}), {sum});
  pass(pass_kind::corrections, all, {{sum}, {fix, stencil::parent}}, {fix});
  l.may_skip = false;
  if (at_end || f.stage == 0) pass(pass_kind::energy, blocks, {{mass}, {result}}, {f.sums.field});
}

void self_gravity::before_stage(step::recipe& r, const stage_fields& f, std::vector<node_field>& own,
                                gas_passes& on) const {
  solve(r, f, own, on, false);
  const layout l = layout_of(own, r, on);
  const field_id near = own[potentials].field;
  r.add({.name = name_of(pass_kind::around),
         .where = node_set::blocks,
         .reads = {{near}, {near, stencil::neighbours}},
         .writes = {own[around].field},
         .kernel = on.portable(make_pass(pass_kind::around, l), f.stage)});
}

void self_gravity::after_stage(step::recipe& r, const stage_fields& f, std::vector<node_field>& own,
                               gas_passes& on) const {
  layout l = layout_of(own, r, on);
  l.omega = omega_;
  std::vector<step::access> reads{{f.start},         {f.now}, {own[results].field}, {own[correction].field},
                                  {own[work].field}, {f.next}};
  if (f.stage > 0) reads.push_back({own[change].field});
  r.add({.name = name_of(pass_kind::source),
         .where = node_set::blocks,
         .reads = std::move(reads),
         .writes = {f.next, own[change].field},
         .kernel = on.portable(make_pass(pass_kind::source, l), f.stage)});
}

void self_gravity::after_step(step::recipe& r, const stage_fields& f, std::vector<node_field>& own,
                              gas_passes& on) const {
  solve(r, f, own, on, true);
  const layout l = layout_of(own, r, on);
  r.add({.name = name_of(pass_kind::balance),
         .where = node_set::blocks,
         .reads = {{f.start}, {f.now}, {own[results].field}, {own[change].field}},
         .writes = {f.next},
         .kernel = on.portable(make_pass(pass_kind::balance, l), f.stage)});
}

}  // namespace plx::star::gravity
