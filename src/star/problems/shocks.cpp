// Problems with strong shocks: sedov, noh, double_mach, implosion, riemann_2d.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>

#include "base/config.hpp"
#include "num/symmetric.hpp"
#include "star/exact/shocks.hpp"
#include "star/exact/spheroid.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {

// ---- sedov
//
// A point explosion: energy is added as heat in a sphere of fixed physical radius, so that the same problem is solved
// at every resolution. The part of each cell inside the sphere is computed in closed form: the energy is exact to
// rounding on any mesh.

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

// ---- noh
//
// Noh's problem: cold gas that flows towards a point, or towards an axis, at unit speed. A shock of infinite strength
// runs outward from there through the compressed inflow; the gas behind it is at rest. Known for its heating at the
// centre, and for carbuncles where the shock is aligned with the grid.
//
// Exact, with d = 2 or 3 dimensions and s = (gamma - 1) / 2 the speed of the shock: behind it rho = ((gamma + 1) /
// (gamma - 1))^d and p = s rho; ahead of it rho = (1 + t / r)^(d - 1). For gamma = 5/3: s = 1/3, rho = 16 or 64.
//
// Source: Noh (1987), J. Comput. Phys. 72, 78; Liska & Wendroff (2003).

namespace {

class noh_problem final : public problem {
 public:
  bool needs_ideal_gas() const override { return true; }
  void describe(config_table& t) override {
    t.section("noh", "Noh's implosion of cold gas");
    t.add("noh.dimensions", dimensions_,
          {.help = "3: towards a point; 2: towards an axis along z", .choices = {"3", "2"}});
    t.add("noh.centre", centre_, {.unit = "code", .help = "the point, or a point of the axis"});
    t.add("noh.pressure", pressure_, {.unit = "pressure", .help = "of the cold gas at the start", .above = 0});
  }

  bool has_exact(double) const override { return true; }

  primitive at(const vector& x, double t) const override {
    const int d = dimensions();
    const vector from{x[0] - centre_[0], x[1] - centre_[1], d == 3 ? x[2] - centre_[2] : 0.0};
    const double r = std::sqrt(symmetric_norm2(from[0], from[1], from[2])), gamma = eos().gamma();
    const double shock = 0.5 * (gamma - 1.0);
    primitive w;
    if (r < shock * t) {
      w.density = behind();
      w.pressure = shock * w.density;
      return w;
    }
    const double compressed = t > 0.0 ? 1.0 + t / r : 1.0;
    w.density = d == 3 ? compressed * compressed : compressed;
    w.pressure = pressure_ * std::pow(w.density, gamma);
    if (r > 0.0)
      for (int a = 0; a < 3; ++a) w.velocity[a] = -from[a] / r;
    return w;
  }

  std::vector<named_value> references(double t) const override {
    return {{"shock_radius", "code", 0.5 * (eos().gamma() - 1.0) * t}, {"density_behind", "code", behind()}};
  }

  profile_table exact_profile(double t) const override {
    profile_table table{{"r", "rho", "vel", "press"}, {}};
    constexpr int n = 500;
    const vector width = box_width();
    const double length = std::min(width[0], width[1]);
    for (int i = 0; i < n; ++i) {
      const double r = (i + 0.5) / n * length;
      const primitive w = at({centre_[0] + r, centre_[1], centre_[2]}, t);
      table.rows.push_back({r, w.density, w.velocity[0], w.pressure});
    }
    return table;
  }

 protected:
  std::array<int, 3> samples(const cell&, double) const override { return {2, 2, dimensions() == 3 ? 2 : 1}; }

 private:
  int dimensions() const { return dimensions_ == "3" ? 3 : 2; }
  double behind() const {
    const double gamma = eos().gamma(), ratio = (gamma + 1.0) / (gamma - 1.0);
    return dimensions() == 3 ? ratio * ratio * ratio : ratio * ratio;
  }

  std::string dimensions_ = "3";
  vector centre_{0, 0, 0};
  double pressure_ = 1e-6;
};

}  // namespace

std::unique_ptr<problem> make_noh() { return std::make_unique<noh_problem>(); }

// ---- double_mach
//
// The double Mach reflection: a Mach 10 shock, inclined by 60 degrees, runs over a wall that begins a sixth beyond the
// left end of the box. Gas of density 1.4 and pressure 1 ahead of it, so its speed of sound is 1.
//
// Boundaries "problem": on the left and on the wall's side before the wall, the state behind the shock; at the top, the
// two states on both sides of the moving shock. The wall is reflecting; z is periodic.
//
// Source: Woodward & Colella (1984), J. Comput. Phys. 54, 115, section IV: box [0, 4] x [0, 1], gamma 1.4, to t = 0.2.

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

// ---- implosion
//
// The implosion problem: gas at rest in a closed square, thin and of low pressure beyond a diagonal near the lower left
// corner. Shocks run back and forth between the walls and drive a jet along the diagonal, which schemes that break the
// symmetry of x and y lose.
//
// Source: Hui, Li & Li (1999), J. Comput. Phys. 153, 596; Liska & Wendroff (2003): box [0, 0.3]^2, gamma
// 1.4, to t = 2.5.

namespace {

class implosion_problem final : public problem {
 public:
  void describe(config_table& t) override {
    t.section("implosion", "Implosion in a closed square");
    t.add("implosion.density", density_, {.unit = "density", .help = "in the corner; 1 elsewhere", .above = 0});
    t.add("implosion.pressure", pressure_, {.unit = "pressure", .help = "in the corner; 1 elsewhere", .above = 0});
  }

