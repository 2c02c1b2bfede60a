// Search sessions: the program asks for parameters, measures with them, and tells what it measured.
//
//   auto s = tuning_session::begin({.name = "blocks", .space = {parameter::integer("edge", 4, 64, 8)}}).value();
//   while (auto p = s.next()) s.report(seconds_with(p->integer("edge")));
//   use(s.best().integer("edge"));
//
// The same options and the same reports give the same points. A value that is no finite number counts as the worst.
// Thread safety: one thread at a time. Cost: of next() microseconds; with NLopt's strategies it grows with the
// evaluations so far (0.1 ms at some hundreds). Errors: begin() gives one line.
// Example: control/test/tuning_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "control/parameter.hpp"

namespace plx::probe {

/// How the next point is chosen.
enum class strategy : std::uint8_t {
  exhaustive,     // every point; real numbers in `grid` steps
  random,         // anywhere
  hill_climbing,  // from the best point to better neighbours, anew from elsewhere when there are none
  annealing,      // as that, and now and then to worse ones, more and more seldom
  genetic,        // generations of points that inherit from the best
  noise_aware,  // a race of candidates that are measured in turns; see docs/probe.md for its rule and what it promises
  nelder_mead,  // NLopt: a simplex of real and whole numbers
  subplex,      // NLopt: the same in subspaces
  bobyqa,       // NLopt: quadratic models
  direct,       // NLopt: divides the whole space into rectangles
};
/// The name of a strategy in options and files.
std::string_view name_of(strategy s);
/// Whether this build has it: those of NLopt are missing without that library.
bool available(strategy s) noexcept;

/// Whether small values are good or large ones.
enum class goal : std::uint8_t { minimise, maximise };

/// What is searched, how, and for how long.
struct tuning_options {
  std::string name;
  parameters space{};
  strategy how = strategy::noise_aware;
  goal aim = goal::minimise;
  std::int64_t budget = 200;  // evaluations
  std::uint64_t seed = 1;
  int grid = 11;  // steps of a real number: exhaustive, and candidates of noise_aware

  // noise_aware: the probability that the best candidate is dropped is at most `doubt`. Differences below
  // `indifference` x value do not matter: among such the start is kept, and the race ends.
  double doubt = 0.05;
  double indifference = 0.0;

  /// Where results are kept and found again (tuning_cache.hpp); empty: nowhere.
  std::string cache_folder{};
};

/// A search by ask and tell.
class tuning_session {
 public:
  /// An error when the space is empty or has two parameters of one name, the strategy is not there or cannot vary
  /// words, or a number makes no sense. A result in the cache ends the session at once.
  static result<tuning_session> begin(tuning_options options);
  tuning_session(tuning_session&&) noexcept;
  tuning_session& operator=(tuning_session&&) noexcept;
  ~tuning_session();

  /// The next point to measure; the same again until it was reported. Nothing when the search is over.
  [[nodiscard]] std::optional<tuning_point> next();
  /// What was measured at the last point. Requires: next() gave one since the last report.
  void report(double value);

  /// The search has converged, or the budget is spent, or the result came from the cache.
  [[nodiscard]] bool done() const noexcept;
  /// The search ended by itself, before the budget. Of noise_aware: one candidate is left, or all that are left are
  /// equal within `indifference`.
  [[nodiscard]] bool converged() const noexcept;
  /// Whether the answer came from the cache.
  [[nodiscard]] bool from_cache() const noexcept;
  /// The best point so far: the start before anything was measured; of noise_aware the least median.
  [[nodiscard]] tuning_point best() const;
  /// What was reported there (of noise_aware: the median); NaN before anything was measured.
  [[nodiscard]] double best_value() const noexcept;
  /// How many values were reported.
  [[nodiscard]] std::int64_t evaluations() const noexcept;
  /// What was asked for.
  [[nodiscard]] const tuning_options& options() const noexcept;

 private:
  struct state;
  explicit tuning_session(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace plx::probe
