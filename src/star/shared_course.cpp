#include "star/shared_course.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <utility>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "probe/policy/actuator.hpp"
#include "rt/future.hpp"
#include "rt/runtime.hpp"
#include "star/agreement.hpp"
#include "star/course_device.hpp"
#include "star/exact_sums.hpp"
#include "star/far_messages.hpp"
#include "star/host_part.hpp"
#include "star/pinned_numbers.hpp"
#include "star/share_tuner.hpp"
#include "star/step_account.hpp"
#include "star/totals.hpp"

namespace plx::star {

using mesh::slot_id;

namespace {

constexpr std::int64_t steps_of_sample = 16;

/// Thrown out of a step that another locality cannot end.
struct peer_failed {};

/// What is wrong with a device of any locality, told to all.
void throw_if(const std::string& complaint) {
  if (!complaint.empty()) throw gpu::error({gpu::failure::other, 0, "", "", complaint});
}

/// What a part exchanges of one kind.
template <class Halo>
struct lists {
  const Halo& halo;
  const std::vector<std::size_t>& begin;  // of its sends() in the message
};

/// What a part sends. Ghosts of two stages: one is still read while the next one is written.
struct messages {
  pinned_numbers fluxes, ghosts[2];

  void reserve(device::machine& on, const device::part_borders& b) {
    fluxes.reserve(on, b.fluxes_out.back());
    for (pinned_numbers& g : ghosts) g.reserve(on, b.ghosts_out.back());
  }
};

}  // namespace

// A device with its blocks.
struct shared_course::device_part : course_device {
  device_part(runtime& rt, const gpu::backend& b, int index, const setup& s)
      : course_device(rt, b, index), values(machine, gas_options_of(s)) {}

  device::device_gas values;
  messages out;

  // When what was put in last is done, and seconds that it was busy in the step.
  double begin_s = 0.0, busy_s = 0.0;
  std::atomic<double> end_s{0.0};
  future<void> done;

  void mark() {
    done = machine.stream().future().then(launch::sync, [this](future<void> f) {
      end_s.store(monotonic_seconds(), std::memory_order_relaxed);  // the future orders it before the wait
      f.get();
    });
  }
  void wait() {
    done.get();
    busy_s += end_s.load(std::memory_order_relaxed) - begin_s;
  }
};

struct shared_course::parts_of {
  parts_of(gas& g, const setup& s, worker_scratch& scratch) : host(g, s, scratch), far(g.net) {}
  // After a failure a device may still read what another one, or the host, has sent: nothing goes before all have
  // ended.
  ~parts_of() {
    for (auto& d : devices) try {
        d->machine.synchronize();
      } catch (...) {  // told where it happened
      }
  }

  std::vector<std::unique_ptr<device_part>> devices;
  host_part host;
  messages host_out;
  int parity = 0;  // of the ghosts' messages
  parts_view view;
  far_messages far;
  std::exception_ptr failed_before;  // of a device, where the others were not asked

  // Of the measurement.
  bool tuned = false;
  unsigned workers = 1;
  share_tuner tuner;
  share_tuner::sample sample;
  double workers_s = 0.0;  // of the step
  probe::actuator_handle<double> share;

  int count() const { return static_cast<int>(devices.size()) + 1; }  // parts; the workers' is the last
  int host_index() const { return static_cast<int>(devices.size()); }
  const device::part_borders& borders(int part) const {
    return part == host_index() ? host.borders() : devices[part]->values.borders();
  }
  messages& out(int part) { return part == host_index() ? host_out : devices[part]->out; }

