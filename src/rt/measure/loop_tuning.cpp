#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <optional>
#include <typeindex>
#include <unordered_map>

#include "base/log.hpp"
#include "base/text.hpp"
#include "control/actuator.hpp"
#include "control/policy.hpp"
#include "control/tuning.hpp"
#include "control/worker_cap_follower.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/record/names.hpp"
#include "probe/settings.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/core/spinlock.hpp"
#include "rt/measure/loop_tuning.hpp"

namespace plx::detail {
namespace {

constexpr std::int64_t least_piece_ns = 500;
constexpr int usual_step = 2;  // least_piece_ns << 2 is 2 us
constexpr int most_step = 6;   // 32 us
constexpr int warm_runs = 4;
constexpr double short_run_s = 20e-6;

/// One place in the program, for runs of about the same length.
struct loop_place {
  const std::type_info* code = nullptr;
  int length = 0;  // bit width of the number of indices

  spinlock lock;           // guards the members below; a run that cannot lock it uses the default
  bool measuring = false;  // a run is being measured
  int runs = 0;            // runs before the search
  double shortest_s = 0;   // the shortest of these
  std::int64_t piece_ns = 0;
  bool done = false;
  bool fresh = false;  // the result has not been written to disk
  std::optional<probe::tuning_session> session;
};

/// The range of candidates depends on measured times; the cache must not depend on it.
probe::tuning_options options_of(std::string name, std::string folder, std::int64_t longest = most_step) {
  return {.name = std::move(name),
          .space = {probe::parameter::integer("piece", 0, longest, usual_step)},
          .budget = 40 * (longest + 1),
          .indifference = 0.02,
          .cache_folder = std::move(folder)};
}

}  // namespace

struct loop_tuning::state {
  unsigned workers;
  std::string folder;
  std::shared_ptr<probe::decision_log> log;

  mutable std::mutex mutex;
  std::unordered_map<std::uint64_t, std::unique_ptr<loop_place>> places;

