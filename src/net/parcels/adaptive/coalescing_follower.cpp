#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "control/tuning_search.hpp"
#include "net/parcels/adaptive/coalescing_follower.hpp"
#include "net/parcels/collector.hpp"

namespace plx::net {
namespace {

constexpr double usual_message_s = 0.5e-6;  // until it has been measured
constexpr double model_bytes = 131072;
constexpr unsigned model_parcels = 1024;
constexpr double least_interval_s = 16e-6, most_interval_s = 8.2e-3;
constexpr double close_enough = 0.005;  // of the workers' time

// The geometric mean of the bounds of a class of gaps.
double middle_s(std::size_t i) noexcept { return i == 0 ? 0 : std::ldexp(0.7071e-9, static_cast<int>(i)); }

struct runs {
  double others = 0;  // gaps longer than the interval
  double within = 0;  // gaps up to the interval
  double mean_s = 0;  // mean of those within
};

runs runs_of(const gaps_by_length& gaps, double interval_s) noexcept {
  runs r;
  double sum_s = 0;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    if (middle_s(i) > interval_s)
      r.others += gaps[i];
    else
      r.within += gaps[i], sum_s += gaps[i] * middle_s(i);
  }
  if (r.within > 0) r.mean_s = sum_s / r.within;
  return r;
}

}  // namespace

traffic& traffic::operator+=(const traffic& later) noexcept {
  const double both_s = span_s + later.span_s;
  if (both_s > 0) {
    slack = (slack * span_s + later.slack * later.span_s) / both_s;
    overhead = (overhead * span_s + later.overhead * later.span_s) / both_s;
  }
  span_s = both_s;
  workers = later.workers;
  parcels += later.parcels, messages += later.messages, bytes += later.bytes;
  if (later.message_s > 0) message_s = later.message_s;
  most_bytes = later.most_bytes;
  for (std::size_t i = 0; i < gaps.size(); ++i) gaps[i] += later.gaps[i];
  return *this;
}

double traffic::message_share(double parcels_each) const noexcept {
  if (!(parcels > 0)) return 0;
  const double all_s = message_s > 0 ? message_s : usual_message_s;
  // The time per parcel without the cost of messages in this traffic.
  const double without_s = std::max(gap_s() - all_s / parcels_per_message(), 0.1 * gap_s());
  const double each_s = all_s / std::max(parcels_each, 1.0);
  return each_s / (without_s + each_s);
}

double fixed_parcels_per_message(const traffic& t, unsigned parcels, double interval_s) noexcept {
  const runs r = runs_of(t.gaps, interval_s);
  const double n_gaps = r.others + r.within;
  if (!(n_gaps > 0) || r.within == 0) return 1;
  const double in_time = r.mean_s > 0 ? 1 + interval_s / r.mean_s : parcels;
  const double each = std::min<double>(parcels, in_time);
  if (r.others == 0) return each;
  const double others_of_run = r.within / r.others;  // without the first one, which is sent alone
  return (1 + others_of_run) / (1 + std::max(1.0, others_of_run / each));
}

coalescing best_fixed(const traffic& t) noexcept {
  const double parcel_bytes = t.parcels > 0 ? std::max(t.bytes / t.parcels, 1.0) : 1;
  const auto share = [&t](unsigned n, double interval_s) {
    return t.message_share(fixed_parcels_per_message(t, n, interval_s));
  };
  unsigned most = 2;
  while (2 * most <= model_parcels && 2 * most * parcel_bytes <= model_bytes) most *= 2;
  const double target = share(most, most_interval_s) + close_enough;
  double interval_s = least_interval_s;
  while (2 * interval_s <= most_interval_s && share(most, interval_s) > target) interval_s *= 2;
  unsigned n = 2;
  while (n < most && share(n, interval_s) > target + close_enough) n *= 2;
  // An interval that collects n parcels on average is too short half of the time.
  interval_s = std::min(2 * interval_s, most_interval_s);
  return {.parcels = n, .interval_us = std::round(interval_s * 1e6), .way = coalescing_way::fixed};
}

namespace {

constexpr double far_less = 0.6;     // of the rate: one sample suffices
constexpr double nearly_full = 0.6;  // of a message's byte limit
constexpr std::size_t largest_message = 65536;
constexpr std::size_t most_refusals = 8;

double rate_of(const traffic& t) noexcept { return t.parcels / t.span_s; }

bool far_apart(double a, double b, double factor) noexcept { return a > b * factor || b > a * factor; }

std::string in_words(const coalescing& c) {
  if (c.way == coalescing_way::fixed) return fmt::format("{} or {} us", plural(c.parcels, "parcel"), c.interval_us);
  return c.bytes == 0 ? "self-clocking" : fmt::format("self-clocking up to {} KiB", c.bytes / 1024);
}

std::string gain_in_words(const traffic& t, double hoped) {
  const double each = t.parcels_per_message();
  return fmt::format(
      "messages of {:.1f} parcels cost {:.1f} % of the workers' time; of {:.1f} they would cost {:.1f} %", each,
      100 * t.message_share(each), hoped, 100 * t.message_share(hoped));
}

}  // namespace

