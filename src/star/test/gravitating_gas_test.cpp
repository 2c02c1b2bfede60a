// Gas under its own gravity against exact solutions: collapse, pulsation, and two stars in orbit. Coarse and short; the
// runs of docs/verification.md are finer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "star/output/analysis.hpp"
#include "star/test/localities_test.hpp"

namespace plx::star {
namespace {

using namespace test;

struct course {
  std::unique_ptr<input> in;
  setup s;
  runtime rt{{.workers = 2}};
  std::unique_ptr<simulation> sim;

  explicit course(std::vector<std::string> sets) {
    sets.insert(sets.begin(),
                {"mesh.lower=[-1,-1,-1]", "mesh.upper=[1,1,1]", "mesh.max_level=0", "refinement.gradient_of=[]",
                 "hydro.gamma=1.6666666666666667", "gravity.self=true", "gravity.order=3", "run.max_steps=0"});
    in = blast(sets);
    s = in->prepare().value();
    sim = std::make_unique<simulation>(*in, s, rt);
    sim->start();
  }
  std::vector<double> row(const char* name) {
    const auto a = make_analysis(name).value();
    return rt.run([&] { return analyse(*a, sim->state(), s.hydro, rt.worker_count()); });
  }
  void finish() {
    while (!sim->finished()) ASSERT_TRUE(sim->step());
  }
};

// A cold sphere falls: its radius of gyration and its kinetic energy are those of the exact solution.
TEST(GravitatingGas, AColdSphereFallsFreely) {
  course run({"problem.name=spheroid", "spheroid.equatorial_radius=0.8", "spheroid.pressure=1e-4", "run.t_end=0.6",
              "run.dt_max=0.05"});
  const double free_fall = run.in->problem->references(0)[0].value;
  EXPECT_NEAR(free_fall, 0.5 * std::numbers::pi * std::sqrt(0.256), 1e-12);
  const double before = run.row("inertia")[0];
  run.finish();
  const double radius = run.in->problem->references(0.6)[1].value;
  const double found = 0.8 * std::sqrt(run.row("inertia")[0] / before);
  // Exact kinetic energy: what the potential energy, -3/5 G M^2 / r, has lost.
  const double kinetic = run.row("energies")[0], exact = 0.6 * (1 / radius - 1 / 0.8);
  std::printf("collapse: %ld steps, radius %.4f, exact %.4f; kinetic %.4f, exact %.4f\n",
              static_cast<long>(run.sim->steps()), found, radius, kinetic, exact);
  EXPECT_NEAR(found, radius, 0.02 * radius);
  EXPECT_NEAR(kinetic, exact, 0.06 * exact);
}

// A star that starts to expand with the velocity of its fundamental mode turns after a quarter of the period.
TEST(GravitatingGas, AStarPulsatesWithItsPeriod) {
  const auto size_at = [](const std::string& pulsation, std::vector<double>& times) {
    course run({"problem.name=polytrope", "polytrope.index=1.5", "polytrope.radius=0.6", "polytrope.atmosphere=1e-5",
                "polytrope.pulsation=" + pulsation, "run.t_end=0.9", "run.dt_max=0.01"});
    std::vector<double> sizes;
    while (!run.sim->finished()) {
      EXPECT_TRUE(run.sim->step());
      const auto moments = run.row("inertia");
      sizes.push_back(moments[0] + moments[1] + moments[2]);
      times.push_back(run.sim->time());
    }
    return sizes;
  };
  std::vector<double> times, again;
  const auto out = size_at("0.1", times), in = size_at("-0.1", again);
  for (std::size_t i = 0; i < std::min(out.size(), in.size()); i += 5)
    std::printf("%g %g %g %g\n", times[i], again[i], out[i], in[i]);
}

TEST(GravitatingGas, TwoStarsKeepTheirOrbit) {
  course run({"problem.name=two_stars", "two_stars.separation=1", "two_stars.radii=[0.35,0.35]", "run.t_end=1.57",
              "two_stars.index=1", "two_stars.atmosphere=1e-5"});
  const auto separation = [&](double* phase) {
    const auto m = run.row("inertia");
    *phase = 0.5 * std::atan2(2 * m[3], m[0] - m[1]);
    return std::sqrt(std::hypot(m[0] - m[1], 2 * m[3]) / 0.25);
  };
  double phase = 0;
  const double before = separation(&phase), spin = run.row("rotation")[5];
  std::printf("%g %g %g\n", before, phase, spin);
  run.finish();
  const double after = separation(&phase);
  std::printf("steps %ld: %g %g %g\n", static_cast<long>(run.sim->steps()), after, phase, run.row("rotation")[5]);
}

}  // namespace
}  // namespace plx::star
