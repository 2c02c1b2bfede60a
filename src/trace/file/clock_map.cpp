#include "trace/file/clock_map.hpp"

#include <algorithm>
#include <cmath>

namespace plx::probe {
namespace {

/// Relative error of the nominal rates that two processes measured themselves (base/clock.hpp), both together.
constexpr double nominal_error = 5e-5;

/// `from` + (at - was) * rate, at least 0. For nearby points the differences are small enough for a double.
ticks moved(ticks from, ticks was, ticks at, double rate) noexcept {
  const double span = at >= was ? static_cast<double>(at - was) : -static_cast<double>(was - at);
  const double step = std::round(span * rate);
  if (step >= 0) return from + static_cast<ticks>(step);
  return -step >= static_cast<double>(from) ? 0 : from - static_cast<ticks>(-step);
}

}  // namespace

bool clock_map::add(const clock_point& p) {
  if (known() && (p.there <= points_.back().there || p.here <= points_.back().here)) return false;
  points_.push_back(p);
  return true;
}

double clock_map::overall() const noexcept {
  if (points_.size() < 2) return nominal();
  const clock_point &a = points_.front(), &b = points_.back();
  const double span = static_cast<double>(b.here - a.here);
  if (static_cast<double>(a.uncertainty + b.uncertainty) > nominal_error * span) return nominal();
  return span / static_cast<double>(b.there - a.there);
}

ticks clock_map::operator()(ticks there) const noexcept {
  if (!known()) return there;
  const auto behind = std::upper_bound(points_.begin(), points_.end(), there,
                                       [](ticks t, const clock_point& p) { return t < p.there; });
  if (behind == points_.begin()) return moved(behind->here, behind->there, there, overall());
  const clock_point& a = *(behind - 1);
  if (behind == points_.end()) return moved(a.here, a.there, there, overall());
  const double rate = static_cast<double>(behind->here - a.here) / static_cast<double>(behind->there - a.there);
  return moved(a.here, a.there, there, rate);
}

double clock_map::offset_s() const noexcept {
  if (!known()) return 0;
  return static_cast<double>(points_[0].here) / rate_here_ - static_cast<double>(points_[0].there) / rate_there_;
}

double clock_map::drift() const noexcept { return overall() / nominal() - 1; }

double clock_map::uncertainty_s() const noexcept {
  ticks most = 0;
  for (const clock_point& p : points_) most = std::max(most, p.uncertainty);
  return static_cast<double>(most) / rate_here_;
}

ticks clock_map::uncertainty_at(ticks there) const noexcept {
  const clock_point &first = points_.front(), &last = points_.back();
  const auto outside = [&](const clock_point& p) {
    const ticks at = (*this)(there);
    const auto distance = static_cast<double>(at > p.here ? at - p.here : p.here - at);
    return p.uncertainty + static_cast<ticks>(std::ceil(nominal_error * distance));
  };
  if (there < first.there) return outside(first);
  if (there >= last.there) return outside(last);
  const auto behind = std::upper_bound(points_.begin(), points_.end(), there,
                                       [](ticks t, const clock_point& p) { return t < p.there; });
  return std::max((behind - 1)->uncertainty, behind->uncertainty);
}

}  // namespace plx::probe
