#include "num/exact_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace plx {
namespace {

double sum_of(const std::vector<double>& terms) {
  exact_sum s;
  for (const double t : terms) s.add(t);
  return s.value();
}

std::vector<double> random_terms(std::mt19937_64& random, int n, int exponent_range) {
  std::uniform_real_distribution<double> mantissa(-1, 1);
  std::uniform_int_distribution<int> exponent(-exponent_range, exponent_range);
  std::vector<double> terms;
  for (int i = 0; i < n; ++i) terms.push_back(std::ldexp(mantissa(random), exponent(random)));
  return terms;
}

TEST(ExactSum, IsZeroWithoutTerms) { EXPECT_EQ(exact_sum{}.value(), 0); }

TEST(ExactSum, KeepsOneTerm) {
  std::mt19937_64 random(1);
  for (double t : random_terms(random, 1000, 1000)) EXPECT_EQ(sum_of({t}), t);
  using limits = std::numeric_limits<double>;
  for (double t : {limits::min(), limits::denorm_min(), limits::max(), 1.0, 4294967296.0}) {
    EXPECT_EQ(sum_of({t}), t);
    EXPECT_EQ(sum_of({-t}), -t);
  }
}

TEST(ExactSum, TwoTermsAreTheRoundedSum) {
  std::mt19937_64 random(2);
  for (int range : {1, 30, 60}) {
    const auto a = random_terms(random, 5000, range), b = random_terms(random, 5000, range);
    for (int i = 0; i < 5000; ++i) ASSERT_EQ(sum_of({a[i], b[i]}), a[i] + b[i]) << a[i] << ' ' << b[i];
  }
}

TEST(ExactSum, CancelsWithoutLoss) {
  EXPECT_EQ(sum_of({1e300, 1.0, -1e300}), 1.0);
  EXPECT_EQ(sum_of({1e300, 1e-300, -1e300, 1.0, -1.0}), 1e-300);
  EXPECT_EQ(sum_of({1e16, 1, 1, -1e16}), 2.0);
  EXPECT_EQ(sum_of({5e-324, 1, -1}), 5e-324);
}

TEST(ExactSum, RoundsTiesToEvenOnce) {
  const double ulp = std::numeric_limits<double>::epsilon();
  EXPECT_EQ(sum_of({1, ulp / 2}), 1.0);
  EXPECT_EQ(sum_of({1 + ulp, ulp / 2}), 1 + 2 * ulp);
  EXPECT_EQ(sum_of({1, ulp / 2, 1e-300}), 1 + ulp);  // the sticky remainder breaks the tie
  EXPECT_EQ(sum_of({1, ulp / 2, -1e-300}), 1.0);
  EXPECT_EQ(sum_of({std::numeric_limits<double>::max(), std::numeric_limits<double>::max()}),
            std::numeric_limits<double>::infinity());
}

TEST(ExactSum, DoesNotDependOnOrderGroupingOrSign) {
  std::mt19937_64 random(3);
  auto terms = random_terms(random, 2000, 200);
  const double sum = sum_of(terms);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(terms.begin(), terms.end(), random);
    EXPECT_EQ(sum_of(terms), sum);
    exact_sum a, b;
    for (std::size_t i = 0; i < terms.size(); ++i) (random() % 2 == 0 ? a : b).add(terms[i]);
    a.add(b);
    EXPECT_EQ(a.value(), sum);
    exact_sum negative;
    for (double t : terms) negative.add(-t);
    EXPECT_EQ(negative.value(), -sum);
    negative.add(a);
    EXPECT_EQ(negative.value(), 0);
  }
}

TEST(ExactSum, AgreesWithIntegers) {
  std::mt19937_64 random(4);
  std::int64_t sum = 0;
  exact_sum s;
  for (int i = 0; i < 20000; ++i) {
    const auto term = static_cast<std::int64_t>(random() >> 34) - (std::int64_t{1} << 29);
    sum += term;
    s.add(static_cast<double>(term));
    ASSERT_EQ(s.value(), static_cast<double>(sum));
  }
}

TEST(ExactSum, RoundTripsThroughIntegers) {
  std::mt19937_64 random(5);
  const auto terms = random_terms(random, 3000, 300);
  std::vector<std::int64_t> sent;
  exact_sum parts[3];
  for (std::size_t i = 0; i < terms.size(); ++i) parts[i % 3].add(terms[i]);
  for (const exact_sum& p : parts) p.append_to(sent);
  exact_sum{}.append_to(sent);
  exact_sum whole;
  std::span<const std::int64_t> left = sent;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(whole.add_from(left));
  EXPECT_TRUE(left.empty());
  EXPECT_EQ(whole.value(), sum_of(terms));
  EXPECT_FALSE(whole.add_from(left));

  exact_sum infinite;
  infinite.add(-std::numeric_limits<double>::infinity());
  sent.clear();
  infinite.append_to(sent);
  left = sent;
  ASSERT_TRUE(whole.add_from(left));
  EXPECT_EQ(whole.value(), -std::numeric_limits<double>::infinity());
  for (const std::vector<std::int64_t>& bad :
       {std::vector<std::int64_t>{0, 5, 0, 1}, {-1, 2, 0, 1, 1}, {69, 2, 0, 1, 1}, {0, 0}}) {
    left = bad;
    EXPECT_FALSE(whole.add_from(left));
    EXPECT_EQ(left.size(), bad.size());
  }
}

TEST(ExactSum, PropagatesInfinityAndNaN) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(sum_of({1, infinity, 2}), infinity);
  EXPECT_TRUE(std::isnan(sum_of({infinity, -infinity})));
  EXPECT_TRUE(std::isnan(sum_of({1, std::nan("")})));
}

}  // namespace
}  // namespace plx
