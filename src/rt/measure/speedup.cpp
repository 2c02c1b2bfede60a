#include "rt/measure/speedup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <exception>

#include "base/text.hpp"
#include "probe/counters/counter_name.hpp"
#include "probe/record/recorder.hpp"
#include "probe/settings.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/measure/origin.hpp"

namespace plx::detail {
namespace {

constexpr double shortest_s = 0.05;  // of an experiment
constexpr std::uint64_t least_points = 2;
constexpr std::uint64_t warm_points = 3;
constexpr double least_share = 0.05;   // of the time in tasks, for a type that was not asked for by name
constexpr std::size_t most_types = 5;  // of these

std::vector<std::string> patterns_of(const probe::settings& asked) {
  if (asked.speedup == "1") return {};
  return probe::split_counters(asked.speedup).value_or(std::vector<std::string>{});
}

std::vector<std::string> names_of(const std::vector<probe::task_statistics>& tasks) {
  std::vector<std::string> names;
  for (const auto& t : tasks) names.emplace_back(t.name);
  return names;
}

/// Waits until the slice is due, and returns the time then. A long delay sleeps: spinning would take the core from
/// other threads, and then theirs from this one. Ending late does no harm.
[[gnu::noinline]] ticks wait_until_due(worker& w, ticks virtual_begin, ticks begin, bool serves) noexcept {
  static const ticks spin = ticks_from(50e-6), nap = ticks_from(200e-6);
  const int error_before = errno;  // a task that reads a result does not expect a change
  const ticks polled_before = w.log->background_time();
  w.in_task = false;  // the delay, and the work of timers and pollers, are not the task's
  ticks now = begin;
  for (;;) {
    const ticks left = ticks_between(now, w.delays->due(virtual_begin));
    if (left == 0) break;
    if (left < spin) {
      cpu_relax();
    } else {
      const auto ns = static_cast<long>(seconds(std::min(left - spin / 2, nap)) * 1e9);
      const timespec pause{0, ns};
      nanosleep(&pause, nullptr);
      if (serves) w.home.attend_events_between_tasks(w, now_ticks());
    }
    now = now_ticks();
  }
  const ticks polled = w.log->background_time() - polled_before;
  w.log->background(ticks_between(polled, ticks_between(begin, now)));
  w.log->ran_no_task(now);
  w.in_task = true;
  errno = error_before;
  return now;
}

}  // namespace

void take_delay(worker& w, bool serves) noexcept {
  const ticks begin = w.boundary, virtual_begin = w.delays->begins_at(begin, w.path, w.ready);
  if (begin < w.delays->due(virtual_begin)) [[unlikely]]
    w.boundary = std::max(w.boundary, wait_until_due(w, virtual_begin, begin, serves));
  w.delays->begin(w.info.name, w.boundary, virtual_begin, w.boundary - begin);
  w.path = virtual_begin;
}

std::string speedups::refusal(const runtime_options& o) {
  const probe::settings& asked = *o.measure;
  if (asked.speedup.empty()) return {};
  if (o.deterministic) return "speedup has no effect in the deterministic mode, in which one thread runs all tasks";
  if (asked.localities > 1)
    return fmt::format(
        "speedup has no effect in a job of {} processes: delays of one do not reach the others; use one process",
        asked.localities);
  return {};
}

speedups::speedups(const probe::settings& asked, probe::recorder& r, unsigned workers)
    : recorder_(r), patterns_(patterns_of(asked)), asked_point_(asked.progress) {
  const probe::name_id counted = asked_point_.empty() ? ~0u : probe::register_name(asked_point_);
  for (unsigned i = 0; i < workers; ++i) accounts_.push_back(std::make_unique<delay_account>(pool_, this, counted));
  recorder_.paths(true);
  pool_.some_id = recorder_.worker(0).next_id();
  listens_ = probe::listen_to_progress(*this);
}

speedups::~speedups() { probe::ignore_progress(*this); }

ticks speedups::virtual_time(ticks now) noexcept {
  const worker* w = this_worker();
  if (w != nullptr && w->in_task && w->delays != nullptr && w->delays->owner() == this)
    return w->delays->at(std::max(now, w->boundary));
  return w == nullptr ? virtual_time_outside(pool_, now) : pool_.virtual_time(now);
}

void speedups::passed(std::string_view name) noexcept {
  const ticks now = now_ticks();
  passed_at(name, now, virtual_time(now));
}

void speedups::passed_at(std::string_view name, ticks now, ticks virtual_now) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (name != (asked_point_.empty() ? std::string_view(point_) : std::string_view(asked_point_))) {
      if (!asked_point_.empty() || !point_.empty()) {
        if (others_.size() < 16) others_.emplace(name);
        return;
      }
    }
    if (point_.empty()) point_ = name;
    points_.fetch_add(1, std::memory_order_relaxed);
    decide(now, virtual_now);
  } catch (const std::exception&) {  // no memory: the next point tries again
  }
}

