// A dense body in thin gas, both carried by the same uniform flow through a periodic box. It tests what no problem at
// rest or along an axis does: supersonic flow in any direction, through refinement boundaries, at a large contrast.
// Density and speed of sound in the middle of the body are 1.
//
// Three bodies: `contact`, a ball in pressure equilibrium with its surroundings, which is carried unchanged (exact at
// all times, also as averages); `ball`, a ball as warm as its surroundings, which expands into them; `star`, the
// profile (sin x / x)^(3/2) with p ~ rho^gamma, without the gravity that would hold it together.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/config.hpp"
#include "num/symmetric.hpp"
#include "star/exact/ball_box.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {
namespace {

class moving_body_problem final : public problem {
 public:
  bool needs_ideal_gas() const override { return true; }
  void describe(config_table& t) override {
    t.section("moving_body", "Dense body in a fast uniform flow");
    t.add("moving_body.profile", profile_,
          {.help = "of density and pressure: a ball in pressure equilibrium with its surroundings (contact; exact), a "
                   "ball as warm as they are, or a star-like profile",
           .choices = {"contact", "ball", "star"}});
    t.add("moving_body.mach", mach_,
          {.unit = "1", .help = "speed of the flow over that of sound in the middle of the body", .min = 0});
    t.add("moving_body.direction", direction_, {.unit = "1", .help = "of the flow; any length but zero"});
    t.add("moving_body.contrast", contrast_,
          {.unit = "1", .help = "density in the middle of the body over that of its surroundings", .above = 0});
    t.add("moving_body.radius", radius_, {.unit = "code", .help = "of the body", .above = 0});
    t.add("moving_body.centre", centre_, {.unit = "code", .help = "of the body at the start"});
  }

  bool has_exact(double t) const override { return t == 0 || profile_ == "contact"; }

  primitive at(const vector& x, double t) const override {
    const vector d = from_body(x, t);
    return state(std::sqrt(symmetric_norm2(d[0], d[1], d[2])) / radius_);
  }

  void average(const cell& c, double t, double* u, std::ptrdiff_t stride) const override {
    if (profile_ == "star") return problem::average(c, t, u, stride);
    const double inside = ball_fraction(radius_, from_body(c.centre, t), c.width);
    primitive in = state(0.0);
    const primitive out = state(2.0);
    in.density = inside * in.density + (1.0 - inside) * out.density;
    in.pressure = inside * in.pressure + (1.0 - inside) * out.pressure;
    to_conserved(eos(), in, species_count(), u, stride);
  }

 protected:
  std::array<int, 3> samples(const cell&, double) const override { return {2, 2, 2}; }

  result<void> do_prepare() override {
    const vector width = box_width();
    const double shortest = std::min({width[0], width[1], width[2]});
    if (2.0 * radius_ > shortest)
      return error{
          fmt::format("moving_body.radius = {:g}: expected at most half the box, {:g}", radius_, 0.5 * shortest)};
    const double length = std::sqrt(symmetric_norm2(direction_[0], direction_[1], direction_[2]));
    if (!(length > 0.0) || !std::isfinite(length))
      return error{fmt::format("moving_body.direction = [{:g}, {:g}, {:g}]: expected a finite vector other than zero",
                               direction_[0], direction_[1], direction_[2])};
    for (int a = 0; a < 3; ++a) velocity_[a] = mach_ * (direction_[a] / length);
    return {};
  }

 private:
  /// At a distance of r radii from the middle of the body.
  primitive state(double r) const {
    const double gamma = eos().gamma(), thin = 1.0 / contrast_;
    primitive w;
    w.velocity = velocity_;
    if (profile_ == "star") {
      const double a = std::numbers::pi * r;
      w.density = std::max(r < 1.0 ? std::pow(a < 1e-9 ? 1.0 : std::sin(a) / a, 1.5) : 0.0, thin);
      w.pressure = std::pow(w.density, gamma) / gamma;
    } else {
      w.density = r < 1.0 ? 1.0 : thin;
      w.pressure = (profile_ == "contact" ? 1.0 : w.density) / gamma;
    }
    return w;
  }

  // Position relative to the nearest image of the body.
  vector from_body(const vector& x, double t) const {
    const vector width = box_width();
    vector d{};
    for (int a = 0; a < 3; ++a) {
      const double away = (x[a] - centre_[a]) - velocity_[a] * t;
      d[a] = away - width[a] * std::nearbyint(away / width[a]);
    }
    return d;
  }

  std::string profile_ = "contact";
  double mach_ = 2.0, contrast_ = 1e6, radius_ = 0.25;
  vector direction_{1, 1, 1}, centre_{0, 0, 0}, velocity_{};
};

}  // namespace

std::unique_ptr<problem> make_moving_body() { return std::make_unique<moving_body_problem>(); }

}  // namespace plx::star
