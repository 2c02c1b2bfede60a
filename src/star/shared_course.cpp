#include "star/shared_course.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "probe/policy/actuator.hpp"
#include "rt/future.hpp"
#include "rt/runtime.hpp"
#include "star/course_device.hpp"
#include "star/host_part.hpp"
#include "star/share_tuner.hpp"
#include "star/totals.hpp"

namespace plx::star {

using mesh::slot_id;

namespace {

constexpr std::int64_t steps_of_sample = 16;

/// Pinned memory of the host.
class pinned {
 public:
  pinned() = default;
  ~pinned() { free(); }
  pinned(const pinned&) = delete;
  pinned& operator=(const pinned&) = delete;
  void reserve(device::machine& on, std::size_t doubles) {
    if (doubles <= room_) return;
    free();
    on_ = &on;
    data_ = static_cast<double*>(on.allocate_pinned(doubles * sizeof(double)));
    room_ = doubles;
  }
  double* data() { return data_; }

 private:
  void free() noexcept {
    if (data_ != nullptr) on_->release_pinned(data_);
    data_ = nullptr, room_ = 0;
  }
  device::machine* on_ = nullptr;
  double* data_ = nullptr;
  std::size_t room_ = 0;
};

/// What a part sends. Ghosts of two stages: one is still read while the next one is written.
struct messages {
  pinned fluxes, ghosts[2];

