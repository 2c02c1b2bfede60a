#include "star/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "rt/runtime.hpp"
#include "star/refinement.hpp"
#include "star/totals.hpp"

namespace plx::star {

using mesh::slot_id;

namespace {

task_info info_of(const char* name) { return {probe::register_name(name), probe::no_key}; }

}  // namespace

simulation::simulation(const input& in, const setup& s, runtime& rt)
    : in_(in), setup_(s), rt_(rt), gas_(s), stepper_(gas_, s, rt.worker_count()) {}

void simulation::start() {
  rt_.run(info_of("star.start"), [this] {
    const floor_counts floors = build_initial(gas_, setup_, in_.refinement, *in_.problem, stepper_.scratch());
    stepper_.adopt_mesh();
    stepper_.floors() = floors;
  });
}

bool simulation::finished() const {
  return time_ >= in_.run.t_end || (in_.run.max_steps > 0 && steps_ >= in_.run.max_steps);
}

// The end is met exactly; the two last steps are equal rather than one long and one tiny.
double simulation::next_dt() const {
  const double rate = gas_.largest_signal_rate(), remaining = in_.run.t_end - time_;
  const double dt = rate > 0.0 ? setup_.cfl / rate : remaining;
  if (dt >= remaining) return remaining;
  return 2.0 * dt > remaining ? 0.5 * remaining : dt;
}

result<void> simulation::step() {
  PLX_ASSERT(!finished());
  const double dt = next_dt();
  const bool last = dt >= in_.run.t_end - time_;
  if (!(dt > 0.0) || !(time_ + dt > time_))
    return error{
        fmt::format("step {}: the time step fell to {:g} at time {:.9g}, which no longer moves the time on; "
                    "look at the last mesh file, or lower hydro.cfl",
                    steps_ + 1, dt, time_)};
  std::optional<bad_cell> bad;
  rt_.run(info_of("star.step"), [&] { bad = stepper_.advance(dt); });
  if (bad) return error{describe(*bad, dt)};
  time_ = last ? in_.run.t_end : time_ + dt;
  dt_ = dt;
  ++steps_;
  cell_updates_ += gas_.cell_count();
  costs_.stepped(gas_.mesh.blocks());
  if (setup_.domain.max_level > 0 && steps_ % in_.refinement.interval == 0) adapt_mesh();
  return {};
}

void simulation::adapt_mesh() {
  rt_.run(info_of("star.adapt_mesh"), [this] {
    const auto flags = refinement_flags(gas_, setup_, in_.refinement, stepper_.scratch());
    const regrid_result changed =
        regrid(gas_, setup_, flags, static_cast<int>(in_.refinement.coarsen_after), stepper_.scratch());
    if (!changed.changed()) return;
    stepper_.adopt_mesh();
    stepper_.floors().add(changed.floors);
    costs_.collect(rt_.recorder());
    costs_.move(changed.refined, changed.merged);
  });
}

std::vector<double> simulation::totals() const {
  return rt_.run(info_of("star.totals"), [this] { return star::totals(gas_, rt_.worker_count()); });
}

std::string simulation::describe(const bad_cell& bad, double dt) const {
  const int n = gas_.mesh.block_size();
  const int i = bad.cell % n, j = bad.cell / n % n, k = bad.cell / (n * n);
  const mesh::location& where = gas_.mesh.where(bad.slot);
  const double* u = gas_.now.block(bad.slot) + bad.cell;
  return fmt::format(
      "step {}, stage {}: a density or pressure that floors cannot mend in block level {} ({}, {}, {}), cell ({}, {}, "
      "{}) at x = {:.9g}, y = {:.9g}, z = {:.9g}, time {:.9g}, dt {:.4g}; before the step: density {:.6g}, energy "
      "{:.6g}",
      steps_ + 1, bad.stage + 1, where.level, where.x[0], where.x[1], where.x[2], i, j, k,
      gas_.mesh.centre(bad.slot, 0, i), gas_.mesh.centre(bad.slot, 1, j), gas_.mesh.centre(bad.slot, 2, k), time_, dt,
      u[i_density * gas_.now.cells()], u[i_energy * gas_.now.cells()]);
}

std::vector<std::pair<std::string, std::vector<double>>> simulation::numbers() const {
  std::vector<double> rates, votes;
  for (const slot_id slot : gas_.mesh.blocks()) rates.push_back(gas_.signal_rate[slot]);
  const floor_counts& f = stepper_.floors();
  const auto left = stepper_.left().state();
  return {{"time", {time_, dt_}},
          {"steps", {static_cast<double>(steps_), static_cast<double>(cell_updates_)}},
          {"floors", {static_cast<double>(f.density), static_cast<double>(f.pressure), static_cast<double>(f.input)}},
          {"left", {left.begin(), left.end()}},
          {"signal_rate", std::move(rates)}};
}

namespace {

/// The list of that name and length.
result<std::vector<double>> list_of(const mesh::checkpoint& c, const std::string& path, const char* name,
                                    std::size_t length) {
  const std::vector<double>* list = c.state.find(name);
  if (list == nullptr || list->size() != length)
    return error{fmt::format("{}: expected {} numbers '{}', found {}; the checkpoint is not one of this program", path,
                             length, name, list == nullptr ? 0 : list->size())};
  return *list;
}

}  // namespace

result<void> simulation::restore(const mesh::checkpoint& c, const std::string& path) {
  if (c.block_size != setup_.domain.block_size || c.variables.size() != gas_.now.variables().size())
    return error{fmt::format("{}: expected blocks of {}^3 cells with {} variables, found {}^3 with {}", path,
                             setup_.domain.block_size, gas_.now.variable_count(), c.block_size, c.variables.size())};
  auto topology = mesh::block_mesh::from_leaves(setup_.domain, c.leaves);
  if (!topology) return error{path + ": " + topology.error().message};
  const auto time = list_of(c, path, "time", 2), steps = list_of(c, path, "steps", 2);
  const auto floors = list_of(c, path, "floors", 3), rates = list_of(c, path, "signal_rate", c.leaves.size());
  const auto left = list_of(c, path, "left", stepper_.left().state().size());
  for (const auto* list : {&time, &steps, &floors, &rates, &left})
    if (!*list) return list->error();

  gas_.adopt(*std::move(topology));
  stepper_.adopt_mesh();
  if (auto read = mesh::read_values(path, gas_.mesh, gas_.now); !read) return read.error();
  time_ = time->at(0), dt_ = time->at(1);
  steps_ = static_cast<std::int64_t>(steps->at(0)), cell_updates_ = static_cast<std::int64_t>(steps->at(1));
  stepper_.floors() = {static_cast<std::int64_t>(floors->at(0)), static_cast<std::int64_t>(floors->at(1)),
                       static_cast<std::int64_t>(floors->at(2))};
  stepper_.left().restore(*left);
  const auto blocks = gas_.mesh.blocks();
  for (std::size_t p = 0; p < blocks.size(); ++p) gas_.signal_rate[blocks[p]] = rates->at(p);
  return {};
}

}  // namespace plx::star
