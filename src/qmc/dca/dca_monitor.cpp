#include "qmc/dca/dca_monitor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "probe/counters/counter_registry.hpp"

namespace plx::qmc {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

struct sums {
  double proposed = 0, accepted = 0, samples = 0, order = 0, sign = 0;
};

// Seconds of an iteration at a temperature.
struct pace {
  double t = 0, seconds = 0;
  int count = 0;
};

}  // namespace

class dca_monitor::state {
 public:
  state(dca_options options, double (*now_s)() noexcept) : options_(std::move(options)), now_s_(now_s) {}
  sums walked() const;
  dca_progress present() const;
  std::optional<double> run_left_s(double iteration_left_s, double iteration_s) const;

  const dca_options options_;
  double (*const now_s_)() noexcept;
  const std::shared_ptr<monte_carlo_progress> walkers_ = std::make_shared<monte_carlo_progress>();
  mutable std::mutex mutex_;  // of the following
  dca_iteration iteration_, last_;
  int iterations_ = 1;
  bool runs_ = false;
  double start_s_ = 0;
  sums before_;  // when the iteration began, in this process
  std::vector<pace> paces_;
  std::optional<estimate> d_wave_, leading_;
  std::vector<probe::registration> counters_;  // of which the functions use all others
};

dca_monitor::dca_monitor(dca_options options, double (*now_s)() noexcept)
    : state_(std::make_unique<state>(std::move(options), now_s)) {}
dca_monitor::~dca_monitor() = default;
std::shared_ptr<monte_carlo_progress> dca_monitor::walkers() const { return state_->walkers_; }

sums dca_monitor::state::walked() const {
  constexpr auto relaxed = std::memory_order_relaxed;
  const auto& w = *walkers_;
  return {static_cast<double>(w.proposed.load(relaxed)), static_cast<double>(w.accepted.load(relaxed)),
          static_cast<double>(w.samples.load(relaxed)), w.order.load(relaxed), w.sign.load(relaxed)};
}

void dca_monitor::began(const dca_iteration& now, int iterations) {
  state& s = *state_;
  const std::lock_guard lock(s.mutex_);
  const bool continues =  // after a pause for a checkpoint
      s.runs_ && s.iteration_.temperature == now.temperature && s.iteration_.iteration == now.iteration;
  if (!continues) {
    s.before_ = s.walked();
    s.walkers_->measurements.store(0, std::memory_order_relaxed);  // until the walkers begin: those of the last one
  }
  s.iteration_ = now;
  s.iterations_ = iterations;
  s.start_s_ = s.now_s_();
  s.runs_ = true;
}

void dca_monitor::iterated(const dca_iteration& now) {
  state& s = *state_;
  const std::lock_guard lock(s.mutex_);
  s.last_ = now;
  s.runs_ = false;
  if (s.paces_.empty() || s.paces_.back().t != now.t) s.paces_.push_back({now.t, 0, 0});
  auto& p = s.paces_.back();
  p.seconds += (now.seconds - p.seconds) / ++p.count;
}

void dca_monitor::cooled(const dca_temperature& result) {
  const std::lock_guard lock(state_->mutex_);
  state_->d_wave_ = result.d_wave;
  state_->leading_ = result.leading;
}

// The time of an iteration is a power of T, from the last two temperatures: moves between measurements and their cost
// grow with the order, which is proportional to 1 / T, but at high T other work takes most of the time. With one
// temperature the power is unknown, and nothing is known of colder ones.
std::optional<double> dca_monitor::state::run_left_s(double iteration_left_s, double iteration_s) const {
  const bool begun = !paces_.empty() && paces_.back().t == iteration_.t;
  const double here = begun ? paces_.back().seconds : iteration_s;
  const double left = iteration_left_s + std::max(0, iterations_ - iteration_.iteration - 1) * here;
  const auto next = static_cast<std::size_t>(iteration_.temperature) + 1;
  if (next >= options_.temperatures.size()) return left;
  const std::size_t earlier = paces_.size() - (begun ? 1 : 0);
  if (earlier == 0 || !(here > 0) || !(paces_[earlier - 1].seconds > 0)) return std::nullopt;
  const pace& before = paces_[earlier - 1];
  const double power = std::clamp(std::log(here / before.seconds) / std::log(before.t / iteration_.t), 0.0, 3.0);
  double colder = 0;
  for (std::size_t i = next; i < options_.temperatures.size(); ++i)
    colder += options_.iterations * here * std::pow(iteration_.t / options_.temperatures[i], power);
  return left + colder;
}