void speedups::task_finished(const worker& w) noexcept {
  if (!counts_tasks_.load(std::memory_order_relaxed) && !counts_tasks_.exchange(true)) probe::ignore_progress(*this);
  points_.fetch_add(1, std::memory_order_relaxed);
  if (w.boundary < decide_at_.load(std::memory_order_relaxed)) return;
  try {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    if (point_.empty()) point_ = asked_point_;
    decide(w.boundary, w.path);
  } catch (const std::exception&) {  // no memory: the next task tries again
  }
}

void speedups::enter(phase p, ticks now, ticks virtual_now, ticks length, std::uint64_t points) noexcept {
  phase_ = p;
  began_ = last_ = now;
  virtual_began_ = virtual_now;
  first_ = points_.load(std::memory_order_relaxed);
  least_ = points;
  decide_at_.store(p == phase::done ? ~ticks{0} : now + length, std::memory_order_relaxed);
}

// The next experiment gets its length from the phase that ends now: the first steps of a program may be long ones.
void speedups::set_length(ticks now, std::uint64_t points) noexcept {
  length_ = std::max(ticks_from(shortest_s), least_points * (ticks_between(began_, now) / points));
}

void speedups::begin_experiment(ticks now, ticks virtual_now) {
  const probe::speedup_plan::experiment e = plan_.next();
  pool_.make_faster(e.type, e.percent);
  enter(phase::settling, now, virtual_now, length_ / 8, 1);
}

// At a progress point: ends the phase, and begins the next one, if its time and its number of points have passed.
void speedups::decide(ticks now, ticks virtual_now) {
  const std::uint64_t points = points_.load(std::memory_order_relaxed) - first_;
  if (phase_ == phase::before) return enter(phase::warming, now, virtual_now, ticks_from(shortest_s), warm_points);
  if (now < decide_at_.load(std::memory_order_relaxed) || points < least_) return;
  if (phase_ == phase::settling) return enter(phase::measuring, now, virtual_now, length_, least_points);
  if (phase_ == phase::warming) {
    set_length(now, points);
    add_types();
    if (plan_.types() == 0) return enter(phase::warming, now, virtual_now, length_, warm_points);
    experiments_began_ = now;
    return begin_experiment(now, virtual_now);
  }
  ++experiments_;
  set_length(now, points);
  plan_.measured(static_cast<double>(ticks_between(virtual_began_, virtual_now)) / static_cast<double>(points));
  if (plan_.rounds() != rounds_) {
    rounds_ = plan_.rounds();
    add_types();
  }
  if (!plan_.done()) return begin_experiment(now, virtual_now);
  pool_.make_faster(probe::unnamed, 0);
  enter(phase::done, now, virtual_now, 0, 0);
}

