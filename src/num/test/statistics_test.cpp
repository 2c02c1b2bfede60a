#include "num/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace plx {
namespace {

TEST(Binning, MeanAndErrorOfAShortSeries) {
  binning b;
  EXPECT_EQ(b.error(), 0);
  for (double x : {1.0, 2.0, 3.0, 6.0}) b.add(x);
  EXPECT_EQ(b.count(), 4u);
  EXPECT_DOUBLE_EQ(b.mean(), 3);
  EXPECT_DOUBLE_EQ(b.naive_error(), std::sqrt(14.0 / 12));
  EXPECT_DOUBLE_EQ(b.error_of_level(1), std::sqrt(2 * 1.5 * 1.5 / 2));
}

// x' = a x + noise has the autocorrelations a^t, so tau = a / (1 - a).
TEST(Binning, AutocorrelationTimeOfAnAutoregressiveSeries) {
  std::mt19937_64 engine(5);
  std::normal_distribution<double> noise;
  for (double a : {0.0, 0.5, 0.9}) {
    binning b;
    double x = 0;
    for (int i = 0; i < 1 << 18; ++i) b.add(x = a * x + noise(engine));
    const double tau = a / (1 - a);
    EXPECT_NEAR(b.autocorrelation_time(), tau, 0.2 * (tau + 0.5)) << a;
    EXPECT_LT(std::abs(b.mean()), 4 * b.error());
    EXPECT_NEAR(b.error() / b.naive_error(), std::sqrt(1 + 2 * tau), 0.1 * std::sqrt(1 + 2 * tau));
  }
}

// Eight chains of 125 samples, as those of a short run: the mean of many estimates is the known time, and each is near.
TEST(Binning, AutocorrelationTimeOfShortChains) {
  std::mt19937_64 engine(7);
  std::normal_distribution<double> noise;
  for (double tau : {0.0, 1.0, 4.0, 8.0}) {
    const double a = tau / (1 + tau);
    const int n_runs = 300;
    double sum = 0, square = 0;
    for (int run = 0; run < n_runs; ++run) {
      std::vector<binning> chains(8);
      for (auto& chain : chains) {
        double x = noise(engine) / std::sqrt(1 - a * a);  // in equilibrium from the start
        for (int i = 0; i < 125; ++i) chain.add(x = a * x + noise(engine));
      }
      const double found = autocorrelation_time(chains);
      sum += found / n_runs;
      square += found * found / n_runs;
    }
    EXPECT_NEAR(sum, tau, 0.1 * tau + 0.15) << tau;
    EXPECT_LT(std::sqrt(square - sum * sum), tau + 0.1) << tau;
  }
  EXPECT_EQ(autocorrelation_time({}), 0);
}

TEST(Jackknife, LinearFunctionsGiveTheErrorOfTheMean) {
  const std::vector<std::vector<double>> bins{{1}, {2}, {3}, {6}};
  const auto e = jackknife(bins, [](std::span<const double> m) { return std::vector<double>{2 * m[0]}; });
  EXPECT_NEAR(e[0].value, 6, 1e-14);
  EXPECT_NEAR(e[0].error, 2 * std::sqrt(14.0 / 12), 1e-14);
}

// The square of a mean is biased by the variance of the mean; the jackknife removes that bias exactly.
TEST(Jackknife, BiasOfASquareIsRemoved) {
  const std::vector<std::vector<double>> bins{{1}, {2}, {3}, {6}};
  const auto e = jackknife(bins, [](std::span<const double> m) { return std::vector<double>{m[0] * m[0]}; });
  EXPECT_NEAR(e[0].value, 9 - 14.0 / 12, 1e-13);
}

TEST(Jackknife, WeightsAreCountsOfSamples) {
  const std::vector<std::vector<double>> bins{{1, 5}, {4, 8}};
  const std::vector<double> weights{1, 3};
  std::vector<std::vector<double>> seen;
  (void)jackknife(
      bins, [&](std::span<const double> m) { return seen.emplace_back(m.begin(), m.end()); }, weights);
  EXPECT_EQ(seen, (std::vector<std::vector<double>>{{4, 8}, {1, 5}, {3.25, 7.25}}));
}

TEST(Jackknife, ErrorsOfARatioCoverTheTruth) {
  std::mt19937_64 engine(11);
  std::normal_distribution<double> noise;
  int covered = 0;
  const int n_runs = 2000;
  for (int run = 0; run < n_runs; ++run) {
    std::vector<std::vector<double>> bins;
    for (int i = 0; i < 40; ++i) {
      const double common = noise(engine);
      bins.push_back({2 + 0.5 * common + 0.1 * noise(engine), 4 + 0.9 * common});
    }
    const auto e = jackknife(bins, [](std::span<const double> m) { return std::vector<double>{m[0] / m[1]}; })[0];
    covered += std::abs(e.value - 0.5) < e.error;
  }
  EXPECT_NEAR(covered / double(n_runs), 0.6827 - 0.006, 0.04);  // a t-distribution of 39 degrees
}

TEST(Extrapolation, IsExactForInverseSquares) {
  const std::vector<int> n = {4, 6, 8};
  std::vector<double> v;
  for (int i : n) v.push_back(3 + 5.0 / (i * i));
  const auto e = extrapolated(n, v);
  EXPECT_NEAR(e.value, 3, 1e-13);
  EXPECT_LT(e.error, 1e-13);
  EXPECT_NEAR(extrapolated(std::span(n).first(2), std::span(v).first(2)).error, 5.0 / 36, 1e-13);
  EXPECT_TRUE(std::isinf(extrapolated(std::span(n).first(1), std::span(v).first(1)).error));
}

TEST(Extrapolation, ErrorCoversHigherOrders) {
  const std::vector<int> n = {4, 6, 8};
  std::vector<double> v;
  for (int i : n) v.push_back(3 + 5.0 / (i * i) + 10.0 / std::pow(i, 4));
  const auto e = extrapolated(n, v);
  EXPECT_GT(e.error, std::abs(e.value - 3));
  EXPECT_LT(e.error, 4 * std::abs(e.value - 3));
}

}  // namespace
}  // namespace plx
