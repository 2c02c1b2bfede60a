// Virtual speed-ups of task types while the program runs (setting `speedup`): experiments between progress points, in
// each of which one type is made faster by delays elsewhere (virtual_delay.hpp).
//
// The progress points themselves begin and end the experiments: there is no thread for it. An experiment lasts 50 ms
// and two progress points at least; after each change one point, and an eighth of that time, are not measured. Periods
// are differences of virtual time, so inserted delays do not count.
//
// Thread safety: passed(), task_finished() and report() may be called from any thread. Cost: per slice two loads and a
// store, and origins (origin.hpp); see docs/probe.md. Example: speedup_test.cpp
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "control/progress.hpp"
#include "control/speedup_plan.hpp"
#include "rt/core/worker.hpp"
#include "rt/measure/virtual_delay.hpp"

namespace plx {
struct runtime_options;
namespace probe {
class recorder;
struct settings;
}  // namespace probe
}  // namespace plx

namespace plx::detail {

class speedups final : public probe::progress_listener {
 public:
  /// Why a runtime with these options cannot have virtual speed-ups, in one line; "" if it can, or does not ask for
  /// them.
  static std::string refusal(const runtime_options& o);

  /// For `workers` workers. The recorder must outlive it. Records dependencies from now on.
  speedups(const probe::settings& asked, probe::recorder& r, unsigned workers);
  ~speedups();
  speedups(const speedups&) = delete;
  speedups& operator=(const speedups&) = delete;

  /// The account of a worker.
  [[nodiscard]] delay_account& account(unsigned i) noexcept { return *accounts_[i]; }
  [[nodiscard]] const delay_pool& pool() const noexcept { return pool_; }

  void passed(std::string_view name) noexcept override;
  /// passed() at a real and a virtual time, for tests.
  void passed_at(std::string_view name, ticks now, ticks virtual_now) noexcept;
  /// A task of the type that is the progress point has finished on `w`. From now on points of that name do not count,
  /// and another runtime may get them.
  void task_finished(const worker& w) noexcept;
  /// The results so far.
  [[nodiscard]] probe::speedup_report report() const;

 private:
  enum class phase { before, warming, settling, measuring, done };
  void decide(ticks now, ticks virtual_now);
  void enter(phase p, ticks now, ticks virtual_now, ticks length, std::uint64_t points) noexcept;
  void set_length(ticks now, std::uint64_t points) noexcept;
  void begin_experiment(ticks now, ticks virtual_now);
  void add_types();
  [[nodiscard]] ticks virtual_time(ticks now) noexcept;
  [[nodiscard]] std::vector<std::string> problems(double period_s, double time_s) const;
  [[nodiscard]] std::string wrong_point() const;

  probe::recorder& recorder_;
  const std::vector<std::string> patterns_;  // of types; empty: the largest ones
  const std::string asked_point_;
  bool listens_ = false;                   // from the start; false: another runtime gets the progress points
  std::atomic<bool> counts_tasks_{false};  // instead of points: asked_point_ is a type of which tasks have finished
  delay_pool pool_;
  std::vector<std::unique_ptr<delay_account>> accounts_;
  std::atomic<std::uint64_t> points_{0};  // passed so far
  std::atomic<ticks> decide_at_{0};       // the next change is due then

  mutable std::mutex mutex_;      // guards the members below
  std::string point_;             // the progress point that counts
  std::set<std::string> others_;  // further names, at most 16
  probe::speedup_plan plan_;
  std::size_t rounds_ = 0;
  phase phase_ = phase::before;
  ticks began_ = 0, virtual_began_ = 0;  // of the phase
  std::uint64_t first_ = 0, least_ = 0;  // points_ then; the number of further ones that it takes
  ticks length_ = 0;                     // of an experiment
  ticks experiments_began_ = 0, last_ = 0;
  std::uint64_t experiments_ = 0;
};

/// The next slice of worker `w` is about to begin, at `w.boundary`, with the virtual time `w.path` at which its task
/// became ready: waits as long as virtual time requires, then sets both. `serves`: timers and pollers run meanwhile.
void take_delay(worker& w, bool serves = true) noexcept;

/// The slice of `w` has ended at `w.boundary`: sets `w.path`.
inline void end_virtual_slice(worker& w, bool finished) noexcept {
  w.path = w.delays->end(w.boundary);
  if (finished && w.info.name == w.delays->counted()) w.delays->owner()->task_finished(w);
}

}  // namespace plx::detail
