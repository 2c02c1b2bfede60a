// The algorithm of the policy `coalescing`: chooses coalescing parameters from the observed traffic. It uses no runtime
// and no clock: it gets the traffic of one span of time after the other (samples), and returns the setting for the
// next.
//
// It starts self-clocking, which is right if tasks wait for parcels: they are sent when a worker has no other work. In
// the fixed form they are, too, but not between two tasks of a busy worker. If messages take a share of the time that
// according to the model below is worth saving, the model's proposal is tried: larger messages, or the fixed form. It
// is compared with the previous setting in turns (A B B A A B ...), by the ratios of neighbouring rates of parcels and
// a confidence interval for their median. It is rejected if it reduced the rate, or did not save messages: a sequence
// of dependent calls has one parcel per message in any form, so a fixed form is also given up if its messages cost as
// much as messages of one parcel. A rejected setting is not tried again for similar traffic for a while, longer each
// time. An accepted one stays until parcels become rare, or their rate is different for several samples; then it is
// compared again.
// Thread safety: none. Cost: microseconds per sample. Example: net/parcels/adaptive/test/coalescing_follower_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "net/coalescing.hpp"

namespace plx::net {

// A model of the cost of messages for a stream of small parcels: which parameters of the fixed form would suit it.
//
// A message costs its locality a time M that does not depend on its contents; the cost of a parcel itself does not
// depend on its message. With b parcels per message and a time g of the workers from one parcel to the next, without
// the cost of messages, messages take the share (M / b) / (g + M / b) of the workers' time. For a fixed form (n,
// interval) the model computes b from the gaps between parcels: gaps longer than the interval end a run, the first
// parcel of a run is sent alone, and the others are sent when there are n or the interval has passed. Thread safety:
// none. Cost: microseconds. Example: net/parcels/adaptive/test/coalescing_model_test.cpp

/// Element i counts gaps between parcels to the same locality of 2^(i-1) to 2^i - 1 ns; element 0 counts gaps of 0.
using gaps_by_length = std::array<double, 48>;

/// The traffic of the collectors of an action, or of all others, in a span of time.
struct traffic {
  double span_s = 0;
  unsigned workers = 1;
  double parcels = 0, messages = 0, bytes = 0;
  double slack = 0;            ///< share of the workers' time without work
  double overhead = 0;         ///< share of the workers' time spent on the network
  double message_s = 0;        ///< cost of a message; 0: unknown
  std::size_t most_bytes = 0;  ///< the byte limit in effect
  gaps_by_length gaps{};

  /// The traffic of both spans.
  traffic& operator+=(const traffic& later) noexcept;
  /// Time of the workers per parcel, including all costs. Requires: parcels > 0.
  [[nodiscard]] double gap_s() const noexcept { return span_s * workers / parcels; }
  [[nodiscard]] double parcels_per_message() const noexcept { return messages > 0 ? parcels / messages : 1; }
  /// The share of the workers' time that messages would take with that many parcels in each.
  [[nodiscard]] double message_share(double parcels_each) const noexcept;
};

/// Predicts the parcels per message of a fixed form from the gaps of this traffic. Requires: parcels >= 1.
double fixed_parcels_per_message(const traffic& t, unsigned parcels, double interval_s) noexcept;

/// The cheapest fixed form, to within half a percent of the workers' time: the shortest interval, then the smallest
/// number of parcels. 2 to 1024 parcels, 16 us to 8.2 ms, at most 128 KiB in a message.
coalescing best_fixed(const traffic& t) noexcept;

/// Parameters of the algorithm.
struct coalescing_follower_options {
  double enough_gain = 0.02;    // predicted gain that justifies a trial, as a share of the workers' time
  double high_slack = 0.3;      // above it, the fixed form is left immediately if parcels are rare
  double tolerance = 0.02;      // acceptable loss of rate in a comparison
  double doubt = 0.25;          // probability that a comparison ends too early
  unsigned most_pairs = 6;      // of samples in a comparison
  unsigned least_parcels = 64;  // per sample; fewer are not significant
  unsigned window = 3;          // samples that a change is based on
  double other_traffic = 1.6;   // factor of the rate that indicates different traffic
  std::int64_t rest = 80;       // samples before a rejected proposal is tried again, doubled up to 64 times
  std::int64_t useless = 8;     // factor for `rest` if the number of messages did not decrease
};

/// The result of a sample. settled: a comparison ended with the setting that is already in effect.
enum class coalescing_move : std::uint8_t { none, set, undone, settled };

class coalescing_follower {
 public:
  /// `bytes`: of a self-clocking message, unless larger ones are chosen; 0: the default.
  explicit coalescing_follower(coalescing_follower_options o = {}, std::size_t bytes = 0)
      : options_(o), usual_{.bytes = bytes, .way = coalescing_way::self_clocking} {}

  /// Takes the traffic while setting() was in effect. Afterwards setting() is the one to use next.
  coalescing_move look(const traffic& seen);

  /// The setting to use now. `bytes` of the self-clocking form is 0 for its default.
  [[nodiscard]] const coalescing& setting() const noexcept { return comparing_ && on_trial_ ? trial_ : kept_; }
  /// Whether a comparison is in progress.
  [[nodiscard]] bool comparing() const noexcept { return comparing_; }
  /// The reason for the setting, as text.
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
  const coalescing usual_;  // self-clocking, with which it starts
  coalescing kept_ = usual_;
  std::string why_ = "self-clocking from the start";
  std::int64_t looks_ = 0;
  unsigned quiet_looks_ = 0;

  std::vector<traffic> window_;  // the last samples with kept_
  double usual_rate_ = 0;        // with kept_, when it was accepted; 0: unknown
  unsigned strange_ = 0;         // consecutive samples with a different rate
  std::vector<refusal> refusals_;

  bool comparing_ = false, on_trial_ = false;
  bool favoured_ = false;  // the trial is accepted in case of doubt
  coalescing trial_;
  unsigned turn_ = 0;
  double first_of_pair_ = 0, rate_at_trial_ = 0;
  std::vector<double> ratios_;        // rate with trial_ over that with kept_; sorted
  traffic under_trial_, under_kept_;  // in this comparison
};

}  // namespace plx::net