coalescing_move coalescing_follower::look(const traffic& seen) {
  ++looks_;
  if (!(seen.parcels >= options_.least_parcels) || !(seen.span_s > 0)) return quiet(seen);
  quiet_looks_ = 0;
  if (comparing_) return compare(seen);
  window_.push_back(seen);
  if (window_.size() > options_.window) window_.erase(window_.begin());
  return window_.size() < options_.window ? coalescing_move::none : watch();
}

// Rare parcels cost nothing and should not wait: if workers are idle, the fixed form is left immediately.
coalescing_move coalescing_follower::quiet(const traffic& seen) {
  const bool waits = setting().way == coalescing_way::fixed && seen.slack > options_.high_slack;
  if (++quiet_looks_ < options_.window && !waits) return coalescing_move::none;
  if (quiet_looks_ == options_.window) new_window();
  if (comparing_) {
    const bool moved = on_trial_;
    comparing_ = on_trial_ = false;
    why_ = "parcels became rare before the comparison was over";
    if (moved) return coalescing_move::undone;
  }
  if (kept_ == usual_) return coalescing_move::none;
  kept_ = usual_;
  usual_rate_ = 0;
  why_ = "parcels became rare";
  return coalescing_move::set;
}

void coalescing_follower::new_window() noexcept {
  window_.clear();
  strange_ = 0;
}

// ----------------------------------------------------------------------------------------------------------- proposals

coalescing_move coalescing_follower::watch() {
  traffic sum;
  for (const traffic& t : window_) sum += t;
  return kept_.way == coalescing_way::fixed ? watch_fixed(sum) : propose(sum);
}

coalescing_move coalescing_follower::propose(const traffic& now) {
  const double each = now.parcels_per_message();
  double share = now.message_share(each);
  if (now.overhead > 0) share = std::min(share, now.overhead);
  if (share < options_.enough_gain) return coalescing_move::none;
  if (now.bytes > nearly_full * static_cast<double>(now.most_bytes) * now.messages) {
    std::size_t bytes = now.most_bytes;
    while (2 * bytes <= largest_message &&
           share * static_cast<double>(now.most_bytes) > options_.enough_gain / 2 * static_cast<double>(bytes))
      bytes *= 2;
    const coalescing larger{.bytes = bytes, .way = coalescing_way::self_clocking};
    if (bytes > now.most_bytes && !refused(rate_of(now), larger))
      return try_out(
          larger, true,
          fmt::format(
              "messages are full with {:.1f} parcels and cost {:.1f} % of the workers' time: trying larger ones", each,
              100 * share));
  }
  const coalescing best = best_fixed(now);
  const double hoped = fixed_parcels_per_message(now, best.parcels, best.interval_us * 1e-6);
  if (share - now.message_share(hoped) < options_.enough_gain || refused(rate_of(now), best))
    return coalescing_move::none;
  return try_out(best, true, gain_in_words(now, hoped));
}

coalescing_move coalescing_follower::watch_fixed(const traffic& now) {
  const double rate = rate_of(now), last_rate = rate_of(window_.back());
  if (now.message_share(1) < options_.enough_gain / 2)
    return give_up_fixed(
        rate, false, fmt::format("messages cost at most {:.2f} % of the workers' time", 100 * now.message_share(1)));
  if (const double each = now.parcels_per_message();
      now.message_share(1) - now.message_share(each) < options_.enough_gain / 2)
    return give_up_fixed(rate, true, fmt::format("messages hold {:.2f} parcels: no gain", each));
  if (usual_rate_ == 0) usual_rate_ = rate;
  strange_ = far_apart(last_rate, usual_rate_, options_.other_traffic) ? strange_ + 1 : 0;
  if (strange_ >= options_.window) {
    strange_ = 0;
    usual_rate_ = rate;
    if (refused(rate, usual_)) return coalescing_move::none;
    return try_out(usual_, false, fmt::format("{:.3g} parcels per second: the traffic has changed", rate));
  }
  const coalescing best = best_fixed(now);
  const double share = now.message_share(now.parcels_per_message());
  const double hoped = fixed_parcels_per_message(now, best.parcels, best.interval_us * 1e-6);
  const bool same = !far_apart(best.parcels, kept_.parcels, 3) && !far_apart(best.interval_us, kept_.interval_us, 3);
  if (strange_ > 0 || same || share - now.message_share(hoped) < options_.enough_gain || refused(rate, best))
    return coalescing_move::none;
  return try_out(best, true, gain_in_words(now, hoped));
}

coalescing_move coalescing_follower::give_up_fixed(double rate, bool refuse_it, std::string why) {
  if (refuse_it) refuse(rate, kept_, options_.useless * options_.rest);
  kept_ = usual_;
  usual_rate_ = 0;
  why_ = std::move(why);
  new_window();
  return coalescing_move::set;
}

