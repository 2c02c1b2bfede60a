// A homogeneous sphere or spheroid of cold gas at rest, in thin gas. With gravity.self its potential and acceleration
// are known in closed form, and a sphere collapses to a point within one free-fall time, homogeneous at all times: a
// test of gravity alone, since pressure does nothing.
//
// Source: Chandrasekhar (1969), Ellipsoidal Figures of Equilibrium, chapter 3; Truelove et al. (1998), Astrophys. J.
// 495, 821, section 5.1 (the collapse).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/config.hpp"
#include "star/exact/ball_box.hpp"
#include "star/exact/spheroid.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {
namespace {

class spheroid_problem final : public problem {
 public:
  bool needs_ideal_gas() const override { return true; }
  void describe(config_table& t) override {
    t.section("spheroid", "Homogeneous sphere or spheroid of cold gas (exact potential and collapse)");
    t.add("spheroid.mass", mass_, {.unit = "mass", .help = "of the spheroid", .above = 0});
    t.add("spheroid.equatorial_radius", equatorial_, {.unit = "length", .help = "along x and y", .above = 0});
    t.add("spheroid.polar_radius", polar_,
          {.unit = "length", .help = "along z; 0: the equatorial radius, a sphere", .min = 0});
    t.add("spheroid.centre", centre_, {.unit = "length", .help = "of the spheroid at the start"});
    t.add("spheroid.velocity", velocity_, {.unit = "velocity", .help = "of all gas"});
    t.add("spheroid.pressure", pressure_,
          {.unit = "1",
           .help = "everywhere, over G M rho / equatorial_radius of the spheroid; small: a collapse",
           .max = 10,
           .above = 0});
    t.add("spheroid.surroundings", thin_,
          {.unit = "1", .help = "density around the spheroid over that inside", .max = 0.1, .above = 0});
  }

  // The surroundings and the small pressure are omitted of the exact solution, which ends before the density diverges.
  bool has_exact(double t) const override {
    return t == 0 || (setting().gravity > 0 && polar_axis() == equatorial_ && t <= 0.99 * fall().time());
  }

  primitive at(const vector& x, double t) const override {
    const vector d = from_centre(x, t);
    const double ratio = t > 0 ? fall().at(t).ratio : 1.0, a = ratio * equatorial_, c = ratio * polar_axis();
    const double inside = (d[0] * d[0] + d[1] * d[1]) / (a * a) + d[2] * d[2] / (c * c);
    return state(d, t, inside <= 1.0 ? 1.0 : 0.0);
  }

  void average(const cell& c, double t, double* u, std::ptrdiff_t stride) const override {
    const vector d = from_centre(c.centre, t);
    const double ratio = t > 0 ? fall().at(t).ratio : 1.0;
    const vector axes{ratio * equatorial_, ratio * equatorial_, ratio * polar_axis()};
    vector scaled{}, width{};  // in which the spheroid is a unit ball
    for (int a = 0; a < 3; ++a) scaled[a] = d[a] / axes[a], width[a] = c.width[a] / axes[a];
    to_conserved(eos(), state(d, t, ball_fraction(1.0, scaled, width)), species_count(), u, stride);
  }

  std::vector<named_value> references(double t) const override {
    const double g = setting().gravity;
    if (!(g > 0)) return {};
    const double ratio = t > 0 && has_exact(t) ? fall().at(t).ratio : 1.0;
    std::vector<named_value> all{{"free_fall_time", "time", fall().time()}};
    if (has_exact(t)) {
      all.push_back({"radius", "length", ratio * equatorial_});
      all.push_back({"density", "density", body().density() / (ratio * ratio * ratio)});
      all.push_back({"potential_energy", "energy", body().potential_energy() / ratio});
    }
    return all;
  }

  profile_table exact_profile(double t) const override {
    if (!has_exact(t)) return {};
    profile_table table{{"r", "rho", "vel", "press"}, {}};
    constexpr int n = 400;
    for (int i = 0; i < n; ++i) {
      const double r = 1.5 * equatorial_ * (i + 0.5) / n;
      vector x{};
      for (int a = 0; a < 3; ++a) x[a] = centre_[a] + velocity_[a] * t;
      x[0] += r;
      const primitive w = at(x, t);
      table.rows.push_back({r, w.density, w.velocity[0] - velocity_[0], w.pressure});
    }
    return table;
  }

 protected:
  result<void> do_prepare() override {
    const vector width = box_width();
    for (int a = 0; a < 3; ++a) {
      const double radius = a == 2 ? polar_axis() : equatorial_;
      if (2.0 * radius > width[a])
        return error{fmt::format("spheroid.{}_radius = {:g}: expected at most half the box, {:g}",
                                 a == 2 && polar_ > 0 ? "polar" : "equatorial", radius, 0.5 * width[a])};
    }
    return {};
  }

 private:
  double polar_axis() const { return polar_ > 0 ? polar_ : equatorial_; }
  double constant() const { return setting().gravity > 0 ? setting().gravity : 1.0; }
  spheroid body() const { return {equatorial_, polar_axis(), mass_, constant()}; }
  free_fall fall() const { return {equatorial_, mass_, constant()}; }

  vector from_centre(const vector& x, double t) const {
    vector d{};
    for (int a = 0; a < 3; ++a) d[a] = (x[a] - centre_[a]) - velocity_[a] * t;
    return d;
  }

  /// A mixture: `inside` of it is gas of the spheroid.
  primitive state(const vector& d, double t, double inside) const {
    const double density = body().density(), thin = thin_ * density;
    primitive w;
    w.velocity = velocity_;
    w.pressure = pressure_ * constant() * mass_ * density / equatorial_;
    w.density = inside * density + (1.0 - inside) * thin;
    if (t == 0) return w;
    const free_fall::state now = fall().at(t);
    const double denser = 1.0 / (now.ratio * now.ratio * now.ratio);
    w.density = inside * density * denser + (1.0 - inside) * thin;
    w.pressure *= inside > 0.5 ? std::pow(denser, eos().gamma()) : 1.0;
    if (inside > 0.0)
      for (int a = 0; a < 3; ++a) w.velocity[a] += d[a] * now.rate / now.ratio;
    return w;
  }

  double mass_ = 1.0, equatorial_ = 0.25, polar_ = 0.0, pressure_ = 1e-5, thin_ = 1e-5;
  vector centre_{0, 0, 0}, velocity_{0, 0, 0};
};

}  // namespace

std::unique_ptr<problem> make_spheroid() { return std::make_unique<spheroid_problem>(); }

}  // namespace plx::star
