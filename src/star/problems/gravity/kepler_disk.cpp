// A thick disk of gas in orbit about a point mass (gravity.point_mass) in exact equilibrium: angular velocity
// W(R) = W0 (R / R0)^-a with the Kepler value at R0, pressure p = K rho^gamma, enthalpy h = gamma / (gamma - 1) p /
// rho:
//
//   h(R, z) = h0 + phi(R0, 0) - phi(R, z) + W0^2 R0^2 / (2 - 2 a) ((R / R0)^(2 - 2 a) - 1)
//
// The disk ends where h = 0; around it is thin gas in hydrostatic equilibrium. It stays as it is while its own
// instability grows from rounding. A test of rotation about a point: conservation of angular momentum and energy.
//
// Source: Papaloizou & Pringle (1984), Mon. Not. R. Astron. Soc. 208, 721.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/config.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {
namespace {

class kepler_disk_problem final : public problem {
 public:
  bool needs_ideal_gas() const override { return true; }
  void describe(config_table& t) override {
    t.section("kepler_disk", "A disk in orbit about a point mass (exact: stays as it is)");
    t.add("kepler_disk.radius", radius_, {.unit = "length", .help = "of the circle of largest density", .above = 0});
    t.add("kepler_disk.density", density_, {.unit = "density", .help = "there", .above = 0});
    t.add("kepler_disk.sound_speed", sound_,
          {.unit = "1", .help = "there, over the orbital speed; larger: a thicker disk", .max = 0.5, .above = 0});
    t.add("kepler_disk.exponent", exponent_,
          {.unit = "1",
           .help = "a of the angular velocity ~ R^-a; nearer to 1.5: a wider disk",
           .max = 1.99,
           .above = 1.5});
    t.add("kepler_disk.atmosphere", thin_,
          {.unit = "1", .help = "density around the disk over the largest", .max = 0.1, .above = 0});
    t.add(
        "kepler_disk.ripple", ripple_,
        {.unit = "1", .help = "amplitude of a relative perturbation of the density, cos(2 phi)", .min = 0, .max = 0.5});
  }

  bool has_exact(double t) const override { return t == 0 || ripple_ == 0; }

  primitive at(const vector& x, double) const override {
    const point_mass& m = setting().attractor;
    const double gamma = eos().gamma();
    const vector d{x[0] - m.position[0], x[1] - m.position[1], x[2] - m.position[2]};
    const double r = std::hypot(d[0], d[1]), floor = thin_ * density_;
    primitive w;
    w.density = floor;
    w.pressure = -floor * m.potential(d[0], d[1], d[2]);
    if (!(r > 0.0)) return w;
    const double power = 2.0 - 2.0 * exponent_, ratio = r / radius_;
    const double h = enthalpy() + m.potential(radius_, 0, 0) - m.potential(d[0], d[1], d[2]) +
                     speed() * speed() / power * (std::pow(ratio, power) - 1.0);
    if (!(h > 0.0)) return w;
    const double polytropic = std::pow(h / enthalpy(), 1.0 / (gamma - 1.0));  // density over the largest
    if (density_ * polytropic < floor) return w;
    w.pressure = std::max(w.pressure, (gamma - 1.0) / gamma * density_ * polytropic * h);
    w.density = density_ * polytropic * (1.0 + ripple_ * (d[0] * d[0] - d[1] * d[1]) / (r * r));
    const double turn = speed() / radius_ * std::pow(ratio, -exponent_);
    w.velocity = {-turn * d[1], turn * d[0], 0.0};
    return w;
  }

  std::vector<named_value> references(double) const override {
    return {{"orbital_period", "time", 2.0 * std::numbers::pi * radius_ / speed()},
            {"orbital_speed", "velocity", speed()}};
  }

 protected:
  std::array<int, 3> samples(const cell&, double) const override { return {4, 4, 4}; }

  result<void> do_prepare() override {
    if (!(setting().attractor.strength > 0.0))
      return error{"kepler_disk: expected a point mass to orbit, found none; set gravity.point_mass"};
    return {};
  }

 private:
  /// On the circle of largest density: v^2 = r dphi/dr.
  double speed() const { return radius_ * std::sqrt(-setting().attractor.pull(radius_, 0, 0)); }
  double enthalpy() const {
    const double c = sound_ * speed();
    return c * c / (eos().gamma() - 1.0);
  }

  double radius_ = 1.0, density_ = 1.0, sound_ = 0.2, exponent_ = 1.75, thin_ = 1e-5, ripple_ = 0.0;
};

}  // namespace

std::unique_ptr<problem> make_kepler_disk() { return std::make_unique<kepler_disk_problem>(); }

}  // namespace plx::star