// -----------------------------------------------------------------------------------------------------------
// rejections

// Fixed forms count as similar if their numbers of parcels are.
bool coalescing_follower::refused(double rate, const coalescing& what) const noexcept {
  return std::any_of(refusals_.begin(), refusals_.end(), [&](const refusal& r) {
    return looks_ < r.until && r.what.way == what.way && !far_apart(rate, r.rate, 2) &&
           (what.way == coalescing_way::fixed ? !far_apart(what.parcels, r.what.parcels, 4)
                                              : what.bytes >= r.what.bytes);
  });
}

void coalescing_follower::refuse(double rate, const coalescing& what, std::int64_t rest) {
  const auto known = std::find_if(refusals_.begin(), refusals_.end(), [&](const refusal& r) {
    return r.what.way == what.way && !far_apart(rate, r.rate, 2);
  });
  refusal r{rate, what, 0, rest};
  if (known != refusals_.end()) {
    r.rest = std::max(rest, std::min(2 * known->rest, 64 * options_.rest));
    refusals_.erase(known);
  }
  if (refusals_.size() == most_refusals) refusals_.erase(refusals_.begin());
  r.until = looks_ + r.rest;
  refusals_.push_back(std::move(r));
}

// ----------------------------------------------------------------------------------------------------------
// comparisons

coalescing_move coalescing_follower::try_out(const coalescing& what, bool favoured, std::string why) {
  trial_ = what;
  favoured_ = favoured;
  why_ = std::move(why);
  comparing_ = on_trial_ = true;
  turn_ = 0;
  ratios_.clear();
  under_trial_ = under_kept_ = {};
  rate_at_trial_ = rate_of(window_.front());
  for (const traffic& t : window_) rate_at_trial_ = std::min(rate_at_trial_, rate_of(t));
  return coalescing_move::set;
}

// trial, kept, kept, trial, trial, kept, ...: each pair contains one of each, in alternating order.
coalescing_move coalescing_follower::compare(const traffic& seen) {
  const double rate = rate_of(seen);
  const bool was_trial = on_trial_;
  (was_trial ? under_trial_ : under_kept_) += seen;
  if (turn_ == 0 && rate < far_less * rate_at_trial_) return end_comparison(rate / rate_at_trial_, false);
  ++turn_;
  on_trial_ = (turn_ + 1) / 2 % 2 == 0;
  if (turn_ % 2 == 1) {
    first_of_pair_ = rate;
  } else {
    const double ratio = was_trial ? rate / first_of_pair_ : first_of_pair_ / rate;
    ratios_.insert(std::upper_bound(ratios_.begin(), ratios_.end(), ratio), ratio);
    const double limit = favoured_ ? 1 - options_.tolerance : 1 + options_.tolerance;
    const auto bounds = probe::detail::bounds_of_median(ratios_, options_.doubt);
    const bool clear = bounds.low >= limit || bounds.high < limit ||
                       (ratios_.size() >= 2 && ratios_.back() < limit - 4 * options_.tolerance);
    if (clear || ratios_.size() >= options_.most_pairs) {
      on_trial_ = was_trial;
      return end_comparison(bounds.median, bounds.median >= limit);
    }
  }
  if (on_trial_ == was_trial) return coalescing_move::none;
  why_ = "compared in turns";
  return coalescing_move::set;
}

// The share of the workers' time saved by fewer messages.
double coalescing_follower::saved_by_trial() const noexcept {
  return under_kept_.message_share(under_kept_.parcels_per_message()) -
         under_kept_.message_share(under_trial_.parcels_per_message());
}

coalescing_move coalescing_follower::end_comparison(double median, bool as_good) {
  const bool was_trial = on_trial_;
  comparing_ = on_trial_ = false;
  why_ = fmt::format("{} sends {:.3f} x the parcels of {} (median of {})", in_words(trial_), median, in_words(kept_),
                     std::max<std::size_t>(ratios_.size(), 1));
  // A trial that is accepted in case of doubt must have saved messages. A higher rate alone is not enough: a form
  // affects only messages, so without fewer of them the difference is noise.
  const bool kept = as_good && (!favoured_ || saved_by_trial() >= options_.enough_gain / 2);
  if (as_good && !kept)
    why_ += fmt::format(", in messages of {:.2f} parcels instead of {:.2f}", under_trial_.parcels_per_message(),
                        under_kept_.parcels_per_message());
  if (kept) {
    kept_ = trial_;
    usual_rate_ = 0;
  } else {
    refuse(rate_at_trial_, trial_, as_good ? options_.useless * options_.rest : options_.rest);
  }
  new_window();
  if (kept == was_trial) return coalescing_move::settled;
  return kept ? coalescing_move::set : coalescing_move::undone;
}

}  // namespace plx::net
