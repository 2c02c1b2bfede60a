// A point explosion: energy is added as heat in a sphere of fixed physical radius, so that the same problem is solved
// at every resolution. The part of each cell inside the sphere is computed in closed form: the energy is exact to
// rounding on any mesh.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "base/config.hpp"
#include "num/symmetric.hpp"
#include "star/exact/ball_box.hpp"
#include "star/exact/sedov.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {
namespace {

class sedov_problem final : public problem {
 public:
  bool needs_ideal_gas() const override { return true; }
  void describe(config_table& t) override {
    t.section("sedov", "Sedov-Taylor blast wave (exact for a point source)");
    t.add("sedov.energy", energy_, {.unit = "code", .help = "of the explosion, in the whole sphere", .above = 0});
    t.add("sedov.radius", radius_, {.unit = "code", .help = "of the sphere that contains the energy", .above = 0});
    t.add("sedov.density", density_, {.unit = "code", .help = "of the gas at rest", .above = 0});
    t.add("sedov.pressure", pressure_,
          {.unit = "code", .help = "of the gas at rest; the exact solution has none", .above = 0});
    t.add("sedov.centre", centre_, {.unit = "code", .help = "of the explosion"});
    t.add(
        "sedov.start_time", start_time_,
        {.unit = "code",
         .help =
             "above 0: start from the exact solution at this time, with a density of at least 1e-3 of the gas at rest",
         .min = 0});
  }

  primitive at(const vector& x, double t) const override {
    const vector d{x[0] - centre_[0], x[1] - centre_[1], x[2] - centre_[2]};
    const double r = std::sqrt(symmetric_norm2(d[0], d[1], d[2]));
    primitive w;
    w.density = density_;
    const double age = t + start_time_;  // of the blast
    w.pressure = r < radius_ && age == 0 ? pressure_ + (eos().gamma() - 1) * energy_density() : pressure_;
    if (age == 0) return w;
    const radial_state s = solution_->at(r, age);
    // The exact centre is empty and infinitely hot. A run that starts from it gets a small density there, otherwise
    // time steps would vanish.
    w.density = std::max(s.rho, t == 0 ? 1e-3 * density_ : 1e-100);
    w.pressure = std::max(s.pressure, pressure_);
    for (int axis = 0; axis < 3; ++axis) w.velocity[axis] = r > 0 ? s.velocity * (d[axis] / r) : 0;
    return w;
  }

  bool has_exact(double) const override { return true; }

  void average(const cell& c, double t, double* u, std::ptrdiff_t stride) const override {
    if (t + start_time_ > 0) return problem::average(c, t, u, stride);
    vector d{};
    for (int axis = 0; axis < 3; ++axis) d[axis] = c.centre[axis] - centre_[axis];
    const double heat =
        eos().internal_energy(density_, pressure_) + energy_density() * ball_fraction(radius_, d, c.width);
    u[i_density * stride] = density_;
    for (int axis = 0; axis < 3; ++axis) u[(i_momentum + axis) * stride] = 0;
    u[i_energy * stride] = heat;
    u[i_tracer * stride] = eos().tracer(density_, heat);
  }

  profile_table exact_profile(double t) const override {
    const double age = t + start_time_;
    if (age <= 0) return {};
    profile_table table{{"r", "rho", "vel", "press"}, {}};
    const double shock = solution_->shock_radius(age);
    constexpr int n = 1000;
    for (int i = 0; i <= n; ++i) {  // denser towards the shock, from inside
      const double s = 1 - double(i) / n, r = shock * (1 - s * s);
      const radial_state q = solution_->at(r, age);
      table.rows.push_back({r, q.rho, q.velocity, std::max(q.pressure, pressure_)});
    }
    for (const double r : {shock * (1 + 1e-9), std::max(1.5 * shock, reach())}) {
      table.rows.push_back({r, density_, 0, pressure_});
    }
    return table;
  }

  std::vector<named_value> references(double t) const override {
    std::vector<named_value> values{{"alpha", "1", solution_->alpha()}};
    const double age = t + start_time_;
    if (age > 0) {
      values.push_back({"shock_radius", "code", solution_->shock_radius(age)});
      values.push_back({"shock_speed", "code", solution_->shock_speed(age)});
    }
    return values;
  }

 protected:
  result<void> do_prepare() override {
    for (int axis = 0; axis < 3; ++axis) {
      if (centre_[axis] < setting().lower[axis] || centre_[axis] > setting().upper[axis]) {
        return error{"sedov.centre: expected a point inside of the box, found " + fmt::format("{:g}", centre_[axis]) +
                     " along axis " + std::to_string(axis + 1) + "; see mesh.lower and mesh.upper"};
      }
    }
    if (eos().gamma() >= 7) {
      return error{"hydro.gamma: expected a value below 7 for the exact Sedov solution, found " +
                   fmt::format("{:g}", eos().gamma())};
    }
    solution_.emplace(eos().gamma(), density_, energy_);
    const double start = start_time_ > 0 ? solution_->shock_radius(start_time_) : radius_;
    if (start >= 0.5 * setting().finest_width || start_time_ == 0) return {};
    return error{
        fmt::format("sedov.start_time = {:g}: the blast has a radius of {:g} then, but the finest cells are {:g} "
                    "wide; start later, or raise mesh.max_level",
                    start_time_, start, setting().finest_width)};
  }

  std::array<int, 3> samples(const cell& c, double t) const override {
    vector d{};
    for (int axis = 0; axis < 3; ++axis) d[axis] = c.centre[axis] - centre_[axis];
    const double r = std::sqrt(symmetric_norm2(d[0], d[1], d[2]));
    const double half = 0.5 * std::sqrt(symmetric_norm2(c.width[0], c.width[1], c.width[2]));
    const double shock = solution_->shock_radius(t + start_time_);
    if (r - half > shock) return {1, 1, 1};
    return r + half > 0.95 * shock ? std::array{8, 8, 8} : std::array{2, 2, 2};
  }

 private:
  double energy_density() const { return energy_ / (4 * std::numbers::pi / 3 * radius_ * radius_ * radius_); }
  // The farthest corner of the box from the centre.
  double reach() const {
    vector far{};
    for (int axis = 0; axis < 3; ++axis) {
      far[axis] = std::max(centre_[axis] - setting().lower[axis], setting().upper[axis] - centre_[axis]);
    }
    return std::sqrt(symmetric_norm2(far[0], far[1], far[2]));
  }

  double energy_ = 1, radius_ = 0.04, density_ = 1, pressure_ = 1e-5, start_time_ = 0;
  vector centre_{};
  std::optional<sedov_solution> solution_;
};

}  // namespace

std::unique_ptr<problem> make_sedov() { return std::make_unique<sedov_problem>(); }

}  // namespace plx::star
