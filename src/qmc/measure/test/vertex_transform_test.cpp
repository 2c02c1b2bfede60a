#include "qmc/measure/vertex_transform.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "num/random/random_stream.hpp"

namespace plx::qmc {
namespace {

using complex = std::complex<double>;

// Random matrices, which no symmetry makes right by accident; without a vertex on the last site.
snapshot random_snapshot(const cluster& c, double beta, int k) {
  random_stream random(3, 0);
  snapshot s;
  for (int i = 0; i < k; ++i) s.vertices.push_back({beta * random.uniform(), random.below(c.n_sites() - 1), 1});
  for (auto& m : s.m) {
    m = real_matrix(k, k);
    for (int j = 0; j < k; ++j)
      for (int i = 0; i < k; ++i) m(i, j) = random.uniform() - 0.4;
  }
  s.sign = -1;
  return s;
}

// The sum in the header.
complex definition(const snapshot& s, const cluster& c, double beta, int sigma, int k, int n, int k2, int n2) {
  const auto wave = [&](int p, int momentum, int frequency) {
    return std::polar(1.0, (2 * frequency + 1) * M_PI * s.vertices[p].tau / beta) *
           std::conj(c.phase(momentum, s.vertices[p].site));
  };
  complex sum = 0;
  for (int q = 0; q < static_cast<int>(s.vertices.size()); ++q)
    for (int p = 0; p < static_cast<int>(s.vertices.size()); ++p)
      sum += wave(p, k, n) * s.m[sigma](p, q) * std::conj(wave(q, k2, n2));
  return sum;
}

// Momenta with real and with complex phases; numbers of frequencies that fill registers and that do not.
TEST(VertexTransform, IsTheSumOfItsDefinition) {
  const double beta = 3;
  for (const char* name : {"2x2", "8A", "3x3"})
    for (const int n_w : {3, 8, 12}) {
      const auto c = cluster::named(name).value();
      const auto s = random_snapshot(c, beta, 29);
      vertex_transform t(c, beta, n_w);
      t.take({});  // no vertices
      EXPECT_EQ(t(0, 0, 0, 0, 0), 0.0);
      t.take(s);
      EXPECT_EQ(t.sign(), -1);
      for (int sigma : {0, 1})
        for (int k = 0; k < c.n_sites(); ++k)
          for (int k2 = 0; k2 < c.n_sites(); ++k2)
            for (const auto& [n, n2] : {std::pair(0, 0), {n_w - 1, 1}, {-n_w, 2}, {1, -2}, {-1, -n_w}})
              EXPECT_LT(std::abs(t(sigma, k, n, k2, n2) - definition(s, c, beta, sigma, k, n, k2, n2)), 1e-11)
                  << name << n_w << sigma << k << n << k2 << n2;
    }
}

}  // namespace
}  // namespace plx::qmc
