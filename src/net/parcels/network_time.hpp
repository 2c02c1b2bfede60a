// The share of messages in the work of a locality: the formula of the counter /network/overhead.
//
// Thread-safe. Cost: some loads per worker. Example: net/parcels/test/port_counters_test.cpp
#pragma once

#include "net/parcels/parcel_port.hpp"
#include "probe/record/recorder.hpp"

namespace plx::net {

/// Seconds since the start of a locality, or between two readings.
struct network_time {
  double messages_s = 0;  ///< polling and sending
  double busy_s = 0;      ///< in tasks, and polling

  /// messages_s / busy_s; 0 if nothing was done.
  double share() const noexcept { return busy_s > 0 ? messages_s / busy_s : 0; }
  network_time operator-(const network_time& o) const noexcept {
    return {messages_s - o.messages_s, busy_s - o.busy_s};
  }
};

/// From times in tasks, in polls that moved messages, and of tasks on messages.
inline network_time network_time_of(double exec_s, double polling_s, double sending_s) noexcept {
  return {polling_s + sending_s, exec_s + polling_s};
}

/// Until now.
inline network_time network_time_of(const parcel_port& port, const probe::recorder& workers) {
  double exec_s = 0;
  for (unsigned i = 0; i < workers.worker_count(); ++i) exec_s += workers.times(i).exec_s;
  return network_time_of(exec_s, port.polling_s(), port.sending_s());
}

}  // namespace plx::net
