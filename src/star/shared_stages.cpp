// The steps of a shared_course: its stages, the exchange between parts and localities, and the end of the step.
#include <algorithm>
#include <bit>
#include <utility>

#include "base/clock.hpp"
#include "star/agreement.hpp"
#include "star/shared_course.hpp"
#include "star/shared_parts_detail.hpp"
#include "star/step_account.hpp"

namespace plx::star {

using mesh::slot_id;

namespace {

/// One type of data that a part exchanges: ghost cells or fluxes.
template <class Halo>
struct lists {
  const Halo& halo;
  const std::vector<std::size_t>& begin;  // of its sends() in the message
};

}  // namespace

void shared_course::run_step(double dt, step_account& mine, std::vector<double>& rates) {
  all_->check();
  values_here_ = false;
  all_->workers_s = 0.0;
  all_->at_work([&](device_part& d) { d.values.begin_step(dt, steps_); });
  for (int stage = 0; stage < setup_.scheme.stages; ++stage) run_stage(stage, dt);
  collect(mine, rates);
}

void shared_course::run_stage(int stage, double dt) {
  const bool fluxes = has_fluxes(), ghosts = has_ghosts();
  const auto put_rest = [&](device_part& d) {
    d.values.put_correction_of_part(stage);
    if (!d.values.borders().empty()) d.values.put_ghosts_out(stage, d.out.ghosts[all_->parity].data());
    if (ghosts) d.mark();
  };
  all_->at_work([&](device_part& d) {
    d.begin_s = monotonic_seconds();
    d.values.put_stage_of_part(stage);
    if (d.values.borders().fluxes_out.back() > 0) d.values.put_fluxes_out(d.out.fluxes.data());
    // If no part sends fluxes, a device needs no input before its ghost cells, and its busy time includes packing them.
    fluxes ? d.mark() : put_rest(d);
  });
  double begin = monotonic_seconds();
  all_->host.advance(stage, dt, all_->host_out.fluxes.data());
  all_->workers_s += monotonic_seconds() - begin;
  if (fluxes) {
    exchange_fluxes(stage);
    all_->at_work([&](device_part& d) {
      d.begin_s = monotonic_seconds();
      put_rest(d);
    });
  }
  begin = monotonic_seconds();
  all_->host.correct(stage, dt);
  all_->host.put_ghosts_out(stage, all_->host_out.ghosts[all_->parity].data());
  all_->workers_s += monotonic_seconds() - begin;
  if (ghosts) exchange_ghosts(stage);
}

void shared_course::wait_for_devices() {
  all_->at_work([](device_part& d) { d.wait(); });
}

bool shared_course::has_fluxes() const {
  for (int p = 0; p < all_->count(); ++p)
    if (all_->borders(p).fluxes_out.back() > 0) return true;
  return all_->far.has(far_message::fluxes);
}

bool shared_course::has_ghosts() const {
  for (int p = 0; p < all_->count(); ++p)
    if (!all_->borders(p).empty()) return true;
  return false;
}

// Sends packed data to other localities, then passes it to the local parts, and finally receives from other localities.
// out(part): the part's packed data. in(part, group, message): takes a message. Both for fluxes, or for ghost cells.
template <class Borders, class Out, class In>
void shared_course::pass_on(far_message what, int stage, const Borders& borders_of, const Out& out, const In& in) {
  wait_for_devices();
  std::vector<const double*> packed;
  for (int p = 0; p < all_->count(); ++p) packed.push_back(out(p));
  all_->far.send(what, stage, packed);
  for (const bool far : {false, true}) {
    if (far && !all_->wait_for_others([&] { return all_->far.wait(what, stage); })) throw peer_failed();
    for (int p = 0; p < all_->count(); ++p) {
      const auto groups = borders_of(p).halo.receives();
      for (int g = 0; g < static_cast<int>(groups.size()); ++g) {
        const int from = groups[g].peer;
        if (all_->view.is_own(from) == far) continue;
        if (far) {
          in(p, g, all_->far.in(what, stage, p, g));
          continue;
        }
        const int part = all_->view.part_of(from);
        const auto there = borders_of(part);
        in(p, g, packed[part] + there.begin[device::group_of(there.halo.sends(), all_->view.own(p))]);
      }
    }
  }
}

void shared_course::exchange_fluxes(int stage) {
  pass_on(
      far_message::fluxes, stage,
      [&](int p) {
        const device::part_borders& b = all_->borders(p);
        return lists<mesh::flux_halo>{b.fluxes, b.fluxes_out};
      },
      [&](int p) { return all_->out(p).fluxes.data(); },
      [&](int p, int group, const double* message) {
        p == all_->host_index() ? all_->host.put_fluxes_in(group, message)
                                : all_->devices[p]->values.put_fluxes_in(group, message);
      });
}

void shared_course::exchange_ghosts(int stage) {
  pass_on(
      far_message::ghosts, stage,
      [&](int p) {
        const device::part_borders& b = all_->borders(p);
        return lists<mesh::halo>{b.ghosts, b.ghosts_out};
      },
      [&](int p) { return all_->out(p).ghosts[all_->parity].data(); },
      [&](int p, int group, const double* message) {
        p == all_->host_index() ? all_->host.put_ghosts_in(stage, group, message)
                                : all_->devices[p]->values.put_ghosts_in(stage, group, message);
      });
  all_->parity ^= 1;
}

// Combines the reports of all parts, along the curve, as finish_body.hpp and stepper::first_bad() do.
void shared_course::collect(step_account& mine, std::vector<double>& rates) {
  std::uint64_t first = device::block_report::no_bad, key = first;
  floor_counts floors;
  std::size_t position = static_cast<std::size_t>(gas_.parts.begin(gas_.net.here()));
  const auto add = [&](const device::block_report& r, bool of_host) {
    const double value = std::bit_cast<double>(r.speed_bits);
    rates.push_back(of_host ? value : value / gas_.mesh.cell_width(gas_.mesh.blocks()[position]));
    floors.add(floor_counts{static_cast<std::int64_t>(r.density_floors), static_cast<std::int64_t>(r.pressure_floors),
                            static_cast<std::int64_t>(r.input_floors)});
    if (r.bad != device::block_report::no_bad)
      if (const std::uint64_t order = r.bad >> 40 << 32 | position; order < first) first = order, key = r.bad;
    ++position;
  };
  all_->at_work([&](device_part& d) {
    for (const device::block_report& r : d.values.end_step()) add(r, false);
  });
  for (const device::block_report& r : all_->host.end_step()) add(r, true);
  mine.take(floors);
  mine.signal_rate = rates.empty() ? 0.0 : *std::max_element(rates.begin(), rates.end());
  left_.assign(static_cast<std::size_t>(mesh::face_count) * gas_.now.variable_count(), {});
  if (first != device::block_report::no_bad) return note_bad(first, key, mine);
  all_->at_work([&](device_part& d) { d.values.add_left(left_); });
}

void shared_course::note_bad(std::uint64_t first, std::uint64_t key, step_account& mine) {
  fetch_own();
  const slot_id slot = gas_.mesh.blocks()[first & 0xffffffffu];
  const int cell = static_cast<int>(key & 0xffffffffu);
  const double* u = gas_.now.block(slot) + cell;
  const std::ptrdiff_t cells = gas_.now.cells();
  mine.take(gas_, {slot, static_cast<int>(first >> 32), cell, u[i_density * cells], u[i_energy * cells]});
}

// Returns the same outcome on all localities.
std::optional<bad_cell> shared_course::end_step(step_account& mine, const std::string& why,
                                                const std::vector<double>& rates) {
  left_.resize(static_cast<std::size_t>(mesh::face_count) * gas_.now.variable_count());
  if (!why.empty()) mine.failed = 1.0 + gas_.net.here();
  if (why.empty() && !mine.is_bad()) all_->host.add_left(left_);
  const step_account all = all_->wait_for_others([&] { return agree_on_step(gas_.net, mine, left_); });
  wishes_ = static_cast<std::uint32_t>(all.wishes);
  if (all.failed > 0.0) throw_if(first_complaint(gas_.net, why));
  if (all.is_bad()) {
    all_->host.forget_left();
    fetch();
    refresh_mirrors(gas_);
    return all.bad_found(gas_);
  }
  all_->at_work([](device_part& d) { d.values.commit(); });
  std::swap(gas_.now, setup_.scheme.stages == 2 ? gas_.stage_b : gas_.stage_a);
  for (std::size_t b = 0; b < rates.size(); ++b) gas_.signal_rate[gas_.own()[b]] = rates[b];
  signal_rate_ = all.signal_rate;
  floors_ = all.floors_found();
  ++steps_;
  return std::nullopt;
}

}  // namespace plx::star