  // f(device) of those that have blocks: the others have nothing to do, and nobody waits for them.
  template <class F>
  void at_work(F&& f) {
    for (auto& d : devices)
      if (d->values.has_blocks()) f(*d);
  }
};

shared_course::shared_course(const input& in, const setup& s, gas& g, worker_scratch& scratch, runtime& rt)
    : in_(in), setup_(s), gas_(g), all_(std::make_unique<parts_of>(g, s, scratch)) {
  const std::string& share = in.run.device_share;
  all_->workers = rt.worker_count();
  all_->tuned = share == "auto";
  const double fixed = all_->tuned ? all_->tuner.share() : std::strtod(share.c_str(), nullptr);
  all_->share = rt.actuators().add<double>(
      {"star.device-share", "1", "Share of the blocks that devices advance, from the next division on"}, fixed,
      {0.0, 1.0}, [](double) {});
  shares_.device_blocks.assign(static_cast<std::size_t>(in.run.devices), 0);
}

shared_course::~shared_course() = default;

result<std::unique_ptr<shared_course>> shared_course::open(const input& in, const setup& s, gas& g,
                                                           worker_scratch& scratch, runtime& rt,
                                                           const gpu::backend* of) {
  const int rank = rank_on_host(g.net);
  return on_backend(in.run, of, [&](const gpu::backend& b) {
    std::unique_ptr<shared_course> course(new shared_course(in, s, g, scratch, rt));
    for (int d = 0; d < static_cast<int>(in.run.devices); ++d) {
      const int index = is_opened_often(in.run, of) ? 0 : device_index(in.run, b, rank, d);
      course->all_->devices.push_back(std::make_unique<device_part>(rt, b, index, s));
    }
    return course;
  });
}

// f(), which may find that a device has failed: then all localities throw that.
template <class F>
void shared_course::all_or_none(F&& f) {
  if (gas_.net.is_alone()) return f();
  std::string why;
  try {
    f();
  } catch (const gpu::error& e) {
    why = e.what();
  }
  throw_if(first_complaint(gas_.net, why));
}

void shared_course::take() {
  PLX_ASSERT(values_here_);
  all_or_none([this] { divide(); });
}

// Devices get equal parts of their share, the workers the end of the locality's part of the curve.
void shared_course::cut() {
  const auto devices = static_cast<std::int64_t>(all_->devices.size());
  const int here = gas_.net.here();
  const std::int64_t begin = gas_.parts.begin(here), blocks = gas_.parts.end(here) - begin;
  const auto of_devices = std::clamp<std::int64_t>(std::llround(all_->share->get() * double(blocks)), 0, blocks);
  all_->view = parts_view(here, gas_.net.count(), all_->count());
  std::vector<std::int32_t> owner;
  for (std::int64_t p = 0; p < static_cast<std::int64_t>(gas_.mesh.block_count()); ++p) {
    const int locality = gas_.parts.part_of(static_cast<int>(p));
    const std::int64_t mine = p - begin;
    owner.push_back(locality != here
                        ? all_->view.far(locality)
                        : all_->view.own(static_cast<int>(mine < of_devices ? mine * devices / of_devices : devices)));
  }
  parts_ = mesh::curve_parts(owner, all_->view.count());
}

void shared_course::divide() {
  cut();
  std::vector<const device::part_borders*> borders;
  for (int d = 0; d < all_->host_index(); ++d) {
    device_part& part = *all_->devices[d];
    part.values.adopt_part(gas_.mesh, parts_, all_->view.own(d));
    part.values.upload_part(gas_.now);
    part.out.reserve(part.machine, part.values.borders());
    borders.push_back(&part.values.borders());
  }
  device::machine& pinning = all_->devices.front()->machine;
  all_->host.adopt(parts_, all_->view.own(all_->host_index()));
  all_->host_out.reserve(pinning, all_->host.borders());
  borders.push_back(&all_->host.borders());
  all_->far.adopt(gas_, all_->view, std::move(borders), pinning);
}

// A device that fails must not leave the others waiting: they are told, and all meet at the end of the step.
std::optional<bad_cell> shared_course::advance(double dt) {
  const double begin = monotonic_seconds();
  const bool alone = gas_.net.is_alone();
  step_account mine;
  mine.wishes = std::exchange(my_wishes_, 0);
  std::vector<double> rates;
  std::exception_ptr error;
  std::string why;
  all_->far.open(setup_.scheme.stages);
  try {
    run_step(dt, mine, rates);
  } catch (const gpu::error& e) {
    why = e.what();
    error = std::current_exception();
  } catch (const peer_failed&) {
  } catch (...) {
    error = std::current_exception();
  }
  if (!why.empty() && !alone) all_->far.tell_failure();
  if (!alone) all_->far.close();
  if (error != nullptr && (alone || why.empty())) std::rethrow_exception(error);
  const auto bad = end_step(mine, why, rates);
  all_->sample.wall_s += monotonic_seconds() - begin;
  if (!bad) measure();
  return bad;
}

void shared_course::run_step(double dt, step_account& mine, std::vector<double>& rates) {
  if (all_->failed_before != nullptr) std::rethrow_exception(std::exchange(all_->failed_before, nullptr));
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
    // Where nobody sends fluxes a device needs nothing of the others before its ghosts, and its time ends with these.
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
  return all_->far.has(far_messages::kind::fluxes);
}

bool shared_course::has_ghosts() const {
  for (int p = 0; p < all_->count(); ++p)
    if (!all_->borders(p).empty()) return true;
  return false;
}

// What was packed goes to other localities first, then to the parts here; what the others have sent comes last.
// out(part): where it has packed. in(part, group, message). Both of fluxes, or of ghosts.
template <class Borders, class Out, class In>
void shared_course::pass_on(far_messages::kind what, int stage, const Borders& borders_of, const Out& out,
                            const In& in) {
  wait_for_devices();
  std::vector<const double*> packed;
  for (int p = 0; p < all_->count(); ++p) packed.push_back(out(p));
  all_->far.send(what, stage, packed);
  for (const bool far : {false, true}) {
    if (far && !all_->far.wait(what, stage)) throw peer_failed();
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
      far_messages::kind::fluxes, stage,
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
      far_messages::kind::ghosts, stage,
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

// Reports of all parts, along the curve: as finish_body.hpp and stepper::first_bad() take them.
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

// The same outcome for all.
std::optional<bad_cell> shared_course::end_step(step_account& mine, const std::string& why,
                                                const std::vector<double>& rates) {
  left_.resize(static_cast<std::size_t>(mesh::face_count) * gas_.now.variable_count());
  if (!why.empty()) mine.failed = 1.0 + gas_.net.here();
  if (why.empty() && !mine.is_bad()) all_->host.add_left(left_);
  const step_account all = agree_on_step(gas_.net, mine, left_);
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

void shared_course::measure() {
  const auto blocks = [this](int part) {
    return parts_.end(all_->view.own(part)) - parts_.begin(all_->view.own(part));
  };
  for (int d = 0; d < all_->host_index(); ++d) shares_.device_blocks[static_cast<std::size_t>(d)] += blocks(d);
  shares_.worker_blocks += blocks(all_->host_index());
  share_tuner::sample& s = all_->sample;
  s.blocks += static_cast<double>(gas_.own().size());
  s.workers_s += all_->workers_s;
  double devices_s = 0.0;  // they work at the same time
  for (auto& d : all_->devices) devices_s = std::max(devices_s, std::exchange(d->busy_s, 0.0));
  s.devices_s += devices_s;
  busy_s_ += std::max(devices_s, all_->workers_s);
  if (!all_->tuned || ++s.steps < steps_of_sample) return;
  s.blocks /= static_cast<double>(s.steps);
  const double before = all_->tuner.share();
  all_->tuner.measured(std::exchange(s, {}));
  if (all_->tuner.share() == before) return;
  static_cast<void>(all_->share->set(all_->tuner.share(), "device-share", all_->tuner.why()));
  try {  // the others do not take part
    fetch_own();
    divide();
  } catch (const gpu::error&) {
    if (gas_.net.is_alone()) throw;
    all_->failed_before = std::current_exception();
  }
}

// One sum more says how many have failed.
std::vector<double> shared_course::totals() {
  std::vector<exact_sum> sums(static_cast<std::size_t>(gas_.now.variable_count()) + 1);
  const std::span<exact_sum> of_variables(sums.data(), sums.size() - 1);
  std::string why;
  try {
    all_->at_work([&](device_part& d) { d.values.add_totals(of_variables); });
  } catch (const gpu::error& e) {
    if (gas_.net.is_alone()) throw;
    why = e.what();
    sums.back().add(1.0);
  }
  const int host = all_->view.own(all_->host_index());
  add_totals(gas_, parts_.blocks(gas_.mesh, host), all_->workers, of_variables);
  sum_over_localities(gas_.net, sums);
  if (sums.back().value() > 0.0) throw_if(first_complaint(gas_.net, why));
  std::vector<double> values;
  for (const exact_sum& s : of_variables) values.push_back(s.value());
  return values;
}

void shared_course::fetch() {
  all_or_none([this] { fetch_own(); });
}

// Mirrors of other localities' blocks are what has come last.
void shared_course::fetch_own() {
  if (std::exchange(values_here_, true)) return;
  all_->at_work([&](device_part& d) { d.values.download_part(gas_.now); });
  for (int p = 0; p < all_->count(); ++p) {
    const auto groups = all_->borders(p).ghosts.receives();
    for (int g = 0; g < static_cast<int>(groups.size()); ++g)
      if (!all_->view.is_own(groups[g].peer) && groups[g].size() > 0)
        unpack(groups[g], all_->far.in(far_messages::kind::ghosts, setup_.scheme.stages - 1, p, g), gas_.now);
  }
}

}  // namespace plx::star
