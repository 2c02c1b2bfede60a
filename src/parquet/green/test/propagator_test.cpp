#include "parquet/green/propagator.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "parquet/test/small_clusters.hpp"
#include "rt/runtime.hpp"

namespace plx::parquet {
namespace {

using complex = std::complex<double>;

template <class F>
void in_runtime(F f) {
  runtime rt({.workers = 2, .bind = false});
  rt.run([&] { f(); });
}

// Sigma_2 of a level at zero energy is U^2 / 4 iw, the exact self-energy of the atom.
TEST(Propagator, SecondOrderOfTheAtom) {
  in_runtime([] {
    const auto model = test::atom(1.7, 0, 1.3);
    const auto sigma = propagator(model, qmc::matsubara_function(1, 64), 1).second_order();
    for (int n : {0, 1, 7, 63}) {
      const complex exact = 1.7 * 1.7 / 4 / complex(0, qmc::matsubara_frequency(n, 1.3));
      EXPECT_LT(std::abs(sigma(0, n) - exact), 1e-4 * std::abs(exact)) << n;
    }
  });
}

// Bubbles beside plain sums over many frequencies, whose error is 1 / number.
TEST(Propagator, BubblesAreSums) {
  in_runtime([] {
    const auto model = test::plaquette(3, 0.4, 1.1);
    const auto exact = exact_self_energy(model, 200);
    const propagator g(model, exact.sigma, exact.density);
    EXPECT_NEAR(g.density(), exact.density, 1e-6);
    const auto& c = *model.lattice;
    for (int m : {0, 1, 6})
      for (int q = 0; q < 4; ++q) {
        complex ph = 0, pp = 0;
        const int most = 550;
        for (int n = -most; n < most; ++n)
          for (int k = 0; k < 4; ++k) {
            ph += g.green(k, n) * g.green(c.momentum_sum(k, q), n + m);
            pp += g.green(k, n) * g.green(c.momentum_difference(q, k), m - 1 - n);
          }
        const double factor = 1 / (model.beta * 4), w2 = std::pow(2 * M_PI / model.beta, 2);
        const double tail = 2 / (w2 * most) / model.beta;  // T sum of 1 / w^2 over the rest
        EXPECT_LT(std::abs(ph * factor - tail - g.particle_hole(q, m)), 2e-6) << m << q;
        EXPECT_LT(std::abs(pp * factor + tail - g.particle_particle(q, m)), 2e-6) << m << q;
        EXPECT_EQ(g.particle_particle(q, -m), std::conj(g.particle_particle(q, m)));
      }
  });
}

}  // namespace
}  // namespace plx::parquet
