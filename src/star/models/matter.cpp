#include "star/models/matter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/assert.hpp"
#include "star/exact/polytrope.hpp"

namespace plx::star::models {

namespace {

constexpr std::string_view kinds[] = {"polytrope", "core_envelope", "white_dwarf"};

// Enthalpy at which sqrt(x^2 + 1) = 2.
double relativistic_enthalpy(const matter& m) {
  const eos_parameters& p = m.eos.parameters();
  return 8.0 * p.electron_pressure / p.electron_density * (1.0 + m.thermal);
}

// H_c of the core.
double core_unit(const matter& m) { return m.enthalpy_unit * (m.core_index + 1.0) / (m.jump * (m.index + 1.0)); }

// A polytrope over H: its density, its pressure, which is the integral of the density, and the integral of the
// pressure.
struct part {
  double density, pressure, integral;
};
part envelope_of(const matter& m, double h) {
  const double rho = m.density_unit * std::pow(h / m.enthalpy_unit, m.index), p = rho * h / (m.index + 1.0);
  return {rho, p, p * h / (m.index + 2.0)};
}
part core_of(const matter& m, double h) {
  const double unit = core_unit(m), depth = h - m.enthalpy_unit + unit;
  const double rho = m.jump * m.density_unit * std::pow(depth / unit, m.core_index);
  const double p = rho * depth / (m.core_index + 1.0);
  return {rho, p, p * depth / (m.core_index + 2.0)};
}

double blend_of(const matter& m) { return std::min({m.blend, m.enthalpy_unit, core_unit(m)}); }
// The share of the core in the density: 0 in the envelope, 1 in the core.
double share_of_core(const matter& m, double h) {
  if (!m.has_core()) return 0.0;
  const double width = blend_of(m);
  if (!(width > 0.0)) return h >= m.enthalpy_unit ? 1.0 : 0.0;
  return std::clamp(0.5 + (h - m.enthalpy_unit) / width, 0.0, 1.0);
}

}  // namespace

std::string_view name_of(matter_kind kind) { return kinds[static_cast<int>(kind)]; }

result<matter_kind> matter_kind_of(std::string_view name) {
  for (int i = 0; i < 3; ++i)
    if (kinds[i] == name) return static_cast<matter_kind>(i);
  return error{fmt::format("expected one of polytrope, core_envelope, white_dwarf; found '{}'", name)};
}

double matter::density(double h) const {
  if (!(h > 0.0)) return 0.0;
  if (kind == matter_kind::white_dwarf) {
    const double s = h / relativistic_enthalpy(*this), x2 = s * (2.0 + s);
    return eos.parameters().electron_density * x2 * std::sqrt(x2);
  }
  const double share = share_of_core(*this, h);
  return (share < 1.0 ? (1.0 - share) * envelope_of(*this, h).density : 0.0) + core_density(h);
}

double matter::core_density(double h) const {
  const double share = share_of_core(*this, h);
  return share > 0.0 ? share * core_of(*this, h).density : 0.0;
}

double matter::pressure(double h) const {
  if (!(h > 0.0)) return 0.0;
  const double rho = density(h);
  if (kind == matter_kind::white_dwarf) return (1.0 + thermal) * eos.least_pressure(rho);
  const double share = share_of_core(*this, h);
  if (share == 0.0) return rho * h / (index + 1.0);
  // By parts: integral of (1 - w) rho_e + w rho_c with dw/dH = 1 / width, from where w = 0.
  const double width = blend_of(*this), begin = enthalpy_unit - 0.5 * width, end = std::min(h, begin + width);
  double more = 0.0;
  if (width > 0.0)
    more = (envelope_of(*this, end).integral - envelope_of(*this, begin).integral - core_of(*this, end).integral +
            core_of(*this, begin).integral) /
           width;
  const double of_core = share * core_of(*this, h).pressure;
  return (share < 1.0 ? (1.0 - share) * envelope_of(*this, h).pressure : 0.0) + of_core + more;
}

double matter::enthalpy(double rho) const {
  if (!(rho > 0.0)) return 0.0;
  if (kind == matter_kind::white_dwarf) {
    const double x = std::cbrt(rho / eos.parameters().electron_density), x2 = x * x;
    return relativistic_enthalpy(*this) * x2 / (std::sqrt(x2 + 1.0) + 1.0);
  }
  if (has_core() && rho > density_unit)
    return enthalpy_unit +
           core_unit(*this) * (std::pow(std::max(rho / (jump * density_unit), 1.0), 1.0 / core_index) - 1.0);
  return enthalpy_unit * std::pow(rho / density_unit, 1.0 / index);
}

double matter::constant() const {
  if (kind == matter_kind::white_dwarf) return 0.0;
  return enthalpy_unit / ((index + 1.0) * std::pow(density_unit, 1.0 / index));
}

void matter::set_constant(double k, double enthalpy_of_core) {
  enthalpy_unit = enthalpy_of_core;
  density_unit = std::pow(enthalpy_unit / ((index + 1.0) * k), index);
}

std::vector<double> matter::numbers() const {
  const eos_parameters& p = eos.parameters();
  return {static_cast<double>(kind),
          index,
          core_index,
          jump,
          core_fraction,
          thermal,
          density_unit,
          enthalpy_unit,
          blend,
          p.gamma,
          static_cast<double>(p.kind),
          p.electron_pressure,
          p.electron_density};
}

result<matter> matter::of_numbers(const std::vector<double>& n) {
  if (n.size() != 13 || !(n[0] >= 0.0 && n[0] <= 2.0) || !(n[10] >= 0.0 && n[10] <= 2.0) || !(n[9] > 1.0))
    return error{"expected the 13 numbers of the matter of a star, found others"};
  matter m;
  m.kind = static_cast<matter_kind>(static_cast<int>(n[0]));
  m.index = n[1], m.core_index = n[2], m.jump = n[3], m.core_fraction = n[4], m.thermal = n[5];
  m.density_unit = n[6], m.enthalpy_unit = n[7], m.blend = n[8];
  eos_parameters p;
  p.gamma = n[9], p.kind = static_cast<eos_kind>(static_cast<int>(n[10]));
  p.electron_pressure = n[11], p.electron_density = n[12];
  m.eos = p;
  return m;
}

double largest_mass(const matter& m, double gravity) {
  const eos_parameters& p = m.eos.parameters();
  const double k = (1.0 + m.thermal) * 2.0 * p.electron_pressure / std::pow(p.electron_density, 4.0 / 3.0);
  const lane_emden l(3.0);
  const double pi = std::numbers::pi;
  return 4.0 * pi * std::pow(k / (pi * gravity), 1.5) * l.surface() * l.surface() * -l.slope();
}

double sphere::density(double r) const {
  const double at = r / radius * static_cast<double>(densities.size() - 1);
  if (!(at < static_cast<double>(densities.size() - 1))) return 0.0;
  const auto i = static_cast<std::size_t>(at);
  const double t = at - static_cast<double>(i);
  return (1.0 - t) * densities[i] + t * densities[i + 1];
}

namespace {

struct shell {
  double enthalpy, mass;
};

// d/dr of the enthalpy and of the mass inside.
shell derivative(const matter& m, double gravity, double r, const shell& y) {
  const double rho = m.density(y.enthalpy);
  return {r > 0.0 ? -gravity * y.mass / (r * r) : 0.0, 4.0 * std::numbers::pi * r * r * rho};
}

// Hydrostatic equilibrium from the centre to the surface, by the classical Runge-Kutta scheme.
sphere integrate(const matter& m, double gravity, double central) {
  sphere s;
  s.central_density = m.density(central);
  const double length = std::sqrt(central / (4.0 * std::numbers::pi * gravity * s.central_density)), h = length / 64.0;
  shell y{central, 0.0};
  std::vector<double>& rho = s.densities;
  for (double r = 0.0;; r += h) {
    rho.push_back(m.density(y.enthalpy));
    const auto at = [&](const shell& d, double by) {
      return shell{y.enthalpy + by * d.enthalpy, y.mass + by * d.mass};
    };
    const shell a = derivative(m, gravity, r, y), b = derivative(m, gravity, r + 0.5 * h, at(a, 0.5 * h));
    const shell c = derivative(m, gravity, r + 0.5 * h, at(b, 0.5 * h)), d = derivative(m, gravity, r + h, at(c, h));
    const shell next{y.enthalpy + h / 6.0 * (a.enthalpy + 2.0 * (b.enthalpy + c.enthalpy) + d.enthalpy),
                     y.mass + h / 6.0 * (a.mass + 2.0 * (b.mass + c.mass) + d.mass)};
    if (next.enthalpy <= 0.0) {
      const double part = y.enthalpy / (y.enthalpy - next.enthalpy);
      rho.push_back(0.0);
      s.radius = r + part * h, s.mass = y.mass + part * (next.mass - y.mass);
      return s;
    }
    y = next;
  }
}

}  // namespace

sphere white_dwarf_of(const matter& m, double mass, double gravity) {
  PLX_ASSERT(m.kind == matter_kind::white_dwarf && mass > 0.0 && mass < largest_mass(m, gravity), mass);
  double low = 1e-8 * relativistic_enthalpy(m), high = low;
  while (integrate(m, gravity, high).mass < mass) low = high, high *= 4.0;
  while (high > low * (1.0 + 1e-13)) {
    const double middle = std::sqrt(low * high);
    if (middle <= low || middle >= high) break;
    (integrate(m, gravity, middle).mass < mass ? low : high) = middle;
  }
  return integrate(m, gravity, std::sqrt(low * high));
}

sphere polytrope_of(double index, double mass, double radius, double gravity) {
  const polytrope p(index, mass, radius, gravity);
  sphere s{mass, radius, p.central_density, {}};
  constexpr int steps = 256;
  for (int i = 0; i <= steps; ++i) s.densities.push_back(p.density(i * radius / steps));
  return s;
}

double radius_of_polytrope(double n, double mass, double k, double gravity) {
  // K is proportional to radius^((3 - n) / n) at constant mass.
  const double unit = polytrope(n, mass, 1.0, gravity).k;
  return std::pow(k / unit, n / (3.0 - n));
}

}  // namespace plx::star::models
