#include "shock_place.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace plx::star::validation {
namespace {

bool inside(cone c, const std::array<double, 3>& x, double r) {
  double largest = 0, smallest = r;
  for (const double component : x) {
    largest = std::max(largest, std::abs(component));
    smallest = std::min(smallest, std::abs(component));
  }
  return c == cone::all || (c == cone::axis ? largest > 0.97 * r : smallest > 0.5 * r);
}

struct sample {
  double r, value;
};

// Mean pressure of shells as wide as the finest cells.
std::vector<sample> shells(const solved& s, cone which) {
  const gas& g = s.sim().state();
  const hydro_parameters& p = s.settings().hydro;
  const double dr = g.mesh.box().cell_width(g.mesh.deepest());
  std::vector<double> sum, volume, moment;
  const int n = g.mesh.block_size();
  for (const mesh::slot_id b : g.mesh.blocks())
    for (int c = 0; c < n * n * n; ++c) {
      const std::array<double, 3> x{g.mesh.centre(b, 0, c % n), g.mesh.centre(b, 1, c / n % n),
                                    g.mesh.centre(b, 2, c / n / n)};
      const double r = std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]), v = std::pow(g.mesh.cell_width(b), 3);
      if (!inside(which, x, r)) continue;
      const auto i = static_cast<std::size_t>(r / dr);
      if (i >= sum.size()) sum.resize(i + 1), volume.resize(i + 1), moment.resize(i + 1);
      sum[i] += v * to_primitive(p.eos, g.now.block(b) + c, g.now.cells(), 0, p.dual_energy_switch).pressure;
      volume[i] += v;
      moment[i] += v * r;
    }
  std::vector<sample> result;
  for (std::size_t i = 0; i < sum.size(); ++i)
    if (volume[i] > 0) result.push_back({moment[i] / volume[i], sum[i] / volume[i]});
  return result;
}

}  // namespace

double shock_radius(const solved& s, cone which) {
  const std::vector<sample> p = shells(s, which);
  const auto slope = [&](std::size_t i) { return (p[i + 1].value - p[i].value) / (p[i + 1].r - p[i].r); };
  const double outside = 0.5 * s.exact().references(s.sim().time())[1].value;  // excludes the initial energy input
  std::size_t best = 0;
  for (std::size_t i = 1; i + 2 < p.size(); ++i)
    if (p[i].r > outside && (best == 0 || slope(i) < slope(best))) best = i;
  const double a = slope(best - 1), b = slope(best), c = slope(best + 1), bend = a - 2 * b + c;
  const double middle = 0.5 * (p[best].r + p[best + 1].r), step = p[best + 1].r - p[best].r;
  return bend > 0 ? middle + 0.5 * (a - c) / bend * step : middle;
}

void check_shock(table& t, const std::string& what, const solved& s, double bound) {
  const double exact = s.exact().references(s.sim().time())[1].value;
  const mesh::block_mesh& m = s.sim().state().mesh;
  const double dx = m.box().cell_width(m.deepest());
  t.at_most(what + ": shock radius, relative error", std::abs(shock_radius(s, cone::all) - exact) / exact, bound);
  t.at_most(what + ": shock along axis less along diagonal, in cells",
            std::abs(shock_radius(s, cone::axis) - shock_radius(s, cone::diagonal)) / dx, 1.0);
}

}  // namespace plx::star::validation
