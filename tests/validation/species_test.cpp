// A cube and a ball of species are advected through the box: fractions sum to one, no new extrema.
#include <algorithm>
#include <cmath>

#include "harness.hpp"

namespace plx::star::validation {
namespace {

struct extremes {
  double sum_off_by = 0, lowest = 1, highest = 0;
};

extremes look(const gas& g, int n_species) {
  extremes e;
  const std::ptrdiff_t cells = g.now.cells();
  for (const mesh::slot_id s : g.mesh.blocks())
    for (std::ptrdiff_t c = 0; c < cells; ++c) {
      const double* u = g.now.block(s) + c;
      double sum = 0;
      for (int x = 0; x < n_species; ++x) {
        const double fraction = u[(i_species + x) * cells] / u[0];
        sum += fraction;
        e.lowest = std::min(e.lowest, fraction);
        e.highest = std::max(e.highest, fraction);
      }
      e.sum_off_by = std::max(e.sum_off_by, std::abs(sum - 1));
    }
  return e;
}

void check(table& t, const std::string& what, const std::vector<std::string>& sets) {
  solved s("advection", sets);
  s.run();
  const extremes e = look(s.sim().state(), 3);
  t.at_most(what + ": sum of the fractions, off one by", e.sum_off_by, 1e-14);
  t.at_most(what + ": below zero by", -e.lowest, 0.0);
  t.at_most(what + ": above one by", e.highest - 1, 1e-14);
  t.note(what + ": L1 of the cube's species", s.l1(i_species));
}

TEST(Species, UniformMesh) {
  table t("advected cube and ball, t = 0.5, 32^3");
  check(t, "uniform", {"mesh.max_level=0", "run.t_end=0.5"});
}

TEST(Species, AcrossRefinement) {
  table t("advected cube and ball across a refined region, t = 0.5, 32^3 and 64^3");
  check(t, "refined",
        {"mesh.max_level=1", "run.t_end=0.5", "refinement.gradient_of=[]",
         "refinement.regions=[-0.1, 0.3, -0.2, 0.2, 0.0, 0.3, 1]"});
}

TEST(Species, Full3d) {
  table t("advected cube and ball across a refined region, full3d, t = 0.1, 32^3 and 64^3");
  check(t, "refined",
        {full3d, "mesh.max_level=1", "run.t_end=0.1", "refinement.gradient_of=[]",
         "refinement.regions=[-0.1, 0.3, -0.2, 0.2, 0.0, 0.3, 1]"});
}

// Slow.
TEST(Species, Full3dUniform) {
  table t("advected cube and ball, full3d, t = 0.5, 32^3");
  check(t, "uniform", {full3d, "mesh.max_level=0", "run.t_end=0.5"});
}

}  // namespace
}  // namespace plx::star::validation
