// The blob test: a dense, cold cloud in pressure equilibrium with a supersonic wind, which compresses it and tears it
// apart by Rayleigh-Taylor and Kelvin-Helmholtz instabilities. Density and speed of sound of the wind are 1.
//
// The growth of the largest Kelvin-Helmholtz mode takes tau = 1.6 (2 R sqrt(contrast) / v), R the cloud's radius and v
// the wind's speed.
//
// Source: Agertz et al. (2007), Mon. Not. R. Astron. Soc. 380, 963: contrast 10, Mach 2.7, gamma 5/3.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/config.hpp"
#include "num/symmetric.hpp"
#include "star/exact/ball_box.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {
namespace {

class blob_problem final : public problem {
 public:
  bool needs_ideal_gas() const override { return true; }
  void describe(config_table& t) override {
    t.section("blob", "Cold cloud in a supersonic wind");
    t.add("blob.contrast", contrast_, {.unit = "1", .help = "density of the cloud over that of the wind", .above = 0});
    t.add("blob.mach", mach_, {.unit = "1", .help = "speed of the wind, along x, over its speed of sound", .min = 0});
    t.add("blob.radius", radius_, {.unit = "code", .help = "of the cloud", .above = 0});
    t.add("blob.centre", centre_, {.unit = "code", .help = "of the cloud at the start"});
  }

  primitive at(const vector& x, double) const override {
    const double r2 = symmetric_norm2(x[0] - centre_[0], x[1] - centre_[1], x[2] - centre_[2]);
    return state_of(r2 < radius_ * radius_);
  }

  void average(const cell& c, double, double* u, std::ptrdiff_t stride) const override {
    const vector from{c.centre[0] - centre_[0], c.centre[1] - centre_[1], c.centre[2] - centre_[2]};
    const double inside = ball_fraction(radius_, from, c.width);
    double cloud[variable_count(0)], wind[variable_count(0)];
    to_conserved(eos(), state_of(true), 0, cloud, 1);
    to_conserved(eos(), state_of(false), 0, wind, 1);
    for (int v = 0; v < variable_count(0); ++v) u[v * stride] = inside * cloud[v] + (1.0 - inside) * wind[v];
    u[i_tracer * stride] = eos().tracer(u[i_density * stride], internal_energy(u, stride));
  }

  primitive inflow(int) const override { return state_of(false); }

  std::vector<named_value> references(double) const override {
    return {{"growth_time", "code", 1.6 * 2.0 * radius_ * std::sqrt(contrast_) / mach_}};
  }

 protected:
  result<void> do_prepare() override {
    const vector width = box_width();
    const double shortest = std::min({width[0], width[1], width[2]});
    if (2.0 * radius_ <= shortest) return {};
    return error{fmt::format("blob.radius = {:g}: expected at most half the box, {:g}", radius_, 0.5 * shortest)};
  }

 private:
  /// The cloud, or the wind.
  primitive state_of(bool cloud) const {
    primitive w;
    w.density = cloud ? contrast_ : 1.0;
    w.pressure = 1.0 / eos().gamma();
    w.velocity[0] = cloud ? 0.0 : mach_;
    return w;
  }

  double contrast_ = 10.0, mach_ = 2.7, radius_ = 0.1;
  vector centre_{0, 0, 0};
};

}  // namespace

std::unique_ptr<problem> make_blob() { return std::make_unique<blob_problem>(); }

}  // namespace plx::star