  primitive at(const vector& x, double) const override { return state_of(beyond_diagonal(x) < 0.0); }

  // The diagonal cuts a triangle off a cell.
  void average(const cell& c, double, double* u, std::ptrdiff_t stride) const override {
    const double d = std::clamp(beyond_diagonal(c.centre) / c.width[0], -1.0, 1.0), short_side = 1.0 - std::abs(d);
    const double part = d < 0.0 ? 1.0 - 0.5 * short_side * short_side : 0.5 * short_side * short_side;
    double corner[variable_count(0)], rest[variable_count(0)];
    to_conserved(eos(), valid(state_of(true), c.centre), 0, corner, 1);
    to_conserved(eos(), valid(state_of(false), c.centre), 0, rest, 1);
    for (int v = 0; v < variable_count(0); ++v) u[v * stride] = part * corner[v] + (1.0 - part) * rest[v];
    u[i_tracer * stride] = eos().tracer(u[i_density * stride], internal_energy(u, stride));
  }

 private:
  primitive state_of(bool corner) const {
    primitive w;
    w.density = corner ? density_ : 1.0;
    w.pressure = corner ? pressure_ : 1.0;
    return w;
  }
  /// (x - x0) + (y - y0) - (half the box's width), from the lower left corner.
  double beyond_diagonal(const vector& x) const {
    const vector middle = box_centre(), width = box_width();
    return ((x[0] - middle[0]) + (x[1] - middle[1])) + 0.25 * (width[0] + width[1]);
  }

  double density_ = 0.125, pressure_ = 0.14;
};

}  // namespace

std::unique_ptr<problem> make_implosion() { return std::make_unique<implosion_problem>(); }

// ---- riemann_2d
//
// Two-dimensional Riemann problems: four uniform states in the quadrants around the middle of the box, in x and y.
//
// Source: Lax & Liu (1998), SIAM J. Sci. Comput. 19, 319, whose numbers of configurations are used; the selection is
// that of Liska & Wendroff (2003), SIAM J. Sci. Comput. 25, 995.

namespace {

struct quadrant {
  double density, vx, vy, pressure;
};
struct configuration {
  const char* number;
  quadrant state[4];  ///< upper right, upper left, lower left, lower right
};

constexpr configuration configurations[] = {
    {"3", {{1.5, 0, 0, 1.5}, {0.5323, 1.206, 0, 0.3}, {0.138, 1.206, 1.206, 0.029}, {0.5323, 0, 1.206, 0.3}}},
    {"4", {{1.1, 0, 0, 1.1}, {0.5065, 0.8939, 0, 0.35}, {1.1, 0.8939, 0.8939, 1.1}, {0.5065, 0, 0.8939, 0.35}}},
    {"6", {{1, 0.75, -0.5, 1}, {2, 0.75, 0.5, 1}, {1, -0.75, 0.5, 1}, {3, -0.75, -0.5, 1}}},
    {"12", {{0.5313, 0, 0, 0.4}, {1, 0.7276, 0, 1}, {0.8, 0, 0, 1}, {1, 0, 0.7276, 1}}},
    {"15", {{1, 0.1, -0.3, 1}, {0.5197, -0.6259, -0.3, 0.4}, {0.8, 0.1, -0.3, 0.4}, {0.5313, 0.1, 0.4276, 0.4}}},
    {"17", {{1, 0, -0.4, 1}, {2, 0, -0.3, 1}, {1.0625, 0, 0.2145, 0.4}, {0.5197, 0, -1.1259, 0.4}}},
};

class riemann_2d_problem final : public problem {
 public:
  void describe(config_table& t) override {
    t.section("riemann_2d", "Two-dimensional Riemann problem");
    t.add("riemann_2d.configuration", configuration_,
          {.help = "the four states, by the numbers of Lax & Liu (1998); use hydro.gamma = 1.4",
           .choices = {"3", "4", "6", "12", "15", "17"}});
  }

  primitive at(const vector& x, double) const override {
    const vector middle = box_centre();
    const bool right = x[0] >= middle[0], upper = x[1] >= middle[1];
    const quadrant& q = chosen_->state[upper ? (right ? 0 : 1) : (right ? 3 : 2)];
    primitive w;
    w.density = q.density, w.pressure = q.pressure;
    w.velocity = {q.vx, q.vy, 0.0};
    return w;
  }

 protected:
  std::array<int, 3> samples(const cell& c, double) const override {
    const vector middle = box_centre();
    const auto along = [&](int axis) {
      return std::abs(c.centre[axis] - middle[axis]) < 0.499 * c.width[axis] ? 16 : 1;
    };
    return {along(0), along(1), 1};
  }

  result<void> do_prepare() override {
    const auto found = std::find_if(std::begin(configurations), std::end(configurations),
                                    [&](const configuration& c) { return configuration_ == c.number; });
    if (found == std::end(configurations))
      return error{fmt::format("riemann_2d.configuration = \"{}\": expected 3, 4, 6, 12, 15 or 17", configuration_)};
    chosen_ = &*found;
    return {};
  }

 private:
  std::string configuration_ = "3";
  const configuration* chosen_ = &configurations[0];
};

}  // namespace

std::unique_ptr<problem> make_riemann_2d() { return std::make_unique<riemann_2d_problem>(); }

}  // namespace plx::star
