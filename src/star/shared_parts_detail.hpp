// The parts among which a shared_course divides a locality's blocks: its devices and its workers. Private to star:
// shared_course.hpp is the interface.
//
// Thread safety: one task at a time. Cost: that of its parts. Example: star/shared_course_test.cpp
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "control/actuator.hpp"
#include "rt/future.hpp"
#include "star/course_device.hpp"
#include "star/far_messages.hpp"
#include "star/host_part.hpp"
#include "star/pinned_numbers.hpp"
#include "star/share_tuner.hpp"

namespace plx::star {

/// Thrown out of a step that another locality cannot complete.
struct peer_failed {};

/// Throws the error of a device of any locality, on all.
inline void throw_if(const std::string& complaint) {
  if (!complaint.empty()) throw gpu::error({gpu::failure::other, 0, "", "", complaint});
}

/// Outgoing messages of a part. Ghost cells of two stages: one is still read while the next one is written.
struct part_messages {
  pinned_numbers fluxes, ghosts[2];

  void reserve(device::machine& on, const device::part_borders& b) {
    fluxes.reserve(on, b.fluxes_out.back());
    for (pinned_numbers& g : ghosts) g.reserve(on, b.ghosts_out.back());
  }
};

/// A device with its blocks.
struct device_part : course_device {
  device_part(runtime& rt, const gpu::backend& b, int index, const setup& s)
      : course_device(rt, b, index), values(machine, gas_options_of(s)) {}

  device::device_gas values;
  part_messages out;

  // Completion of the work submitted last, and the busy time of the step in seconds.
  double begin_s = 0.0, busy_s = 0.0;
  std::atomic<double> end_s{0.0};
  future<void> done;

  /// `done` becomes ready when the work submitted so far is complete.
  void mark() {
    done = machine.stream().future().then(launch::sync, [this](future<void> f) {
      end_s.store(monotonic_seconds(), std::memory_order_relaxed);  // the future orders it before the wait
      f.get();
    });
  }
  /// Waits for the mark. Errors: gpu::error, thrown.
  void wait() {
    done.get();
    busy_s += end_s.load(std::memory_order_relaxed) - begin_s;
  }
};

/// All parts; that of the workers is the last.
struct shared_parts {
  shared_parts(gas& g, const setup& s, worker_scratch& scratch) : host(g, s, scratch), far(g.net) {}
  // After a failure a device may still read what another one, or the host, has sent: nothing is destroyed before all
  // have completed their work.
  ~shared_parts() {
    for (auto& d : devices) try {
        d->machine.synchronize();
      } catch (...) {  // reported where it happened
      }
  }

  std::vector<std::unique_ptr<device_part>> devices;
  host_part host;
  part_messages host_out;
  int parity = 0;  // of the messages of ghost cells
  parts_view view;
  far_messages far;
  std::exception_ptr failed_before;  // a device's error that the others do not know

  // Measurement.
  bool tuned = false;
  unsigned workers = 1;
  share_tuner tuner;
  share_tuner::sample sample;
  double workers_s = 0.0;  // of the step
  double waited_s = 0.0;   // for other localities
  probe::actuator_handle<double> share;

  /// Throws an earlier error: devices and parts are then in an undefined state.
  void check() const {
    if (failed_before != nullptr) std::rethrow_exception(failed_before);
  }
  int count() const { return static_cast<int>(devices.size()) + 1; }
  int host_index() const { return static_cast<int>(devices.size()); }
  const device::part_borders& borders(int part) const {
    return part == host_index() ? host.borders() : devices[part]->values.borders();
  }
  part_messages& out(int part) { return part == host_index() ? host_out : devices[part]->out; }

  /// f(), which waits for other localities: excluded from the time of the parts.
  template <class F>
  auto wait_for_others(F&& f) {
    const double begin = monotonic_seconds();
    auto found = std::forward<F>(f)();
    waited_s += monotonic_seconds() - begin;
    return found;
  }

  /// f(device) for the devices that have blocks; the others take no part in the step.
  template <class F>
  void at_work(F&& f) {
    for (auto& d : devices)
      if (d->values.has_blocks()) f(*d);
  }
};

}  // namespace plx::star
