// Two strong rarefactions (Einfeldt 1-2-0-3): density and pressure stay positive, and floors are counted.
#include <fmt/format.h>

#include <algorithm>

#include "harness.hpp"

namespace plx::star::validation {
namespace {

void check(table& t, const std::string& scheme) {
  double coarser = 0.0;
  for (const int n : {64, 128}) {
    const double half = 4.0 / n;
    solved s("einfeldt", {"mesh.root_blocks=" + array({n / 8.0, 1, 1}), "mesh.lower=" + array({-0.5, -half, -half}),
                          "mesh.upper=" + array({0.5, half, half}), scheme});
    s.run();
    const gas& g = s.sim().state();
    double density = 1, pressure = 1;
    for (const mesh::slot_id b : g.mesh.blocks())
      for (int c = 0; c < g.now.cells(); ++c) {
        const primitive w = to_primitive(s.settings().hydro.eos, g.now.block(b) + c, g.now.cells(), 0, 1e-3);
        density = std::min(density, w.density);
        pressure = std::min(pressure, w.pressure);
      }
    t.at_least(fmt::format("{} cells: smallest density", n), density, 1e-12);
    t.at_least(fmt::format("{} cells: smallest pressure", n), pressure, 1e-14);
    const floor_counts& f = s.sim().floors();
    t.note(fmt::format("{} cells: floors applied", n), double(f.density + f.pressure + f.input));
    const double error = s.l1(i_density);
    if (coarser > 0.0)
      t.with_order(fmt::format("{} cells: L1(rho)", n), error, coarser, 0.5);
    else
      t.note(fmt::format("{} cells: L1(rho)", n), error);
    coarser = error;
  }
}

TEST(Vacuum, Einfeldt) {
  table t("double rarefaction, t = 0.15");
  check(t, "hydro.scheme=faces");
}

TEST(Vacuum, EinfeldtFull3d) {
  table t("double rarefaction, t = 0.15, full3d");
  check(t, full3d);
}

}  // namespace
}  // namespace plx::star::validation
