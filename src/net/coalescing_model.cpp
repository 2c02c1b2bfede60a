#include "net/coalescing_model.hpp"

#include <algorithm>
#include <cmath>

namespace plx::net {
namespace {

constexpr double usual_message_s = 0.5e-6;  // until it is known
constexpr double most_bytes = 131072;
constexpr unsigned most_parcels = 1024;
constexpr double least_interval_s = 16e-6, most_interval_s = 8.2e-3;
constexpr double close_enough = 0.005;  // of the workers' time

// The middle of a class of gaps, in the measure in which its ends differ by a factor of 2.
double middle_s(std::size_t i) noexcept { return i == 0 ? 0 : std::ldexp(0.7071e-9, static_cast<int>(i)); }

struct runs {
  double others = 0;  // gaps that are longer
  double within = 0;  // gaps up to the interval
  double mean_s = 0;  // of those within
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
  // What passed between two parcels holds what messages cost as it was.
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
  const double others_of_run = r.within / r.others;  // without the first one, which goes alone
  return (1 + others_of_run) / (1 + std::max(1.0, others_of_run / each));
}

coalescing best_fixed(const traffic& t) noexcept {
  const double parcel_bytes = t.parcels > 0 ? std::max(t.bytes / t.parcels, 1.0) : 1;
  const auto share = [&t](unsigned n, double interval_s) {
    return t.message_share(fixed_parcels_per_message(t, n, interval_s));
  };
  unsigned most = 2;
  while (2 * most <= most_parcels && 2 * most * parcel_bytes <= most_bytes) most *= 2;
  const double target = share(most, most_interval_s) + close_enough;
  double interval_s = least_interval_s;
  while (2 * interval_s <= most_interval_s && share(most, interval_s) > target) interval_s *= 2;
  unsigned n = 2;
  while (n < most && share(n, interval_s) > target + close_enough) n *= 2;
  // What gathers n parcels on average is too short every other time.
  interval_s = std::min(2 * interval_s, most_interval_s);
  return {.parcels = n, .interval_us = std::round(interval_s * 1e6), .way = coalescing_way::fixed};
}

}  // namespace plx::net
