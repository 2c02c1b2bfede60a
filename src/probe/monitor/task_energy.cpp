#include "probe/monitor/task_energy.hpp"

#include <algorithm>
#include <cstdint>

namespace plx::probe {
namespace {

ticks time_without_tasks(const worker_log& log) {
  return log.idle_time() + log.overhead_time() + log.background_time();
}

}  // namespace

void energy_curve::add(ticks when, double joules) {
  if (!points_.empty() && when <= points_.back().when) return;
  if (points_.size() >= most_points) {
    for (std::size_t i = 1; 2 * i < points_.size(); ++i) points_[i] = points_[2 * i];
    points_.resize((points_.size() + 1) / 2);
  }
  points_.push_back({when, joules});
}

double energy_curve::at(ticks when) const noexcept {
  const auto next =
      std::upper_bound(points_.begin(), points_.end(), when, [](ticks t, const point& p) { return t < p.when; });
  if (points_.empty()) return 0;
  if (next == points_.begin()) return points_.front().joules;
  if (next == points_.end()) return points_.back().joules;
  const point &a = *(next - 1), &b = *next;
  return a.joules + (b.joules - a.joules) * static_cast<double>(when - a.when) / static_cast<double>(b.when - a.when);
}

void energy_curve::forget_before(ticks when) noexcept {
  while (points_.size() > 1 && points_[1].when <= when) points_.pop_front();
}

task_energy::task_energy(const recorder& r, double joules, ticks now)
    : recorder_(r), last_(now), counter_(joules), workers_(r.worker_count()) {
  curve_.add(now, 0);
  for (unsigned w = 0; w < workers_.size(); ++w) {
    workers_[w] = {.until = now, .other = time_without_tasks(r.worker(w)), .by_name = {}};
    r.times_of_names(w, workers_[w].by_name);
  }
}

void task_energy::sample(double joules, ticks now) {
  const std::lock_guard lock(mutex_);
  if (now <= last_) return;
  total_ += joules >= counter_ ? joules - counter_ : joules;
  counter_ = joules;
  curve_.add(now, total_);
  ticks oldest = now;
  for (unsigned w = 0; w < workers_.size(); ++w) {
    attribute(w, last_, now);
    oldest = std::min(oldest, workers_[w].until);
  }
  curve_.forget_before(oldest);
  last_ = now;
}

/// A worker whose times have not grown since `before` is in a slice. Otherwise its last slice or span of other time
/// ended between `before` and `now`, however much of its time no clock has counted (a worker that has not begun, or
/// lost its core between two tasks).
void task_energy::attribute(unsigned worker, ticks before, ticks now) {
  worker_state& w = workers_[worker];
  recorder_.times_of_names(worker, times_);
  w.by_name.resize(std::max(w.by_name.size(), times_.size()));
  by_name_.resize(std::max(by_name_.size(), times_.size()));
  const ticks other = time_without_tasks(recorder_.worker(worker));
  // A reader may see a time twice for a moment (worker_log.hpp): what decreases is left as it was.
  const auto more = [](ticks later, ticks earlier) { return later > earlier ? later - earlier : 0; };
  ticks known = more(other, w.other);
  for (std::size_t i = 0; i < times_.size(); ++i) known += more(times_[i], w.by_name[i]);
  if (known == 0) return;
  const bool gap = w.until + known < before;  // then the time that no clock has counted came first
  const ticks begin = gap ? now - known : w.until;
  const ticks end = gap ? now : std::min(w.until + known, now);
  const double of_worker = (curve_.at(end) - curve_.at(begin)) / static_cast<double>(workers_.size());
  const double per_tick = of_worker / static_cast<double>(known);
  for (std::size_t i = 0; i < times_.size(); ++i) {
    const ticks grown = more(times_[i], w.by_name[i]);
    by_name_[i] += per_tick * static_cast<double>(grown);
    w.by_name[i] += grown;
  }
  w.other = std::max(w.other, other);
  w.until = end;
}

energy_of_tasks task_energy::sums() const {
  const std::lock_guard lock(mutex_);
  energy_of_tasks all{.total = total_, .no_task = total_, .by_name = by_name_};
  for (const double joules : by_name_) all.no_task -= joules;
  return all;
}

}  // namespace plx::probe
