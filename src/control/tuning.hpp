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
#include <vector>

#include "base/result.hpp"

namespace plx::probe {

/// A parameter that a search varies: an integer, a real number or a word.
struct parameter {
  enum class kind : std::uint8_t { integer, real, choice };

  std::string name;
  kind what = kind::integer;
  double least = 0;
  double most = 0;   // for choices: number of words - 1
  double step = 1;   // for integers
  double start = 0;  // where a search begins; for choices: index of the word
  std::vector<std::string> words{};

  /// Values least, least + step, ... Requires: least <= start <= most < 2^53, step > 0. `start` is rounded to a step.
  static parameter integer(std::string name, std::int64_t least, std::int64_t most, std::int64_t start,
                           std::int64_t step = 1);
  /// Requires: least < most, finite.
  static parameter real(std::string name, double least, double most, double start);
  /// Requires: at least one word.
  static parameter choice(std::string name, std::vector<std::string> words, std::size_t start = 0);

  /// Number of values; 0 for a real number.
  [[nodiscard]] std::uint64_t levels() const noexcept;
  /// The value at a place: for integers and choices the index of a value, for real numbers a position from 0 (least) to
  /// 1 (most).
  [[nodiscard]] double value_at(double place) const noexcept;
  /// The place of a value; inverse of value_at().
  [[nodiscard]] double place_of(double value) const noexcept;
  /// The text of a value: "8", "0.25", "fast".
  [[nodiscard]] std::string text_of(double value) const;
  /// Parses the text of a value.
  [[nodiscard]] result<double> parse(std::string_view text) const;
  /// Such as "integer grain 1..64 by 1". Equal texts mean equal parameters.
  [[nodiscard]] std::string definition() const;
};

/// The parameters of a search.
using parameters = std::vector<parameter>;

/// A position in the search space: one place per parameter.
using places = std::vector<double>;

/// A value for each parameter.
class tuning_point {
 public:
  tuning_point() = default;
  tuning_point(std::shared_ptr<const parameters> space, const places& at);

  /// The value of an integer parameter. Requires: a parameter of that name and kind.
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  /// The value of a real parameter.
  [[nodiscard]] double real(std::string_view name) const;
  /// The word of a choice.
  [[nodiscard]] const std::string& word(std::string_view name) const;
  /// "grain=8, how=fast".
  [[nodiscard]] std::string text() const;
  /// One value per parameter, in order; for choices the index of the word.
  [[nodiscard]] const std::vector<double>& values() const noexcept { return values_; }

 private:
  [[nodiscard]] std::size_t index_of(std::string_view name, parameter::kind what) const;
  std::shared_ptr<const parameters> space_;
  std::vector<double> values_;
};

/// How the next point is selected.
enum class strategy : std::uint8_t {
  exhaustive,   // every point; real numbers in `grid` steps
  random,       // random points
  noise_aware,  // a race of candidates measured in rounds; docs/probe.md gives its rule and guarantee
  nelder_mead,  // NLopt: a simplex of real numbers and integers
  subplex,      // NLopt: the same in subspaces
  bobyqa,       // NLopt: quadratic models
  direct,       // NLopt: divides the space into rectangles
  evolution,    // NLopt: generations of points that combine the best ones; also for words
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

  /// Folder in which results are cached; empty: no cache.
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

// Results on disk: one small file per session name, read by later runs of the same program on the same machine. A file
// that is damaged, or belongs to another machine or other parameters, is reported in one line of the log, and the
// search starts from the beginning. Files are written atomically, so several processes may share a folder; the last one
// wins. Example: control/test/tuning_cache_test.cpp

/// The result of a search in the cache.
struct tuned_result {
  places best;
  double value = 0;
  std::int64_t evaluations = 0;
};

/// parallax in $XDG_CACHE_HOME, or in ~/.cache; "" if the environment defines neither.
std::string default_tuning_folder();
/// The processor model and the number of processors: a result is valid for one machine.
std::string tuning_machine();
/// The file of a session: readable characters of its name, and a hash of the whole name.
std::string tuning_file(const std::string& folder, std::string_view name);

/// The cached result of this session; empty if there is no file or it does not match.
std::optional<tuned_result> load_tuned(const tuning_options& o);
/// Creates the folder and writes the file.
result<void> store_tuned(const tuning_options& o, const tuned_result& r);

}  // namespace plx::probe
