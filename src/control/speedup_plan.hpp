// Which task type is made virtually faster next, by how much, and what the measurements say: the statistics of virtual
// speed-ups, independent of runtime and clock.
//
// The caller measures the mean time between two progress points (the period) for each experiment. Experiments alternate
// with the program as it is (0 %): a gain is 1 - period / mean of the periods just before and after, so that slow
// drifts cancel. Rounds contain each type and speed-up once, in random order. After rounds 5, 8, 13, 20, ... each gain
// has an interval by the rule of the race (docs/probe.md, "Tuning"): for its median, for any distribution, all of them
// true with probability 1 - doubt however long the run is (check k has the share 6 / (pi k)^2 of the doubt). A type is
// settled if its intervals are narrower than `indifference`, or if all of them lie below those of another type. The
// plan is done when all types are settled.
//
// Thread safety: none. Cost: microseconds per experiment. Example: control/test/speedup_plan_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "control/tuning_search.hpp"
#include "probe/record/names.hpp"

namespace plx::probe {

/// How a speedup_plan measures.
struct speedup_options {
  std::vector<unsigned> percents{25, 50, 75};  // by which a type takes less time; ascending, below 100
  double indifference = 0.02;                  // of the period
  double doubt = 0.05;
  std::uint64_t seed = 1;
};

/// The measured effect of a type that takes `percent` less time: the period shrinks by the share `gain`.
struct speedup_gain {
  name_id type = unnamed;
  unsigned percent = 0;
  std::size_t rounds = 0;
  double gain = 0;           // median
  double low = 0, high = 0;  // contain the true median with probability 0.95; infinite below 6 rounds
  bool settled = false;
};

class speedup_plan {
 public:
  /// Percent 0: the program as it is.
  struct experiment {
    name_id type = unnamed;
    unsigned percent = 0;
  };
  /// Rounds for a first interval of speedup_gain.
  static constexpr std::size_t least_rounds = 6;

  explicit speedup_plan(speedup_options o = {});

  /// A further type, from the next round that begins. No effect if it is known.
  void add(name_id type);
  /// The number of types.
  [[nodiscard]] std::size_t types() const noexcept { return types_.size(); }
  /// The experiment to measure now. The first one of a round begins it.
  [[nodiscard]] experiment next();
  /// Its period, in any unit. A value that is not positive and finite is ignored: next() stays.
  void measured(double period);
  /// True when all types are settled.
  [[nodiscard]] bool done() const noexcept;
  /// Complete rounds.
  [[nodiscard]] std::size_t rounds() const noexcept { return rounds_; }

  /// By type, in the order in which they were added, and percent.
  [[nodiscard]] std::vector<speedup_gain> gains() const;
  /// Median of the periods without a change; NaN if there is none.
  [[nodiscard]] double period() const;

 private:
  struct runner {
    unsigned percent;
    std::vector<double> gains;  // sorted
  };
  struct type {
    name_id id;
    std::vector<runner> runners;
    bool settled = false;
  };
  struct place {
    std::size_t type, runner;
  };
  void begin_round();
  void end_round();
  [[nodiscard]] bool narrow(const type& t, double doubt) const;
  [[nodiscard]] static bool below(const type& t, const type& other, double doubt);

  const speedup_options options_;
  detail::tuning_random random_;
  std::vector<type> types_;
  std::vector<place> turn_;  // not yet measured in this round
  double before_ = 0;        // the last period without a change; 0: none
  double changed_ = 0;       // the period of the experiment since then; 0: none
  std::vector<double> unchanged_;
  std::size_t rounds_ = 0, next_look_ = 5, looks_ = 0;
};

/// The results of a run.
struct speedup_report {
  std::string point{};  // the progress point
  double period_s = 0;
  double time_s = 0, inserted_s = 0;  // of the experiments; delay of all workers
  std::uint64_t experiments = 0;
  std::vector<speedup_gain> gains{};
  std::vector<std::string> problems{};  // a line each: what is missing, and what helps
};

/// A table, the type with the largest gain first; "" without types. Lines have at most 110 characters.
std::string speedup_text(const speedup_report& r);
/// Columns type,percent,rounds,gain,gain_low,gain_high,state: bounds are empty below least_rounds; state is settled or
/// open.
std::string speedup_csv(const speedup_report& r);

}  // namespace plx::probe
