// Two polytropes on a circular orbit about the middle of the box, counterclockwise in the plane z = 0. Far apart they
// move as two points: separation, phase and angular momentum are Kepler's. The stars are spheres, without tides: closer
// ones begin with an oscillation.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "base/config.hpp"
#include "num/symmetric.hpp"
#include "star/exact/lane_emden.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {
namespace {

class two_stars_problem final : public problem {
 public:
  void describe(config_table& t) override {
    t.section("two_stars", "Two stars on a circular orbit");
    t.add("two_stars.index", index_, {.unit = "1", .help = "n of p = K rho^(1 + 1/n)", .min = 0.5, .max = 4.5});
    t.add("two_stars.masses", masses_, {.unit = "mass", .help = "of the stars; the first starts at x > 0"});
    t.add("two_stars.radii", radii_, {.unit = "length", .help = "of the stars"});
    t.add("two_stars.separation", separation_, {.unit = "length", .help = "of their centres", .above = 0});
    t.add("two_stars.synchronous", synchronous_,
          {.help = "the stars rotate with the orbit; otherwise they move without rotation"});
    t.add("two_stars.atmosphere", atmosphere_,
          {.unit = "1", .help = "density around the stars over the smaller central one", .max = 0.1, .above = 0});
  }

  primitive at(const vector& x, double) const override {
    const vector middle = box_centre();
    const vector d{x[0] - middle[0], x[1] - middle[1], x[2] - middle[2]};
    primitive w;
    w.density = atmosphere_ * std::min(stars_[0]->central_density, stars_[1]->central_density);
    w.pressure = std::max(stars_[0]->pressure(w.density), stars_[1]->pressure(w.density));
    for (int s = 0; s < 2; ++s) {
      const vector from{d[0] - place(s), d[1], d[2]};
      const double density = stars_[s]->density(std::sqrt(symmetric_norm2(from[0], from[1], from[2])));
      if (density <= w.density) continue;
      w.density = density;
      w.pressure = stars_[s]->pressure(density);
      const double turn = angular_velocity();
      w.velocity = {synchronous_ ? -turn * d[1] : 0.0, synchronous_ ? turn * d[0] : turn * place(s), 0.0};
    }
    return w;
  }

  result<double> orbital_period() const override { return 2.0 * std::numbers::pi / angular_velocity(); }
  int star_count() const override { return 2; }
  int star_at(const vector& x) const override {
    const vector middle = box_centre();
    for (int s = 0; s < 2; ++s)
      if (std::sqrt(symmetric_norm2(x[0] - middle[0] - place(s), x[1] - middle[1], x[2] - middle[2])) < radii_[s])
        return s;
    return -1;
  }

  std::vector<named_value> references(double) const override {
    const double m1 = masses_[0], m2 = masses_[1], reduced = m1 * m2 / (m1 + m2);
    return {{"orbital_period", "time", 2.0 * std::numbers::pi / angular_velocity()},
            {"separation", "length", separation_},
            {"orbital_angular_momentum", "code", reduced * separation_ * separation_ * angular_velocity()},
            {"potential_energy", "energy",
             stars_[0]->potential_energy() + stars_[1]->potential_energy() - constant() * m1 * m2 / separation_}};
  }

 protected:
  std::array<int, 3> samples(const cell&, double) const override { return {4, 4, 4}; }

  result<void> do_prepare() override {
    for (int s = 0; s < 2; ++s) {
      if (!(masses_[s] > 0.0) || !(radii_[s] > 0.0))
        return error{fmt::format("two_stars.masses, two_stars.radii: expected numbers above 0, found {:g} and {:g}",
                                 masses_[s], radii_[s])};
    }
    if (radii_[0] + radii_[1] > separation_)
      return error{fmt::format("two_stars.separation = {:g}: expected at least the sum of the radii, {:g}", separation_,
                               radii_[0] + radii_[1])};
    const vector width = box_width();
    for (int s = 0; s < 2; ++s)
      if (std::abs(place(s)) + radii_[s] > 0.5 * std::min(width[0], width[1]))
        return error{fmt::format("two_stars.separation = {:g}: expected an orbit inside the box, {:g} wide",
                                 separation_, std::min(width[0], width[1]))};
    for (int s = 0; s < 2; ++s) stars_[s].emplace(index_, masses_[s], radii_[s], constant());
    return {};
  }

 private:
  double constant() const { return setting().gravity > 0 ? setting().gravity : 1.0; }
  double total() const { return masses_[0] + masses_[1]; }
  double angular_velocity() const {
    return std::sqrt(constant() * total() / (separation_ * separation_ * separation_));
  }
  /// x of the star's centre at the start, from the centre of mass.
  double place(int s) const {
    return s == 0 ? separation_ * masses_[1] / total() : -separation_ * masses_[0] / total();
  }

  double index_ = 1.5, separation_ = 0.5, atmosphere_ = 1e-6;
  std::array<double, 2> masses_{0.5, 0.5}, radii_{0.12, 0.12};
  bool synchronous_ = false;
  std::optional<polytrope> stars_[2];
};

}  // namespace

std::unique_ptr<problem> make_two_stars() { return std::make_unique<two_stars_problem>(); }

}  // namespace plx::star
