// A plane wave of small amplitude on a uniform background, periodic along every axis.
#include <fmt/format.h>

#include <optional>

#include "base/config.hpp"
#include "star/exact/linear_wave.hpp"
#include "star/problems/plane/plane.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {
namespace {

class linear_wave_problem final : public problem {
 public:
  void describe(config_table& t) override {
    t.section("linear_wave", "Linear wave (exact to first order in the amplitude)");
    t.add("linear_wave.wave", wave_,
          {.help = "which wave; the two shear waves are transverse to each other",
           .choices = {"sound", "entropy", "shear1", "shear2"}});
    t.add("linear_wave.sign", sign_,
          {.unit = "1", .help = "1 runs along the direction, -1 against it", .min = -1, .max = 1});
    t.add("linear_wave.direction", direction_,
          {.unit = "1", .help = "wavelengths per box along x, y, z: [1,0,0] is the x axis, [1,1,1] is oblique"});
    t.add("linear_wave.amplitude", amplitude_,
          {.unit = "1", .help = "relative to density (sound, entropy) or sound speed (shear)", .max = 0.5, .above = 0});
    t.add("linear_wave.density", density_, {.unit = "code", .help = "of the background", .above = 0});
    t.add("linear_wave.pressure", pressure_, {.unit = "code", .help = "of the background", .above = 0});
    t.add("linear_wave.flow", flow_,
          {.unit = "code",
           .help = "speed of the background along sign * direction; entropy and shear waves move with it"});
  }

  primitive at(const vector& x, double t) const override {
    const wave_state s = wave().at(plane_.phase(x), t);
    primitive w;
    w.density = s.rho;
    w.velocity = s.velocity;
    w.pressure = s.pressure;
    return w;
  }

  bool has_exact(double) const override { return true; }

  profile_table exact_profile(double t) const override {
    profile_table table{{"x", "rho", "vel1", "vel2", "vel3", "press"}, {}};
    constexpr int n = 256;
    for (int i = 0; i < n; ++i) {
      const double phase = (i + 0.5) / n - 0.5;
      const wave_state s = wave().at(phase, t);
      table.rows.push_back(
          {phase * plane_.wavelength(), s.rho, s.velocity[0], s.velocity[1], s.velocity[2], s.pressure});
    }
    return table;
  }

  std::vector<named_value> references(double) const override {
    std::vector<named_value> values{{"wave_speed", "code", wave().speed()}};
    if (wave().speed() != 0) values.push_back({"wave_period", "code", wave().period()});
    return values;
  }

 protected:
  result<void> do_prepare() override {
    if (sign_ == 0) return error{"linear_wave.sign: expected 1 or -1, found 0"};
    const auto plane = plane_direction::make(direction_, setting(), "linear_wave.direction");
    if (!plane) return plane.error();
    plane_ = *plane;
    const wave_kind kind = wave_ == "sound"     ? wave_kind::sound
                           : wave_ == "entropy" ? wave_kind::entropy
                           : wave_ == "shear1"  ? wave_kind::shear_first
                                                : wave_kind::shear_second;
    if (const double least = eos().least_pressure(density_); !(pressure_ > least))
      return error{
          fmt::format("linear_wave.pressure = {:g}: expected more than {:g}, the pressure of cold gas of "
                      "linear_wave.density = {:g}",
                      pressure_, least, density_)};
    const double sound = eos().sound_speed(density_, pressure_);
    solution_.emplace(linear_wave_parameters{kind, sign_, amplitude_, density_, pressure_, sound, flow_,
                                             plane_.normal(), plane_.wavelength()});
    return {};
  }

  std::array<int, 3> samples(const cell&, double) const override { return plane_.samples(2); }

 private:
  const linear_wave& wave() const { return *solution_; }

  std::string wave_ = "sound";
  int sign_ = 1;
  std::array<int, 3> direction_{1, 0, 0};
  double amplitude_ = 1e-6, density_ = 1, pressure_ = 0.6, flow_ = 0;
  plane_direction plane_;
  std::optional<linear_wave> solution_;
};

}  // namespace

std::unique_ptr<problem> make_linear_wave() { return std::make_unique<linear_wave_problem>(); }

}  // namespace plx::star
