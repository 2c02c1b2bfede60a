#include "star/models/model.hpp"

#include <fmt/format.h>

#include <cmath>

namespace plx::star::models {

double model::mass() const {
  double sum = 0.0;
  for (const star& s : stars) sum += s.mass;
  return sum;
}

bool model::contains(int i, const point& x) const {
  const star& s = stars[static_cast<std::size_t>(i)];
  if (stars.size() == 2 && (i == 0 ? x[0] < s.side : x[0] > s.side)) return false;
  const double d[3] = {x[0] - s.place[0], x[1] - s.place[1], x[2] - s.place[2]};
  return d[0] * d[0] + d[1] * d[1] + d[2] * d[2] < s.reach * s.reach;
}

double model::depth(int i, const point& x, double phi) const {
  const star& s = stars[static_cast<std::size_t>(i)];
  const double turn = synchronous ? 0.5 * (x[0] * x[0] + x[1] * x[1]) : s.place[0] * x[0] + s.place[1] * x[1];
  const double pull =
      s.pull[0] * (x[0] - s.place[0]) + s.pull[1] * (x[1] - s.place[1]) + s.pull[2] * (x[2] - s.place[2]);
  return omega * omega * turn + pull - phi;
}

model::state model::at(const point& x) const {
  for (int i = 0; i < static_cast<int>(stars.size()); ++i) {
    if (!contains(i, x)) continue;
    const star& s = stars[static_cast<std::size_t>(i)];
    const double h = s.constant + depth(i, x, field->at(x));
    if (!(h > 0.0)) continue;
    const double density = s.gas.density(h);
    return {i, density > 0.0 ? s.gas.core_density(h) / density : 0.0, density, s.gas.pressure(h)};
  }
  return {};
}

point model::velocity(const point& x, int s) const {
  if (!synchronous) {
    if (s < 0) return {};
    const point& place = stars[static_cast<std::size_t>(s)].place;
    return {-omega * place[1], omega * place[0], 0.0};
  }
  double turn = omega;
  if (s < 0) {
    const double r2 = x[0] * x[0] + x[1] * x[1];
    double edge = separation();
    if (stars.size() == 1) edge = stars[0].outer;
    if (r2 > edge * edge) turn *= edge * edge / r2;
  }
  return {-turn * x[1], turn * x[0], 0.0};
}

std::string table_head(std::size_t stars) {
  std::string all = fmt::format("{:>4} {:>5} {:>9} {:>9} {:>9} {:>13} {:>13}", "iter", "level", "change", "virial",
                                "energy", "omega", "ang.momentum");
  if (stars == 2) all += fmt::format(" {:>11}", "separation");
  for (std::size_t s = 1; s <= stars; ++s)
    all += fmt::format(" {:>12} {:>11} {:>11} {:>9} {:>8}", fmt::format("C{}", s), fmt::format("rho_c{}", s),
                       fmt::format("K{}", s), fmt::format("off{}", s), fmt::format("core{}", s));
  return all;
}

std::string table_line(const iteration& i, std::size_t stars) {
  const auto error = [](double e) { return std::isnan(e) ? "-" : fmt::format("{:.2e}", e); };
  std::string all = fmt::format("{:4} {:5} {:9.2e} {:>9} {:>9} {:13.7g} {:13.7g}", i.number, i.level, i.change,
                                error(i.virial_error), error(i.energy_error), i.omega, i.angular_momentum);
  if (stars == 2) all += fmt::format(" {:11.6g}", i.separation);
  for (std::size_t s = 0; s < stars; ++s)
    all += fmt::format(" {:12.6g} {:11.5g} {:11.5g} {:9.1e} {:>8}", i.constant[s], i.central_density[s],
                       i.polytrope_constant[s], i.displacement[s],
                       std::isnan(i.core_fraction[s]) ? "-" : fmt::format("{:.5f}", i.core_fraction[s]));
  return all;
}

std::string table_of(const model& m) {
  const bool two = m.stars.size() == 2;
  std::string all = table_head(m.stars.size()) + "\n";
  for (const iteration& i : m.iterations) all += table_line(i, m.stars.size()) + "\n";
  for (std::size_t s = 0; s < m.stars.size(); ++s) {
    const star& one = m.stars[s];
    all += fmt::format(
        "star {}: {}, mass {:.6g}, radius {:.5g} ({} {:.5g}, {} {:.5g}, polar {:.5g}), central density {:.5g}", s + 1,
        name_of(one.gas.kind), one.mass, one.radius, two ? "inner" : "equatorial", one.inner,
        two ? "outer" : "opposite", one.outer, one.polar, one.central_density);
    if (one.gas.has_core())
      all += fmt::format(", core {:.4f} of the mass, density jump {:.4f}", one.gas.core_fraction, one.gas.jump);
    if (two && m.fillout == 0.0) all += fmt::format(", filling {:.4f}", one.filling);
    all += "\n";
  }
  if (m.fillout > 0.0)
    all +=
        fmt::format("common envelope: fillout {:g}, L1 at x = {:.5g}, neck of radius {:.4g} along y, {:.4g} along z\n",
                    m.fillout, m.stars[0].side, m.neck[0], m.neck[1]);
  return all + m.verdict + "\n";
}

}  // namespace plx::star::models
