// Stars: polytrope, two_stars, and in equilibrium by a self-consistent field (model_problem.hpp): rotating_star,
// binary.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>

#include "base/config.hpp"
#include "num/symmetric.hpp"
#include "star/exact/polytrope.hpp"
#include "star/problems/model_problem.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {

// ---- polytrope
//
// A star at rest or in uniform motion: a polytrope, p = K rho^(1 + 1/n), in a thin atmosphere. With gravity.self and
// gamma = 1 + 1/n it stays as it is, apart from the errors of the grid: a test of gravity against pressure. Without
// gravity its pressure is that of G = 1, and it expands.
//
// With polytrope.pulsation it starts with the velocity of a radial mode of small adiabatic oscillations, whose period
// is known (star/exact/polytrope.hpp): a test of the time-dependent balance.

namespace {

class polytrope_problem final : public problem {
 public:
  void describe(config_table& t) override {
    t.section("polytrope", "A star: a sphere in hydrostatic equilibrium");
    t.add("polytrope.index", index_, {.unit = "1", .help = "n of p = K rho^(1 + 1/n)", .min = 0.5, .max = 4.5});
    t.add("polytrope.mass", mass_, {.unit = "mass", .help = "of the star", .above = 0});
    t.add("polytrope.radius", radius_, {.unit = "length", .help = "of the star", .above = 0});
    t.add("polytrope.centre", centre_, {.unit = "length", .help = "of the star at the start"});
    t.add("polytrope.velocity", velocity_, {.unit = "velocity", .help = "of the star and its atmosphere"});
    t.add("polytrope.atmosphere", atmosphere_,
          {.unit = "1", .help = "density around the star over that in its centre", .max = 0.1, .above = 0});
    t.add("polytrope.pulsation", amplitude_,
          {.unit = "1",
           .help = "amplitude of a radial pulsation, of the star's surface over its radius; it starts with the "
                   "largest velocity, outward",
           .min = -0.3,
           .max = 0.3});
    t.add("polytrope.overtone", overtone_,
          {.help = "0: the fundamental mode; n: the mode with n nodes", .min = 0, .max = 20});
  }

  bool has_exact(double t) const override {
    return t == 0 || (setting().gravity > 0 && !has_images(setting()) && amplitude_ == 0);
  }

  primitive at(const vector& x, double t) const override {
    vector d{};
    for (int a = 0; a < 3; ++a) d[a] = (x[a] - centre_[a]) - velocity_[a] * t;
    primitive w;
    const double r = std::sqrt(symmetric_norm2(d[0], d[1], d[2]));
    w.density = std::max(star_->density(r), atmosphere_ * star_->central_density);
    w.pressure = star_->pressure(w.density);
    w.velocity = velocity_;
    if (mode_ && r > 0.0) {
      const double outward = amplitude_ * radius_ * mode_->frequency() * mode_->displacement(r);
      for (int a = 0; a < 3; ++a) w.velocity[a] += outward * d[a] / r;
    }
    return w;
  }

  std::vector<named_value> references(double) const override {
    if (has_images(setting())) return {};
    std::vector<named_value> all{{"central_density", "density", star_->central_density},
                                 {"potential_energy", "energy", star_->potential_energy()}};
    if (mode_) all.push_back({"pulsation_period", "time", mode_->period()});
    return all;
  }

 protected:
  std::array<int, 3> samples(const cell&, double) const override { return {4, 4, 4}; }

  result<void> do_prepare() override {
    if (auto fine = check_mass("polytrope.mass", mass_); !fine) return fine;
    if (auto fine = check_length("polytrope.radius", radius_); !fine) return fine;
    const vector width = box_width();
    const double shortest = std::min({width[0], width[1], width[2]});
    if (2.0 * radius_ > shortest)
      return error{
          fmt::format("polytrope.radius = {:g}: expected at most half the box, {:g}", radius_, 0.5 * shortest)};
    star_.emplace(index_, mass_, radius_, setting().gravity > 0 ? setting().gravity : 1.0);
    if (amplitude_ == 0.0) return {};
    if (!(eos().gamma() > 4.0 / 3.0))
      return error{fmt::format(
          "polytrope.pulsation: expected hydro.gamma above 4/3, found {:g}; below, the star collapses", eos().gamma())};
    mode_.emplace(*star_, eos().gamma(), static_cast<int>(overtone_));
    return {};
  }