  void reserve(device::machine& on, const device::part_borders& b) {
    fluxes.reserve(on, b.fluxes_out.back());
    for (pinned& g : ghosts) g.reserve(on, b.ghosts_out.back());
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
  parts_of(gas& g, const setup& s, worker_scratch& scratch) : host(g, s, scratch) {}
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
  if (auto r = expect_one_process(in.run, g); !r) return r.error();
  return on_backend(in.run, of, [&](const gpu::backend& b) {
    std::unique_ptr<shared_course> course(new shared_course(in, s, g, scratch, rt));
    for (int d = 0; d < static_cast<int>(in.run.devices); ++d)
      course->all_->devices.push_back(std::make_unique<device_part>(rt, b, is_opened_often(in.run, of) ? 0 : d, s));
    return course;
  });
}

void shared_course::take() { divide(); }

// Devices get equal parts of their share, the workers the end of the curve.
void shared_course::divide() {
  PLX_ASSERT(values_here_);
  const auto blocks = static_cast<std::int64_t>(gas_.mesh.block_count());
  const auto devices = static_cast<std::int64_t>(all_->devices.size());
  const auto of_devices = std::clamp<std::int64_t>(std::llround(all_->share->get() * double(blocks)), 0, blocks);
  std::vector<std::int32_t> owner;
  for (std::int64_t p = 0; p < blocks; ++p)
    owner.push_back(static_cast<std::int32_t>(p < of_devices ? p * devices / of_devices : devices));
  parts_ = mesh::curve_parts(owner, all_->count());
  for (std::int64_t d = 0; d < devices; ++d) {
    device_part& part = *all_->devices[d];
    part.values.adopt_part(gas_.mesh, parts_, static_cast<int>(d));
    part.values.upload(gas_.now);
    part.out.reserve(part.machine, part.values.borders());
  }
  all_->host.adopt(parts_, all_->host_index());
  all_->host_out.reserve(all_->devices.front()->machine, all_->host.borders());
}

std::optional<bad_cell> shared_course::advance(double dt) {
  const double begin = monotonic_seconds();
  values_here_ = false;
  all_->workers_s = 0.0;
  for (auto& d : all_->devices) d->values.begin_step(dt, steps_);
  for (int stage = 0; stage < setup_.scheme.stages; ++stage) run_stage(stage, dt);
  const auto bad = end_step();
  all_->sample.wall_s += monotonic_seconds() - begin;
  if (!bad) measure();
  return bad;
}

void shared_course::run_stage(int stage, double dt) {
  const bool fluxes = has_fluxes(), ghosts = has_ghosts();
  const auto put_rest = [&](device_part& d) {
    d.values.put_correction_of_part(stage);
    if (!d.values.borders().empty()) d.values.put_ghosts_out(stage, d.out.ghosts[all_->parity].data());
    if (ghosts) d.mark();
  };
  for (auto& d : all_->devices) {
    d->begin_s = monotonic_seconds();
    d->values.put_stage_of_part(stage);
    if (d->values.borders().fluxes_out.back() > 0) d->values.put_fluxes_out(d->out.fluxes.data());
    // Where nobody sends fluxes a device needs nothing of the others before its ghosts, and its time ends with these.
    fluxes ? d->mark() : put_rest(*d);
  }
  double begin = monotonic_seconds();
  all_->host.advance(stage, dt, all_->host_out.fluxes.data());
  all_->workers_s += monotonic_seconds() - begin;
  if (fluxes) {
    exchange_fluxes();
    for (auto& d : all_->devices) {
      d->begin_s = monotonic_seconds();
      put_rest(*d);
    }
  }
  begin = monotonic_seconds();
  all_->host.correct(stage, dt);
  all_->host.put_ghosts_out(stage, all_->host_out.ghosts[all_->parity].data());
  all_->workers_s += monotonic_seconds() - begin;
  if (ghosts) exchange_ghosts(stage);
}

void shared_course::wait_for_devices() {
  for (auto& d : all_->devices) d->wait();
}

bool shared_course::has_fluxes() const {
  for (int p = 0; p < all_->count(); ++p)
    if (all_->borders(p).fluxes_out.back() > 0) return true;
  return false;
}

bool shared_course::has_ghosts() const {
  for (int p = 0; p < all_->count(); ++p)
    if (!all_->borders(p).empty()) return true;
  return false;
}

// Whoever gets fluxes waits until those who send them have them.
void shared_course::exchange_fluxes() {
  wait_for_devices();
  for (int p = 0; p < all_->count(); ++p) {
    const auto groups = all_->borders(p).fluxes.receives();
    for (int g = 0; g < static_cast<int>(groups.size()); ++g) {
      const int from = groups[g].peer;
      const device::part_borders& there = all_->borders(from);
      const double* message =
          all_->out(from).fluxes.data() + there.fluxes_out[device::group_of(there.fluxes.sends(), p)];
      p == all_->host_index() ? all_->host.put_fluxes_in(g, message)
                              : all_->devices[p]->values.put_fluxes_in(g, message);
    }
  }
}

void shared_course::exchange_ghosts(int stage) {
  wait_for_devices();
  for (int p = 0; p < all_->count(); ++p) {
    const auto groups = all_->borders(p).ghosts.receives();
    for (int g = 0; g < static_cast<int>(groups.size()); ++g) {
      const int from = groups[g].peer;
      const device::part_borders& there = all_->borders(from);
      const double* message =
          all_->out(from).ghosts[all_->parity].data() + there.ghosts_out[device::group_of(there.ghosts.sends(), p)];
      p == all_->host_index() ? all_->host.put_ghosts_in(stage, g, message)
                              : all_->devices[p]->values.put_ghosts_in(stage, g, message);
    }
  }
  all_->parity ^= 1;
}

// Reports of all parts, along the curve: as finish_body.hpp and stepper::first_bad() take them.
std::optional<bad_cell> shared_course::end_step() {
  std::uint64_t first = device::block_report::no_bad, key = first;
  std::vector<double> rates(gas_.mesh.block_count());
  floor_counts floors;
  std::size_t position = 0;
  for (int p = 0; p < all_->count(); ++p) {
    const bool here = p == all_->host_index();
    for (const device::block_report& r : here ? all_->host.end_step() : all_->devices[p]->values.end_step()) {
      const double value = std::bit_cast<double>(r.speed_bits);
      rates[position] = here ? value : value / gas_.mesh.cell_width(gas_.mesh.blocks()[position]);
      floors.add(floor_counts{static_cast<std::int64_t>(r.density_floors), static_cast<std::int64_t>(r.pressure_floors),
                              static_cast<std::int64_t>(r.input_floors)});
      if (r.bad != device::block_report::no_bad)
        if (const std::uint64_t order = r.bad >> 40 << 32 | position; order < first) first = order, key = r.bad;
      ++position;
    }
  }
  if (first != device::block_report::no_bad) {
    all_->host.forget_left();
    fetch();
    const slot_id slot = gas_.mesh.blocks()[first & 0xffffffffu];
    const int cell = static_cast<int>(key & 0xffffffffu);
    const double* u = gas_.now.block(slot) + cell;
    const std::ptrdiff_t cells = gas_.now.cells();
    return bad_cell{slot, static_cast<int>(first >> 32), cell, u[i_density * cells], u[i_energy * cells]};
  }
  left_.assign(static_cast<std::size_t>(mesh::face_count) * gas_.now.variable_count(), {});
  for (auto& d : all_->devices) d->values.add_left(left_);
  all_->host.add_left(left_);
  for (auto& d : all_->devices) d->values.commit();
  std::swap(gas_.now, setup_.scheme.stages == 2 ? gas_.stage_b : gas_.stage_a);
  signal_rate_ = 0.0;
  for (std::size_t b = 0; b < rates.size(); ++b) {
    gas_.signal_rate[gas_.mesh.blocks()[b]] = rates[b];
    signal_rate_ = std::max(signal_rate_, rates[b]);
  }
  floors_ = floors;
  ++steps_;
  return std::nullopt;
}

void shared_course::measure() {
  for (std::size_t d = 0; d < all_->devices.size(); ++d)
    shares_.device_blocks[d] += parts_.end(static_cast<int>(d)) - parts_.begin(static_cast<int>(d));
  shares_.worker_blocks += parts_.end(all_->host_index()) - parts_.begin(all_->host_index());
  share_tuner::sample& s = all_->sample;
  s.blocks += static_cast<double>(gas_.mesh.block_count());
  s.workers_s += all_->workers_s;
  double devices_s = 0.0;  // they work at the same time
  for (auto& d : all_->devices) devices_s = std::max(devices_s, std::exchange(d->busy_s, 0.0));
  s.devices_s += devices_s;
  if (!all_->tuned || ++s.steps < steps_of_sample) return;
  s.blocks /= static_cast<double>(s.steps);
  const double before = all_->tuner.share();
  all_->tuner.measured(std::exchange(s, {}));
  if (all_->tuner.share() == before) return;
  static_cast<void>(all_->share->set(all_->tuner.share(), "device-share", all_->tuner.why()));
  fetch();
  divide();
}

std::vector<double> shared_course::totals() {
  std::vector<exact_sum> sums(static_cast<std::size_t>(gas_.now.variable_count()));
  for (auto& d : all_->devices) d->values.add_totals(sums);
  add_totals(gas_, parts_.blocks(gas_.mesh, all_->host_index()), all_->workers, sums);
  std::vector<double> values;
  for (const exact_sum& s : sums) values.push_back(s.value());
  return values;
}

void shared_course::fetch() {
  if (std::exchange(values_here_, true)) return;
  for (std::size_t d = 0; d < all_->devices.size(); ++d)
    all_->devices[d]->values.download_part(gas_.mesh, parts_, static_cast<int>(d), gas_.now);
}

}  // namespace plx::star
