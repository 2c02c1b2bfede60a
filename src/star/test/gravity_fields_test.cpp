// Potential and acceleration of homogeneous spheroids against their closed forms, on uniform and refined meshes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "star/exact/spheroid.hpp"
#include "star/test/gravity_recording.hpp"
#include "star/test/localities_test.hpp"

namespace plx::star {
namespace {

using namespace test;

struct field_errors {
  double potential = 0, force = 0;  // root mean squares over the domain, of the largest exact value
  double inside = 0;                // of the acceleration in the inner half of the body
  double far = 0, far_force = 0;    // largest of potential and acceleration at 3 radii and more, of the local value
  double far_as_summed = 0;         // of the acceleration, without the correction of the total torque
  std::map<std::array<double, 4>, double> far_potential;  // at 3 radii and more, by the place and width of the cell
};

// The field of the first stage of the problem `spheroid` in a box of edge 2.
field_errors errors_of(const spheroid& body, const std::array<double, 3>& centre, std::vector<std::string> sets,
                       const gravity::gravity_options& options = {.self = true, .constant = 1.0}) {
  sets.insert(sets.begin(), {"problem.name=spheroid", "mesh.lower=[-1,-1,-1]", "mesh.upper=[1,1,1]", "mesh.max_level=0",
                             "refinement.gradient_of=[]", "spheroid.surroundings=1e-12", "spheroid.pressure=1",
                             "run.max_steps=1", "hydro.integrator=rk2", "hydro.reconstruction=plm"});
  for (const auto& [key, value] : {std::pair{"equatorial_radius", body.equatorial}, {"polar_radius", body.polar}})
    sets.push_back("spheroid." + std::string(key) + "=" + std::to_string(value));
  sets.push_back("spheroid.centre=[" + std::to_string(centre[0]) + "," + std::to_string(centre[1]) + "," +
                 std::to_string(centre[2]) + "]");
  const auto in = blast(sets);
  setup s = in->prepare().value();
  const recording module(options, 8);
  s.modules = {&module};
  runtime rt({.workers = 2});
  simulation sim(*in, s, rt);
  sim.start();
  const gas& g = sim.state();
  module.found.make_room(g.mesh.slot_count());
  EXPECT_TRUE(sim.step());
  field_errors e;
  double volume = 0, half = 0, largest[2] = {};
  const int n = g.mesh.block_size(), cells = g.now.cells();
  for (const mesh::slot_id b : g.mesh.blocks()) {
    const std::vector<double>& found = module.found.values[static_cast<std::size_t>(b)];
    const double v = std::pow(g.mesh.cell_width(b), 3);
    for (int c = 0; c < cells; ++c) {
      const int i[3] = {c % n, c / n % n, c / (n * n)};
      std::array<double, 3> x{};
      double in_body = 0;
      for (int a = 0; a < 3; ++a) {
        x[a] = g.mesh.centre(b, a, i[a]) - centre[a];
        in_body += std::pow(x[a] / (a < 2 ? body.equatorial : body.polar), 2);
      }
      const auto exact = body.acceleration(x);
      double miss2 = 0, size2 = 0;
      for (int a = 0; a < 3; ++a) {
        miss2 += std::pow(found[(1 + a) * cells + c] - exact[a], 2);
        size2 += exact[a] * exact[a];
      }
      const double phi = body.potential(x);
      if (std::hypot(x[0], x[1], x[2]) > 3.0 * std::max(body.equatorial, body.polar)) {
        const std::vector<double>& as_summed = module.found.as_summed[static_cast<std::size_t>(b)];
        double before2 = 0;
        for (int a = 0; a < 3; ++a) before2 += std::pow(as_summed[(1 + a) * cells + c] - exact[a], 2);
        e.far = std::max(e.far, std::abs(found[c] / phi - 1.0));
        e.far_potential[{x[0], x[1], x[2], g.mesh.cell_width(b)}] = found[c];
        e.far_force = std::max(e.far_force, std::sqrt(miss2 / size2));
        e.far_as_summed = std::max(e.far_as_summed, std::sqrt(before2 / size2));
      }
      largest[0] = std::max(largest[0], -phi), largest[1] = std::max(largest[1], std::sqrt(size2));
      e.potential += std::pow(found[c] - phi, 2) * v, e.force += miss2 * v, volume += v;
      if (in_body < 0.25) e.inside += miss2 * v, half += v;
    }
  }
  e.potential = std::sqrt(e.potential / volume) / largest[0];
  e.force = std::sqrt(e.force / volume) / largest[1];
  e.inside = std::sqrt(e.inside / half) / largest[1];
  std::printf(
      "a %.2f c %.2f, %zu blocks: potential %.2e, acceleration %.2e, inside %.2e, far %.2e %.2e, as summed %.2e\n",
      body.equatorial, body.polar, g.mesh.block_count(), e.potential, e.force, e.inside, e.far, e.far_force,
      e.far_as_summed);
  return e;
}

const std::string coarse = "mesh.root_blocks=[2,2,2]", fine = "mesh.root_blocks=[4,4,4]";

// A sphere, an oblate and a prolate spheroid, on and off the centre. Errors fall with the width of the cells: that of
// the potential inside is 0.946 G rho dx^2 (gravity/passes.hpp, own_part); that of the acceleration is largest at the
// surface.
TEST(GravityFields, SpheroidsHaveTheirPotential) {
  const std::array<double, 3> on{0, 0, 0}, off{0.13, -0.07, 0.21};
  for (const auto& [body, centre] :
       {std::pair{spheroid{0.6, 0.6, 1, 1}, on}, {spheroid{0.6, 0.3, 1, 1}, off}, {spheroid{0.35, 0.7, 1, 1}, off}}) {
    const field_errors c = errors_of(body, centre, {coarse}), f = errors_of(body, centre, {fine});
    EXPECT_LT(f.potential, 1.5e-3);
    EXPECT_LT(f.force, 1e-2);
    EXPECT_LT(f.inside, 1e-3);
    EXPECT_LT(f.potential, 0.3 * c.potential);
    EXPECT_LT(f.force, 0.4 * c.force);
    EXPECT_LT(f.inside, 0.25 * c.inside);
  }
}

// Boundaries of refinement inside and outside of the body.
TEST(GravityFields, RefinementBoundariesLeaveNoTrace) {
  const spheroid body{0.6, 0.4, 1, 1};
  const field_errors c = errors_of(body, {0.13, -0.07, 0.21}, {coarse});
  const field_errors e = errors_of(body, {0.13, -0.07, 0.21},
                                   {coarse, "mesh.max_level=2", "refinement.regions=[0,1,0,1,0,1,2,-1,0,-1,1,0,1,1]"});
  EXPECT_LT(e.potential, 0.7 * c.potential);
  EXPECT_LT(e.force, c.force);
  EXPECT_LT(e.inside, 3e-3);
}

// Isolated boundaries: out to 23 and 45 radii the field is that of the body alone, and does not depend on where the
// domain ends. The largest errors are those of pairs at the opening distance.
TEST(GravityFields, FarAwayItIsTheFieldOfTheBodyAlone) {
  const spheroid body{0.6, 0.4, 1, 1};
  std::map<std::array<double, 4>, double> of_smaller;
  for (const int edge : {8, 16}) {
    const std::string e = std::to_string(edge), level = edge == 8 ? "3" : "4";
    field_errors f = errors_of(
        body, {0.13, -0.07, 0.21},
        {coarse, "mesh.lower=[-" + e + ",-" + e + ",-" + e + "]", "mesh.upper=[" + e + "," + e + "," + e + "]",
         "mesh.max_level=4", "refinement.regions=[-0.9,0.9,-0.9,0.9,-0.9,0.9," + level + "]"},
        {.self = true, .constant = 1.0, .theta = 0.25, .order = 6});
    EXPECT_LT(f.far, 2e-4);
    EXPECT_LT(f.far_as_summed, 1e-2);
    EXPECT_LT(f.far_force, 1e-2);
    double difference = 0;
    std::size_t common = 0;
    for (const auto& [cell, potential] : f.far_potential)
      if (const auto other = of_smaller.find(cell); other != of_smaller.end())
        difference = std::max(difference, std::abs(potential / other->second - 1.0)), ++common;
    EXPECT_EQ(common > 1000, edge == 16);
    EXPECT_LT(difference, 1e-6);
    std::printf("edge %d: %zu cells in common, largest difference %.2e\n", edge, common, difference);
    of_smaller = std::move(f.far_potential);
  }
}

}  // namespace
}  // namespace plx::star
