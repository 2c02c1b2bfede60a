#include "star/driver/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "mesh/files/checkpoint.hpp"
#include "mesh/tree/regrid.hpp"
#include "num/exact_sum.hpp"
#include "rt/runtime.hpp"
#include "star/device/device_gas.hpp"
#include "star/driver/agreement.hpp"
#include "star/driver/balancer.hpp"
#include "star/refine/refinement.hpp"
#include "star/refine/regrid.hpp"
#include "star/runners/device_course.hpp"
#include "star/runners/distributed_device.hpp"
#include "star/runners/gravity_field.hpp"
#include "star/state/gas.hpp"
#include "star/step/gas_step.hpp"
#include "star/tracers/tracers.hpp"

namespace plx::star {

using mesh::slot_id;

namespace {

task_info info_of(const char* name) { return {probe::register_name(name), probe::no_key}; }

// Calls f() in a task: a thread that is not in one makes one and waits for it.
template <class F>
auto as_task(runtime& rt, task_info info, F&& f) {
  if (worker_index()) return f();
  return rt.run(info, std::forward<F>(f));
}

}  // namespace

struct simulation::parts {
  parts(const input& in, const setup& s) : points(in.tracers, s.hydro), limit(in.refinement) {}

  tracers points;
  block_limit limit;
  block_costs costs;
  balancer balance;
  std::unique_ptr<device_course> device;
  std::unique_ptr<distributed_device> distributed;  // with several localities
  std::unique_ptr<gravity_field> field;             // made by gravity()
  std::unique_ptr<gravity_solver> field_solver;     // made before the first step, or after a change of the mesh
};

simulation::simulation(const input& in, const setup& s, runtime& rt, step::exchange& net)
    : in_(in),
      setup_(s),
      rt_(rt),
      gas_(s, net),
      stepper_(gas_, s, rt.worker_count()),
      parts_(std::make_unique<parts>(in, s)),
      accumulates_(accumulating_sums(s.modules)),
      accumulated_(accumulates_.size()) {}

void simulation::start() {
  as_task(rt_, info_of("star.start"), [this] {
    if (auto built = in_.problem->build(); !built) throw std::invalid_argument(built.error().message);
    const floor_counts floors =
        build_initial(gas_, setup_, in_.refinement, *in_.problem, stepper_.scratch(), parts_->limit,
                      [this]() -> const gravity_field& { return solve_gravity(); });
    parts_->field_solver.reset();  // its fields take as much memory as those of the steps
    warn_of_limit();
    stepper_.adopt_mesh();
    stepper_.floors() = {};
    agree(floors, {});
    if (parts_->points.present())
      if (auto placed = parts_->points.place(gas_, in_.problem.get()); !placed)
        throw std::invalid_argument(placed.error().message);
    if (parts_->device != nullptr) parts_->device->take();
    if (parts_->distributed != nullptr) parts_->distributed->take();
  });
}

// After new blocks were made: exchanges the numbers that all localities need.
void simulation::agree(const floor_counts& own, std::vector<exact_sum> own_added) {
  const std::vector<double> all =
      gas_.net.all_reduce({gas_.largest_signal_rate(), double(own.density), double(own.pressure), double(own.input)},
                          [](const std::vector<double>& a, const std::vector<double>& b) {
                            return std::vector<double>{std::max(a[0], b[0]), a[1] + b[1], a[2] + b[2], a[3] + b[3]};
                          });
  signal_rate_ = all.at(0);
  stepper_.floors().add({std::int64_t(all.at(1)), std::int64_t(all.at(2)), std::int64_t(all.at(3))});
  own_added.resize(static_cast<std::size_t>(gas_.now.variable_count()));
  sum_over_localities(gas_.net, own_added);
  stepper_.added().add(own_added);
}

bool simulation::finished() const { return time_ >= t_end() || (in_.run.max_steps > 0 && steps_ >= in_.run.max_steps); }

std::string simulation::with_unit(double time) const {
  return fmt::format("{:.9g} {}", time / setup_.time_unit, in_.run.time_unit == "orbit" ? "orbits" : "code units");
}

device::step_rule simulation::rule() const {
  const run_options& r = in_.run;
  return {.cfl = setup_.cfl,
          .t_end = t_end(),
          .first_factor = r.dt_first_factor,
          .growth = r.dt_growth,
          .shortest = r.dt_min * setup_.time_unit,
          .longest = r.dt_max * setup_.time_unit};
}

result<double> simulation::next_dt() const {
  if (const double dt = device::next_dt(rule(), now()); dt > 0.0) return dt;
  const double dt = device::free_dt(rule(), now());
  const std::string found =
      fmt::format("step {}: the time step fell to {} at time {}", steps_ + 1, with_unit(dt), with_unit(time_));
  if (dt < rule().shortest)
    return error{fmt::format("{}; expected at least run.dt_min = {}; inspect the last mesh file", found,
                             with_unit(rule().shortest))};
  return error{found + ", which no longer advances the time; inspect the last mesh file, or lower hydro.cfl"};
}

// Calls advance(dt), which returns the cell that made it fail. Returns the length of the step that succeeded.
template <class F>
result<double> simulation::advance_with_retries(double dt, F&& advance) {
  for (std::int64_t tries = 0;; ++tries) {
    const std::optional<bad_cell> bad = advance(dt);
    if (!bad) return dt;
    const std::string what = describe(*bad, dt);
    const double half = 0.5 * dt;
    if (tries == in_.run.retries || half < rule().shortest || !(time_ + half > time_)) return error{what};
    log_warning("{}; tried again with half the time step", what);
    dt = half;
  }
}

result<void> simulation::step() {
  PLX_ASSERT(!finished());
  if (parts_->device != nullptr) return advance_device();
  const auto planned = next_dt();
  if (!planned) return planned.error();
  begin_step_of_tracers();
  const auto dt = advance_with_retries(
      *planned, [&](double d) { return as_task(rt_, info_of("star.step"), [&] { return advance_all(d); }); });
  if (!dt) return dt.error();
  time_ = *dt >= t_end() - time_ ? t_end() : time_ + *dt;
  dt_ = *dt;
  take_sums(parts_->distributed != nullptr ? parts_->distributed->sums() : stepper_.sums());
  end_step_of_tracers();
  stepped();
  return {};
}

// Velocities are evaluated on the host: a device copies its values, the same at the end of a step and at the start of
// the next one unless the mesh changes.
void simulation::begin_step_of_tracers() {
  if (!parts_->points.present()) return;
  fetch();
  as_task(rt_, info_of("star.tracers"), [this] { parts_->points.begin_step(gas_, stepper_.scratch(), time_); });
}

void simulation::end_step_of_tracers() {
  if (!parts_->points.present()) return;
  fetch();
  as_task(rt_, info_of("star.tracers"), [this] { parts_->points.end_step(gas_, stepper_.scratch(), time_, dt_); });
}

std::optional<bad_cell> simulation::advance_all(double dt) {
  for (int s = 0; s < setup_.scheme.stages; ++s) gas_.stage_time[s] = time_ + setup_.scheme.time_share[s] * dt;
  if (parts_->distributed == nullptr) {
    const auto bad = stepper_.advance(dt, time_);
    signal_rate_ = stepper_.signal_rate();
    return bad;
  }
  auto bad = parts_->distributed->advance(dt, time_);
  if (bad) return bad;
  signal_rate_ = parts_->distributed->signal_rate();
  stepper_.floors().add(parts_->distributed->floors());
  stepper_.added().add(parts_->distributed->added());
  stepper_.left().add_step(parts_->distributed->outflow());
  return bad;
}

void simulation::stepped() {
  ++steps_;
  cell_updates_ += gas_.cell_count();
  parts_->costs.stepped(gas_.own());
  if (setup_.domain.max_level == 0 || steps_ % in_.refinement.interval != 0) return;
  parts_->device != nullptr ? adapt_on_device() : adapt_mesh();
}

// On a device no task belongs to a node.
void simulation::collect_costs() {
  if (parts_->device == nullptr) parts_->costs.collect(rt_.recorder(), stepper_.nodes());
  if (parts_->distributed != nullptr) parts_->costs.add(gas_.own(), parts_->distributed->take_busy_s());
}

std::vector<mesh::flag> simulation::flags_of_criteria() {
  const gravity_field* depths = in_.refinement.potential_levels.empty() ? nullptr : &gravity();
  std::vector<mesh::flag> flags = parts_->limit.choose(gas_.mesh, [&](double weakening) {
    if (parts_->device != nullptr) return parts_->device->refinement_flags(weakening, depths);
    if (parts_->distributed != nullptr) return parts_->distributed->refinement_flags(weakening, depths);
    return refinement_flags(gas_, setup_, in_.refinement, stepper_.scratch(), weakening, depths);
  });
  warn_of_limit();
  return flags;
}

void simulation::warn_of_limit() {
  if (warned_of_limit_ || parts_->limit.weakening() <= 1.0) return;
  warned_of_limit_ = true;
  if (is_root(gas_.net))
    log_warning(
        "step {}: the refinement criteria request more than refinement.max_blocks = {}; from now on their thresholds "
        "are weakened as required, now by a factor of {:.3g}",
        steps_, in_.refinement.max_blocks, parts_->limit.weakening());
}

void simulation::adapt_mesh() {
  as_task(rt_, info_of("star.adapt_mesh"), [this] {
    collect_costs();
    parts_->balance.measure(gas_, parts_->costs);
    next_mesh next = plan_next_mesh(gas_, flags_of_criteria(), static_cast<int>(in_.refinement.coarsen_after),
                                    steps_ - checked_at_, parts_->balance);
    checked_at_ = steps_;
    count_check(next.changed());
    if (parts_->distributed != nullptr && next.changed()) parts_->distributed->fetch();
    regrid_result changed = regrid(gas_, setup_, std::move(next), {stepper_.scratch(), parts_->costs, parts_->balance});
    if (!changed.changed()) return;
    stepper_.adopt_mesh();
    agree(changed.floors, std::move(changed.added));
    if (parts_->distributed != nullptr) parts_->distributed->take();
  });
}

void simulation::count_check(bool changed) {
  ++checks_.made;
  checks_.plans += changed ? 1 : 0;
}

regrid_checks simulation::checks() const {
  regrid_checks all = checks_;
  all.marks_read = parts_->device != nullptr ? parts_->device->marks_read() : 0;
  return all;
}

void simulation::wish(std::uint32_t bits) {
  parts_->distributed != nullptr ? parts_->distributed->wish(bits) : stepper_.wish(bits);
}

std::uint32_t simulation::wishes() const {
  return parts_->distributed != nullptr ? parts_->distributed->wishes() : stepper_.wishes();
}

// Called before stepped() counts the step: a regrid, which may follow, ends the life of the fields of modules.
void simulation::take_sums(const std::vector<exact_sum>& local) {
  sums_ = local;
  sums_step_ = steps_ + 1;
  if (!has_accumulating_sums()) return;
  std::vector<exact_sum> all = local;
  as_task(rt_, info_of("star.totals"), [&] { sum_over_localities(gas_.net, all); });
  for (std::size_t i = 0; i < all.size(); ++i) accumulated_[i].add(all[i].value());
}

bool simulation::has_accumulating_sums() const {
  return std::find(accumulates_.begin(), accumulates_.end(), true) != accumulates_.end();
}

std::vector<double> simulation::sums_of_modules() const {
  std::vector<double> values(accumulates_.size(), std::numeric_limits<double>::quiet_NaN());
  if (values.empty()) return values;
  if (sums_step_ == steps_) {
    std::vector<exact_sum> sums = sums_;
    as_task(rt_, info_of("star.totals"), [&] { sum_over_localities(gas_.net, sums); });
    std::transform(sums.begin(), sums.end(), values.begin(), [](const exact_sum& s) { return s.value(); });
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    if (accumulates_[i]) values[i] = accumulated_[i].value();
  return values;
}

std::vector<double> simulation::totals() const {
  std::vector<double> all = totals_of_gas();
  const std::vector<double> sums = sums_of_modules();
  all.insert(all.end(), sums.begin(), sums.end());
  return all;
}

std::vector<double> simulation::totals_of_gas() const {
  if (!totals_.empty()) return totals_;
  if (parts_->device != nullptr)
    return as_task(rt_, info_of("star.device.totals"), [this] { return parts_->device->totals(); });
  if (parts_->distributed != nullptr)
    return as_task(rt_, info_of("star.device.totals"), [this] { return parts_->distributed->totals(); });
  return as_task(rt_, info_of("star.totals"), [this] { return star::totals(gas_, rt_.worker_count()); });
}

const gravity_field& simulation::gravity() {
  as_task(rt_, info_of("star.gravity_field"), [this] {
    if (parts_->field == nullptr) parts_->field = std::make_unique<gravity_field>();
    if (parts_->device != nullptr) return parts_->device->gravity(*parts_->field);
    if (parts_->distributed != nullptr) return parts_->distributed->gravity(*parts_->field);
    if (!stepper_.copy_gravity(*parts_->field)) solve_gravity();
  });
  return *parts_->field;
}

// Computes the field on workers. Called by a task, on all localities.
const gravity_field& simulation::solve_gravity() {
  if (parts_->field == nullptr) parts_->field = std::make_unique<gravity_field>();
  if (parts_->field_solver == nullptr) {
    gravity::gravity_options o = in_.gravity;
    o.constant = setup_.gravitational_constant;
    parts_->field_solver = std::make_unique<gravity_solver>(gas_, o);
  }
  parts_->field_solver->solve(*parts_->field);
  return *parts_->field;
}

std::string simulation::describe(const bad_cell& bad, double dt) const {
  const int n = gas_.mesh.block_size();
  const int i = bad.cell % n, j = bad.cell / n % n, k = bad.cell / (n * n);
  const mesh::location& where = gas_.mesh.where(bad.slot);
  const std::string stage =
      bad.stage == setup_.scheme.stages ? "after the last stage" : fmt::format("stage {}", bad.stage + 1);
  return fmt::format(
      "step {}, {}: a density or pressure that the floors cannot repair, in block level {} ({}, {}, {}), cell "
      "({}, {}, {}) at x = {:.9g}, y = {:.9g}, z = {:.9g}, time {:.9g}, dt {:.4g}; before the step: density {:.6g}, "
      "energy {:.6g}",
      steps_ + 1, stage, where.level, where.x[0], where.x[1], where.x[2], i, j, k, gas_.mesh.centre(bad.slot, 0, i),
      gas_.mesh.centre(bad.slot, 1, j), gas_.mesh.centre(bad.slot, 2, k), time_, dt, bad.density, bad.energy);
}

simulation::~simulation() = default;

bool simulation::on_device() const { return parts_->device != nullptr || parts_->distributed != nullptr; }

unsigned simulation::worker_of(mesh::slot_id slot) const {
  return parts_->device != nullptr ? 0 : stepper_.worker_of(slot);
}

block_costs& simulation::costs() { return parts_->costs; }

const balancer& simulation::balance() const { return parts_->balance; }

const tracers& simulation::points() const { return parts_->points; }

bool simulation::is_ahead() const { return parts_->device != nullptr && parts_->device->ahead(); }

result<void> simulation::take_device(const gpu::backend* on) {
  if (in_.run.device == "cpu") return {};
  if (!gas_.net.is_alone()) {
    if (setup_.sides.outside != nullptr)
      return error{
          fmt::format("run.device = \"{}\": expected one process for boundaries \"problem\" in mesh.sides, found {}; "
                      "run.device = \"cpu\" takes them",
                      in_.run.device, gas_.net.count())};
    auto opened =
        as_task(rt_, info_of("star.device.open"), [&] { return distributed_device::open(in_, setup_, gas_, rt_, on); });
    if (!opened) return opened.error();
    parts_->distributed = *std::move(opened);
    return {};
  }
  auto course = device_course::open(in_, setup_, gas_, rt_, on);
  if (!course) return course.error();
  parts_->device = *std::move(course);
  return {};
}

void simulation::fetch() {
  if (parts_->device != nullptr) as_task(rt_, info_of("star.device.copy"), [this] { parts_->device->fetch(); });
  if (parts_->distributed != nullptr)
    as_task(rt_, info_of("star.device.copy"), [this] { parts_->distributed->fetch(); });
}

// Steps to the next regrid check, limited to the number that a device reports at once.
int simulation::steps_to_look() const {
  std::int64_t count = device_course::most_steps;
  if (setup_.domain.max_level > 0) count = std::min(count, in_.refinement.interval - steps_ % in_.refinement.interval);
  if (in_.run.max_steps > 0) count = std::min(count, in_.run.max_steps - steps_);
  const output_options& o = in_.output;
  if (has_accumulating_sums() || parts_->points.present()) count = 1;
  if (!accumulates_.empty()) count = std::min(count, o.history_interval - steps_ % o.history_interval);
  if (!o.analysis.empty()) count = std::min(count, o.analysis_interval - steps_ % o.analysis_interval);
  if (in_.diagnostics.stars > 0) count = std::min(count, in_.diagnostics.interval - steps_ % in_.diagnostics.interval);
  if (in_.light.interval > 0) count = std::min(count, in_.light.interval - steps_ % in_.light.interval);
  for (const series_options& s : o.series)
    if (s.every_steps > 0) count = std::min(count, s.every_steps - steps_ % s.every_steps);
  if (!o.wait_interval()) count = 1;
  return static_cast<int>(count);
}

// If a batch ends with a step that fails, the next batch begins with that step, which fails again there.
result<void> simulation::advance_device() {
  if (!parts_->device->ahead()) {
    const auto planned = next_dt();
    if (!planned) return planned.error();
    begin_step_of_tracers();
    const auto dt = advance_with_retries(*planned, [&](double d) -> std::optional<bad_cell> {
      device::step_control c{rule(), now(), d};
      const floor_counts& f = stepper_.floors();
      c.density_floors = f.density, c.pressure_floors = f.pressure, c.input_floors = f.input;
      c.wait_interval = in_.output.wait_interval().value_or(0.0) * setup_.time_unit;
      as_task(rt_, info_of("star.device.steps"), [&] { parts_->device->advance(c, steps_to_look()); });
      return parts_->device->ahead() ? std::nullopt : parts_->device->failed();
    });
    if (!dt) return dt.error();
    signal_rate_ = parts_->device->signal_rate();
  }
  device::step_result r = parts_->device->next();
  time_ = r.course.time, dt_ = r.course.dt;
  stepper_.floors() = {r.course.density_floors, r.course.pressure_floors, r.course.input_floors};
  stepper_.added().add(r.added);
  if (!r.left.empty()) stepper_.left().add_step(r.left);
  totals_ = std::move(r.totals);
  if (!parts_->device->ahead()) take_sums(parts_->device->sums());
  end_step_of_tracers();
  stepped();
  return {};
}

void simulation::adapt_on_device() {
  std::vector<mesh::flag> flags;
  const bool changes = as_task(rt_, info_of("star.device.refinement"), [&] {
    flags = flags_of_criteria();
    return !mesh::count_requests(gas_.mesh, flags, static_cast<int>(in_.refinement.coarsen_after));
  });
  count_check(changes);
  if (!changes) return;
  as_task(rt_, info_of("star.device.regrid"), [&] {
    const regrid_result changed = parts_->device->regrid(flags, parts_->costs);
    totals_.clear();  // differ by rounding, and by floors in new blocks
    signal_rate_ = parts_->device->signal_rate();
    stepper_.floors().add(changed.floors);
    stepper_.added().add(changed.added);
  });
}

std::vector<std::pair<std::string, std::vector<double>>> simulation::numbers() const {
  const std::vector<double> rates = as_task(rt_, info_of("star.numbers"), [this] {
    std::vector<double> mine, all;
    for (const slot_id slot : gas_.own()) mine.push_back(gas_.signal_rate[slot]);
    for (const std::vector<double>& from : gas_.net.all_gather(std::move(mine)))
      all.insert(all.end(), from.begin(), from.end());
    return all;
  });
  const floor_counts& f = stepper_.floors();
  const auto left = stepper_.left().state();
  std::vector<std::pair<std::string, std::vector<double>>> all{
      {"time", {time_, dt_}},
      {"steps", {static_cast<double>(steps_), static_cast<double>(cell_updates_)}},
      {"floors", {static_cast<double>(f.density), static_cast<double>(f.pressure), static_cast<double>(f.input)}},
      {"from_floors", stepper_.added().state()},
      {"left", {left.begin(), left.end()}},
      {"signal_rate", rates}};
  if (parts_->points.present()) all.emplace_back("tracers", parts_->points.numbers());
  if (parts_->limit.present()) all.push_back({"block_limit", {parts_->limit.state()}});
  if (std::vector<double> sums = sums_of_modules(); !sums.empty()) all.emplace_back("module_sums", std::move(sums));
  if (has_accumulating_sums()) {
    std::vector<double> list;
    for (const running_sum& s : accumulated_) list.insert(list.end(), {s.sum, s.lost});
    all.emplace_back("accumulated_sums", std::move(list));
  }
  return all;
}

namespace {

/// The list with that name and length.
result<std::vector<double>> list_of(const mesh::checkpoint& c, const std::string& path, const char* name,
                                    std::size_t length) {
  const std::vector<double>* list = c.state.find(name);
  if (list == nullptr || list->size() != length)
    return error{fmt::format("{}: expected {} numbers '{}', found {}; the checkpoint was not written by this program",
                             path, length, name, list == nullptr ? 0 : list->size())};
  return *list;
}

}  // namespace

result<void> simulation::restore(const mesh::checkpoint& c, const std::string& path) {
  if (c.block_size != setup_.domain.block_size || c.variables.size() != gas_.now.fields().size())
    return error{fmt::format("{}: expected blocks of {}^3 cells with {} variables, found {}^3 with {}", path,
                             setup_.domain.block_size, gas_.now.variable_count(), c.block_size, c.variables.size())};
  for (std::size_t v = 0; v < c.variables.size(); ++v)
    if (c.variables[v] != gas_.now.fields()[v].name)
      return error{fmt::format("{}: expected the variable '{}' at place {}, found '{}'", path,
                               gas_.now.fields()[v].name, v + 1, c.variables[v])};
  for (const mesh::leaf& l : c.leaves)
    if (l.where.level > setup_.domain.max_level)
      return error{fmt::format("{}: it has blocks of level {}; expected mesh.max_level to be at least that, found {}",
                               path, l.where.level, setup_.domain.max_level)};
  auto topology = mesh::block_mesh::from_leaves(setup_.domain, c.leaves);
  if (!topology) return error{path + ": " + topology.error().message};
  const auto time = list_of(c, path, "time", 2), steps = list_of(c, path, "steps", 2);
  const auto floors = list_of(c, path, "floors", 3), rates = list_of(c, path, "signal_rate", c.leaves.size());
  const auto left = list_of(c, path, "left", stepper_.left().state().size());
  const auto added = list_of(c, path, "from_floors", stepper_.added().state().size());
  for (const auto* list : {&time, &steps, &floors, &rates, &left, &added})
    if (!*list) return list->error();

  gas_.adopt(*std::move(topology));
  stepper_.adopt_mesh();
  if (auto read = mesh::read_values(path, gas_.mesh, gas_.now); !read) return read.error();
  time_ = time->at(0), dt_ = time->at(1);
  steps_ = static_cast<std::int64_t>(steps->at(0)), cell_updates_ = static_cast<std::int64_t>(steps->at(1));
  stepper_.floors() = {static_cast<std::int64_t>(floors->at(0)), static_cast<std::int64_t>(floors->at(1)),
                       static_cast<std::int64_t>(floors->at(2))};
  stepper_.added().restore(*added);
  stepper_.left().restore(*left);
  const auto blocks = gas_.mesh.blocks();
  for (std::size_t p = 0; p < blocks.size(); ++p) gas_.signal_rate[blocks[p]] = rates->at(p);
  signal_rate_ = rates->empty() ? 0.0 : *std::max_element(rates->begin(), rates->end());
  checked_at_ = steps_;
  if (const std::vector<double>* limit = c.state.find("block_limit"); limit != nullptr && limit->size() == 1)
    parts_->limit.restore(limit->at(0));
  const std::vector<double>* points = c.state.find("tracers");
  place_tracers_ = parts_->points.present() && points == nullptr;
  if (place_tracers_ && in_.tracers.placement == "stars")
    return error{fmt::format(
        "tracers.placement = \"stars\": {} has no tracers, and its stars have moved since the start; expected "
        "\"mass\" or \"volume\" to place tracers in a run that continues",
        path)};
  if (parts_->points.present() && points != nullptr)
    if (auto done = parts_->points.restore(*points); !done) return error{path + ": " + done.error().message};
  const std::vector<double>* sums = c.state.find("module_sums");
  if (sums != nullptr && sums->size() == sum_names(setup_.modules).size()) {
    sums_.assign(sums->size(), {});
    for (std::size_t i = 0; i < sums_.size() && is_root(gas_.net); ++i) sums_[i].add(sums->at(i));
    sums_step_ = steps_;
  }
  const std::vector<double>* accumulated = c.state.find("accumulated_sums");
  if (accumulated != nullptr && accumulated->size() == 2 * accumulated_.size())
    for (std::size_t i = 0; i < accumulated_.size(); ++i)
      accumulated_[i] = {accumulated->at(2 * i), accumulated->at(2 * i + 1)};
  return {};
}

void simulation::go_on() {
  if (place_tracers_)
    as_task(rt_, info_of("star.tracers"), [this] {
      if (auto placed = parts_->points.place(gas_, nullptr); !placed)
        throw std::invalid_argument(placed.error().message);
    });
  if (parts_->device != nullptr) as_task(rt_, info_of("star.device.copy"), [this] { parts_->device->take(); });
  if (parts_->distributed != nullptr)
    as_task(rt_, info_of("star.device.copy"), [this] { parts_->distributed->take(); });
}

}  // namespace plx::star
