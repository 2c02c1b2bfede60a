// Binaries with a common envelope, against the geometry of the potential of two points (Roche), Eggleton's radii, the
// symmetry of equal stars, and the virial theorem.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "num/quadrature.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "star/models/model.hpp"
#include "star/models/self_consistent.hpp"
#include "star/models/solver.hpp"

namespace plx::star::models {
namespace {

using testing::HasSubstr;

// The potential of two points of masses m0 and m1, of sum 1, at a distance of 1, with G = 1, in the frame that rotates
// with them. The points are at x = m1 and x = -m0.
struct roche {
  double m0, m1;

  explicit roche(double q) : m0(1.0 / (1.0 + q)), m1(q / (1.0 + q)) {}

  double at(const point& x) const {
    const double r2 = x[1] * x[1] + x[2] * x[2], a = x[0] - m1, b = x[0] + m0;
    return -m0 / std::sqrt(a * a + r2) - m1 / std::sqrt(b * b + r2) - 0.5 * (x[0] * x[0] + x[1] * x[1]);
  }
  // The places on the x axis where the slope vanishes, by bisection of the force.
  double balance(double low, double high) const {
    const auto slope = [&](double x) {
      const double a = x - m1, b = x + m0;
      return m0 * a / std::pow(std::abs(a), 3) + m1 * b / std::pow(std::abs(b), 3) - x;
    };
    const bool rising = slope(high) > 0.0;
    for (int i = 0; i < 60; ++i) {
      const double middle = 0.5 * (low + high);
      ((slope(middle) > 0.0) == rising ? high : low) = middle;
    }
    return low;
  }
  double l1() const { return balance(-m0 + 1e-6, m1 - 1e-6); }
  double l2() const { return balance(-m0 - 1.0, -m0 - 1e-6); }  // beyond the lighter point
  double l3() const { return balance(m1 + 1e-6, m1 + 1.0); }

