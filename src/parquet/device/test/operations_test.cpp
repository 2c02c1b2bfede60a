// The reference of the operations beside the functions of the workers, bit by bit. The kernels are compared with the
// reference by tests/gpu/operations_test.cpp.
#include "parquet/device/operations.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "parquet/device/grid_tables.hpp"
#include "parquet/equations/bethe_salpeter.hpp"
#include "parquet/equations/rotation.hpp"
#include "parquet/test/small_clusters.hpp"
#include "rt/runtime.hpp"

namespace plx::parquet::device {
namespace {

bool same_bits(const complex* a, const complex* b, std::size_t n) {
  return std::memcmp(a, b, n * sizeof(complex)) == 0;
}

TEST(ParquetOperations, RotateIsIrreducibleSlab) {
  for (const auto& model : {test::atom(2, 0.1, 1), test::dimer(1, 0.3, 1), test::plaquette(2, 0.2, 1)})
    for (const int bosons : {1, 3, 5}) {
      const vertex_grid grid(model.lattice, 3, bosons);
      plx::runtime rt({.workers = 2, .bind = false});
      rt.run([&] {
        const propagator g(model, qmc::matsubara_function(model.n_momenta(), 32), 0.9);
        std::vector<complex> phi(grid.size());
        for (std::size_t i = 0; i < phi.size(); ++i) phi[i] = {std::sin(1.0 * i), std::cos(0.3 * i)};
        const grid_tables tables(grid);
        const auto beyond = tables.beyond(g);
        const auto at =
            tables.at(tables.frequencies.data(), tables.second.data(), tables.transfer.data(), beyond.data());
        const vertex_reader reader(grid, g, phi.data());
        for (int s = 0; s < grid.n_slabs(); ++s)
          for (const bool hole : {true, false}) {
            const transfer q = grid.transfer_of(s);
            const int n = grid.rows(q.frequency);
            const std::size_t size = static_cast<std::size_t>(n) * n;
            std::vector<complex> expected(2 * size), found(2 * size);
            irreducible_slab(reader, hole, q, {expected.data(), n, n, n}, {expected.data() + size, n, n, n});
            rotate_cpu({phi.data(), found.data(), at, hole ? 1 : 0, q.momentum, q.frequency, n, model.u});
            EXPECT_TRUE(same_bits(found.data(), expected.data(), 2 * size)) << s << hole << bosons;
          }
      });
    }
}

TEST(ParquetOperations, LargestValuesKeepNaN) {
  const complex x[3] = {1, 2, 3};
  complex phi[3] = {1, {5, 4}, 3}, r[3];
  std::uint64_t largest = 0;
  subtract_cpu({phi, x, r, &largest, 3});
  EXPECT_EQ(std::bit_cast<double>(largest), 5);
  phi[0] = NAN;
  subtract_cpu({phi, x, r, &largest, 3});
  EXPECT_TRUE(std::isnan(std::bit_cast<double>(largest)));
}

TEST(ParquetOperations, MixOmitsTermsWithoutWeight) {
  const complex x[2] = {{1, 2}, {3, 4}}, r[2] = {{10, 0}, {0, 10}}, bad[2] = {NAN, NAN};
  complex next[2];
  mix_item a{{x, bad, x}, {r, bad, r}, {0.5, 0, 0.25}, 0.1, next, 2, 3};
  mix_cpu(a);
  EXPECT_EQ(next[0], complex(1.5, 1.5));
  EXPECT_EQ(next[1], complex(2.25, 3.75));
  double sum = 0;
  dot_cpu({x, r, &sum, 2});
  EXPECT_EQ(sum, 50);
}

}  // namespace
}  // namespace plx::parquet::device
