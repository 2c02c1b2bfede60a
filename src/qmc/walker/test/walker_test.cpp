#include "qmc/walker/walker.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "num/dense/linear_algebra.hpp"
#include "qmc/green/coarse_graining.hpp"
#include "qmc/walker/submatrix_walker.hpp"

namespace plx::qmc {
namespace {

struct problem {
  cluster c;
  double beta, u, mu;
  free_propagator g0;

  static problem of(const char* name, double u, double beta, double mu, dispersion e = {}) {
    const auto c = cluster::named(name).value();
    const coarse_graining grain(c, e, 1);
    std::vector<double> moments;
    for (int k = 0; k < c.n_sites(); ++k) moments.push_back(grain.patch(k).mean() - mu);
    return {c, beta, u, mu,
            free_propagator(c, grain.green(matsubara_function(c.n_sites(), 64), mu, beta), moments, beta)};
  }
  expansion constants(double k = 1) const { return expansion::of(u, beta, c.n_sites(), k); }
};

double log_weight(const walker& w, const free_propagator& g0) {
  double log = 0;
  const auto& e = w.constants();
  for (int sigma = 0; sigma < 2; ++sigma) {
    const auto& v = w.vertices();
    real_matrix a(w.order(), w.order());
    for (int j = 0; j < w.order(); ++j)
      for (int i = 0; i < w.order(); ++i) {
        const double ev = e.exp_v(sigma, v[j].s);
        a(i, j) = (i == j ? ev : 0) - g0(v[i].site, v[j].site, v[i].tau - v[j].tau) * (ev - 1);
      }
    log += invert(a).log;
  }
  return log + w.order() * std::log(e.k / (2 * e.beta * e.n_sites));
}

TEST(FreePropagator, AgreesWithTheClosedForm) {
  for (double beta : {1.0, 14.0}) {
    const double mu = -0.4;
    const auto p = problem::of("2x2", 4, beta, mu);
    for (double tau : {-beta, -0.3 * beta, -1e-9, 0.0, 0.1, 0.77 * beta, beta})
      for (int a = 0; a < 4; ++a)
        for (int b = 0; b < 4; ++b) {
          double exact = 0;
          for (int k = 0; k < 4; ++k) {
            const auto q = p.c.momentum(k);
            const double sign = tau < 0 ? -1 : 1, t = tau < 0 ? tau + beta : tau;
            exact -= sign * p.c.phase(k, p.c.difference(a, b)).real() *
                     free_green_tau(dispersion{}(q[0], q[1]) - mu, t, beta) / 4;
          }
          EXPECT_NEAR(p.g0(a, b, tau), exact, 1e-8) << beta << " " << tau;
          if (tau == 0) continue;
          // From a to several vertices and back.
          const double first = tau < 0 ? 0 : tau, taus[] = {first - tau, first - tau};
          const int sites[] = {b, a};
          double out[2], back[2];
          p.g0.both(a, first, sites, taus, out, back);
          EXPECT_NEAR(out[0], p.g0(a, b, tau), 1e-12);
          EXPECT_NEAR(back[0], p.g0(b, a, -tau), 1e-12);
          EXPECT_NEAR(out[1], p.g0(a, a, tau), 1e-12);
          EXPECT_NEAR(back[1], p.g0(a, a, -tau), 1e-12);
        }
  }
}

// Ratios of determinants of single moves against determinants from the start.
TEST(Walker, RatiosAreThoseOfTheWeights) {
  const auto p = problem::of("2x2", 6, 1.5, -0.7);
  rank_one_walker w(p.g0, p.constants(3), random_stream(1, 0));
  std::vector<double> ratios;
  w.trace_ratios(&ratios);
  int compared = 0;
  for (int m = 0; m < 600; ++m) {
    const double before = log_weight(w, p.g0);
    const int order = w.order();
    const auto accepted = w.statistics().accepted;
    w.advance(1);
    if (w.statistics().accepted == accepted) continue;
    // R = (proposal probabilities) x (weights): a new vertex is proposed with the density 1 / (2 beta Nc), and removed
    // with the probability 1 / order.
    double expected = log_weight(w, p.g0) - before;
    if (w.order() > order) expected += std::log(2 * p.beta * 4 / w.order());
    if (w.order() < order) expected -= std::log(2 * p.beta * 4 / order);
    EXPECT_NEAR(std::log(std::abs(ratios.back())), expected, 1e-9);
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

TEST(Walker, InverseStaysAccurate) {
  const auto p = problem::of("2x2", 6, 3, -1);
  rank_one_walker one(p.g0, p.constants(), random_stream(2, 0));
  submatrix_walker sub(p.g0, p.constants(), random_stream(2, 0));
  for (walker* w : {static_cast<walker*>(&one), static_cast<walker*>(&sub)}) {
    w->advance(20000);
    EXPECT_GT(w->order(), 10);
    const double sign = w->sign();
    w->rebuild();
    EXPECT_EQ(w->sign(), sign);
    EXPECT_LT(w->statistics().largest_drift, 1e-8);
  }
}

// With the frustration of t', weights of either sign occur; the sign follows the accepted moves.
TEST(Walker, SignIsThatOfTheDeterminants) {
  const auto p = problem::of("8A", 8, 3, -2, {1, -0.3});
  rank_one_walker one(p.g0, p.constants(), random_stream(4, 0));
  submatrix_walker sub(p.g0, p.constants(), random_stream(4, 0), 48);
  for (walker* w : {static_cast<walker*>(&one), static_cast<walker*>(&sub)}) {
    int negative = 0;
    for (int turn = 0; turn < 60; ++turn) {
      w->advance(501);
      const double sign = w->sign();
      w->rebuild();
      EXPECT_EQ(w->sign(), sign) << turn;
      if (sign < 0) ++negative;
    }
    EXPECT_GT(negative, 3);
    EXPECT_LT(negative, 57);
  }
}

// The same decisions, the same vertices in the same order, and the same ratios.
TEST(SubmatrixWalker, DecidesAsTheRankOneWalker) {
  struct run {
    const char* cluster;
    double u, beta, mu, k, t_prime;
    int batch, moves;
  };
  for (const auto& r : {run{"2x2", 4, 1, 0, 1, 0, 16, 30000},
                        {"2x2", 6, 2, -1, 1, 0, 64, 40000},
                        {"2x2", 6, 24, 0, 1, 0, 64, 6000},  // N is changed in several parts
                        {"8A", 8, 2, -2, 1, -0.3, 48, 20000},
                        {"1x1", 5, 4, 0.7, 20, 0, 7, 20000}}) {
    const auto p = problem::of(r.cluster, r.u, r.beta, r.mu, {1, r.t_prime});
    rank_one_walker one(p.g0, p.constants(r.k), random_stream(3, 1));
    submatrix_walker sub(p.g0, p.constants(r.k), random_stream(3, 1), r.batch);
    std::vector<double> of_one, of_sub;
    one.trace_ratios(&of_one);
    sub.trace_ratios(&of_sub);
    for (int done = 0; done < r.moves; done += 1000) {
      one.advance(1000);
      sub.advance(1000);
      ASSERT_EQ(one.vertices(), sub.vertices()) << r.cluster << " " << done;
      one.rebuild();
      sub.rebuild();
    }
    ASSERT_EQ(of_one.size(), of_sub.size());
    double worst = 0;
    for (std::size_t i = 0; i < of_one.size(); ++i)
      worst = std::max(worst, std::abs(of_one[i] - of_sub[i]) / (1 + std::abs(of_one[i])));
    EXPECT_LT(worst, 1e-7);
    EXPECT_EQ(one.sign(), sub.sign());
    EXPECT_EQ(one.statistics().accepted, sub.statistics().accepted);
    EXPECT_EQ(one.stream().position(), sub.stream().position());
    EXPECT_LT(sub.statistics().largest_drift, 1e-8);
  }
}

// The mean order of the atom at half filling is K + beta U (1/2 - D), and a negative sign does not occur.
TEST(Walker, MeanOrderOfTheAtom) {
  const double u = 3, beta = 2, k = 1.5;
  const auto p = problem::of("1x1", u, beta, 0, {0, 0});
  rank_one_walker w(p.g0, p.constants(k), random_stream(4, 0));
  const double pair = 1 / (2 + 2 * std::exp(beta * u / 2));
  w.advance(2000);
  double mean = 0;
  const int n = 60000;
  for (int m = 0; m < n; ++m) {
    w.advance(5);
    mean += double(w.order()) / n;
    ASSERT_EQ(w.sign(), 1);
  }
  EXPECT_NEAR(mean, k + beta * u * (0.5 - pair), 0.05);
}

}  // namespace
}  // namespace plx::qmc