  // The volume around one point below a level of the potential, on its side of the plane through L1: by rays, with the
  // rule of Gauss over the cosine of the angle to the x axis and equal steps around it.
  double volume(int s, double level) const {
    const double plane = l1(), from = s == 0 ? m1 : -m0, inward = s == 0 ? -1.0 : 1.0;
    const auto rule = gauss_legendre(96);
    double sum = 0.0;
    constexpr int turns = 64;
    for (std::size_t i = 0; i < rule.nodes.size(); ++i)
      for (int k = 0; k < turns; ++k) {
        const double c = rule.nodes[i], sine = std::sqrt(1.0 - c * c),
                     angle = 2.0 * std::numbers::pi * (k + 0.5) / turns;
        const auto below = [&](double d) {
          return level - at({from + d * c, d * sine * std::cos(angle), d * sine * std::sin(angle)});
        };
        double most = 1.0;
        if (inward * c > 0.0) most = std::min(most, std::abs(plane - from) / std::abs(c));
        double d = 1e-3;
        while (d < most && below(d) > 0.0) d += 1e-3;
        d = d < most ? root_between(below, d - 1e-3, d, 1e-12) : most;
        sum += rule.weights[i] * 2.0 * std::numbers::pi / turns * d * d * d / 3.0;
      }
    return sum;
  }
};

double radius_of(double volume) { return std::cbrt(0.75 * volume / std::numbers::pi); }

// Masses 1 and q, separation 1, in a common envelope of index 3/2; the first star has a core of a fraction of its mass,
// that of the other one is free.
request in_contact(double q, double fillout, int level = 1) {
  request r;
  r.gravity = {.self = true, .constant = 1.0, .theta = 0.5, .order = 4};
  r.box.block_size = 8;
  r.box.root_blocks = {4, 4, 2};
  r.box.lower = {-1.4, -1.4, -0.7}, r.box.upper = {1.4, 1.4, 0.7};
  r.box.max_level = r.level = level;
  r.box.sides.fill(mesh::boundary::outflow);
  r.tolerance = 1e-4;
  r.stars.resize(2);
  for (star_request& s : r.stars)
    s.gas.kind = matter_kind::core_envelope, s.gas.index = 1.5, s.gas.core_index = 3.0, s.gas.jump = 2.0;
  r.stars[0].mass = 1.0, r.stars[1].mass = q;
  r.stars[0].gas.core_fraction = 0.4, r.stars[1].gas.core_fraction = 0.0;
  r.separation = 1.0, r.fillout = fillout;
  return r;
}

model common_envelope(const request& q) {
  auto m = solve(q);
  if (!m) {
    ADD_FAILURE() << m.error().message;
    return {};
  }
  return *std::move(m);
}

// The quadrature and Eggleton's formula, which is accurate to 1 %.
TEST(Roche, LobesHaveEggletonsRadii) {
  for (const double q : {0.11, 0.5, 1.0}) {
    const roche r(q);
    const double level = r.at({r.l1(), 0.0, 0.0});
    EXPECT_NEAR(radius_of(r.volume(1, level)) / roche_radius(q), 1.0, 0.01) << q;
    EXPECT_NEAR(radius_of(r.volume(0, level)) / roche_radius(1.0 / q), 1.0, 0.01) << q;
  }
  // Published: Mochnacki (1984), ApJS 55, 551: L1 of q = 0.5 at 0.57075 from the heavier star.
  EXPECT_NEAR(roche(0.5).m1 - roche(0.5).l1(), 0.57075, 1e-5);
}

TEST(Contact, ACommonEnvelopeHasTheGeometryOfRoche) {
  const double q = 0.5, fillout = 0.5;
  const model m = common_envelope(in_contact(q, fillout));
  ASSERT_FALSE(m.stars.empty());
  std::printf("%s", table_of(m).c_str());
  const roche r(q);
  EXPECT_NEAR(m.stars[0].side, r.l1(), 0.01);
  EXPECT_EQ(m.stars[0].side, m.stars[1].side);
  EXPECT_NEAR(m.stars[1].reach, -r.m0 - r.l2(), 0.02);
  EXPECT_NEAR(m.stars[0].reach, r.l3() - r.m1, 0.02);
  const double inner = r.at({r.l1(), 0.0, 0.0}), outer = r.at({r.l2(), 0.0, 0.0});
  const double level = inner + fillout * (outer - inner);
  for (int s = 0; s < 2; ++s) {
    const double exact = radius_of(r.volume(s, level));
    std::printf("radius %d: %g, %g, lobe %g\n", s, m.stars[static_cast<std::size_t>(s)].radius, exact,
                radius_of(r.volume(s, inner)));
    EXPECT_NEAR(m.stars[static_cast<std::size_t>(s)].radius / exact, 1.0, 0.02);
  }
  // Masses, the same K, one surface.
  EXPECT_NEAR(m.stars[0].gas.constant() / m.stars[1].gas.constant(), 1.0, 1e-12);
  double mass[2] = {};
  for (const mesh::slot_id b : m.field->mesh().blocks())
    for (int c = 0; c < 512; ++c)
      if (const model::state at = m.at(m.field->centre(b, c)); at.star >= 0)
        mass[at.star] += at.density * std::pow(m.field->mesh().cell_width(b), 3);
  EXPECT_NEAR(mass[1] / mass[0] / q, 1.0, 1e-9);
  EXPECT_NEAR(mass[0], 1.0, 1e-9);
  EXPECT_LT(m.virial_error, 5e-3);
  // The density passes L1 without a step.
  const double x = m.stars[0].side;
  const double left = m.at({x - 1e-6, 0.0, 0.0}).density, right = m.at({x + 1e-6, 0.0, 0.0}).density;
  EXPECT_GT(left, 0.0);
  EXPECT_NEAR(left / right, 1.0, 1e-3);
  EXPECT_EQ(m.at({x - 1e-6, 0.0, 0.0}).star, 1);
  EXPECT_EQ(m.at({x + 1e-6, 0.0, 0.0}).star, 0);
}

// By symmetry the free core is that of the other star.
TEST(Contact, EqualStarsHaveEqualCores) {
  const model m = common_envelope(in_contact(1.0, 0.3));
  ASSERT_FALSE(m.stars.empty());
  std::printf("%s", table_of(m).c_str());
  EXPECT_NEAR(m.stars[1].gas.core_fraction, 0.4, 2e-3);
  EXPECT_NEAR(m.stars[1].gas.jump, 2.0, 0.01);
  EXPECT_NEAR(m.stars[0].side, 0.0, 1e-4);
  EXPECT_NEAR(m.stars[0].outer / m.stars[1].outer, 1.0, 1e-3);
}

// The pressure in the neck is a part of the balance between the stars: without it they would have to be held with
// 0.014.
TEST(Contact, TheNeckPushesTheStarsApart) {
  const model m = common_envelope(in_contact(1.0, 1.0));
  ASSERT_FALSE(m.stars.empty());
  EXPECT_LT(std::abs(m.stars[0].pull[0]), 7e-3);  // of the mesh
}

TEST(Contact, APeriodGivesTheSeparation) {
  request q = in_contact(0.5, 0.2);
  q.separation = 0.0, q.period = 5.0;
  const model m = common_envelope(q);
  ASSERT_FALSE(m.stars.empty());
  EXPECT_NEAR(2.0 * std::numbers::pi / m.omega, 5.0, 1e-3);
  EXPECT_NEAR(m.separation() / std::cbrt(1.5 * 25.0 / (4.0 * std::numbers::pi * std::numbers::pi)), 1.0, 0.02);
}

TEST(Contact, AFileHoldsTheCommonEnvelope) {
  request q = in_contact(0.5, 0.2, 0);
  q.tolerance = 1e-3;
  const model m = common_envelope(q);
  ASSERT_FALSE(m.stars.empty());
  const std::string path = probe::temporary_path("contact_test.h5");
  ASSERT_TRUE(write_model(path, m, {"test", "options", "these = 1\n"}));
  const auto again = read_model(path);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(table_of(*again), table_of(m));
  EXPECT_EQ(again->fillout, 0.2);
  EXPECT_EQ(again->neck_enthalpy, m.neck_enthalpy);
  EXPECT_EQ(again->at({m.stars[0].side, 0.02, 0.0}).density, m.at({m.stars[0].side, 0.02, 0.0}).density);
  std::remove(path.c_str());
}

TEST(Contact, ABinaryThatCannotExistIsRefused) {
  const auto refused = [](const request& q, const char* why) {
    const auto m = check(q);
    ASSERT_FALSE(m) << why;
    EXPECT_THAT(m.error().message, HasSubstr(why));
    EXPECT_THAT(m.error().message, HasSubstr("expected"));
    EXPECT_THAT(m.error().message, testing::Not(HasSubstr("\n")));
  };
  EXPECT_TRUE(check(in_contact(0.5, 0.5)));
  refused(in_contact(0.5, 1.1), "L2");
  request q = in_contact(0.5, 0.5);
  q.synchronous = false;
  refused(q, "rotate with the orbit");
  q = in_contact(0.5, 0.5);
  q.stars[1].filling = 0.9;
  refused(q, "binary.filling[1]");
  q = in_contact(0.5, 0.5);
  q.stars[1].gas.index = 2.0;
  refused(q, "binary.index");
  q = in_contact(0.5, 0.5);
  q.stars[1].gas.core_fraction = 0.3;
  refused(q, "binary.fillout = 0.5: expected binary.core_fraction = 0 for one star");
  q = in_contact(0.5, 0.5);
  q.stars[1].gas.kind = matter_kind::white_dwarf;
  refused(q, "white dwarf");
  q = in_contact(0.5, 0.0);
  q.stars[0].filling = q.stars[1].filling = 0.9;
  refused(q, "binary.core_fraction[1]");
  q = in_contact(0.5, 0.5);
  q.box.upper[0] = 1.25;
  refused(q, "mesh.lower");
  q = in_contact(0.5, 0.5);
  q.period = 5.0;
  refused(q, "one of them");
}

// A light star of the K of the other one is larger than its lobe, whatever its core.
TEST(Contact, AMassThatNoCoreGivesIsRefused) {
  request q = in_contact(0.2, 0.3);
  q.stars[1].gas.jump = 1.0, q.stars[1].gas.core_index = 1.5;  // the same matter in core and envelope
  const auto m = solve(q);
  ASSERT_FALSE(m);
  EXPECT_THAT(m.error().message, HasSubstr("even if all of the star is core"));
}

}  // namespace
}  // namespace plx::star::models
