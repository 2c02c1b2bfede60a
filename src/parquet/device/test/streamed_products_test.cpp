// Products on a device beside those of the workers: the same bits on the backend cpu, within rounding on others.
#include "parquet/device/streamed_products.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "gpu/buffer.hpp"
#include "gpu/cpu/cpu_backend.hpp"
#include "gpu/error.hpp"
#include "gpu/test/each_device_test.hpp"
#include "gpu/test/message_of_test.hpp"
#include "num/dense/linear_algebra.hpp"
#include "parquet/equations/bethe_salpeter.hpp"
#include "parquet/test/small_clusters.hpp"
#include "rt/for_loop.hpp"

namespace plx::parquet {
namespace {

using complex = std::complex<double>;
using plx::testing::message_of;

// Gamma and Phi of all slabs: numbers without symmetry.
struct inputs {
  explicit inputs(const vertex_grid& g) : grid(g), gamma(g.size()), phi(g.size()) {
    for (std::size_t i = 0; i < gamma.size(); ++i) {
      const auto x = static_cast<double>(i % 7919);
      gamma[i] = {std::sin(x), std::cos(1.3 * x)};
      phi[i] = {std::cos(0.7 * x), 0.3 - std::sin(0.1 * x)};
    }
  }
  streamed_products::slab_pair pair(int slab, bool hole, bool symmetrize) {
    const transfer q = grid.transfer_of(slab);
    std::vector<complex> w(grid.rows(q.frequency));
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = {0.01 * static_cast<double>(i) - 0.1, 0.2};
    const std::size_t at = grid.offset(slab, hole ? channel::density : channel::singlet);
    return {q, hole, phi.data() + at, gamma.data() + at, {w, w}, symmetrize};
  }
  const vertex_grid& grid;
  std::vector<complex> gamma, phi;
};

// The same by the functions that workers call.
std::array<double, 2> multiply_here(const vertex_grid& grid, streamed_products::slab_pair s) {
  const int n = grid.rows(s.q.frequency);
  std::array<double, 2> asymmetry{};
  for (int c = 0; c < 2; ++c) {
    complex_matrix f(n, n), next(n, n);
    const std::size_t at = static_cast<std::size_t>(c) * n * n;
    const matrix_view<complex> gamma{s.gamma + at, n, n, n};
    for (int b = 0; b < n; ++b)
      for (int a = 0; a < n; ++a) f(a, b) = gamma(a, b) + s.phi[at + a + static_cast<std::size_t>(b) * n];
    solve_bethe_salpeter(gamma, s.weights[c], f, next);
    if (s.symmetrize) asymmetry[c] = symmetrize(grid, all_channels[(s.particle_hole ? 0 : 2) + c], s.q, next);
    for (int b = 0; b < n; ++b) std::copy_n(&next(0, b), n, &gamma(0, b));
  }
  return asymmetry;
}

// The largest difference of a product from the reference may be 2 n rounding errors of the largest sum of sizes of its
// terms; here each term is at most 2.5 (|Gamma| <= 1.42, |Phi| < 1.7, |W| < 0.8). Means do not enlarge it.
double bound_of(const gpu::backend& b, int n) { return b.name == "cpu" ? 0 : 2 * n * 1.2e-16 * 2.5 * n; }

void compare_all(plx::runtime& rt, gpu::device& d, const vertex_grid& grid) {
  for (const bool symmetric : {true, false}) {
    inputs ours(grid), theirs(grid);
    std::vector<std::array<double, 2>> changes(2 * grid.n_slabs());
    rt.run([&] {
      streamed_products products(d, grid, 3);
      EXPECT_EQ(products.lanes(), 3u);
      for_loop(0, 2 * grid.n_slabs(),
               [&](int i) { changes[i] = products.multiply(ours.pair(i / 2, i % 2 == 0, symmetric)); });
    });
    for (int i = 0; i < 2 * grid.n_slabs(); ++i) {
      const auto expected = multiply_here(grid, theirs.pair(i / 2, i % 2 == 0, symmetric));
      const double bound = bound_of(d.get_backend(), grid.rows(grid.transfer_of(i / 2).frequency));
      for (int c = 0; c < 2; ++c) {
        EXPECT_NEAR(changes[i][c], expected[c], 4 * bound);
        EXPECT_EQ(expected[c] > 0, symmetric);
      }
    }
    double largest = 0;
    for (std::size_t i = 0; i < ours.gamma.size(); ++i)
      largest = std::max(largest, std::abs(ours.gamma[i] - theirs.gamma[i]));
    EXPECT_LE(largest, bound_of(d.get_backend(), grid.rows(0)));
  }
}

TEST(StreamedProducts, AreThoseOfTheWorkers) {
  const vertex_grid grid(test::plaquette(1, 0, 1).lattice, 3, 3);
  plx::testing::on_each_device([&](plx::runtime& rt, gpu::device& d) { compare_all(rt, d, grid); });
}

// Streams advance in an order that the seed decides: copies, kernels and lanes must wait for each other.
TEST(StreamedProducts, AreInOrderUnderEverySchedule) {
  const vertex_grid grid(test::atom(1, 0, 1).lattice, 1, 2);
  plx::testing::on_stepped_devices([&](plx::runtime& rt, gpu::device& d) { compare_all(rt, d, grid); }, 40);
}

TEST(StreamedProducts, TakeTheMemoryThatIsThere) {
  const vertex_grid grid(test::plaquette(1, 0, 1).lattice, 3, 3);
  const auto lane = static_cast<std::size_t>(streamed_products::lane_bytes(grid.rows(0)));
  plx::runtime rt({.workers = 1, .bind = false});
  {
    gpu::cpu::testing_backend two({.memory_bytes = 6 * lane});
    gpu::device d(rt, two.get());
    rt.run([&] {
      streamed_products products(d, grid, 8);
      EXPECT_GE(products.lanes(), 1u);
      EXPECT_LT(products.lanes(), 8u);
      inputs ours(grid), theirs(grid);
      products.multiply(ours.pair(0, true, true));
      multiply_here(grid, theirs.pair(0, true, true));
      EXPECT_TRUE(ours.gamma == theirs.gamma);
    });
  }
  gpu::cpu::testing_backend none({.memory_bytes = lane / 2});
  gpu::device d(rt, none.get());
  const std::string message = rt.run([&] { return message_of([&] { streamed_products(d, grid, 8); }); });
  EXPECT_THAT(message, ::testing::StartsWith("two channels of a slab of 25 rows need 6e-05 GB on the device, which has "
                                             "3e-05 GB, and 4e-05 GB of pinned memory: "));
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

// A call that the device refuses, at any place, gives the error and leaves lanes that work.
TEST(StreamedProducts, ContinueAfterARefusal) {
  const vertex_grid grid(test::plaquette(1, 0, 1).lattice, 2, 1);
  inputs expected(grid);
  multiply_here(grid, expected.pair(1, false, true));
  for (const char* call : {"copy", "launch", "record"})
    for (const unsigned after : {0u, 1u, 2u}) {
      if (call[0] == 'r' && after > 0) continue;  // one event
      SCOPED_TRACE(std::string(call) + " " + std::to_string(after));
      gpu::cpu::testing_backend b({});
      plx::runtime rt({.workers = 2, .bind = false});
      gpu::device d(rt, b.get());
      rt.run([&] {
        streamed_products products(d, grid, 1);
        inputs ours(grid);
        b.fail_call(call, gpu::cpu::invalid, after);
        EXPECT_NE(message_of([&] { products.multiply(ours.pair(1, false, true)); }), "");
        products.multiply(ours.pair(1, false, true));
        EXPECT_TRUE(ours.gamma == expected.gamma);
      });
    }
}

}  // namespace
}  // namespace plx::parquet
