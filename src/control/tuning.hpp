// Tuning sessions: the program requests parameter values, measures with them, and reports the results.
//
//   auto s = tuning_session::begin({.name = "blocks", .space = {parameter::integer("edge", 4, 64, 8)}}).value();
//   while (auto p = s.next()) s.report(seconds_with(p->integer("edge")));
//   use(s.best().integer("edge"));
//
// Equal options and equal reports give equal points. A value that is not finite counts as the worst.
// Thread safety: one thread at a time. Cost: next() takes microseconds; with NLopt's strategies it grows with the
// number of evaluations (0.1 ms at some hundreds). Errors: begin() returns a message of one line. Example:
// control/test/tuning_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "control/parameter.hpp"

namespace plx::probe {

/// How the next point is selected.
enum class strategy : std::uint8_t {
  exhaustive,     // every point; real numbers in `grid` steps
  random,         // random points
  hill_climbing,  // from the best point to better neighbours; restarts elsewhere if there are none
  annealing,      // like hill_climbing, but sometimes accepts worse points, with decreasing probability
  genetic,        // generations of points that combine the best ones
  noise_aware,    // a race of candidates measured in rounds; docs/probe.md gives its rule and guarantee
  nelder_mead,    // NLopt: a simplex of real numbers and integers
  subplex,        // NLopt: the same in subspaces
  bobyqa,         // NLopt: quadratic models
  direct,         // NLopt: divides the space into rectangles
};
/// The name of a strategy in options and files.
std::string_view name_of(strategy s);
/// True if this build provides it: NLopt's strategies require that library.
bool available(strategy s) noexcept;

/// Whether small or large values are better.
enum class goal : std::uint8_t { minimise, maximise };

/// The search space, the strategy and its limits.
struct tuning_options {
  std::string name;
  parameters space{};
  strategy how = strategy::noise_aware;
  goal aim = goal::minimise;
  std::int64_t budget = 200;  // evaluations
  std::uint64_t seed = 1;
  int grid = 11;  // steps of a real number: for exhaustive, and for candidates of noise_aware

  // noise_aware: the best candidate is dropped with a probability of at most `doubt`. Differences below `indifference`
  // x value do not matter: if only such remain, the race ends, and the start is preferred.
  double doubt = 0.05;
  double indifference = 0.0;

  /// Folder in which results are cached (tuning_cache.hpp); empty: no cache.
  std::string cache_folder{};
};

/// A search in which the caller measures.
class tuning_session {
 public:
  /// Errors: an empty space, two parameters of one name, a strategy that is unavailable or cannot vary words, or an
  /// invalid number. A result in the cache ends the session at once.
  static result<tuning_session> begin(tuning_options options);
  tuning_session(tuning_session&&) noexcept;
  tuning_session& operator=(tuning_session&&) noexcept;
  ~tuning_session();

  /// The next point to measure; the same point until it is reported. Empty once the search has ended.
  [[nodiscard]] std::optional<tuning_point> next();
  /// Reports the value measured at the last point. Requires: next() returned a point since the last report.
  void report(double value);

  /// True once the search has converged, the budget is spent, or the result came from the cache.
  [[nodiscard]] bool done() const noexcept;
  /// True if the search ended before its budget. For noise_aware: one candidate remains, or all remaining ones are
  /// equal within `indifference`.
  [[nodiscard]] bool converged() const noexcept;
  /// True if the result came from the cache.
  [[nodiscard]] bool from_cache() const noexcept;
  /// The best point so far: the start before any measurement; for noise_aware the one with the lowest median.
  [[nodiscard]] tuning_point best() const;
  /// The value reported there (for noise_aware: the median); NaN before any measurement.
  [[nodiscard]] double best_value() const noexcept;
  /// Number of reported values.
  [[nodiscard]] std::int64_t evaluations() const noexcept;
  /// The options of the session.
  [[nodiscard]] const tuning_options& options() const noexcept;

 private:
  struct state;
  explicit tuning_session(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace plx::probe
