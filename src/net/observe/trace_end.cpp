#include "net/observe/trace_end.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>

#include "net/action.hpp"
#include "net/core/sender.hpp"
#include "net/observe/clock_offsets.hpp"
#include "net/parcels/message_log.hpp"
#include "probe/record/recorder.hpp"

namespace plx::net {
namespace {

trace_end& here() { return node_here().get<trace_end>(); }

void recording_ended(sender s) { here().note_frozen(s.who); }
void measurement_missed(sender s) { here().note_timed_out(s.who); }
void last_measurement(sender s) {
  if (s.who != 0) return node_here().refuse(s.who, "it measures the clocks but is not the root");
  here().note_begun();
}
void clocks_measured(sender s) {
  if (s.who != 0) return node_here().refuse(s.who, "it has measured the clocks but is not the root");
  here().note_done();
}

}  // namespace

template <>
inline constexpr bool is_control<&recording_ended> = true;
template <>
inline constexpr bool is_control<&measurement_missed> = true;
template <>
inline constexpr bool is_control<&last_measurement> = true;
template <>
inline constexpr bool is_control<&clocks_measured> = true;

trace_end::trace_end(node& n) : node_(n), frozen_(n.size()), timed_out_(n.size()) {}

void trace_end::freeze() {
  node_.port().messages().stop();
  node_.home().recorder().trace(false);
  if (node_.here() != 0) post<&recording_ended>(locality_id{0}, sender{node_.here()});
}

void trace_end::measure_clocks(double timeout_s) {
  std::vector<bool> without;
  {
    std::unique_lock guard(lock_);
    changed_.wait_for(guard, std::chrono::duration<double>(timeout_s), [this] {
      for (locality_id i = 1; i < node_.size(); ++i)
        if (!frozen_[i] && !timed_out_[i] && !node_.is_lost(i)) return false;
      return true;
    });
    without = timed_out_;
  }
  for (locality_id i = 1; i < node_.size(); ++i)
    if (!node_.is_lost(i)) post<&last_measurement>(i, sender{node_.here()});
  node_.get<clock_offsets>().measure(std::max(timeout_s, clock_offsets::deadline_s), without);
}

void trace_end::release() {
  for (locality_id i = 1; i < node_.size(); ++i)
    if (!node_.is_lost(i) && !timed_out(i)) post<&clocks_measured>(i, sender{node_.here()});
}

void trace_end::wait_for_release(double deadline_s) {
  std::unique_lock guard(lock_);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(deadline_s);
  while (!done_ && !node_.is_lost(0)) {
    if (begun_)
      changed_.wait(guard);
    else if (changed_.wait_until(guard, deadline) == cv_status::timeout)
      break;
  }
  const bool missed = !done_ && !node_.is_lost(0);
  guard.unlock();
  if (missed) post<&measurement_missed>(locality_id{0}, sender{node_.here()});
}

void trace_end::note_frozen(locality_id which) {
  const std::lock_guard guard(lock_);
  frozen_.at(which) = true;
  changed_.notify_all();
}

void trace_end::note_begun() {
  const std::lock_guard guard(lock_);
  begun_ = true;
  changed_.notify_all();
}

void trace_end::note_done() {
  const std::lock_guard guard(lock_);
  done_ = true;
  changed_.notify_all();
}

void trace_end::note_timed_out(locality_id which) {
  const std::lock_guard guard(lock_);
  timed_out_[which] = true;
  changed_.notify_all();
}

bool trace_end::timed_out(locality_id which) {
  const std::lock_guard guard(lock_);
  return timed_out_[which];
}

void trace_end::peer_lost(locality_id) {
  const std::lock_guard guard(lock_);
  changed_.notify_all();
}

}  // namespace plx::net
