#include "rt/detail/shipped_policies.hpp"

#include "base/log.hpp"
#include "probe/counter_registry.hpp"
#include "probe/policy/policy.hpp"
#include "probe/policy/tuning_cache.hpp"
#include "probe/policy/worker_cap_follower.hpp"
#include "probe/settings.hpp"
#include "rt/detail/loop_tuning.hpp"
#include "rt/detail/scheduler.hpp"

namespace plx::detail {
namespace {

/// Measures the throughput between two changes of the cap, and does what the follower says.
class cap_policy {
 public:
  static constexpr double period_s = 0.02;

  cap_policy(const scheduler& s, const probe::counter_registry& counters, std::string counter,
             std::shared_ptr<probe::actuator_of<std::int64_t>> cap)
      : home_(s),
        counters_(counters),
        counter_(std::move(counter)),
        cap_(std::move(cap)),
        follower_({.workers = s.worker_count()}) {}

  void operator()(probe::policy_context& me) {
    constexpr double enough_work = 32, long_s = 1;  // fewer units of work in a span say little
    const double work = work_so_far();
    const double now = monotonic_seconds();
    if (settling_ || !(work >= work_before_)) return begin_span(work, now);
    const double span_s = now - began_, done = work - work_before_;
    if (done < enough_work && span_s < long_s) return;
    follower_.measured(done / span_s);
    begin_span(work, now);
    const std::int64_t next = follower_.cap();
    if (next == cap_->get()) return;
    if (auto set = me.set(*cap_, next, follower_.comparing() ? "compared in turns" : follower_.why()); !set)
      log_warning("{}", set.error().message);
    settling_ = true;  // tasks that run end first
  }

 private:
  void begin_span(double work, double now) {
    settling_ = false;
    work_before_ = work;
    began_ = now;
  }
  /// Tasks, however they were run, do not grow in number by being stolen.
  [[nodiscard]] double work_so_far() {
    if (counter_.empty()) {
      std::uint64_t tasks = 0;
      for (unsigned i = 0; i < home_.worker_count(); ++i)
        tasks += home_.worker_at(i).executed.get() + home_.worker_at(i).taken_back.get();
      return static_cast<double>(tasks);
    }
    const auto read = counters_.query(counter_);
    if (!read && !std::exchange(said_, true)) log_warning("worker-cap waits for its counter: {}", read.error().message);
    return read ? read->front().value : work_before_;
  }

  const scheduler& home_;
  const probe::counter_registry& counters_;
  const std::string counter_;
  const std::shared_ptr<probe::actuator_of<std::int64_t>> cap_;
  probe::worker_cap_follower follower_;
  bool settling_ = true;
  bool said_ = false;
  double work_before_ = 0, began_ = 0;
};

}  // namespace

std::unique_ptr<loop_tuning> add_shipped_policies(const probe::settings& asked, scheduler& s,
                                                  probe::counter_registry& counters,
                                                  probe::actuator_registry& actuators,
                                                  probe::policy_registry& policies) {
  if (asked.policies.empty()) return nullptr;
  if (s.deterministic()) {
    log_info("policies = '{}' are left out: in the deterministic mode only the seed decides", asked.policies);
    return nullptr;
  }
  if (probe::has_word(asked.policies, "worker-cap"))
    policies
        .every({.name = "worker-cap", .resets = true}, cap_policy::period_s,
               cap_policy(s, counters, asked.throughput, actuators.find_as<std::int64_t>("worker-cap").value()))
        .keep();
  if (!probe::has_word(asked.policies, "loop-grain")) return nullptr;
  std::string folder = asked.tuning_cache.empty() ? probe::default_tuning_folder() : asked.tuning_cache;
  if (folder == "none") folder.clear();
  return std::make_unique<loop_tuning>(s.worker_count(), std::move(folder), actuators.log());
}

}  // namespace plx::detail