void speedups::add_types() {
  const std::vector<probe::task_statistics> tasks = recorder_.tasks();  // largest total first
  double all_s = 0;
  for (const auto& t : tasks) all_s += t.total_s;
  for (const auto& t : tasks) {
    const bool wanted = patterns_.empty() ? plan_.types() < most_types && t.total_s >= least_share * all_s
                                          : std::any_of(patterns_.begin(), patterns_.end(), [&](const std::string& p) {
                                              return probe::wildcard_match(p, t.name);
                                            });
    if (wanted) plan_.add(t.id);
  }
}

probe::speedup_report speedups::report() const {
  const std::lock_guard lock(mutex_);
  const double tick_s = 1 / ticks_per_second();
  probe::speedup_report r{.point = point_, .period_s = plan_.period() * tick_s, .experiments = experiments_};
  r.gains = plan_.gains();
  if (experiments_began_ != 0) r.time_s = seconds(ticks_between(experiments_began_, last_));
  for (const auto& a : accounts_) r.inserted_s += seconds(a->inserted());
  r.problems = problems(r.period_s, r.time_s);
  return r;
}

std::string speedups::wrong_point() const {
  const char* const elsewhere =
      "progress points go to another runtime of this process: expected speedup for one of them";
  if (!listens_ && asked_point_.empty()) return elsewhere;
  if (!listens_)
    return fmt::format("progress={}: no task of that type ran, and {}{}", asked_point_, elsewhere,
                       did_you_mean(asked_point_, names_of(recorder_.tasks())));
  if (asked_point_.empty())
    return "no progress point was passed: call plx::progress(\"step\") of control/progress.hpp where the program has "
           "completed a step, or name a task type whose tasks are counted, as in --plx:progress=TYPE";
  std::vector<std::string> known = names_of(recorder_.tasks());
  known.insert(known.end(), others_.begin(), others_.end());
  return fmt::format("progress={}: neither a progress point nor a task type of this run{}", asked_point_,
                     did_you_mean(asked_point_, known));
}

std::vector<std::string> speedups::problems(double period_s, double time_s) const {
  if (point_.empty()) return {wrong_point()};
  std::vector<std::string> lines;
  const std::vector<std::string> names = names_of(recorder_.tasks());
  for (const std::string& p : patterns_)
    if (std::none_of(names.begin(), names.end(), [&](const auto& n) { return probe::wildcard_match(p, n); }))
      lines.push_back(fmt::format("speedup={}: no task of that type ran{}", p, did_you_mean(p, names)));
  if (!others_.empty() && asked_point_.empty())
    lines.push_back(
        fmt::format("\"{}\" is counted, not {}: --plx:progress=NAME selects", point_, fmt::join(others_, ", ")));
  std::size_t rounds = plan_.types() == 0 ? 0 : ~std::size_t{0};
  std::size_t candidates = 0;
  for (const probe::speedup_gain& g : plan_.gains()) {
    rounds = std::min(rounds, g.settled ? probe::speedup_plan::least_rounds : g.rounds);
    ++candidates;
  }
  if (rounds >= probe::speedup_plan::least_rounds || (plan_.types() == 0 && !lines.empty())) return lines;
  // Two experiments each, of which an eighth more is not measured.
  const double experiment_s =
      experiments_ > 2
          ? time_s / static_cast<double>(experiments_)
          : std::max(1.25 * shortest_s, static_cast<double>(least_points + 1) * (period_s > 0 ? period_s : 0));
  const double needed_s = 2.0 * static_cast<double>(std::max<std::size_t>(candidates, 3)) *
                          static_cast<double>(probe::speedup_plan::least_rounds) * experiment_s;
  lines.push_back(fmt::format("the run was too short: {} of {} rounds, {}; intervals need about {:.2g} s", rounds,
                              probe::speedup_plan::least_rounds,
                              plural(points_.load(std::memory_order_relaxed), "progress point"), needed_s));
  return lines;
}

}  // namespace plx::detail
