// How many workers a program needs: lowers a cap as long as the throughput does not suffer. What the policy
// `worker-cap` thinks with; it knows no runtime and no clock.
//
// A cap is compared with all workers in turns (A B B A A B ...), so that what changes slowly changes for both, by the
// ratios of neighbouring measurements and an interval for their median (bounds_of_median): it is kept only when the
// interval says that the throughput is at least (1 - tolerance) x that of all workers, or of the best cap so far; doubt
// keeps what is. What looks worse is left without proof, what is clearly worse after two pairs. Which caps are tried
// halves what lies between the one that is kept and the largest that was too low. Between searches it rests, longer
// each time nothing changed, and less when the throughput changes much: then the program does something else now, and
// the cap that is kept must show anew that it is enough.
// Thread safety: none. Cost: microseconds. Example: control/test/worker_cap_follower_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plx::probe {

/// How worker-cap follows the throughput.
struct worker_cap_options {
  unsigned workers = 1;
  double tolerance = 0.03;    // share of the throughput that fewer workers may cost
  double doubt = 0.1;         // probability that a comparison is wrong
  int most_pairs = 24;        // of one comparison; without a clear answer nothing changes
  std::int64_t rest = 100;    // measurements between comparisons, doubled up to 16 times that
  double other_phase = 0.25;  // change of the throughput by which another phase of the program is seen
};

class worker_cap_follower {
 public:
  explicit worker_cap_follower(worker_cap_options o);

  /// The cap for the next measurement.
  [[nodiscard]] unsigned cap() const noexcept {
    return !comparing_ ? kept_ : turn_is_trial() ? trial_ : options_.workers;
  }
  /// The throughput that was measured under cap(), in any unit. Zero, negative and what is no number say nothing.
  void measured(double throughput);

  /// The cap that is kept; cap() is another one while a comparison goes on.
  [[nodiscard]] unsigned kept() const noexcept { return kept_; }
  /// Whether it tries another cap just now.
  [[nodiscard]] bool comparing() const noexcept { return comparing_; }
  /// Why the cap is what it is: for logs.
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
  unsigned too_few_ = 0;   // the largest cap that was seen to be worse
  double best_ratio_ = 1;  // of this search: where fewer workers do more, what counts is what they do

  bool comparing_ = false;
  unsigned trial_ = 0;
  int turn_ = 0;  // within the comparison
  double first_of_pair_ = 0;
  std::vector<double> ratios_;  // throughput under trial_ over that of all workers; sorted

  std::int64_t resting_ = 0, rest_length_;
  double rest_mean_ = 0;  // smoothed
  int strange_ = 0;       // measurements far from it, one after the other
  std::string why_ = "all workers";
};

}  // namespace plx::probe