 private:
  double index_ = 1.5, mass_ = 1.0, radius_ = 0.25, atmosphere_ = 1e-8, amplitude_ = 0.0;
  std::int64_t overtone_ = 0;
  vector centre_{0, 0, 0}, velocity_{0, 0, 0};
  std::optional<polytrope> star_;
  std::optional<pulsation> mode_;
};

}  // namespace

std::unique_ptr<problem> make_polytrope() { return std::make_unique<polytrope_problem>(); }

// ---- two_stars
//
// Two polytropes on a circular orbit about the middle of the box, counterclockwise in the plane z = 0. Far apart they
// move as two points: separation, phase and angular momentum are Kepler's. The stars are spheres, without tides: closer
// ones begin with an oscillation.

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
    if (has_images(setting())) return {};
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
      if (auto fine = check_mass(fmt::format("two_stars.masses[{}]", s), masses_[s]); !fine) return fine;
      if (auto fine = check_length(fmt::format("two_stars.radii[{}]", s), radii_[s]); !fine) return fine;
    }
    if (auto fine = check_length("two_stars.separation", separation_); !fine) return fine;
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

// ---- rotating_star
//
// A star in uniform rotation about the z axis through the origin.

namespace {

class rotating_star_problem final : public model_problem {
 public:
  rotating_star_problem() : model_problem("rotating_star") {}

  void describe(config_table& t) override {
    t.section("rotating_star", "A star in uniform rotation");
    t.add("rotating_star.mass", mass_, {.unit = "mass", .help = "of the star", .above = 0});
    t.add("rotating_star.radius", radius_,
          {.unit = "length", .help = "at the equator; 0: of a white dwarf, the mass decides", .min = 0});
    t.add("rotating_star.axis_ratio", ratio_,
          {.unit = "1", .help = "polar over equatorial radius, without rotating_star.omega", .max = 1, .above = 0});
    t.add("rotating_star.omega", omega_,
          {.unit = "1/code time", .help = "angular velocity; negative: from rotating_star.axis_ratio"});
    t.add("rotating_star.matter", matter_,
          {.help = "a white dwarf needs eos.kind = white_dwarf",
           .choices = {"polytrope", "core_envelope", "white_dwarf"}});
    t.add("rotating_star.index", index_,
          {.unit = "1", .help = "n of p = K rho^(1 + 1/n), of a polytrope or an envelope", .min = 0.1, .max = 4.5});
    t.add("rotating_star.core_index", core_index_, {.unit = "1", .help = "n of the core", .min = 0.1, .max = 4.5});
    t.add("rotating_star.core_fraction", core_,
          {.unit = "1", .help = "mass of the core over that of the star", .max = 0.99, .above = 0});
    t.add("rotating_star.density_jump", jump_,
          {.unit = "1",
           .help = "density of the core over that of the envelope where they meet, the ratio of their mean molecular "
                   "weights",
           .min = 1,
           .max = 10});
    describe_model(t, false);
  }

 protected:
  std::vector<models::matter_kind> kinds() const override {
    return {models::matter_kind_of(matter_).value_or(models::matter_kind::polytrope)};
  }

  result<models::request> make_request() const override {
    models::request q;
    q.radius = radius_, q.axis_ratio = ratio_, q.omega = omega_;
    models::star_request one;
    one.mass = mass_;
    one.gas.index = index_, one.gas.core_index = core_index_, one.gas.core_fraction = core_, one.gas.jump = jump_;
    if (auto fine = set_kind(one.gas, matter_, "rotating_star.matter"); !fine) return fine.error();
    q.stars.push_back(one);
    return q;
  }

 private:
  double mass_ = 1.0, radius_ = 0.35, ratio_ = 0.8, omega_ = -1.0, index_ = 1.5, core_index_ = 1.5, core_ = 0.5,
         jump_ = 1.0;
  std::string matter_ = "polytrope";
};

}  // namespace

std::unique_ptr<problem> make_rotating_star() { return std::make_unique<rotating_star_problem>(); }

