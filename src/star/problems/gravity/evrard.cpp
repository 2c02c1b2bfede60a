// Evrard's collapse: a cold sphere of gas with rho ~ 1 / r at rest. With gravity.self it falls inward, a shock forms
// near the centre and runs outward through the falling gas, and the star behind it settles to equilibrium.
// Gravitational energy becomes kinetic, then thermal energy: a test of the total energy.
//
// rho = M / (2 pi R^2 r), u = 0.05 G M / R. In units of R, M and G, by a fine computation in one dimension: kinetic
// energy is largest, 0.450, at t = 0.88, thermal energy, 1.76, at t = 1.07, the potential energy is lowest, -2.55, at t
// = 1.05; their sum is -0.617.
//
// Source: Evrard (1988), Mon. Not. R. Astron. Soc. 235, 911.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/config.hpp"
#include "num/symmetric.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {
namespace {

class evrard_problem final : public problem {
 public:
  bool needs_ideal_gas() const override { return true; }
  void describe(config_table& t) override {
    t.section("evrard", "Evrard's collapse of a cold sphere of gas");
    t.add("evrard.mass", mass_, {.unit = "mass", .help = "of the sphere", .above = 0});
    t.add("evrard.radius", radius_, {.unit = "length", .help = "of the sphere", .above = 0});
    t.add("evrard.centre", centre_, {.unit = "length", .help = "of the sphere"});
    t.add("evrard.internal_energy", heat_, {.unit = "1", .help = "per mass, over G M / R", .max = 10, .above = 0});
    t.add("evrard.surroundings", thin_,
          {.unit = "1",
           .help = "density around the sphere, of the same temperature, over that at its surface",
           .max = 0.1,
           .above = 0});
  }

  primitive at(const vector& x, double) const override {
    const double r = std::sqrt(symmetric_norm2(x[0] - centre_[0], x[1] - centre_[1], x[2] - centre_[2]));
    const double at_surface = mass_ / (2.0 * std::numbers::pi * radius_ * radius_ * radius_);
    const double energy = heat_ * constant() * mass_ / radius_;
    primitive w;
    // Finite in the centre, where no sample of a cell's average is.
    w.density = r < radius_ ? at_surface * radius_ / std::max(r, 1e-6 * radius_) : thin_ * at_surface;
    w.pressure = (eos().gamma() - 1.0) * energy * w.density;
    return w;
  }

  std::vector<named_value> references(double) const override {
    const double unit = constant() * mass_ * mass_ / radius_;
    return {{"potential_energy_at_start", "energy", -2.0 / 3.0 * unit},
            {"total_energy", "energy", (heat_ - 2.0 / 3.0) * unit}};
  }

 protected:
  // More near the centre, where the density diverges.
  std::array<int, 3> samples(const cell& c, double) const override {
    double far = 0.0;
    for (int a = 0; a < 3; ++a) far = std::max(far, std::abs(c.centre[a] - centre_[a]) / c.width[a]);
    const int n = far < 1.0 ? 16 : far < 4.0 ? 8 : 4;
    return {n, n, n};
  }

  result<void> do_prepare() override {
    const vector width = box_width();
    const double shortest = std::min({width[0], width[1], width[2]});
    if (2.0 * radius_ > shortest)
      return error{fmt::format("evrard.radius = {:g}: expected at most half the box, {:g}", radius_, 0.5 * shortest)};
    return {};
  }

 private:
  double constant() const { return setting().gravity > 0 ? setting().gravity : 1.0; }

  double mass_ = 1.0, radius_ = 0.25, heat_ = 0.05, thin_ = 1e-4;
  vector centre_{0, 0, 0};
};

}  // namespace

std::unique_ptr<problem> make_evrard() { return std::make_unique<evrard_problem>(); }

}  // namespace plx::star
