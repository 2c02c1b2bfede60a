// How small parcels should collect, by what they do: what the policy `coalescing` thinks with. It knows no runtime and
// no clock; it is told what happened in one span of time after the other ("looks"), and says what holds for the next
// one.
//
// It begins self-clocking, which is right wherever somebody waits for parcels: they leave when a worker has nothing
// better to do. In the fixed form they also do, but not between two tasks of a busy worker. Where messages take a share
// of the time that the model (net/coalescing_model.hpp) says is worth it, the model's proposal is tried: larger
// messages, or the fixed form. It is compared with what held before in turns (A B B A A B ...), by the ratios of
// neighbouring rates of parcels and an interval for their median, and taken back when it made things worse, or did not
// do what it was for: calls of which each waits for the one before are alone in their messages in whatever form, so a
// fixed form is also given up where its messages cost as much as messages of one parcel. What was refused is not tried
// again for traffic like that for a while, longer each time. What is kept stays until parcels become rare or their rate
// is another one for several looks; then it must show anew what it is good for. Thread safety: none. Cost: microseconds
// per look. Example: net/coalescing_follower_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/coalescing.hpp"
#include "net/coalescing_model.hpp"

namespace plx::net {

/// How the follower follows.
struct coalescing_follower_options {
  double enough_gain = 0.02;    // share of the workers' time that a move must promise
  double high_slack = 0.3;      // beyond, rare parcels leave the fixed form at once
  double tolerance = 0.02;      // what a comparison may cost, as a share of the rate
  double doubt = 0.25;          // probability that a comparison ends too early
  unsigned most_pairs = 6;      // of a comparison
  unsigned least_parcels = 64;  // in a look; fewer say nothing, and cost nothing
  unsigned window = 3;          // looks that must agree before anything moves
  double other_traffic = 1.6;   // factor of the rate by which other traffic is seen
  std::int64_t rest = 80;       // looks before a refused proposal is tried again, doubled up to 64 times that
  std::int64_t useless = 8;     // times that, where messages were no fewer: that is not noise
};

/// What happened to the setting at a look. settled: a comparison ended, and what it ended with holds already.
enum class coalescing_move : std::uint8_t { none, set, undone, settled };

class coalescing_follower {
 public:
  explicit coalescing_follower(coalescing_follower_options o = {}) : options_(o) {}

  /// Takes what happened while setting() held. Afterwards setting() is what should hold next.
  coalescing_move look(const traffic& seen);

  /// What should hold now. `bytes` of the self-clocking form is 0 for its standard.
  [[nodiscard]] const coalescing& setting() const noexcept { return comparing_ && on_trial_ ? trial_ : kept_; }
  /// Whether something else than what is kept is tried just now, or what is kept for comparison.
  [[nodiscard]] bool comparing() const noexcept { return comparing_; }
  /// Why the setting is what it is, in words.
  [[nodiscard]] const std::string& why() const noexcept { return why_; }

 private:
  struct refusal {
    double rate = 0;
    coalescing what;
    std::int64_t until = 0, rest = 0;
  };

  coalescing_move quiet(const traffic& seen);
  coalescing_move compare(const traffic& seen);
  coalescing_move end_comparison(double median, bool as_good);
  [[nodiscard]] double saved_by_trial() const noexcept;
  coalescing_move watch();
  coalescing_move watch_fixed(const traffic& now);
  coalescing_move propose(const traffic& now);
  coalescing_move try_out(const coalescing& what, bool favoured, std::string why);
  coalescing_move give_up_fixed(double rate, bool refuse, std::string why);
  void refuse(double rate, const coalescing& what, std::int64_t rest);
  [[nodiscard]] bool refused(double rate, const coalescing& what) const noexcept;
  void new_window() noexcept;

  const coalescing_follower_options options_;
  coalescing kept_ = self_clocking;
  std::string why_ = "self-clocking from the start";
  std::int64_t looks_ = 0;
  unsigned quiet_looks_ = 0;

  std::vector<traffic> window_;  // under what is kept, the last ones
  double usual_rate_ = 0;        // of what is kept, when it was decided; 0: not known yet
  unsigned strange_ = 0;         // looks with another rate, one after the other
  std::vector<refusal> refusals_;

  bool comparing_ = false, on_trial_ = false;
  bool favoured_ = false;  // the trial is kept where there is doubt
  coalescing trial_;
  unsigned turn_ = 0;
  double first_of_pair_ = 0, rate_at_trial_ = 0;
  std::vector<double> ratios_;        // rate under trial_ over that under kept_; sorted
  traffic under_trial_, under_kept_;  // of this comparison
};

}  // namespace plx::net
