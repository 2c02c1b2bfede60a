// jeans_wave: a plane sound wave of small amplitude in uniform gas that attracts itself, in a periodic box.
//
// The mean density does not attract, so a uniform state is in equilibrium, and with the speed of sound c a density
// rho (1 + d) obeys w^2 = k^2 c^2 - 4 pi G rho. With w^2 > 0 the wave runs along the direction:
//   d = A cos(k x - w t), v = (w / k) d.
// With w^2 = -s^2 < 0 (a wavelength above Jeans' length c sqrt(pi / G rho)) it is the growing mode:
//   d = A exp(s t) cos(k x), v = -(s / k) A exp(s t) sin(k x).
// p = p0 + c^2 rho d in both.
//
// Source: Jeans (1902), Phil. Trans. R. Soc. A 199, 1.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "base/config.hpp"
#include "star/problems/plane.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {

namespace {

class jeans_wave_problem final : public problem {
 public:
  void describe(config_table& t) override {
    t.section("jeans_wave", "Wave in gas that attracts itself (exact to first order in the amplitude)");
    t.add("jeans_wave.direction", direction_,
          {.unit = "1", .help = "wavelengths per box along x, y, z: [1,0,0] is the x axis, [1,1,1] is oblique"});
    t.add("jeans_wave.amplitude", amplitude_, {.unit = "1", .help = "of the density", .max = 0.1, .above = 0});
    t.add("jeans_wave.density", density_, {.unit = "code", .help = "of the background", .above = 0});
    t.add("jeans_wave.pressure", pressure_, {.unit = "code", .help = "of the background", .above = 0});
  }

  primitive at(const vector& x, double t) const override {
    const double phase = plane_.phase(x);
    const wave_state s = wave_at(phase, t);
    primitive w;
    w.density = density_ * (1.0 + s.density);
    for (std::size_t a = 0; a < 3; ++a) w.velocity[a] = s.velocity * plane_.normal()[a];
    w.pressure = pressure_ + sound_ * sound_ * density_ * s.density;
    return w;
  }

  // To first order: while the amplitude is small.
  bool has_exact(double t) const override { return stable_ || amplitude_ * std::exp(rate_ * t) <= 0.1; }

  profile_table exact_profile(double t) const override {
    profile_table table{{"x", "rho", "vel", "press"}, {}};
    constexpr int n = 256;
    for (int i = 0; i < n; ++i) {
      const double phase = (i + 0.5) / n - 0.5;
      const wave_state s = wave_at(phase, t);
      table.rows.push_back({phase * plane_.wavelength(), density_ * (1.0 + s.density), s.velocity,
                            pressure_ + sound_ * sound_ * density_ * s.density});
    }
    return table;
  }

  std::vector<named_value> references(double) const override {
    const double jeans = sound_ * std::sqrt(std::numbers::pi / (setting().gravity * density_));
    std::vector<named_value> values{{"jeans_length", "length", jeans}, {"wavelength", "length", plane_.wavelength()}};
    if (!stable_)
      values.push_back({"growth_rate", "1/time", rate_});
    else if (rate_ > 0.0)
      values.push_back({"wave_period", "time", 2.0 * std::numbers::pi / rate_});
    return values;
  }

 protected:
  result<void> do_prepare() override {
    if (!(setting().gravity > 0.0))
      return error{"jeans_wave: expected gravity.self = true, found false; linear_wave has waves without gravity"};
    if (setting().grid)
      for (int axis = 0; axis < 3; ++axis)
        if (!setting().grid->is_periodic(axis))
          return error{fmt::format(
              "jeans_wave: expected \"periodic\" in all mesh.sides, found another kind along axis {}", axis)};
    const auto plane = plane_direction::make(direction_, setting(), "jeans_wave.direction");
    if (!plane) return plane.error();
    plane_ = *plane;
    if (const double least = eos().least_pressure(density_); !(pressure_ > least))
      return error{
          fmt::format("jeans_wave.pressure = {:g}: expected more than {:g}, the pressure of cold gas of "
                      "jeans_wave.density = {:g}",
                      pressure_, least, density_)};
    sound_ = eos().sound_speed(density_, pressure_);
    k_ = 2.0 * std::numbers::pi / plane_.wavelength();
    const double square = k_ * k_ * sound_ * sound_ - 4.0 * std::numbers::pi * setting().gravity * density_;
    stable_ = square >= 0.0;
    rate_ = std::sqrt(std::abs(square));
    return {};
  }

  std::array<int, 3> samples(const cell&, double) const override { return plane_.samples(2); }

 private:
  // Relative density and velocity along the direction.
  struct wave_state {
    double density, velocity;
  };
  wave_state wave_at(double phase, double t) const {
    const double kx = 2.0 * std::numbers::pi * phase;
    if (stable_) {
      const double d = amplitude_ * std::cos(kx - rate_ * t);
      return {d, rate_ / k_ * d};
    }
    const double size = amplitude_ * std::exp(rate_ * t);
    return {size * std::cos(kx), -rate_ / k_ * size * std::sin(kx)};
  }

  std::array<int, 3> direction_{1, 0, 0};
  double amplitude_ = 1e-3, density_ = 1, pressure_ = 0.6;
  plane_direction plane_;
  double sound_ = 1, k_ = 1, rate_ = 0;  // rate: w, or s of an unstable wave
  bool stable_ = true;
};

}  // namespace

std::unique_ptr<problem> make_jeans_wave() { return std::make_unique<jeans_wave_problem>(); }

}  // namespace plx::star
