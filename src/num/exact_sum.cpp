#include "num/exact_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace plx {
namespace {
constexpr std::uint64_t low32 = 0xffffffffu;
}

void exact_sum::add(double term) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(term);
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff);
  if (exponent == 0x7ff) {
    special_ += term;
    return;
  }
  std::uint64_t mantissa = bits & ((std::uint64_t{1} << 52) - 1);
  if (exponent != 0) mantissa |= std::uint64_t{1} << 52;
  if (mantissa == 0) return;
  const int position = std::max(exponent, 1) - 1;  // term = mantissa * 2^(position - 1074)
  const int limb = position / limb_bits;
  const int shift = position % limb_bits;
  const std::uint64_t low = (mantissa & low32) << shift;                 // below 2^63
  const std::uint64_t high = ((mantissa >> 32) << shift) + (low >> 32);  // below 2^53 + 2^31
  const std::int64_t sign = (bits >> 63) != 0 ? -1 : 1;
  limbs_[limb] += sign * static_cast<std::int64_t>(low & low32);
  limbs_[limb + 1] += sign * static_cast<std::int64_t>(high & low32);
  limbs_[limb + 2] += sign * static_cast<std::int64_t>(high >> 32);
  first_ = std::min(first_, limb);
  last_ = std::max(last_, limb + 2);
  if (++adds_since_carry_ == (std::int64_t{1} << 30)) carry();
}

void exact_sum::add(const exact_sum& other) noexcept {
  special_ += other.special_;
  if (other.last_ < 0) return;
  exact_sum carried = other;
  carried.carry();
  carry();
  for (int i = carried.first_; i <= carried.last_; ++i) limbs_[i] += carried.limbs_[i];
  first_ = std::min(first_, carried.first_);
  last_ = std::max(last_, carried.last_);
  adds_since_carry_ = 2;
}

void exact_sum::append_to(std::vector<std::int64_t>& out) const {
  exact_sum s = *this;
  s.carry();
  const int count = s.last_ < 0 ? 0 : s.last_ - s.first_ + 1;
  out.insert(out.end(), {count == 0 ? 0 : s.first_, count, std::bit_cast<std::int64_t>(s.special_)});
  if (count > 0) out.insert(out.end(), s.limbs_.begin() + s.first_, s.limbs_.begin() + s.last_ + 1);
}

bool exact_sum::add_from(std::span<const std::int64_t>& from) noexcept {
  if (from.size() < 3 || from[0] < 0 || from[1] < 0 || from[0] > n_limbs || from[1] > n_limbs - from[0]) return false;
  const auto first = static_cast<int>(from[0]), count = static_cast<int>(from[1]);
  if (from.size() < 3 + static_cast<std::size_t>(count)) return false;
  exact_sum other;
  other.special_ = std::bit_cast<double>(from[2]);
  if (count > 0) other.first_ = first, other.last_ = first + count - 1;
  std::copy_n(from.begin() + 3, count, other.limbs_.begin() + first);
  from = from.subspan(3 + static_cast<std::size_t>(count));
  add(other);
  return true;
}

// Postcondition: every limb but the last is in [0, 2^32); the last one, in [-2^32, 2^32), has the sign.
void exact_sum::carry() noexcept {
  adds_since_carry_ = 0;
  for (int i = first_; i <= last_; ++i) {
    const std::int64_t up = limbs_[i] >> limb_bits;  // arithmetic shift: floor
    if (up == 0 || i + 1 == n_limbs) continue;
    if (i == last_ && up == -1) break;
    limbs_[i] -= up * (std::int64_t{1} << limb_bits);
    limbs_[i + 1] += up;
    last_ = std::max(last_, i + 1);
  }
}

double exact_sum::value() const noexcept {
  if (special_ != 0 || std::isnan(special_)) return special_;
  exact_sum s = *this;
  s.carry();
  const bool negative = s.last_ >= 0 && s.limbs_[s.last_] < 0;
  if (negative) {
    for (int i = s.first_; i <= s.last_; ++i) s.limbs_[i] = -s.limbs_[i];
    s.carry();
  }
  const double magnitude = s.rounded();
  return negative ? -magnitude : magnitude;
}

// Requires: carried, not negative. Rounds explicitly to 53 bits, or fewer for a subnormal result: converting a 64-bit
// integer and scaling it would round twice.
double exact_sum::rounded() const noexcept {
  int top = last_;
  while (top >= first_ && limbs_[top] == 0) --top;
  if (top < first_) return 0;
  const auto limb = [&](int i) { return i < 0 ? std::uint64_t{0} : static_cast<std::uint64_t>(limbs_[i]); };
  const std::uint64_t low = (limb(top - 1) << 32) | limb(top - 2);
  const int drop = 64 - std::countl_zero(limb(top));  // 1 to 32: `kept` gets the leading 64 bits of three limbs
  std::uint64_t kept = (limb(top) << (64 - drop)) | (low >> drop);
  bool sticky = (low & ((std::uint64_t{1} << drop) - 1)) != 0;
  for (int i = first_; i < top - 2 && !sticky; ++i) sticky = limbs_[i] != 0;
  const int exponent = limb_bits * (top - 2) - 1074 + drop;  // the sum is kept * 2^exponent, plus the sticky remainder
  const int cut = std::max(11, -1074 - exponent);            // below 64: the sum is a multiple of 2^-1074
  const std::uint64_t below = kept & ((std::uint64_t{1} << cut) - 1);
  const std::uint64_t half = std::uint64_t{1} << (cut - 1);
  kept >>= cut;
  if (below > half || (below == half && (sticky || (kept & 1) != 0))) ++kept;
  return std::ldexp(static_cast<double>(kept), exponent + cut);
}

}  // namespace plx
