#include <gtest/gtest.h>

#include "parquet/vertex/vertex_reader.hpp"
#include "rt/runtime.hpp"

namespace plx::parquet {
namespace {

std::shared_ptr<const qmc::cluster> cluster_of(const char* name) {
  return std::make_shared<const qmc::cluster>(qmc::cluster::named(name).value());
}

// Exchanging the members of a pair maps the frequencies of a slab to themselves, in reverse order.
TEST(VertexGrid, SlabsAreCentered) {
  const vertex_grid grid(cluster_of("2x1"), 3, 5);
  for (int m = 0; m < grid.bosons(); ++m) {
    const int last = grid.columns(m) - 1, ph = grid.first(true, m), pp = grid.first(false, m);
    EXPECT_EQ(-1 - (ph + m), ph + last) << m;
    EXPECT_EQ(m - 1 - pp, pp + last) << m;
    EXPECT_EQ(grid.rows(m), 2 * grid.columns(m) + 1);
  }
}

TEST(VertexGrid, MatricesDoNotOverlap) {
  const vertex_grid grid(cluster_of("2x2"), 2, 3);
  std::size_t end = 0;
  for (int s = 0; s < grid.n_slabs(); ++s) {
    EXPECT_EQ(grid.slab(grid.transfer_of(s)), s);
    for (channel c : all_channels) {
      EXPECT_EQ(grid.offset(s, c), end);
      const std::size_t n = grid.rows(grid.transfer_of(s).frequency);
      end += n * n;
    }
  }
  EXPECT_EQ(grid.size(), end);
}

class VertexReader : public testing::Test {
 protected:
  VertexReader() : phi_(grid_.size()) {
    for (std::size_t i = 0; i < phi_.size(); ++i) phi_[i] = {double(i), 1.0};
  }
  template <class F>
  void read(F f) {
    runtime rt({.workers = 1, .bind = false});
    rt.run([&] {
      const propagator g({lattice_, {-1, 1}, 2, 0.3, 1.5}, qmc::matsubara_function(2, 32), 1);
      f(vertex_reader(grid_, g, phi_.data()), g);
    });
  }
  std::complex<double> at(channel c, transfer q, int row, int column) const {
    const std::size_t n = grid_.rows(q.frequency);
    return phi_[grid_.offset(grid_.slab(q), c) + row + column * n];
  }
  std::shared_ptr<const qmc::cluster> lattice_ = cluster_of("2x1");
  vertex_grid grid_{lattice_, 2, 3};
  std::vector<std::complex<double>> phi_;
};

TEST_F(VertexReader, ReadsItsSlab) {
  read([&](const vertex_reader& v, const propagator&) {
    // m = 1: three frequencies; particle-hole from -2, particle-particle from -1.
    const auto ph = v.particle_hole({1, -2}, {0, 0}, {1, 1});
    EXPECT_EQ(ph.a, at(channel::density, {1, 1}, 1, 4));
    EXPECT_EQ(ph.b, at(channel::magnetic, {1, 1}, 1, 4));
    const auto pp = v.particle_particle({1, -1}, {0, 1}, {1, 1});
    EXPECT_EQ(pp.a, at(channel::singlet, {1, 1}, 1, 4));
    EXPECT_EQ(pp.b, at(channel::triplet, {1, 1}, 1, 4));
    // All frequencies reversed.
    EXPECT_EQ(v.particle_hole({1, 1}, {0, -1}, {1, -1}).a, std::conj(ph.a));
    EXPECT_EQ(v.particle_particle({1, 0}, {0, -2}, {1, -1}).b, std::conj(pp.b));
  });
}

TEST_F(VertexReader, ReadsLimitsOutside) {
  read([&](const vertex_reader& v, const propagator& g) {
    const int outside = grid_.rows(1) - 1;
    for (int n : {-3, 1, 1000, -1000}) {
      EXPECT_EQ(v.particle_hole({0, n}, {1, -1}, {0, 1}).b, at(channel::magnetic, {0, 1}, outside, 3)) << n;
      EXPECT_EQ(v.particle_hole({1, -1}, {0, n}, {0, 1}).b, at(channel::magnetic, {0, 1}, 3, outside)) << n;
      EXPECT_EQ(v.particle_hole({1, n}, {0, n}, {0, 1}).b, at(channel::magnetic, {0, 1}, outside, outside)) << n;
    }
    EXPECT_EQ(v.particle_hole({0, 0}, {0, 0}, {1, 3}).a, 4.0 * g.particle_hole(1, 3));
    EXPECT_EQ(v.particle_particle({0, 0}, {0, 0}, {1, 3}).a, -8.0 * g.particle_particle(1, 3));
    EXPECT_EQ(v.particle_particle({0, 0}, {0, 0}, {1, -3}).a, -8.0 * std::conj(g.particle_particle(1, 3)));
    EXPECT_EQ(v.particle_particle({0, 0}, {0, 0}, {1, 3}).b, 0.0);
  });
}

}  // namespace
}  // namespace plx::parquet
