// The double Mach reflection: a Mach 10 shock, inclined by 60 degrees, runs over a wall that begins a sixth beyond the
// left end of the box. Gas of density 1.4 and pressure 1 ahead of it, so its speed of sound is 1.
//
// Boundaries "problem": on the left and on the wall's side before the wall, the state behind the shock; at the top, the
// two states on both sides of the moving shock. The wall is reflecting; z is periodic.
//
// Source: Woodward & Colella (1984), J. Comput. Phys. 54, 115, section IV: box [0, 4] x [0, 1], gamma 1.4, to t = 0.2.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "base/config.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {
namespace {

class double_mach_problem final : public problem {
 public:
  bool needs_ideal_gas() const override { return true; }
  void describe(config_table& t) override {
    t.section("double_mach", "Double Mach reflection of a strong shock");
    t.add("double_mach.mach", mach_, {.unit = "1", .help = "Mach number of the shock", .above = 1.0});
    t.add("double_mach.wall", wall_,
          {.unit = "code", .help = "distance of the wall's edge, where the shock starts, from the left end", .min = 0});
  }

  primitive at(const vector& x, double t) const override { return distance(x, t) < 0.0 ? behind() : ahead(); }

  bool gives_outside(int face, double) const override { return face == 0 || face == 2 || face == 3; }
  std::optional<primitive> outside(int face, const vector& x, double t) const override {
    if (face == 0) return behind();
    if (face == 3) return at(x, t);
    return x[0] - setting().lower[0] < wall_ ? std::optional(behind()) : std::nullopt;
  }

 protected:
  std::array<int, 3> samples(const cell& c, double t) const override {
    return std::abs(distance(c.centre, t)) < c.width[0] ? std::array{16, 16, 1} : std::array{1, 1, 1};
  }

  result<void> do_prepare() override {
    if (wall_ < box_width()[0]) return {};
    return error{
        fmt::format("double_mach.wall = {:g}: expected less than the width of the box, {:g}", wall_, box_width()[0])};
  }

 private:
  static constexpr double sine = 0.5 * std::numbers::sqrt3, cosine = 0.5;  // of 60 degrees

  /// From the undisturbed shock, positive ahead of it.
  double distance(const vector& x, double t) const {
    return ((x[0] - setting().lower[0]) - wall_) * sine - (x[1] - setting().lower[1]) * cosine - mach_ * t;
  }
  primitive ahead() const {
    primitive w;
    w.density = eos().gamma(), w.pressure = 1.0;
    return w;
  }
  primitive behind() const {
    const double g = eos().gamma(), m2 = mach_ * mach_, ratio = (g + 1.0) * m2 / ((g - 1.0) * m2 + 2.0);
    const double speed = mach_ * (1.0 - 1.0 / ratio);
    primitive w;
    w.density = g * ratio;
    w.pressure = 1.0 + 2.0 * g / (g + 1.0) * (m2 - 1.0);
    w.velocity = {speed * sine, -speed * cosine, 0.0};
    return w;
  }

  double mach_ = 10.0, wall_ = 1.0 / 6.0;
};

}  // namespace

std::unique_ptr<problem> make_double_mach() { return std::make_unique<double_mach_problem>(); }

}  // namespace plx::star