  loop_place& at(const std::type_info& code, int length) {
    const std::uint64_t key = std::type_index(code).hash_code() * 64 + static_cast<unsigned>(length);
    const std::lock_guard guard(mutex);
    auto& p = places[key];
    if (p == nullptr) {
      p = std::make_unique<loop_place>();
      p->code = &code;
      p->length = length;
    }
    return *p;
  }
  void begin_search(loop_place& p);
  void finish(loop_place& p);
  void decide(loop_place& p, int step, std::string_view why) {
    p.done = true;
    p.piece_ns = least_piece_ns << step;
    log->add("loop-grain", name_of(p), "2000 ns", fmt::format("{} ns", p.piece_ns), why);
  }
  [[nodiscard]] std::string name_of(const loop_place& p) const {
    return fmt::format("loop in {} of 2^{} indices, {}: {}", program_invocation_short_name, p.length,
                       plural(workers, "worker"), probe::name_of(probe::register_type_name(*p.code)));
  }
};

loop_tuning::loop_tuning(unsigned workers, std::string cache_folder, std::shared_ptr<probe::decision_log> log)
    : state_(std::make_unique<state>()) {
  state_->workers = workers;
  state_->folder = std::move(cache_folder);
  state_->log = std::move(log);
}
loop_tuning::~loop_tuning() = default;

// Chunks longer than half of the run are no candidates: with them a single worker might run the whole loop.
void loop_tuning::state::begin_search(loop_place& p) {
  p.done = p.shortest_s < short_run_s;
  if (p.done) return;
  if (!folder.empty())
    if (const auto known = probe::load_tuned(options_of(name_of(p), folder)))
      return decide(p, static_cast<int>(known->best[0]), "known from an earlier run");
  const double steps = std::log2(p.shortest_s * 1e9 / 2 / static_cast<double>(least_piece_ns));
  const auto longest = std::clamp(static_cast<std::int64_t>(steps), std::int64_t{usual_step}, std::int64_t{most_step});
  // The file is written by store(), not by a worker in the middle of the program.
  auto session = probe::tuning_session::begin(options_of(name_of(p), {}, longest));
  p.done = !session.has_value();
  if (!p.done) p.session.emplace(std::move(session).value());
}

void loop_tuning::state::finish(loop_place& p) {
  p.fresh = true;
  decide(p, static_cast<int>(p.session->best().integer("piece")),
         fmt::format("{:.4g} ns per index, median; {} measured{}", p.session->best_value() * 1e9,
                     plural(p.session->evaluations(), "run"),
                     p.session->converged() ? "" : ", other values may be equally good"));
}

loop_tuning::begun loop_tuning::begin(const std::type_info& code, std::int64_t n) {
  loop_place& p = state_->at(code, std::bit_width(static_cast<std::uint64_t>(n)));
  if (!p.lock.try_lock()) return {};
  const std::lock_guard guard(p.lock, std::adopt_lock);
  if (!p.done && !p.measuring && p.session) {
    if (const auto next = p.session->next()) {
      p.measuring = true;
      return {least_piece_ns << next->integer("piece"), &p};
    }
    state_->finish(p);
  }
  if (p.done || p.measuring) return {p.piece_ns, nullptr};
  p.measuring = true;
  return {0, &p};
}

void loop_tuning::end(void* place, std::int64_t n, double took_s) {
  loop_place& p = *static_cast<loop_place*>(place);
  const spin_guard guard(p.lock);
  p.measuring = false;
  if (std::isnan(took_s)) return;  // next() returns the same candidate again
  if (p.session) return p.session->report(took_s / static_cast<double>(n));
  p.shortest_s = p.runs == 0 ? took_s : std::min(p.shortest_s, took_s);
  if (++p.runs == warm_runs) state_->begin_search(p);
}

void loop_tuning::store() {
  if (state_->folder.empty()) return;
  const std::lock_guard guard(state_->mutex);
  for (const auto& [key, p] : state_->places) {
    const spin_guard one(p->lock);
    if (!std::exchange(p->fresh, false)) continue;
    const probe::tuned_result r{{p->session->best().values()}, p->session->best_value(), p->session->evaluations()};
    if (auto done = probe::store_tuned(options_of(state_->name_of(*p), state_->folder), r); !done)
      return log_warning("loop-grain: {}", done.error().message);
  }
}

loop_tuning::counts loop_tuning::count() const {
  counts c;
  const std::lock_guard guard(state_->mutex);
  for (const auto& [key, p] : state_->places) {
    const spin_guard one(p->lock);
    ++c.places;
    c.done += p->done;
  }
  return c;
}

namespace {

/// Measures the throughput between two changes of the cap, and follows the decisions of the follower.
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
    constexpr double enough_work = 32, long_s = 1;  // spans with fewer units of work are not significant
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
    settling_ = true;  // until the running tasks have ended
  }

 private:
  void begin_span(double work, double now) {
    settling_ = false;
    work_before_ = work;
    began_ = now;
  }
  /// Tasks executed in any way: stealing does not change their number.
  [[nodiscard]] double work_so_far() {
    if (counter_.empty()) {
      std::uint64_t tasks = 0;
      for (unsigned i = 0; i < home_.worker_count(); ++i)
        tasks += home_.worker_at(i).executed.get() + home_.worker_at(i).ran_inline.get();
      return static_cast<double>(tasks);
    }
    const auto read = counters_.query(counter_);
    if (!read && !std::exchange(reported_, true)) log_warning("worker-cap: no counter yet: {}", read.error().message);
    return read ? read->front().value : work_before_;
  }

  const scheduler& home_;
  const probe::counter_registry& counters_;
  const std::string counter_;
  const std::shared_ptr<probe::actuator_of<std::int64_t>> cap_;
  probe::worker_cap_follower follower_;
  bool settling_ = true;
  bool reported_ = false;
  double work_before_ = 0, began_ = 0;
};

}  // namespace

std::unique_ptr<loop_tuning> add_shipped_policies(const probe::settings& asked, scheduler& s,
                                                  probe::counter_registry& counters,
                                                  probe::actuator_registry& actuators,
                                                  probe::policy_registry& policies) {
  if (asked.policies.empty()) return nullptr;
  if (s.deterministic()) {
    log_info("policies = '{}' ignored: the deterministic mode allows no policies", asked.policies);
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
