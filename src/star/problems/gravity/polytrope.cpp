// A star at rest or in uniform motion: a polytrope, p = K rho^(1 + 1/n), in a thin atmosphere. With gravity.self and
// gamma = 1 + 1/n it stays as it is, apart from the errors of the grid: a test of gravity against pressure. Without
// gravity its pressure is that of G = 1, and it expands.
//
// With polytrope.pulsation it starts with the velocity of a radial mode of small adiabatic oscillations, whose period
// is known (star/exact/pulsation.hpp): a test of the time-dependent balance.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "base/config.hpp"
#include "num/symmetric.hpp"
#include "star/exact/lane_emden.hpp"
#include "star/exact/pulsation.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {
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

  bool has_exact(double t) const override { return t == 0 || (setting().gravity > 0 && amplitude_ == 0); }

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
    std::vector<named_value> all{{"central_density", "density", star_->central_density},
                                 {"potential_energy", "energy", star_->potential_energy()}};
    if (mode_) all.push_back({"pulsation_period", "time", mode_->period()});
    return all;
  }

 protected:
  std::array<int, 3> samples(const cell&, double) const override { return {4, 4, 4}; }

  result<void> do_prepare() override {
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

}  // namespace plx::star
