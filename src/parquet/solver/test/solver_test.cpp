#include "parquet/solver/solver.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>

#include "parquet/equations/rotation.hpp"
#include "parquet/test/small_clusters.hpp"
#include "rt/runtime.hpp"

namespace plx::parquet {
namespace {

using complex = std::complex<double>;

struct recorder : solver_observer {
  std::vector<iteration_report> reports;
  int stop_after = 1000;
  void iterated(const iteration_report& now) override { reports.push_back(now); }
  bool stop_requested() override { return static_cast<int>(reports.size()) >= stop_after; }
};

result<parquet_solution> try_run(const hubbard_model& model, int frequencies, const solver_settings& s = {},
                                 recorder observer = {}, unsigned workers = 2) {
  runtime rt({.workers = workers, .bind = false});
  return rt.run([&] {
    return solve(model, std::make_shared<const vertex_grid>(model.lattice, frequencies, frequencies), s, observer);
  });
}
parquet_solution run(const hubbard_model& model, int frequencies, const solver_settings& s = {}) {
  auto r = try_run(model, frequencies, s).value();
  EXPECT_TRUE(r.converged);
  return r;
}
complex lowest(const parquet_solution& r, channel c) { return full_vertex(r.reader(), c, {0, 0}, {0, 0}, {0, 0}); }

TEST(ParquetSolver, AtomIsWithinOnePercent) {
  const auto model = test::atom(1, 0, 1);
  const auto r = run(model, 8);
  EXPECT_NEAR(r.green->density(), 1, 1e-12);
  const auto exact = exact_vertex(diagonalize(model), *model.lattice, channel::density, {0, 0}, {0, 0}, {0, 0});
  EXPECT_NEAR(exact.real(), 1.338982, 1e-6);
  EXPECT_LT(std::abs(lowest(r, channel::density) - exact), 0.01 * exact.real());
  EXPECT_LT(std::abs(lowest(r, channel::density) + lowest(r, channel::magnetic)), 1e-9);
  EXPECT_LT(std::abs(r.sigma(0, 0) - exact_self_energy(model, 1).sigma(0, 0)), 0.01 * std::abs(r.sigma(0, 0)));
  // <(n_u - n_d)^2> / 2T: the moment is conserved.
  EXPECT_NEAR(r.susceptibility(channel::magnetic, {0, 0}).real(), 0.5 / (1 + std::exp(-0.5)), 1e-3);
}

TEST(ParquetSolver, FreeElectronsAreExact) {
  for (const auto& model : {test::atom(0, 0, 2), test::dimer(0, 0.3, 1), test::plaquette(0, -0.4, 2)}) {
    const auto r = run(model, 3);
    EXPECT_LE(r.last.iteration, 4);
    EXPECT_NEAR(r.green->density(), exact_self_energy(model, 1).density, 1e-8);
    for (const complex phi : r.phi) ASSERT_EQ(phi, 0.0);
    for (const auto& of_channel : r.last.eigenvalues)
      for (const double v : of_channel) EXPECT_EQ(v, 0);
    for (int q = 0; q < model.n_momenta(); ++q)
      for (channel c : {channel::density, channel::magnetic, channel::singlet}) {
        const double chi = exact_susceptibility(model, c, q);
        EXPECT_NEAR(r.susceptibility(c, {q, 0}).real(), chi, 1e-8 * chi) << name_of(c) << q;
      }
  }
}

// The approximation omits diagrams from the fourth order in U of the vertex on, the fifth of the self-energy. All
// coefficients of the parquet equations enter the orders below.
TEST(ParquetSolver, AgreesWithExactDiagonalizationAtWeakCoupling) {
  for (const auto& model : {test::dimer(0.5, 0.3, 1), test::plaquette(0.5, -0.4, 1)}) {
    const auto r = run(model, 6);
    const auto exact = exact_self_energy(model, 128);
    EXPECT_NEAR(r.green->density(), exact.density, 1e-6);
    runtime rt({.workers = 2, .bind = false});
    const auto second = rt.run([&] { return propagator(model, exact.sigma, exact.density).second_order(); });
    for (int k = 0; k < model.n_momenta(); ++k)
      for (int n : {0, 3}) {
        const double error = std::abs(r.sigma(k, n) - exact.sigma(k, n));
        EXPECT_LT(error, 5e-6) << k << n;
        if (n == 0) {
          EXPECT_GT(std::abs(second(k, n) - exact.sigma(k, n)), 15 * error) << k;
        }
      }
    for (int q = 0; q < model.n_momenta(); ++q)
      for (channel c : {channel::density, channel::magnetic, channel::singlet}) {
        const double chi = exact_susceptibility(model, c, q);
        EXPECT_LT(std::abs(r.susceptibility(c, {q, 0}) - chi), 1e-4 * chi) << name_of(c) << q;
      }
    const auto e = diagonalize(model);
    for (const auto& [k, kp, q] : {std::tuple(fermion{0, 0}, fermion{1, 1}, boson{1, 1}),
                                   {fermion{1, -1}, fermion{0, 0}, boson{1, 0}},
                                   {fermion{0, 0}, fermion{1, 1}, boson{0, 1}}})
      for (channel c : {channel::density, channel::magnetic})
        EXPECT_LT(std::abs(full_vertex(r.reader(), c, k, kp, q) - exact_vertex(e, *model.lattice, c, k, kp, q)),
                  0.001 * model.u);
  }
}

// With the limits outside, the error falls faster than 1 / frequencies: to a quarter or less when they are doubled.
TEST(ParquetSolver, ErrorFallsAsTheSquareOfTheFrequencies) {
  const auto model = test::atom(2, 0, 1);
  const complex a = run(model, 4).sigma(0, 0), b = run(model, 8).sigma(0, 0), c = run(model, 16).sigma(0, 0);
  EXPECT_GT(std::abs(b - a) / std::abs(c - b), 3.5);
  EXPECT_LT(std::abs(c - b), 1e-3 * std::abs(c));
}

TEST(ParquetSolver, IsSymmetricWithoutSymmetrization) {
  const auto model = test::plaquette(1, 0.3, 1);
  solver_settings s;
  s.tolerance = 1e-11;
  s.symmetrize = false;
  const auto r = run(model, 3, s);
  s.symmetrize = true;
  const auto symmetric = run(model, 3, s);
  EXPECT_LT(symmetric.last.asymmetry, 1e-10);
  double difference = 0;
  for (std::size_t i = 0; i < r.phi.size(); ++i)
    difference = std::max(difference, std::abs(r.phi[i] - symmetric.phi[i]));
  EXPECT_LT(difference, 1e-10);
}

TEST(ParquetSolver, BitsDoNotDependOnWorkers) {
  const auto model = test::plaquette(2, 0.1, 1);
  solver_settings s;
  s.iterations = 6;
  const auto one = try_run(model, 3, s, {}, 1).value(), three = try_run(model, 3, s, {}, 3).value();
  EXPECT_FALSE(one.converged);
  ASSERT_EQ(one.phi.size(), three.phi.size());
  EXPECT_EQ(std::memcmp(one.phi.data(), three.phi.data(), one.phi.size() * sizeof(complex)), 0);
  EXPECT_EQ(one.sigma, three.sigma);
  EXPECT_EQ(one.last.residual, three.last.residual);
}

TEST(ParquetSolver, DivergenceIsAnError) {
  solver_settings s;
  s.damping = 1;
  s.history = 0;
  const auto r = try_run(test::dimer(6, 0, 4), 3, s);
  ASSERT_FALSE(r.has_value());
  EXPECT_NE(r.error().message.find("the iteration diverges"), std::string::npos) << r.error().message;
  EXPECT_EQ(r.error().message.find('\n'), std::string::npos);
}

TEST(ParquetSolver, StopsWhenAsked) {
  recorder observer;
  observer.stop_after = 3;
  const auto r = try_run(test::atom(1, 0, 1), 3, {}, observer).value();
  EXPECT_TRUE(r.stopped);
  EXPECT_FALSE(r.converged);
  EXPECT_EQ(r.last.iteration, 2);
}

// A flag that is set from the start: the first iteration is dropped, however long its bubbles would take.
TEST(ParquetSolver, AFlagStopsWithinAnIteration) {
  struct stopping : recorder {
    std::atomic<bool> stop = true;
    const std::atomic<bool>* stop_flag() const override { return &stop; }
  };
  const auto model = test::atom(1, 0, 1);
  stopping observer;
  runtime rt({.workers = 2, .bind = false});
  const auto grid = std::make_shared<const vertex_grid>(model.lattice, 3, 3);
  const auto r = rt.run([&] { return solve(model, grid, {.sigma_frequencies = 16384}, observer).value(); });
  EXPECT_TRUE(r.stopped && !r.converged && r.green == nullptr);
  EXPECT_TRUE(observer.reports.empty());
}

}  // namespace
}  // namespace plx::parquet
