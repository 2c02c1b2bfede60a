// Gamma from contributions that are moved step by step, beside Gamma from reading.
#include "parquet/distribution/rotation_map.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "parquet/test/small_clusters.hpp"
#include "rt/runtime.hpp"

namespace plx::parquet {
namespace {

using complex = std::complex<double>;

std::vector<complex> arbitrary(std::size_t n) {
  std::vector<complex> values(n);
  std::uint64_t x = 1;
  for (auto& v : values) {
    x = x * 6364136223846793005 + 1442695040888963407;
    v = {static_cast<double>(x >> 40) * 0x1p-24 - 0.5, static_cast<double>(x >> 20 & 0xfffff) * 0x1p-20 - 0.5};
  }
  return values;
}

TEST(RotationMap, RunsAreSlabsOfOneFrequency) {
  const vertex_grid grid(test::plaquette(1, 0, 1).lattice, 2, 3);
  const auto runs = runs_of(grid, 2, 11);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].frequency, 0);
  EXPECT_EQ(runs[0].momenta.first, 2);
  EXPECT_EQ(runs[1].momenta.count(), 4);
  EXPECT_EQ(runs[2].momenta.last, 3);
  EXPECT_TRUE(runs_of(grid, 3, 3).empty());
}

// Sources and targets are divided in parts as between three localities, and contributions arrive in either order.
TEST(RotationMap, StepsTogetherGiveGamma) {
  runtime rt({.workers = 1, .bind = false});
  rt.run([&] {
    for (const auto& model : {test::atom(2, 0.1, 1), test::plaquette(2, 0.1, 1)})
      for (const auto& [frequencies, bosons] : {std::pair(2, 3), {3, 6}, {4, 1}}) {
        const vertex_grid grid(model.lattice, frequencies, bosons);
        const propagator g(model, qmc::matsubara_function(grid.n_momenta(), 64), 1);
        const auto phi = arbitrary(grid.size());
        const vertex_reader reader(grid, g, phi.data()), beyond(grid, g, nullptr);
        std::vector<complex> expected(grid.size()), found(grid.size());
        const auto matrix = [&](std::vector<complex>& of, int s, int c) {
          const int n = grid.rows(grid.transfer_of(s).frequency);
          return matrix_view<complex>(of.data() + grid.offset(s, all_channels[c]), n, n, n);
        };
        const rotation_map map(grid);
        for (int s = 0; s < grid.n_slabs(); ++s)
          for (const bool ph : {true, false}) {
            const int c = ph ? 0 : 2;
            irreducible_slab(reader, ph, grid.transfer_of(s), matrix(expected, s, c), matrix(expected, s, c + 1));
            map.start(beyond, ph, grid.transfer_of(s), matrix(found, s, c), matrix(found, s, c + 1));
          }
        const int cut = grid.n_slabs() / 3;
        auto order = std::vector<rotation>(all_rotations.begin(), all_rotations.end());
        if (bosons == 3) std::reverse(order.begin(), order.end());
        std::vector<complex> moved;
        for (const rotation r : order)
          for (const auto& [from, from_end] : {std::pair(0, cut), {cut, grid.n_slabs()}})
            for (const auto& source : runs_of(grid, from, from_end))
              for (const auto& [to, to_end] : {std::pair(0, 2 * cut), {2 * cut, grid.n_slabs()}})
                for (const auto& target : runs_of(grid, to, to_end))
                  for (const int sign : {1, -1}) {
                    if (sign < 0 && source.frequency == 0) continue;
                    const auto columns = map.columns_of(r, target.frequency, sign * source.frequency);
                    for (int i = 0; i < columns.count; ++i) {
                      const rotation_map::step s{r, sign * source.frequency, target, columns.first + i};
                      moved.resize(map.size_of(s, source.momenta));
                      map.gather(reader, s, source.momenta, moved.data());
                      map.add(moved.data(), s, source.momenta, found.data() + grid.slab_offset(to), to);
                    }
                  }
        EXPECT_EQ(std::memcmp(found.data(), expected.data(), grid.size() * sizeof(complex)), 0)
            << grid.n_momenta() << ' ' << frequencies << ' ' << bosons;
      }
  });
}

}  // namespace
}  // namespace plx::parquet
