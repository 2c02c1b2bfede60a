// Sedov's blast wave: position of the shock, convergence, equality along axis and diagonal, and the published error.
#include <fmt/format.h>

#include "harness.hpp"
#include "shock_place.hpp"

namespace plx::star::validation {
namespace {

std::vector<std::string> uniform(int n) {
  return {"mesh.max_level=0", "mesh.root_blocks=" + array({n / 8.0, n / 8.0, n / 8.0})};
}

// Slow.
TEST(Blast, Convergence) {
  table t("Sedov, gamma 7/5, t = 0.08, E = 1 in a sphere of radius 0.04, box of edge 1");
  double coarser = 0.0;
  for (const int n : {32, 64}) {
    solved s("sedov", uniform(n));
    const double error = s.run().l1(i_density);
    const std::string what = fmt::format("{}^3", n);
    if (coarser > 0.0)
      t.with_order(what + ": L1(rho)", error, coarser, 0.5);
    else
      t.note(what + ": L1(rho)", error);
    if (n == 64) check_shock(t, what, s, 0.015);
    coarser = error;
  }
}

// The blast in a corner with reflecting boundaries is an octant of the whole: as fine as 128^3 at the shock. Slow.
TEST(Blast, AdaptiveOctant) {
  table t("Sedov, an octant with reflecting sides, root grid 16^3, two levels: as 128^3");
  solved s("sedov", {"mesh.lower=[0,0,0]", "mesh.upper=[0.5,0.5,0.5]", "mesh.root_blocks=[2,2,2]", "mesh.max_level=2",
                     R"(refinement.gradient_of=["press"])",
                     R"(mesh.sides=["reflecting","outflow","reflecting","outflow","reflecting","outflow"])"});
  s.run();
  check_shock(t, "adaptive", s, 0.01);
  t.note("L1(rho)", s.l1(i_density));
  t.note("blocks at the end (512 would be all)", static_cast<double>(s.sim().state().mesh.block_count()));
}

// The same octant with the other scheme, as 32^3 and 64^3; as 128^3 it takes a minute (docs/plx-star.md). Slow.
TEST(Blast, Full3d) {
  table t("Sedov with full3d, an octant with reflecting sides, as 32^3 and 64^3");
  double coarser = 0.0;
  for (const int level : {0, 1}) {
    solved s("sedov", {full3d, "mesh.lower=[0,0,0]", "mesh.upper=[0.5,0.5,0.5]", "mesh.root_blocks=[2,2,2]",
                       fmt::format("mesh.max_level={}", level), R"(refinement.gradient_of=["press"])",
                       R"(mesh.sides=["reflecting","outflow","reflecting","outflow","reflecting","outflow"])"});
    const double error = s.run().l1(i_density);
    if (level > 0) {
      t.with_order("64^3: L1(rho), falling", error, coarser, 0.0);
      check_shock(t, "64^3", s, 0.015);
    } else {
      t.note("32^3: L1(rho)", error);
    }
    coarser = error;
  }
  auto sets = uniform(64);
  for (const std::string& s : {std::string("mesh.lower=[-1,-1,-1]"), std::string("mesh.upper=[1,1,1]"),
                               std::string("run.t_end=5e-3"), std::string("sedov.start_time=7e-4"), full3d})
    sets.push_back(s);
  t.at_most("box of edge 2, 64^3, t = 5e-3: L1(rho), mean over the box", solved("sedov", sets).run().l1(i_density),
            1.0e-3);
}

// The published run: box of edge 2, E = 1, from the exact solution at t = 7e-4 to t = 5e-3; mean error of the density
// on 64^3 is 1.0e-3.
TEST(Blast, PublishedError) {
  table t("Sedov, box of edge 2, 64^3, t = 5e-3");
  for (const char* start : {"sedov.start_time=7e-4", "sedov.radius=0.057"}) {
    auto sets = uniform(64);
    for (const char* s : {"mesh.lower=[-1,-1,-1]", "mesh.upper=[1,1,1]", "run.t_end=5e-3", start}) sets.push_back(s);
    t.at_most(fmt::format("{}: L1(rho), mean over the box", start), solved("sedov", sets).run().l1(i_density), 1.0e-3);
  }
}

}  // namespace
}  // namespace plx::star::validation
