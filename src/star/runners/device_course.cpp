#include "star/runners/device_course.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "io/run_json.hpp"
#include "mesh/tree/regrid.hpp"
#include "star/device/device_gas.hpp"
#include "star/driver/options.hpp"
#include "star/refine/refinement.hpp"
#include "star/runners/gravity_field.hpp"
#include "step/exchange.hpp"

namespace plx::star {

using mesh::slot_id;

device::gas_options gas_options_of(const setup& s) { return {s.hydro, s.scheme, s.cfl, s.sides, 0, s.modules}; }

const gpu::backend& backend_of(const run_options& run, const gpu::backend* on) {
  return on != nullptr ? *on : gpu::find_backend(run.device == "emulated" ? "cpu" : run.device);
}

error device_error(const run_options& run, const gpu::error& why) {
  return {fmt::format("run.device = \"{}\": {}; run.device = \"cpu\" needs none", run.device, why.what())};
}

// If there is no device, opening reports the error.
int device_index(const gpu::backend& b, int rank) { return rank % std::max(1, gpu::device_count(b)); }

int rank_on_host(step::exchange& net) {
  if (net.is_alone()) return 0;
  const std::string name = this_machine().host + "\n" + this_process().boot;
  const auto number = static_cast<double>(std::hash<std::string>()(name) >> 12);  // exact
  const auto all = net.all_gather({number});
  int lower = 0;
  for (int i = 0; i < net.here(); ++i) lower += all[static_cast<std::size_t>(i)].at(0) == number ? 1 : 0;
  return lower;
}

namespace {

device::gas_options with_totals(device::gas_options o, const input& in) {
  o.totals_every = static_cast<int>(std::min<std::int64_t>(in.output.history_interval, 1 << 30));
  return o;
}

}  // namespace

result<std::unique_ptr<device_course>> device_course::open(const input& in, const setup& s, gas& g, runtime& rt,
                                                           const gpu::backend* of) {
  PLX_ASSERT(g.net.is_alone());
  return on_backend(in.run, of, [&](const gpu::backend& b) {
    return std::unique_ptr<device_course>(new device_course(in, s, g, std::make_unique<run_device>(rt, b, 0)));
  });
}

device_course::device_course(const input& in, const setup& s, gas& g, std::unique_ptr<run_device> on)
    : in_(in),
      setup_(s),
      gas_(g),
      on_(std::move(on)),
      values_(std::make_unique<device::device_gas>(on_->machine, with_totals(gas_options_of(s), in))) {}

static_assert(device_course::most_steps < device::device_gas::steps_kept);

device_course::~device_course() = default;

bool device_course::ahead() const { return next_ < results_.size(); }

void device_course::take() {
  gas_.elsewhere = true;
  values_->adopt(gas_.mesh);
  values_->upload(gas_.now);
  values_->set_signal_rates(std::span(gas_.signal_rate).first(gas_.mesh.slot_count()));
  values_here_ = rates_here_ = true;
}

void device_course::advance(const device::step_control& c, int count) {
  PLX_ASSERT(!ahead() && count >= 1 && count <= most_steps, count);
  values_here_ = rates_here_ = false;
  bad_.reset();
  if (values_->has_outside()) {  // known for one step only
    values_->set_time(gas_.mesh, c.now.time, c.dt);
    count = 1;
  }
  values_->begin(c);
  for (int i = 0; i < count; ++i) values_->step();
  const device::step_control end = values_->wait();
  results_ = std::move(values_->results());
  next_ = 0;
  if (ahead()) {
    signal_rate_ = end.now.signal_rate;
    sums_ = values_->sums(gas_.mesh.blocks());
    return;
  }
  PLX_ASSERT_EQ(end.stopped, static_cast<std::int32_t>(device::bad_state));
  fetch();
  const slot_id slot = gas_.mesh.blocks()[static_cast<std::size_t>(end.bad_position)];
  const double* u = gas_.now.block(slot) + end.bad_cell;
  const std::ptrdiff_t cells = gas_.now.cells();
  bad_ = bad_cell{slot, end.bad_stage, end.bad_cell, u[i_density * cells], u[i_energy * cells]};
}

device::step_result device_course::next() {
  PLX_ASSERT(ahead());
  return std::move(results_[next_++]);
}

std::vector<mesh::flag> device_course::refinement_flags(double weakening, const gravity_field* gravity) {
  PLX_ASSERT(!ahead());
  const device::found_marks found = values_->marks(criteria_of(in_.refinement, setup_, weakening));
  // The same words of the same mesh request the same, unless the potential requests something, too.
  if (found.as_before && gravity == nullptr) return flags_;
  ++marks_read_;
  flags_ = star::refinement_flags(gas_, in_.refinement, found.words, weakening, gravity);
  return flags_;
}

double device_course::time_marks(int repeats) {
  PLX_ASSERT(!ahead());
  return values_->time_marks(criteria_of(in_.refinement, setup_, 1.0), repeats);
}

regrid_result device_course::regrid(const std::vector<mesh::flag>& flags, block_costs& costs) {
  mesh::regrid_plan plan = mesh::plan_regrid(gas_.mesh, flags, static_cast<int>(in_.refinement.coarsen_after));
  PLX_ASSERT(plan.changed());
  regrid_result result{plan.refined, plan.merged, false, {}, {}};
  fetch_rates();
  const std::vector<device::block_report> checks = values_->make_blocks(plan, gas_.mesh);
  costs.move(plan.refined, plan.merged);
  gas_.adopt(std::move(plan.next));
  std::uint64_t added_terms = 0;
  const auto check = [&, next = std::size_t{0}](slot_id slot) mutable {
    const device::block_report& r = checks[next++];
    added_terms += r.added_terms;
    gas_.signal_rate[slot] = std::bit_cast<double>(r.speed_bits) / gas_.mesh.cell_width(slot);
    result.floors.density += static_cast<std::int64_t>(r.density_floors);
    result.floors.pressure += static_cast<std::int64_t>(r.pressure_floors);
  };
  std::vector<slot_id> made;
  for (const mesh::family& f : result.refined) made.insert(made.end(), f.children.begin(), f.children.end());
  for (const mesh::family& f : result.merged) made.push_back(f.parent);
  std::for_each(made.begin(), made.end(), check);
  if (added_terms > 0) result.added = values_->take_added();
  values_->adopt(gas_.mesh);
  values_->set_signal_rates(std::span(gas_.signal_rate).first(gas_.mesh.slot_count()));
  values_here_ = false;
  signal_rate_ = gas_.largest_signal_rate();
  return result;
}

std::vector<double> device_course::totals() {
  PLX_ASSERT(!ahead());
  return values_->totals();
}

void device_course::gravity(gravity_field& to) {
  PLX_ASSERT(!ahead());
  values_->solve_gravity(nullptr);
  read_gravity(*values_, gas_, to);
}

void device_course::fetch_rates() {
  if (std::exchange(rates_here_, true)) return;
  const std::vector<double> rates = values_->signal_rates();
  for (const slot_id slot : gas_.mesh.blocks()) gas_.signal_rate[slot] = rates[slot];
}

void device_course::fetch() {
  PLX_ASSERT(!ahead());
  fetch_rates();
  if (std::exchange(values_here_, true)) return;
  gas_.now.resize(gas_.mesh.slot_count());
  values_->download(gas_.now);
}

}  // namespace plx::star
