#include "star/step/gas_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "step/node_graph.hpp"

namespace plx::star {

using step::field_id;
using step::node_set;
using step::stencil;

namespace {

constexpr int flux_storage = 3;  // after the places of the state; then those of modules

// The kernels of a recipe that is only checked.
class no_passes final : public gas_passes {
 public:
  std::unique_ptr<step::pass_kernel> advance(int, work_fields) override { return none(); }
  std::unique_ptr<step::pass_kernel> correct_fluxes(int) override { return none(); }
  std::unique_ptr<step::pass_kernel> check_state(int) override { return none(); }
  std::unique_ptr<step::pass_kernel> portable(std::unique_ptr<portable_code>, int) override { return none(); }

 private:
  static std::unique_ptr<step::pass_kernel> none() {
    return step::kernel([](step::node_id) {});
  }
};

// Columns of history.csv (star/output/run_tables.cpp).
constexpr std::string_view history_columns[] = {"step",
                                                "time",
                                                "dt",
                                                "blocks",
                                                "cells",
                                                "max_level",
                                                "wall_s",
                                                "cell_updates_per_s",
                                                "mass",
                                                "momentum_x",
                                                "energy",
                                                "momentum_y",
                                                "momentum_z",
                                                "total_angular_momentum_x",
                                                "total_angular_momentum_y",
                                                "total_angular_momentum_z",
                                                "floors_density",
                                                "floors_pressure",
                                                "floors_input"};

}  // namespace

bool is_column_of_history(std::string_view name) {
  return std::count(std::begin(history_columns), std::end(history_columns), name) > 0 || name.starts_with("out_") ||
         name.starts_with("from_floors_");
}

namespace {

result<void> check_sums(const std::vector<std::string>& names) {
  for (auto n = names.begin(); n != names.end(); ++n) {
    const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
    if (n->empty() || !std::all_of(n->begin(), n->end(), fits) || (n->front() >= '0' && n->front() <= '9'))
      return error{
          fmt::format("additional physics: expected sums named by lower-case letters, digits and _, found '{}'", *n)};
    if (is_column_of_history(*n) || n->starts_with("species_"))
      return error{fmt::format(
          "additional physics: expected a sum with another name than the columns of history.csv, found '{}'", *n)};
    if (std::count(names.begin(), n, *n) > 0)
      return error{fmt::format("additional physics: expected each sum once, found '{}' twice", *n)};
  }
  return {};
}

bool has_writer_on_blocks(const step::recipe& r, field_id f) {
  const std::vector<int> all = r.writers(f);
  return std::any_of(all.begin(), all.end(), [&](int p) {
    return step::includes(r.passes()[static_cast<std::size_t>(p)].where, node_set::blocks);
  });
}

bool writes_since(const step::recipe& r, std::size_t first, field_id f) {
  return std::any_of(
      r.passes().begin() + static_cast<std::ptrdiff_t>(first), r.passes().end(),
      [f](const step::pass& p) { return std::find(p.writes.begin(), p.writes.end(), f) != p.writes.end(); });
}

}  // namespace

node_field gas_passes::add_node_field(step::recipe& r, const mesh::field_info& info, std::vector<stencil> read_at,
                                      const node_field* in_place_of) {
  const auto refuse = [&](const std::string& expected, const std::string& found) {
    r.refuse({fmt::format("additional physics, the field {}: expected {}, found {}", info.name, expected, found)});
  };
  std::vector<std::string_view> others;
  if (info.kind != mesh::field_kind::scalar) others.push_back("kind");
  if (info.axis != -1) others.push_back("axis");
  if (info.limiter_group != -1) others.push_back("limiter_group");
  if (info.role != mesh::quantity::other) others.push_back("role");
  if (!info.total.empty()) others.push_back("total");
  if (!others.empty())
    refuse("only name, nodes and doubles (integrals are sums() of the module)",
           fmt::format("also {}", fmt::join(others, ", ")));
  if (info.doubles < 1) refuse("at least one double per node", std::to_string(info.doubles));
  if (info.nodes == node_set::beside_finer)
    refuse("memory on blocks, refined nodes, or both", step::to_string(info.nodes));
  int index = static_cast<int>(fields_.size());
  if (in_place_of != nullptr) {
    index = in_place_of->index;
    module_field& earlier = fields_[static_cast<std::size_t>(index)];
    const auto [nodes, doubles] = std::pair(earlier.info.nodes, earlier.info.doubles);
    if (doubles != info.doubles || nodes != info.nodes)
      refuse(fmt::format("{} doubles on {}, as the field whose memory it takes over", doubles, step::to_string(nodes)),
             fmt::format("{} on {}", info.doubles, step::to_string(info.nodes)));
    for (const stencil at : read_at)
      if (std::find(earlier.read_at.begin(), earlier.read_at.end(), at) == earlier.read_at.end())
        earlier.read_at.push_back(at);
  } else {
    if (index == pass_view::most_fields)
      r.refuse(
          {fmt::format("additional physics: expected at most {} fields, found another one, {}; join fields into "
                       "one with more doubles per node",
                       pass_view::most_fields, info.name)});
    fields_.push_back({info, read_at});
  }
  const field_id field = r.add_field({.name = info.name,
                                      .shared_at = read_at,
                                      .nodes = info.nodes,
                                      .storage = flux_storage + 1 + index,
                                      .transfers = field_transfers(index, read_at)});
  index_of_.resize(static_cast<std::size_t>(field) + 1, -1);
  index_of_.back() = index;
  return {field, index};
}

int gas_passes::add_table(step::recipe& r, std::vector<double> values) {
  const auto same = [&](const std::vector<double>& t) {
    return t.size() == values.size() && std::memcmp(t.data(), values.data(), t.size() * sizeof(double)) == 0;
  };
  const auto known = std::find_if(tables_.begin(), tables_.end(), same);
  if (known != tables_.end()) return static_cast<int>(known - tables_.begin());
  if (tables_.size() == pass_view::most_tables)
    r.refuse(
        {fmt::format("additional physics: expected at most {} tables, found another one of {} numbers; join "
                     "tables into one",
                     pass_view::most_tables, values.size())});
  tables_.push_back(std::move(values));
  return static_cast<int>(tables_.size() - 1);
}

node_field gas_passes::add_sums(step::recipe& r, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  const node_field added = add_node_field(
      r, {.name = fmt::format("sums {}", fmt::join(names, ", ")), .doubles = static_cast<int>(names.size())}, {});
  sum_fields_.push_back(added.index);
  return added;
}

std::vector<step::node_rows> gas_passes::rows_of_fields(const step::node_graph& nodes) const {
  std::vector<step::node_rows> all;
  for (const module_field& f : fields_) all.push_back(nodes.rows(f.info.nodes, f.read_at));
  return all;
}

void set_stage(const integrator& scheme, int stage, pass_view& view) {
  const bool is_end = stage == scheme.stages;
  view.start = state_place(0), view.now = state_place(stage);
  view.next = is_end ? view.now : state_place(stage + 1);
  view.time_share = is_end ? 1.0 : scheme.time_share[stage];
  view.weight = is_end ? 1.0 : scheme.weight[stage];
}

std::vector<std::string> sum_names(std::span<const step_module* const> modules) {
  std::vector<std::string> all;
  for (const step_module* m : modules) {
    const std::vector<std::string> names = m->sums();
    all.insert(all.end(), names.begin(), names.end());
  }
  return all;
}

std::vector<bool> accumulating_sums(std::span<const step_module* const> modules) {
  std::vector<bool> all;
  for (const step_module* m : modules) all.insert(all.end(), m->sums().size(), m->sums_accumulate());
  return all;
}

result<void> check_modules(const integrator& scheme, std::span<const step_module* const> modules) {
  for (const step_module* m : modules)
    if (m == nullptr) return error{"additional physics: expected modules, found a null pointer"};
  if (auto r = check_sums(sum_names(modules)); !r) return r;
  no_passes none;
  return gas_step(scheme, none, modules).check();
}

// For each Runge-Kutta stage s: the state u[s + 1] of each block from u[s], of which it reads its neighbours' cells,
// and from u[0]. Where a neighbour across a face is finer, the block's fluxes are then replaced by those of the finer
// blocks.
step::recipe gas_step(const integrator& scheme, gas_passes& gas, std::span<const step_module* const> modules) {
  step::recipe r;
  const auto state = [&](int s) {
    return r.add_field({.name = fmt::format("u{}", s),
                        .given = s == 0,
                        .shared_at = {stencil::neighbours},
                        .nodes = node_set::blocks,
                        .storage = state_place(s),
                        .tag = s - 1,
                        .transfers = gas.state_transfers(s)});
  };
  std::vector<std::vector<node_field>> fields(modules.size());  // by module
  std::vector<node_field> sums;
  for (const step_module* m : modules) sums.push_back(gas.add_sums(r, m->sums()));
  stage_fields f;
  // Calls add(module, its fields), then checks the state if the passes that it has added write it.
  const auto with_modules = [&](auto&& add) {
    const std::size_t before = r.passes().size();
    for (std::size_t m = 0; m < modules.size(); ++m) {
      f.sums = sums[m];
      add(*modules[m], fields[m]);
    }
    if (writes_since(r, before, f.next))
      r.add({.name = "star.check_state",
             .where = node_set::blocks,
             .reads = {{f.next}},
             .writes = {f.next},
             .kernel = gas.check_state(f.stage)});
  };
  f.start = f.now = state(0);
  for (f.stage = 0; f.stage < scheme.stages; ++f.stage) {
    f.next = state(f.stage + 1);
    const field_id fluxes = r.add_field({.name = fmt::format("fluxes{}", f.stage),
                                         .shared_at = {stencil::finer_faces},
                                         .nodes = node_set::blocks,
                                         .storage = flux_storage,
                                         .tag = f.stage,
                                         .transfers = gas.flux_transfers(f.stage)});
    work_fields gravity;
    for (std::size_t m = 0; m < modules.size(); ++m) {
      f.sums = sums[m];
      modules[m]->before_stage(r, f, fields[m], gas);
      const work_fields of_module = modules[m]->potential(fields[m]);
      if (of_module && gravity)
        r.refuse({"additional physics: expected one potential of gravity, found those of two modules"});
      if (of_module) gravity = of_module;
    }
    std::vector<step::access> reads{{f.now, stencil::neighbours}, {f.now}, {f.start}};
    std::vector<field_id> writes{f.next, fluxes};
    if (gravity) reads.push_back({gravity.potential.field}), writes.push_back(gravity.work.field);
    r.add({.name = "star.stage",
           .where = node_set::blocks,
           .reads = std::move(reads),
           .writes = std::move(writes),
           .kernel = gas.advance(f.stage, gravity)});
    std::vector<step::access> corrected{{fluxes, stencil::finer_faces}, {f.next}};
    if (gravity) corrected.push_back({gravity.potential.field});
    r.add({.name = "star.flux_correction",
           .where = node_set::beside_finer,
           .reads = std::move(corrected),
           .writes = {f.next},
           .kernel = gas.correct_fluxes(f.stage)});
    with_modules([&](const step_module& m, std::vector<node_field>& own) { m.after_stage(r, f, own, gas); });
    f.now = f.next;
  }
  with_modules([&](const step_module& m, std::vector<node_field>& own) { m.after_step(r, f, own, gas); });
  for (std::size_t m = 0; m < modules.size(); ++m)
    if (const auto names = modules[m]->sums(); !names.empty() && !has_writer_on_blocks(r, sums[m].field))
      r.refuse({fmt::format("additional physics: expected a pass on blocks that writes the sums {}, found none",
                            fmt::join(names, ", "))});
  r.publish({f.now, stencil::neighbours});
  return r;
}

}  // namespace plx::star
