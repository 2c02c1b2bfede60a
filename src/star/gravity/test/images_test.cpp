#include "star/gravity/images.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <vector>

#include "star/gravity/test/ewald_sum.hpp"

namespace plx::star::gravity {
namespace {

constexpr auto every_index = indices_up_to<largest_order, 2>();

std::size_t number(const multi_index& i, int degree = largest_order) {
  return static_cast<std::size_t>(number_among(i, degree));
}

mesh::domain periodic_box(std::array<int, 3> roots, int block_size) {
  mesh::domain d;
  d.block_size = block_size, d.root_blocks = roots;
  for (std::size_t a = 0; a < 3; ++a) d.upper[a] = roots[a];
  d.sides.fill(mesh::boundary::periodic);
  return d;
}

// The potential of a lattice of charges in a uniform background, at one of them without its own part.
TEST(Images, TheConstantOfTheCubicLatticeIsKnown) {
  for (const int n : {1, 4, 5})
    EXPECT_NEAR(image_derivatives({0, 0, 0}, {n, n, n}, 1, 0)[0], -2.837297479480619 / n, 1e-14);
}

// By another sum with another parameter: the potential and the force of a mass and one of opposite sign.
TEST(Images, PotentialsAndForcesAreThoseOfEwaldsSums) {
  const std::array<int, 3> cells{8, 4, 2};
  const std::array<int, 3> places[2] = {{0, 0, 0}, {3, 1, 1}};
  // Masses 1 and -1 in two of the cells that fill the box.
  std::vector<gravity_point> points;
  for (int i = 0; i < 64; ++i) {
    gravity_point p{};
    p.x[0] = i % 8, p.x[1] = i / 8 % 4, p.x[2] = i / 32, p.width = 1.0;
    for (int m = 0; m < 2; ++m)
      if (p.x[0] == places[m][0] && p.x[1] == places[m][1] && p.x[2] == places[m][2]) p.mass = m == 0 ? 1.0 : -1.0;
    points.push_back(p);
  }
  const ewald_sum sum(points, {8, 4, 2});
  const auto own = image_derivatives({0, 0, 0}, cells, 1, 1), other = image_derivatives({3, 1, 1}, cells, 1, 1);
  const auto known = sum.at(3 + 8 + 32);
  EXPECT_NEAR(-(other[0] - own[0]), known[0], 1e-12);
  for (int a = 0; a < 3; ++a)
    EXPECT_NEAR(other[number(multi_index{}.plus(a), 1)], known[static_cast<std::size_t>(1 + a)], 1e-12);
}

// Omitted images take exactly their own derivatives off.
TEST(Images, LeavingImagesOutTakesTheirDerivativesOff) {
  const std::array<int, 3> cells{4, 4, 4}, at{1, -2, 0};
  const auto few = image_derivatives(at, cells, 1, largest_order),
             many = image_derivatives(at, cells, 9, largest_order);
  std::vector<double> expected = few;
  for (const double y : {-2.0, 2.0}) {
    const double x[3] = {1.0, y, 0.0};
    const auto d = derivatives_of_inverse(x, largest_order);
    for (std::size_t i = 0; i < d.size(); ++i) expected[i] -= d[i];
  }
  for (const multi_index& i : every_index)
    EXPECT_NEAR(many[number(i)], expected[number(i)], 1e-11) << i.x << i.y << i.z;
}

// Harmonic; odd functions of a coordinate vanish in the middle between images; mirrored and permuted in cubes.
TEST(Images, DerivativesHaveTheSymmetriesOfTheBox) {
  const auto d = image_derivatives({1, 2, 0}, {4, 4, 4}, 9, largest_order),
             mirrored = image_derivatives({-1, 2, 0}, {4, 4, 4}, 9, largest_order),
             turned = image_derivatives({2, 1, 0}, {4, 4, 4}, 9, largest_order);
  for (const multi_index& i : every_index) {
    EXPECT_NEAR(mirrored[number(i)], i.x % 2 == 0 ? d[number(i)] : -d[number(i)], 1e-13);
    EXPECT_NEAR(turned[number({i.y, i.x, i.z})], d[number(i)], 1e-13);
    if (i.y % 2 == 1 || i.z % 2 == 1) {
      EXPECT_NEAR(d[number(i)], 0.0, 1e-13);
    }
    if (i.z == 2) {
      EXPECT_NEAR(d[number(i)] + d[number({i.x + 2, i.y, 0})] + d[number({i.x, i.y + 2, 0})], 0.0, 1e-12);
    }
  }
}

// Every cell of the top is a partner once, those half a period away by halves on both sides.
TEST(Images, EachCellOfTheTopIsAPartnerOnce) {
  for (const auto& [roots, block_size, expected] : {std::tuple{std::array{1, 1, 1}, 8, std::array{4, 4, 4}},
                                                    {std::array{2, 4, 1}, 8, std::array{2, 4, 1}},
                                                    {std::array{4, 4, 4}, 24, std::array{3, 3, 3}},
                                                    {std::array{2, 2, 2}, 40, std::array{5, 5, 5}},
                                                    {std::array{8, 1, 1}, 16, std::array{8, 1, 1}}}) {
    const lattice_table t = make_lattice(0.35, 4, block_size).value();
    const mesh::domain box = periodic_box(roots, block_size);
    const box_images images = make_images(box, t).value();
    EXPECT_EQ(images.cells, expected);
    EXPECT_DOUBLE_EQ(images.width * expected[0], roots[0]);
    std::vector<double> weight(static_cast<std::size_t>(expected[0] * expected[1] * expected[2]), 0.0);
    const auto at = static_cast<std::size_t>(list_at(partners::far, 2, 4));
    const double* e = &images.values[static_cast<std::size_t>(images.values[at])];
    for (int n = static_cast<int>(images.values[at + 1]); n > 0; --n, e += entry_doubles(constants_of_far(4))) {
      const std::array<int, 3> o{static_cast<int>(e[0]), static_cast<int>(e[1]), static_cast<int>(e[2])};
      const double share = e[4] / -image_derivatives(o, images.cells, t.opening, 0)[0];
      EXPECT_EQ(e[4], e[5]);
      for (int image = 0; image < 8; ++image) {
        if ((image & ~static_cast<int>(e[3])) != 0) continue;
        int place[3];
        for (std::size_t a = 0; a < 3; ++a) {
          const int d = (image >> a & 1) != 0 ? -o[a] : o[a];
          place[a] = (d + expected[a]) % expected[a];
          EXPECT_LE(std::abs(d), images.reach);
        }
        weight[static_cast<std::size_t>((place[2] * expected[1] + place[1]) * expected[0] + place[0])] += share;
      }
    }
    for (const double w : weight) EXPECT_NEAR(w, 1.0, 1e-12);
  }
}

TEST(Images, BoxesThatAreRefusedAreNamed) {
  const lattice_table t = make_lattice(0.35, 3, 8).value();
  const auto says = [&](mesh::domain d, const char* what) {
    const auto made = make_images(d, t);
    return !made && made.error().message.find(what) != std::string::npos;
  };
  EXPECT_TRUE(says(periodic_box({3, 3, 3}, 8), "expected powers of two, found 3, 3, 3; mesh.block_size = 24 gives"));
  EXPECT_TRUE(says(periodic_box({16, 1, 1}, 8),
                   "expected numbers that differ by a factor of 8 at most, found 16, 1, 1; choose"));
  EXPECT_TRUE(
      says(periodic_box({8, 8, 1}, 40), "expected at most 128 groups of images, found 1323 from 8, 8, 1 blocks"));
  EXPECT_TRUE(says(periodic_box({8, 8, 1}, 24), "found 338"));
  mesh::domain mixed = periodic_box({1, 1, 1}, 8);
  EXPECT_TRUE(is_periodic_box(mixed).value());
  mixed.sides[2] = mixed.sides[3] = mesh::boundary::outflow;
  EXPECT_EQ(
      is_periodic_box(mixed).error().message,
      "gravity.self = true: expected periodic boundaries along all axes or along none, found mesh.sides[0] periodic "
      "and mesh.sides[2] not periodic");
  mixed.sides.fill(mesh::boundary::outflow);
  EXPECT_FALSE(is_periodic_box(mixed).value());
}

}  // namespace
}  // namespace plx::star::gravity