// ---- binary
//
// Two stars in equilibrium on a circular orbit, counterclockwise in the plane z = 0, the first at x > 0, the centre of
// mass at the origin.

namespace {

class binary_problem final : public model_problem {
 public:
  binary_problem() : model_problem("binary") {}

  void describe(config_table& t) override {
    t.section("binary", "Two stars in equilibrium");
    t.add("binary.masses", masses_, {.unit = "mass", .help = "of the stars; the first is at x > 0"});
    t.add("binary.separation", separation_,
          {.unit = "length", .help = "of the centres of mass; 0: from the angular momentum", .min = 0});
    t.add("binary.angular_momentum", momentum_,
          {.unit = "code",
           .help = "of the orbit, m1 m2 / (m1 + m2) separation^2 omega, instead of the separation",
           .min = 0});
    t.add("binary.period", period_, {.unit = "time", .help = "of the orbit, instead of the separation", .min = 0});
    t.add("binary.fillout", fillout_,
          {.unit = "1",
           .help = "above 0: a common envelope, whose surface has the effective potential of L1 plus this part of the "
                   "difference to L2; both stars have the same index, filling 0, and one of them core_fraction 0",
           .min = 0});
    t.add("binary.matter", matter_,
          {.help = "of each star; white dwarfs need eos.kind = white_dwarf",
           .choices = {"polytrope", "core_envelope", "white_dwarf"}});
    t.add(
        "binary.filling", filling_,
        {.unit = "1",
         .help = "distance of the surface from the centre of the star towards the other one, over that of the edge of "
                 "the Roche lobe; 0: of white dwarfs, and of a polytrope with the same K as the other star",
         .min = 0});
    t.add("binary.index", index_,
          {.unit = "1", .help = "n of p = K rho^(1 + 1/n), of a polytrope or an envelope", .min = 0.5, .max = 4.5});
    t.add("binary.core_index", core_index_, {.unit = "1", .help = "n of the core", .min = 0.5, .max = 4.5});
    t.add("binary.core_fraction", core_,
          {.unit = "1",
           .help = "mass of the core over that of the star; 0: below a common envelope, from the mass",
           .min = 0,
           .max = 0.99});
    t.add("binary.density_jump", jump_,
          {.unit = "1",
           .help = "density of the core over that of the envelope where they meet, the ratio of their mean molecular "
                   "weights",
           .min = 1,
           .max = 10});
    t.add("binary.synchronous", synchronous_,
          {.help = "the stars rotate with the orbit; otherwise they move without rotation"});
    describe_model(t, true);
  }

 protected:
  std::vector<models::matter_kind> kinds() const override {
    std::vector<models::matter_kind> all;
    for (const std::string& m : matter_)
      all.push_back(models::matter_kind_of(m).value_or(models::matter_kind::polytrope));
    return all;
  }

  result<models::request> make_request() const override {
    models::request q;
    q.separation = separation_, q.angular_momentum = momentum_, q.period = period_, q.fillout = fillout_;
    q.synchronous = synchronous_;
    for (std::size_t s = 0; s < 2; ++s) {
      models::star_request one;
      one.mass = masses_[s], one.filling = filling_[s];
      one.gas.index = index_[s], one.gas.core_index = core_index_[s], one.gas.core_fraction = core_[s];
      one.gas.jump = jump_[s];
      if (auto fine = set_kind(one.gas, matter_[s], fmt::format("binary.matter[{}]", s)); !fine) return fine.error();
      q.stars.push_back(one);
    }
    return q;
  }

 private:
  std::array<double, 2> masses_{0.5, 0.35}, filling_{0.0, 0.9}, index_{1.5, 1.5}, core_index_{1.5, 1.5},
      core_{0.5, 0.5}, jump_{1.0, 1.0};
  std::array<std::string, 2> matter_{"polytrope", "polytrope"};
  double separation_ = 0.45, momentum_ = 0.0, period_ = 0.0, fillout_ = 0.0;
  bool synchronous_ = true;
};

}  // namespace

std::unique_ptr<problem> make_binary() { return std::make_unique<binary_problem>(); }

}  // namespace plx::star