dca_progress dca_monitor::state::present() const {
  constexpr auto relaxed = std::memory_order_relaxed;
  dca_progress p;
  p.temperature = iteration_.temperature, p.iteration = iteration_.iteration, p.iterations = iterations_;
  p.t = iteration_.t;
  p.d_wave = d_wave_;
  const auto expected = static_cast<double>(walkers_->expected.load(relaxed));
  const sums w = walked();
  const double samples = w.samples - before_.samples, proposed = w.proposed - before_.proposed;
  p.share = expected > 0 ? std::min(1.0, static_cast<double>(walkers_->measurements.load(relaxed)) / expected) : 0;
  if (samples > 0) p.order = (w.order - before_.order) / samples, p.sign = (w.sign - before_.sign) / samples;
  p.acceptance = proposed > 0 ? (w.accepted - before_.accepted) / proposed : 0;
  if (p.share <= 0) return p;
  const double seconds = iteration_.seconds + now_s_() - start_s_;
  p.left_s = seconds * (1 - p.share) / p.share;
  p.run_left_s = run_left_s(*p.left_s, seconds / p.share);
  return p;
}

std::optional<dca_progress> dca_monitor::now() const {
  const std::lock_guard lock(state_->mutex_);
  return state_->runs_ ? std::optional(state_->present()) : std::nullopt;
}

void dca_monitor::add_counters(probe::counter_registry& registry, bool is_root) {
  state* const s = state_.get();
  const std::string here = registry.locality_name();
  const auto info = [&](const char* name, const char* unit, const char* help) {
    return probe::counter_info{fmt::format("/dca{{{}/total}}/{}", here, name), unit, help};
  };
  const auto growing = [](probe::counter_info i) {
    i.monotonic = true;
    return i;
  };
  // Sums of the walkers of this process.
  s->counters_.push_back(registry.add(growing(info("count/measurements", "1", "Measurements made")),
                                      [w = s->walkers_] { return w->samples.load(std::memory_order_relaxed); }));
  s->counters_.push_back(registry.add(growing(info("count/moves", "1", "Moves proposed, without warm-ups")),
                                      [w = s->walkers_] { return w->proposed.load(std::memory_order_relaxed); }));
  s->counters_.push_back(
      registry.add_ratio(info("acceptance", "1", "Accepted moves over proposed ones, since the last reset"), [s] {
        const sums w = s->walked();
        return std::pair(w.accepted, w.proposed);
      }));
  if (!is_root) return;
  // Numbers of the iteration that runs.
  struct of_present {
    const char *name, *unit, *help;
    double (*value)(const dca_progress&);
  };
  const of_present present_counters[] = {
      {"temperature", "t", "The temperature", [](const dca_progress& p) { return p.t; }},
      {"iteration", "1", "The iteration at this temperature, from 1",
       [](const dca_progress& p) { return p.iteration + 1.0; }},
      {"progress", "1", "Share of the iteration's measurements that are made",
       [](const dca_progress& p) { return p.share; }},
      {"order", "1", "Mean expansion order in the iteration", [](const dca_progress& p) { return p.order; }},
      {"sign", "1", "Mean sign in the iteration", [](const dca_progress& p) { return p.sign; }},
      {"left", "s", "Estimate of the time that remains of the run; not a number before a second temperature",
       [](const dca_progress& p) { return p.run_left_s.value_or(unknown); }},
  };
  for (const auto& c : present_counters)
    s->counters_.push_back(registry.add(info(c.name, c.unit, c.help), [s, value = c.value] {
      const std::lock_guard lock(s->mutex_);
      return value(s->present());
    }));
  // Results; not a number before the first one.
  const auto result = [&](const char* name, const char* help, auto value) {
    s->counters_.push_back(registry.add(info(name, "1", help), [s, value] {
      const std::lock_guard lock(s->mutex_);
      return value();
    }));
  };
  const auto of_last = [s](double dca_iteration::*member) {
    return [s, member] { return s->paces_.empty() ? unknown : s->last_.*member; };
  };
  result("self-energy-change", "Change of the self-energy in the last complete iteration",
         of_last(&dca_iteration::change));
  result("drift", "Largest rounding error of the walkers' matrices in the last complete iteration",
         of_last(&dca_iteration::drift));
  result("density", "Density in the last complete iteration",
         [s] { return s->paces_.empty() ? unknown : s->last_.density.value; });
  result("lambda-d", "Eigenvalue of d-wave pairing at the last complete temperature",
         [s] { return s->d_wave_ ? s->d_wave_->value : unknown; });
  result("lambda-leading", "Leading eigenvalue of pairing at the last complete temperature",
         [s] { return s->leading_ ? s->leading_->value : unknown; });
}

}  // namespace plx::qmc
