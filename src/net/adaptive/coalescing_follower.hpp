// How small parcels should collect, by what they do: what the policy `coalescing` thinks with. It knows no runtime and
// no clock; it is told what happened in one span of time after the other ("looks"), and says what holds for the next
// one.
//
// It begins self-clocking, which is right wherever somebody waits for parcels: they leave when a worker has nothing
// better to do. In the fixed form they also do, but not between two tasks of a busy worker. Where messages take a share
// of the time that the model (net/adaptive/coalescing_follower.hpp) says is worth it, the model's proposal is tried:
// larger messages, or the fixed form. It is compared with what held before in turns (A B B A A B ...), by the ratios of
// neighbouring rates of parcels and an interval for their median, and taken back when it made things worse, or did not
// do what it was for: calls of which each waits for the one before are alone in their messages in whatever form, so a
// fixed form is also given up where its messages cost as much as messages of one parcel. What was refused is not tried
// again for traffic like that for a while, longer each time. What is kept stays until parcels become rare or their rate
// is another one for several looks; then it must show anew what it is good for. Thread safety: none. Cost: microseconds
// per look. Example: net/adaptive/test/coalescing_follower_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "net/coalescing.hpp"

namespace plx::net {

// What messages cost a stream of small parcels, by a model: which numbers of the fixed form would suit it.
//
// A message costs its locality a time M that does not depend on what is in it; what a parcel costs by itself is the
// same in every message. With b parcels per message and a time g of the workers from one parcel to the next, without
// what messages cost, these take the share (M / b) / (g + M / b) of the workers' time. Of a fixed form (n, interval)
// the model says b from how long after each other parcels came: gaps longer than the interval end a run, the first
// parcel of a run goes alone, and the others leave when n have come or the interval has passed. Thread safety: none.
// Cost: microseconds. Example: net/adaptive/test/coalescing_model_test.cpp

/// The i-th counts the gaps between two parcels to the same locality of 2^(i-1) to 2^i - 1 ns; the first those of 0.
using gaps_by_length = std::array<double, 48>;

/// What the collectors of an action, or of all others, saw in a span of time.
struct traffic {
  double span_s = 0;
  unsigned workers = 1;
  double parcels = 0, messages = 0, bytes = 0;
  double slack = 0;            ///< share of the workers' time in which there was nothing to do
  double overhead = 0;         ///< share of the workers' time that the network took
  double message_s = 0;        ///< what a message costs; 0: not known
  std::size_t most_bytes = 0;  ///< the byte limit that held
  gaps_by_length gaps{};

  /// As one of both spans, one after the other.
  traffic& operator+=(const traffic& later) noexcept;
  /// Of the workers' time, from one parcel to the next, all included. Requires: parcels > 0.
  [[nodiscard]] double gap_s() const noexcept { return span_s * workers / parcels; }
  [[nodiscard]] double parcels_per_message() const noexcept { return messages > 0 ? parcels / messages : 1; }
  /// The share of the workers' time that messages would take with so many parcels in each.
  [[nodiscard]] double message_share(double parcels_each) const noexcept;
};

/// How many parcels a message of the fixed form would hold, by the gaps of this traffic. Requires: parcels >= 1.
double fixed_parcels_per_message(const traffic& t, unsigned parcels, double interval_s) noexcept;

/// The fixed form that costs least, to half a percent of the workers' time: of those the one that waits the shortest,
/// and of these the one with the least parcels. 2 to 1024 parcels, 16 us to 8.2 ms, at most 128 KiB in a message.
coalescing best_fixed(const traffic& t) noexcept;

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
