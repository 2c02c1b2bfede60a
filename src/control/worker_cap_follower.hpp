// Determines how many workers a program needs: lowers a cap as long as the throughput does not suffer. The algorithm of
// the policy `worker-cap`, independent of runtime and clock.
//
// A cap is compared with all workers by alternating measurements (A B B A A B ...), so that slow drifts affect both,
// using the ratios of adjacent measurements and an interval for their median (bounds_of_median). It is accepted only if
// the interval shows a throughput of at least (1 - tolerance) x that of all workers, or of the best cap so far; if in
// doubt, nothing changes. A trial that looks worse ends without proof, a clearly worse one after two pairs. Trial caps
// bisect the range between the accepted cap and the largest one that was too low. Between searches the follower rests:
// longer each time nothing changed, and less if the throughput changes considerably, since the program is then in
// another phase and the accepted cap must be verified again.
// Thread safety: none. Cost: microseconds. Example: control/test/worker_cap_follower_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plx::probe {

/// Settings of the worker-cap policy.
struct worker_cap_options {
  unsigned workers = 1;
  double tolerance = 0.03;    // loss of throughput that is acceptable for fewer workers
  double doubt = 0.1;         // probability that a comparison is wrong
  int most_pairs = 24;        // per comparison; without a clear result nothing changes
  std::int64_t rest = 100;    // measurements between comparisons, doubled up to 16 times this value
  double other_phase = 0.25;  // relative change of the throughput that indicates another phase of the program
};

class worker_cap_follower {
 public:
  explicit worker_cap_follower(worker_cap_options o);

  /// The cap for the next measurement.
  [[nodiscard]] unsigned cap() const noexcept {
    return !comparing_ ? kept_ : turn_is_trial() ? trial_ : options_.workers;
  }
  /// Reports the throughput measured under cap(), in any unit. Values that are not positive and finite are ignored.
  void measured(double throughput);

  /// The accepted cap; cap() differs during a comparison.
  [[nodiscard]] unsigned kept() const noexcept { return kept_; }
  /// True while another cap is being compared.
  [[nodiscard]] bool comparing() const noexcept { return comparing_; }
  /// The reason for the current cap, for logs.
  [[nodiscard]] const std::string& why() const noexcept { return why_; }

 private:
  [[nodiscard]] bool turn_is_trial() const noexcept;
  void begin(unsigned trial);
  void pair_done(double ratio);
  void end(bool enough, const char* verdict);
  void next_trial();
  void rest(double throughput);

  const worker_cap_options options_;
  unsigned kept_;
  unsigned too_few_ = 0;   // the largest cap that was worse
  double best_ratio_ = 1;  // in this search: if fewer workers achieve more, later caps are compared with that

  bool comparing_ = false;
  unsigned trial_ = 0;
  int turn_ = 0;  // within the comparison
  double first_of_pair_ = 0;
  std::vector<double> ratios_;  // throughput under trial_ over that of all workers; sorted

  std::int64_t resting_ = 0, rest_length_;
  double rest_mean_ = 0;  // smoothed
  int strange_ = 0;       // consecutive measurements far from the mean
  std::string why_ = "all workers";
};

}  // namespace plx::probe
