// The Kelvin-Helmholtz instability of a smooth shear layer: flow -U0 below and +U0 above along x, walls below and
// above, started with the growing mode itself, so that the growth rate is exact from the first step.
#include <cmath>
#include <numbers>
#include <optional>

#include "base/config.hpp"
#include "star/exact/shear_layer.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {
namespace {

class kelvin_helmholtz_problem final : public problem {
 public:
  bool needs_ideal_gas() const override { return true; }
  void describe(config_table& t) override {
    t.section("kelvin_helmholtz", "Kelvin-Helmholtz instability of a tanh shear layer (growth rate known)");
    t.add("kelvin_helmholtz.speed", speed_,
          {.unit = "code", .help = "flow speed on each side, half the difference", .above = 0});
    t.add("kelvin_helmholtz.mach", mach_, {.unit = "1", .help = "speed over sound speed", .max = 0.95, .above = 0});
    t.add("kelvin_helmholtz.thickness", thickness_, {.unit = "code", .help = "a in tanh(y / a)", .above = 0});
    t.add("kelvin_helmholtz.density", density_, {.unit = "code", .help = "of the gas", .above = 0});
    t.add("kelvin_helmholtz.amplitude", amplitude_,
          {.unit = "1", .help = "largest transverse velocity at the start over speed", .min = 0, .max = 0.5});
    t.add("kelvin_helmholtz.waves", waves_,
          {.unit = "1", .help = "wavelengths per box along x", .min = 1, .max = 1000});
    t.add("kelvin_helmholtz.dye", dye_, {.help = "carry two species that mark the gas below and above"});
  }

  int species_count() const override { return dye_ ? 2 : 0; }
  // The linear solution holds while the perturbation is small.
  bool has_exact(double t) const override { return t == 0 || growth(t) <= 0.02; }

  primitive at(const vector& x, double t) const override {
    const vector centre = box_centre();
    const double y = x[1] - centre[1];
    const shear_layer::mode mode = layer_->at(y);
    const double turns = waves_ * (x[0] - centre[0]) / box_width()[0];
    const double angle = 2 * std::numbers::pi * (turns - std::nearbyint(turns));
    const std::complex<double> wave(std::cos(angle), std::sin(angle));
    const double size = growth(t);
    const auto real = [&](const std::complex<double>& q) {
      return size * (q.real() * wave.real() - q.imag() * wave.imag());
    };
    primitive w;
    w.density = density_ + real(mode.rho);
    w.velocity = {layer_->flow(y) + real(mode.velocity_x), real(mode.velocity_y), 0};
    const double c = speed_ / mach_;
    w.pressure = density_ * c * c / eos().gamma() + real(mode.pressure);
    w.fraction[0] = 0.5 * (1 - std::tanh(y / thickness_));
    w.fraction[1] = 1 - w.fraction[0];
    return w;
  }

  std::vector<named_value> references(double) const override {
    return {{"growth_rate", "code", layer_->growth_rate()}};
  }

 protected:
  result<void> do_prepare() override {
    const vector width = box_width();
    auto layer = shear_layer::solve({speed_, thickness_, width[0] / waves_, 0.5 * width[1], density_, speed_ / mach_});
    if (!layer) return error{"kelvin_helmholtz: " + layer.error().message};
    layer_ = *std::move(layer);
    return {};
  }

  std::array<int, 3> samples(const cell&, double) const override { return {2, 2, 1}; }

 private:
  double growth(double t) const { return amplitude_ * std::exp(layer_->growth_rate() * t); }

  double speed_ = 1, mach_ = 0.5, thickness_ = 0.07, density_ = 1, amplitude_ = 1e-3;
  int waves_ = 1;
  bool dye_ = false;
  std::optional<shear_layer> layer_;
};

}  // namespace

std::unique_ptr<problem> make_kelvin_helmholtz() { return std::make_unique<kelvin_helmholtz_problem>(); }

}  // namespace plx::star
