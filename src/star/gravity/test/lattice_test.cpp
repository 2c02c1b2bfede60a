#include "star/gravity/lattice.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <vector>

namespace plx::star::gravity {
namespace {

constexpr auto all = indices_up_to<largest_order, 2>();

TEST(Lattice, DerivativesAreThoseOfClosedFormulas) {
  const double x[3] = {1.5, -2.0, 0.75};
  const double r2 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2], r = std::sqrt(r2);
  const std::vector<double> d = derivatives_of_inverse(x, 3);
  const auto at = [&](int i, int j, int k) { return d[static_cast<std::size_t>(number_among({i, j, k}, 3))]; };
  EXPECT_DOUBLE_EQ(at(0, 0, 0), 1.0 / r);
  EXPECT_DOUBLE_EQ(at(0, 1, 0), -x[1] / (r2 * r));
  EXPECT_NEAR(at(2, 0, 0), (3 * x[0] * x[0] - r2) / (r2 * r2 * r), 1e-15);
  EXPECT_NEAR(at(0, 1, 1), 3 * x[1] * x[2] / (r2 * r2 * r), 1e-15);
  EXPECT_NEAR(at(1, 1, 1), -15 * x[0] * x[1] * x[2] / (r2 * r2 * r2 * r), 1e-15);
  EXPECT_NEAR(at(1, 0, 2), -(15 * x[0] * x[2] * x[2] - 3 * x[0] * r2) / (r2 * r2 * r2 * r), 1e-15);
}

TEST(Lattice, DerivativesAreHarmonicAndMirrored) {
  const double x[3] = {3, -2, 4}, mirrored[3] = {-3, -2, 4};
  const std::vector<double> d = derivatives_of_inverse(x, largest_order),
                            m = derivatives_of_inverse(mirrored, largest_order);
  for (const multi_index& i : all) {
    const auto at = static_cast<std::size_t>(number_among(i, largest_order));
    EXPECT_EQ(m[at], i.x % 2 == 0 ? d[at] : -d[at]);
    if (i.z != 2) continue;
    const auto xx = static_cast<std::size_t>(number_of({i.x + 2, i.y, 0})),
               yy = static_cast<std::size_t>(number_of({i.x, i.y + 2, 0}));
    EXPECT_NEAR(d[at], -(d[xx] + d[yy]), 1e-14 * (1.0 + std::abs(d[xx])));
  }
}

// The partners of a cell, from the lists of the table: offsets, without those whose constants are zero.
using offset = std::array<int, 3>;
std::map<offset, int> partners_of(const lattice_table& t, partners kind, const int (&parity)[3]) {
  std::map<offset, int> found;
  const bool grouped = kind == partners::direct || kind == partners::far;
  for (int order = least_order; order <= (kind == partners::far ? t.order : least_order); ++order) {
    const int constants = kind == partners::far ? constants_of_far(order) : kind == partners::finer ? 32 : 4;
    const auto at = static_cast<std::size_t>(list_at(kind, parity[1] + 2 * parity[2], order));
    const double* e = &t.values[static_cast<std::size_t>(t.values[at])];
    EXPECT_LE(t.values[at + 1], most_entries);
    for (int n = static_cast<int>(t.values[at + 1]); n > 0; --n, e += entry_doubles(constants)) {
      if (e[4 + parity[0]] == 0.0) continue;
      const int mask = static_cast<int>(e[3]);
      for (int image = 0; image < 8; ++image) {
        if ((image & ~mask) != 0) continue;
        offset o;
        for (std::size_t a = 0; a < 3; ++a) o[a] = static_cast<int>((image >> a & 1) != 0 ? -e[a] : e[a]);
        if (grouped && parity[0] == 1 && (mask & 1) == 0) o[0] = -o[0];
        ++found[o];
      }
    }
  }
  return found;
}

// The constants of a group are those of its first cell, for even and for odd x.
TEST(Lattice, ConstantsOfGroupsAreThoseOfTheirFirstCells) {
  const lattice_table t = make_lattice(0.35, 5, 8).value();
  for (int row = 0; row < 4; ++row)
    for (int order = least_order; order <= t.order; ++order) {
      const auto at = static_cast<std::size_t>(list_at(partners::far, row, order));
      const double* e = &t.values[static_cast<std::size_t>(t.values[at])];
      for (int n = static_cast<int>(t.values[at + 1]); n > 0; --n, e += entry_doubles(constants_of_far(order)))
        for (int odd = 0; odd < 2; ++odd) {
          const bool opposite = odd == 1 && (static_cast<int>(e[3]) & 1) == 0;
          const std::vector<double> d = derivatives_of_inverse({opposite ? e[0] : -e[0], -e[1], -e[2]}, order);
          for (std::size_t k = 0; k < d.size(); ++k) EXPECT_EQ(e[4 + 2 * k + static_cast<std::size_t>(odd)], -d[k]);
        }
    }
}

// Every pair of cells interacts exactly once, at one level: the far partners of a cell and of its parents, with the
// direct ones, are all cells.
TEST(Lattice, EveryPairInteractsOnce) {
  for (const double theta : {0.5, 0.35, 0.25}) {
    const lattice_table t = make_lattice(theta, 4, 8).value();
    for (int p = 0; p < 8; ++p) {
      const int parity[3] = {p & 1, p >> 1 & 1, p >> 2};
      const auto far = partners_of(t, partners::far, parity), direct = partners_of(t, partners::direct, parity);
      for (int dz = -t.reach - 1; dz <= t.reach + 1; ++dz)
        for (int dy = -t.reach - 1; dy <= t.reach + 1; ++dy)
          for (int dx = -t.reach - 1; dx <= t.reach + 1; ++dx) {
            const offset o{dx, dy, dz};
            int parents = 0;
            for (std::size_t a = 0; a < 3; ++a) {
              const int q = static_cast<int>(std::floor((parity[a] + o[a]) / 2.0));
              parents += q * q;
            }
            const int square = dx * dx + dy * dy + dz * dz;
            const bool open = parents < t.opening;
            EXPECT_EQ(far.count(o), open && square >= t.opening ? 1u : 0u);
            EXPECT_EQ(direct.count(o), open && square > 0 ? 1u : 0u);
          }
      for (const auto& [o, times] : far) EXPECT_EQ(times, 1);
      for (const auto& [o, times] : direct) EXPECT_EQ(times, 1);
    }
  }
}

TEST(Lattice, CoarserAndFinerPartnersAreTheSamePairs) {
  const lattice_table t = make_lattice(0.35, 3, 8).value();
  std::size_t finer = 0, coarser = 0;
  for (int p = 0; p < 8; ++p) {
    const int parity[3] = {p & 1, p >> 1 & 1, p >> 2};
    finer += partners_of(t, partners::finer, parity).size();
    coarser += partners_of(t, partners::coarser, parity).size();
  }
  EXPECT_EQ(finer, coarser);  // a cell has eight children for each offset, and eight parities
  EXPECT_EQ(finer, 8u * 92u);
}

TEST(Lattice, OptionsOutOfRangeAreOneLine) {
  EXPECT_NE(make_lattice(0.1, 3, 8).error().message.find("gravity.theta is 0.1: expected a number from 0.25 to 0.5"),
            std::string::npos);
  EXPECT_NE(make_lattice(0.5, 7, 8).error().message.find("gravity.order is 7: expected 3 to 6"), std::string::npos);
}

}  // namespace
}  // namespace plx::star::gravity
