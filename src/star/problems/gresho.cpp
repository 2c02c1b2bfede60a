// Gresho's vortex: a vortex about an axis along z in which the pressure balances the centrifugal force, alone or
// carried by a uniform flow. It stays as it is: a test of the conservation of angular momentum, and of flow at low Mach
// numbers.
//
// The speed is 5 r for r < 0.2, 2 - 5 r for r < 0.4 and 0 beyond, times gresho.speed. gresho.mach sets the pressure.
//
// Source: Gresho & Chan (1990), Int. J. Numer. Methods Fluids 11, 621; Miczek, Roepke & Edelmann (2015), Astron.
// Astrophys. 576, A50.
#include <algorithm>
#include <cmath>

#include "base/config.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {
namespace {

class gresho_problem final : public problem {
 public:
  bool needs_ideal_gas() const override { return true; }
  void describe(config_table& t) override {
    t.section("gresho", "Gresho's vortex (exact: stays as it is)");
    t.add("gresho.speed", speed_, {.unit = "velocity", .help = "largest speed of rotation", .above = 0});
    t.add("gresho.mach", mach_,
          {.unit = "1", .help = "largest speed over the speed of sound there", .max = 1.5, .above = 0});
    t.add("gresho.density", density_, {.unit = "density", .help = "of the gas", .above = 0});
    t.add("gresho.scale", scale_,
          {.unit = "length", .help = "2.5 radii of the vortex; 1: it ends at r = 0.4", .above = 0});
    t.add("gresho.centre", centre_, {.unit = "length", .help = "a point of the axis at the start"});
    t.add("gresho.velocity", velocity_, {.unit = "velocity", .help = "of the flow that carries the vortex"});
  }

  bool has_exact(double) const override { return true; }

  primitive at(const vector& x, double t) const override {
    const vector width = box_width();
    double d[2];
    for (int a = 0; a < 2; ++a) {  // the nearest image in a periodic box
      d[a] = (x[a] - centre_[a]) - velocity_[a] * t;
      d[a] -= width[a] * std::nearbyint(d[a] / width[a]);
    }
    const double r = std::sqrt(d[0] * d[0] + d[1] * d[1]) / scale_;
    const double spin = r < 0.2 ? 5.0 : r < 0.4 ? 2.0 / r - 5.0 : 0.0;  // speed over r
    // The pressure at r less that in the centre, for unit speed and density.
    const double inner = 12.5 * std::min(r, 0.2) * std::min(r, 0.2), to = std::min(r, 0.4);
    const double outer = r < 0.2 ? 0.0 : 12.5 * (to * to - 0.04) - 20.0 * (to - 0.2) + 4.0 * std::log(to / 0.2);
    const double centre = 1.0 / (eos().gamma() * mach_ * mach_) - 0.5;
    primitive w;
    w.density = density_;
    w.velocity = velocity_;
    w.velocity[0] -= speed_ * spin * d[1] / scale_;
    w.velocity[1] += speed_ * spin * d[0] / scale_;
    w.pressure = density_ * speed_ * speed_ * (centre + inner + outer);
    return w;
  }

 protected:
  std::array<int, 3> samples(const cell&, double) const override { return {4, 4, 1}; }

  result<void> do_prepare() override {
    const double least = 1.0 / (eos().gamma() * mach_ * mach_) - 0.5;
    if (!(least > 0.0))
      return error{
          "gresho.mach: expected below (2 / gamma)^(1/2), above which the pressure in the centre is negative; "
          "lower it"};
    const vector width = box_width();
    if (0.8 * scale_ > std::min(width[0], width[1]))
      return error{"gresho.scale: expected a vortex, 0.4 scales wide, inside the box; lower it, or widen the box"};
    return {};
  }

 private:
  double speed_ = 1.0, mach_ = 0.3, density_ = 1.0, scale_ = 1.0;
  vector centre_{0, 0, 0}, velocity_{0, 0, 0};
};

}  // namespace

std::unique_ptr<problem> make_gresho() { return std::make_unique<gresho_problem>(); }

}  // namespace plx::star
