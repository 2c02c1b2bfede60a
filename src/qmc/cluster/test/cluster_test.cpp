#include "qmc/cluster/cluster.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>

namespace plx::qmc {
namespace {

constexpr double pi = std::numbers::pi;

cluster spanned(lattice_vector a1, lattice_vector a2) { return cluster::spanned_by(a1, a2).value(); }

const std::vector<std::pair<lattice_vector, lattice_vector>> clusters = {
    {{1, 0}, {0, 1}}, {{2, 0}, {0, 2}},  {{0, 2}, {2, 0}},  {{4, 0}, {0, 1}},  {{2, 2}, {2, -2}},
    {{4, 0}, {0, 4}}, {{1, 3}, {3, -1}}, {{2, 3}, {-2, 5}}, {{4, 2}, {0, -4}}, {{5, 0}, {3, 2}}};

TEST(Cluster, PhasesAreOrthogonalAndTablesConsistent) {
  for (const auto& [a1, a2] : clusters) {
    const auto c = spanned(a1, a2);
    const int n = c.n_sites();
    EXPECT_EQ(n, std::abs(a1[0] * a2[1] - a1[1] * a2[0]));
    EXPECT_EQ(c.site_at(a1), 0);
    EXPECT_EQ(c.site_at(a2), 0);
    EXPECT_EQ(c.sites()[0], (lattice_vector{0, 0}));
    EXPECT_EQ(c.momentum(0), (std::array<double, 2>{0, 0}));
    for (int a = 0; a < n; ++a)
      for (int b = 0; b < n; ++b) {
        std::complex<double> overlap = 0;
        for (int r = 0; r < n; ++r) overlap += c.phase(a, r) * std::conj(c.phase(b, r));
        EXPECT_NEAR(std::abs(overlap - double(n * (a == b))), 0, 1e-12);
        const int sum = c.momentum_sum(a, b), difference = c.difference(a, b);
        ASSERT_TRUE(sum >= 0 && difference >= 0);
        for (int m = 0; m < n; ++m) {
          EXPECT_LT(std::abs(c.phase(sum, m) - c.phase(a, m) * c.phase(b, m)), 1e-12);
          EXPECT_LT(std::abs(c.phase(m, difference) - c.phase(m, a) * std::conj(c.phase(m, b))), 1e-12);
        }
        EXPECT_EQ(c.momentum_difference(sum, b), a);
      }
  }
}

TEST(Cluster, SymmetriesKeepPhases) {
  for (const auto& [a1, a2] : clusters) {
    const auto c = spanned(a1, a2);
    for (const auto& g : c.symmetries())
      for (int k = 0; k < c.n_sites(); ++k)
        for (int r = 0; r < c.n_sites(); ++r)
          EXPECT_LT(std::abs(c.phase(g.momenta[k], g.sites[r]) - c.phase(k, r)), 1e-12);
  }
  EXPECT_EQ(spanned({2, 0}, {0, 2}).symmetries().size(), 8u);
  EXPECT_EQ(spanned({2, 2}, {2, -2}).symmetries().size(), 8u);
  EXPECT_EQ(spanned({1, 3}, {3, -1}).symmetries().size(), 4u);  // rotations only
  EXPECT_EQ(spanned({4, 0}, {0, 1}).symmetries().size(), 4u);
}

TEST(Cluster, PatchesHaveTheAreaOfTheZoneOverTheNumberOfSites) {
  for (const auto& [a1, a2] : clusters) {
    const auto c = spanned(a1, a2);
    const auto p = c.patch();
    double area = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      const auto &a = p[i], &b = p[(i + 1) % p.size()];
      area += 0.5 * (a[0] * b[1] - a[1] * b[0]);
    }
    EXPECT_NEAR(area, 4 * pi * pi / c.n_sites(), 1e-9);
  }
  EXPECT_EQ(spanned({2, 0}, {0, 2}).patch().size(), 4u);
}

TEST(Cluster, TwoByTwoHasHoppingTwoOnItsBonds) {
  const auto c = cluster::named("2x2").value();
  const auto t = c.hopping({});
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const auto r = c.sites()[c.difference(i, j)];
      EXPECT_NEAR(t(i, j), (r[0] + r[1]) == 1 ? -2 : 0, 1e-14);
    }
  EXPECT_EQ(c.find_momentum(pi, -pi), c.momentum_at({2, 2}));
  EXPECT_EQ(c.find_momentum(pi / 2, 0), -1);
}

TEST(Cluster, NamesAndErrors) {
  EXPECT_EQ(cluster::named("4A").value().n_sites(), 4);
  EXPECT_EQ(cluster::named("8A").value().n_sites(), 8);
  EXPECT_EQ(cluster::named("6x4").value().n_sites(), 24);
  for (const char* wrong : {"", "4", "x4", "4x", "4x0", "4xx", "-2x2", "99x99"})
    EXPECT_FALSE(cluster::named(wrong)) << wrong;
  EXPECT_NE(cluster::spanned_by({2, 2}, {1, 1}).error().message.find("found 0"), std::string::npos);
}

TEST(Cluster, NamedClusters) {
  for (const auto& [name, sites] :
       {std::pair("4A", 4), std::pair("8A", 8), std::pair("16A", 16), std::pair("16B", 16), std::pair("6x6", 36)})
    EXPECT_EQ(cluster::named(name).value().n_sites(), sites) << name;
  // How many of the plaquettes at (+-2, 0), (0, +-2) differ.
  const auto plaquettes = [](const char* name) {
    const auto c = cluster::named(name).value();
    std::set<int> different;
    for (const lattice_vector r : {lattice_vector{2, 0}, {-2, 0}, {0, 2}, {0, -2}}) different.insert(c.site_at(r));
    return different.size();
  };
  EXPECT_EQ(plaquettes("8A"), 1u);
  EXPECT_EQ(plaquettes("16A"), 3u);
  EXPECT_EQ(plaquettes("16B"), 2u);
  EXPECT_FALSE(cluster::named("16C"));
  EXPECT_FALSE(cluster::named("0x4"));
}

}  // namespace
}  // namespace plx::qmc
