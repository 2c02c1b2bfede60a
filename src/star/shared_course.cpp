#include "star/shared_course.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <utility>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "rt/runtime.hpp"
#include "star/agreement.hpp"
#include "star/exact_sums.hpp"
#include "star/shared_parts_detail.hpp"
#include "star/step_account.hpp"
#include "star/totals.hpp"

namespace plx::star {

namespace {

constexpr std::int64_t steps_of_sample = 16;

}  // namespace

shared_course::shared_course(const input& in, const setup& s, gas& g, worker_scratch& scratch, runtime& rt)
    : in_(in), setup_(s), gas_(g), all_(std::make_unique<shared_parts>(g, s, scratch)) {
  const std::string& share = in.run.device_share;
  all_->workers = rt.worker_count();
  all_->tuned = share == "auto";
  const double fixed = all_->tuned ? all_->tuner.share() : std::strtod(share.c_str(), nullptr);
  all_->share = rt.actuators().add<double>(
      {"star.device-share", "1", "Share of the blocks that devices advance; applies from the next division"}, fixed,
      {0.0, 1.0}, [](double) {});
  shares_.device_blocks.assign(static_cast<std::size_t>(in.run.devices), 0);
}

shared_course::~shared_course() = default;

result<std::unique_ptr<shared_course>> shared_course::open(const input& in, const setup& s, gas& g,
                                                           worker_scratch& scratch, runtime& rt,
                                                           const gpu::backend* of) {
  const int rank = rank_on_host(g.net);
  const auto there = on_backend(in.run, of, [](const gpu::backend& b) { return gpu::device_count(b); });
  if (!there) return there.error();
  if (*there > 0 && *there < in.run.devices && !is_opened_often(in.run, of))  // none at all: opening reports why
    return error{
        fmt::format("run.devices = {}: expected at most {}, the number of devices of \"{}\" that this process "
                    "sees; localities of one host may share a device, one locality opens each device once",
                    in.run.devices, *there, in.run.device)};
  return on_backend(in.run, of, [&](const gpu::backend& b) {
    std::unique_ptr<shared_course> course(new shared_course(in, s, g, scratch, rt));
    for (int d = 0; d < static_cast<int>(in.run.devices); ++d) {
      const int index = is_opened_often(in.run, of) ? 0 : device_index(in.run, b, rank, d);
      course->all_->devices.push_back(std::make_unique<device_part>(rt, b, index, s));
    }
    return course;
  });
}

// Calls f(), in which a device may fail or may have failed before; then all localities throw the error.
template <class F>
void shared_course::all_or_none(F&& f) {
  if (gas_.net.is_alone()) return f();
  std::string why;
  try {
    all_->check();
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

// Devices get equal parts of their share, the workers the rest, at the end of the locality's part of the curve.
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

// When a device fails, the other localities are notified, and all meet at the end of the step.
std::optional<bad_cell> shared_course::advance(double dt) {
  const double begin = monotonic_seconds();
  const bool alone = gas_.net.is_alone();
  step_account mine;
  mine.wishes = std::exchange(my_wishes_, 0);
  std::vector<double> rates;
  std::exception_ptr error;
  std::string why;
  {
    const far_messages::round open(all_->far, setup_.scheme.stages);
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
  }
  if (error != nullptr && (alone || why.empty())) std::rethrow_exception(error);
  const auto bad = end_step(mine, why, rates);
  all_->sample.wall_s += monotonic_seconds() - begin - std::exchange(all_->waited_s, 0.0);
  if (!bad) measure();
  return bad;
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
  double devices_s = 0.0;  // devices work concurrently
  for (auto& d : all_->devices) devices_s = std::max(devices_s, std::exchange(d->busy_s, 0.0));
  s.devices_s += devices_s;
  busy_s_ += std::max(devices_s, all_->workers_s);
  if (!all_->tuned || ++s.steps < steps_of_sample) return;
  s.blocks /= static_cast<double>(s.steps);
  const double before = all_->tuner.share();
  all_->tuner.measured(std::exchange(s, {}));
  if (all_->tuner.share() == before) return;
  static_cast<void>(all_->share->set(all_->tuner.share(), "device-share", all_->tuner.why()));
  try {  // the other localities take no part
    fetch_own();
    divide();
  } catch (const gpu::error&) {
    if (gas_.net.is_alone()) throw;
    all_->failed_before = std::current_exception();
  }
}

// An additional sum counts the localities that have failed.
std::vector<double> shared_course::totals() {
  std::vector<exact_sum> sums(static_cast<std::size_t>(gas_.now.variable_count()) + 1);
  const std::span<exact_sum> of_variables(sums.data(), sums.size() - 1);
  std::string why;
  try {
    all_->check();
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

// The mirrors of other localities' blocks come from the messages that arrived last.
void shared_course::fetch_own() {
  if (values_here_) return;
  all_->at_work([&](device_part& d) { d.values.download_part(gas_.now); });
  for (int p = 0; p < all_->count(); ++p) {
    const auto groups = all_->borders(p).ghosts.receives();
    for (int g = 0; g < static_cast<int>(groups.size()); ++g)
      if (!all_->view.is_own(groups[g].peer) && groups[g].size() > 0)
        unpack(groups[g], all_->far.in(far_message::ghosts, setup_.scheme.stages - 1, p, g), gas_.now);
  }
  values_here_ = true;
}

}  // namespace plx::star
