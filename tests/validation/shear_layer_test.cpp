// Kelvin-Helmholtz: the growth rate of the linear phase within 5 %.
#include <cmath>

#include "harness.hpp"

namespace plx::star::validation {
namespace {

// Root mean square of the transverse velocity.
double transverse(const gas& g) {
  double sum = 0;
  const std::ptrdiff_t cells = g.now.cells();
  for (const mesh::slot_id s : g.mesh.blocks())
    for (std::ptrdiff_t c = 0; c < cells; ++c) {
      const double* u = g.now.block(s) + c;
      sum += std::pow(u[(i_momentum + 1) * cells] / u[0], 2);
    }
  return std::sqrt(sum / static_cast<double>(g.cell_count()));
}

void check_growth(table& t, const std::vector<std::string>& sets) {
  solved s("kelvin_helmholtz", sets);
  const double exact = s.exact().references(0)[0].value;
  s.sim().start();
  double first = 0, first_time = 0;
  while (!s.sim().finished()) {
    ASSERT_TRUE(s.sim().step());
    if (first == 0 && s.sim().time() >= 0.5) first = transverse(s.sim().state()), first_time = s.sim().time();
  }
  const double rate = std::log(transverse(s.sim().state()) / first) / (s.sim().time() - first_time);
  t.note("growth rate", rate);
  t.note("exact growth rate", exact);
  t.at_most("relative error", std::abs(rate - exact) / exact, 0.05);
}

TEST(ShearLayer, GrowthRate) {
  table t("Kelvin-Helmholtz, tanh layer, Mach 0.5, 64 x 64 cells");
  check_growth(t, {"run.t_end=1.5"});
}

// Slow.
TEST(ShearLayer, GrowthRateFull3d) {
  table t("Kelvin-Helmholtz, tanh layer, Mach 0.5, 64 x 64 cells, full3d");
  check_growth(t, {"run.t_end=1.0", full3d});
}

}  // namespace
}  // namespace plx::star::validation
