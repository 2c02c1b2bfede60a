// Problems whose state the input gives: piecewise, expressions, profile.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "base/config.hpp"
#include "num/symmetric.hpp"
#include "star/problems/given_functions.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {

// ---- piecewise
//
// Uniform states that follow each other along x, or outward from an axis or a point; the last one may have a wave in
// its density. With the right numbers: the interacting blast waves, the shock that meets a wave in density (Shu &
// Osher), and the explosion, the Riemann problem of a circle or sphere.
//
// Source: Woodward & Colella (1984), J. Comput. Phys. 54, 115; Shu & Osher (1989), J. Comput. Phys. 83, 32; Toro
// (2009), section 17.1; Liska & Wendroff (2003), SIAM J. Sci. Comput. 25, 995.

namespace {

class piecewise_problem final : public problem {
 public:
  void describe(config_table& t) override {
    t.section("piecewise", "Uniform states along x, or around an axis or a point");
    t.add("piecewise.shape", shape_,
          {.help = "plane: s is the distance along x from the centre; cylinder: that from an axis along z; sphere: "
                   "from a point",
           .choices = {"plane", "cylinder", "sphere"}});
    t.add("piecewise.centre", centre_,
          {.unit = "length", .help = "where s is 0: a point of the plane or axis, or the point"});
    t.add("piecewise.edges", edges_, {.unit = "length", .help = "the values of s between the states, ascending"});
    t.add("piecewise.density", density_, {.unit = "density", .help = "of each state", .above = 0});
    t.add("piecewise.velocity", velocity_, {.unit = "velocity", .help = "of each state, along x or outward"});
    t.add("piecewise.pressure", pressure_, {.unit = "pressure", .help = "of each state", .above = 0});
    t.add("piecewise.wave", wave_,
          {.unit = "1", .help = "a in the factor 1 + a sin(k s) of the last state's density", .min = 0, .max = 0.9});
    t.add("piecewise.wave_number", wave_number_, {.unit = "1/length", .help = "k"});
  }

  primitive at(const vector& x, double) const override {
    const vector from = away(x);
    const double s = distance(from);
    const auto i = static_cast<std::size_t>(std::upper_bound(edges_.begin(), edges_.end(), s) - edges_.begin());
    primitive w;
    w.density = density_[i], w.pressure = pressure_[i];
    if (i == edges_.size()) w.density *= 1.0 + wave_ * std::sin(wave_number_ * s);
    if (shape_ == "plane")
      w.velocity[0] = velocity_[i];
    else if (s > 0.0)
      for (int a = 0; a < 3; ++a) w.velocity[a] = velocity_[i] * (from[a] / s);
    return w;
  }

 protected:
  result<void> do_prepare() override {
    const std::size_t expected = edges_.size() + 1;
    const auto check = [&](const char* key, const std::vector<double>& values) -> result<void> {
      if (values.size() == expected) return {};
      return error{fmt::format("piecewise.{}: expected {} values, one more than piecewise.edges has, found {}", key,
                               expected, values.size())};
    };
    if (auto r = check("density", density_); !r) return r;
    if (auto r = check("velocity", velocity_); !r) return r;
    if (auto r = check("pressure", pressure_); !r) return r;
    if (!std::is_sorted(edges_.begin(), edges_.end())) return error{"piecewise.edges: expected ascending values"};
    return {};
  }

  std::array<int, 3> samples(const cell& c, double) const override {
    const vector from = away(c.centre);
    const double s = distance(from), reach = shape_ == "plane" ? 0.499 * c.width[0] : c.width[0];
    const bool cut = std::any_of(edges_.begin(), edges_.end(), [&](double e) { return std::abs(s - e) < reach; });
    if (shape_ == "plane") return {cut ? 16 : wave_ > 0.0 ? 4 : 1, 1, 1};
    const bool varies = cut || wave_ > 0.0 || s < 2.0 * c.width[0];
    const int n = cut ? 8 : varies ? 4 : 2;
    return {n, n, shape_ == "sphere" ? n : 1};
  }

 private:
  vector away(const vector& x) const {
    return {x[0] - centre_[0], x[1] - centre_[1], shape_ == "sphere" ? x[2] - centre_[2] : 0.0};
  }
  double distance(const vector& from) const {
    return shape_ == "plane" ? from[0] : std::sqrt(symmetric_norm2(from[0], from[1], from[2]));
  }

  std::string shape_ = "plane";
  vector centre_{0, 0, 0};
  std::vector<double> edges_{0.0}, density_{1.0, 0.125}, velocity_{0.0, 0.0}, pressure_{1.0, 0.1};
  double wave_ = 0.0, wave_number_ = 0.0;
};

}  // namespace

std::unique_ptr<problem> make_piecewise() { return std::make_unique<piecewise_problem>(); }

// ---- expressions
//
// An initial state that the input gives as expressions of place and time.

namespace {

const std::vector<std::string> variables{"x", "y", "z", "r", "t"};

/// All expressions of a problem. An object belongs to one thread at a time.
using field_set = std::vector<expression>;

class expressions_problem final : public problem {
 public:
  void describe(config_table& t) override {
    t.section("expressions", "Initial state as expressions of x, y, z, r (distance from the centre) and t (time)");
    t.add("expressions.density", density_, {.unit = "code", .help = "such as \"1 + 0.1*sin(2*pi*x)\""});
    for (int a = 0; a < 3; ++a)
      t.add(fmt::format("expressions.velocity_{}", "xyz"[a]), velocity_[static_cast<std::size_t>(a)],
            {.unit = "code", .help = a == 0 ? "components of the velocity" : ""});
    t.add("expressions.pressure", pressure_, {.unit = "code"});
    t.add("expressions.species", species_, {.unit = "1", .help = "mass fractions, whose sum is one; one per species"});
    t.add_names("expressions.constants", constants_, {.help = "constants that the expressions may use"});
    t.add("expressions.centre", centre_, {.unit = "code", .help = "from which r is measured"});
    t.add("expressions.samples", samples_,
          {.help = "points per cell and axis over which averages are taken: 1, 2, 4, 8 or 16; more for sharp edges",
           .min = 1,
           .max = 16});
    t.add("expressions.exact", exact_,
          {.help = "the expressions are the solution at all times t: for errors, and boundaries \"problem\""});
  }

  int species_count() const override { return static_cast<int>(species_.size()); }
  bool has_exact(double t) const override { return exact_ || t == 0; }

  primitive at(const vector& x, double t) const override {
    const double r = std::sqrt(symmetric_norm2(x[0] - centre_[0], x[1] - centre_[1], x[2] - centre_[2]));
    const double values[] = {x[0], x[1], x[2], r, t};
    std::unique_ptr<field_set> fields = take();
    primitive w;
    w.density = (*fields)[0].at(values);
    for (std::size_t a = 0; a < 3; ++a) w.velocity[a] = (*fields)[1 + a].at(values);
    w.pressure = (*fields)[4].at(values);
    double sum = 0.0;
    for (std::size_t s = 0; s < species_.size(); ++s) sum += w.fraction[s] = (*fields)[5 + s].at(values);
    give_back(std::move(fields));
    if (!species_.empty() && !(std::abs(sum - 1.0) < 1e-9))
      throw std::invalid_argument(
          fmt::format("expressions.species: expected fractions whose sum is 1, found {:.12g} at "
                      "({:.6g}, {:.6g}, {:.6g})",
                      sum, x[0], x[1], x[2]));
    return w;
  }

 protected:
  result<void> do_prepare() override {
    if (species_.size() > max_species)
      return error{fmt::format("expressions.species: expected at most {}, found {}", max_species, species_.size())};
    if ((samples_ & (samples_ - 1)) != 0)
      return error{fmt::format("expressions.samples: expected 1, 2, 4, 8 or 16, found {}", samples_)};
    auto first = compile();
    if (!first) return first.error();
    idle_.push_back(*std::move(first));
    return {};
  }

  std::array<int, 3> samples(const cell&, double) const override { return {samples_, samples_, samples_}; }

 private:
  result<std::unique_ptr<field_set>> compile() const {
    auto all = std::make_unique<field_set>();
    const auto add = [&](const std::string& key, const std::string& text) -> result<void> {
      auto compiled = expression::compile(text, variables, constants_);
      if (!compiled) return error{fmt::format("expressions.{}: {}", key, compiled.error().message)};
      all->push_back(*std::move(compiled));
      return {};
    };
    if (auto r = add("density", density_); !r) return r.error();
    for (std::size_t a = 0; a < 3; ++a)
      if (auto r = add(fmt::format("velocity_{}", "xyz"[a]), velocity_[a]); !r) return r.error();
    if (auto r = add("pressure", pressure_); !r) return r.error();
    for (std::size_t s = 0; s < species_.size(); ++s)
      if (auto r = add(fmt::format("species[{}]", s), species_[s]); !r) return r.error();
    return all;
  }

  /// A set for this thread: one that no other uses, or another one.
  std::unique_ptr<field_set> take() const {
    {
      const std::lock_guard guard(lock_);
      if (!idle_.empty()) {
        auto set = std::move(idle_.back());
        idle_.pop_back();
        return set;
      }
    }
    return compile().value();  // do_prepare() has compiled the same texts
  }
  void give_back(std::unique_ptr<field_set> set) const {
    const std::lock_guard guard(lock_);
    idle_.push_back(std::move(set));
  }

  std::string density_ = "1", pressure_ = "1";
  std::array<std::string, 3> velocity_{"0", "0", "0"};
  std::vector<std::string> species_;
  std::vector<named_number> constants_;
  vector centre_{0, 0, 0};
  int samples_ = 2;
  bool exact_ = false;
  mutable std::mutex lock_;
  mutable std::vector<std::unique_ptr<field_set>> idle_;
};

}  // namespace

std::unique_ptr<problem> make_expressions() { return std::make_unique<expressions_problem>(); }

// ---- profile
//
// A spherical body from a table of density and pressure or internal energy over radius, in a thin uniform gas.

namespace {

class profile_problem final : public problem {
 public:
  void describe(config_table& t) override {
    t.section("profile", "A spherical body from a table over radius");
    t.add("profile.file", file_,
          {.help = "text with the columns r, density, pressure or internal_energy (per mass), and optionally velocity "
                   "(outward), which its first line names; relative to the working directory"});
    t.add("profile.cgs", cgs_, {.help = "the table is in CGS, and [units] gives the code units"});
    t.add("profile.centre", centre_, {.unit = "code", .help = "of the body"});
    t.add("profile.velocity", velocity_, {.unit = "code", .help = "of the body and the gas around it"});
    t.add("profile.ambient_density", ambient_density_,
          {.unit = "code", .help = "beyond the last radius; 0: that of the last row", .min = 0});
    t.add("profile.ambient_pressure", ambient_pressure_,
          {.unit = "code", .help = "beyond the last radius; 0: that of the last row", .min = 0});
  }

  primitive at(const vector& x, double) const override {
    const vector d{x[0] - centre_[0], x[1] - centre_[1], x[2] - centre_[2]};
    const double r = std::sqrt(symmetric_norm2(d[0], d[1], d[2]));
    primitive w;
    w.velocity = velocity_;
    if (r > table_.rows.back().r) {
      w.density = ambient_density_ > 0 ? ambient_density_ : table_.rows.back().density;
      w.pressure = ambient_pressure_ > 0 ? ambient_pressure_ : pressure_of(table_.rows.back());
      return w;
    }
    const radial_row row = table_.at(r);
    w.density = row.density;
    w.pressure = pressure_of(row);
    for (int axis = 0; axis < 3; ++axis) w.velocity[axis] += r > 0 ? row.velocity * (d[axis] / r) : 0.0;
    return w;
  }

 protected:
  result<void> do_prepare() override {
    if (file_.empty()) return error{"profile.file: expected the path of a table, found none"};
    auto table = read_radial_table(file_);
    if (!table) return error{"profile.file: " + table.error().message};
    table_ = *std::move(table);
    if (!cgs_) return {};
    const units& u = setting().code_units;
    if (!u.known) return error{"profile.cgs: expected [units] in the input, found none"};
    constexpr dimension per_mass{2, 0, -2};
    for (radial_row& row : table_.rows) {
      row.r = u.to_code(row.r, dimensions::length);
      row.density = u.to_code(row.density, dimensions::density);
      row.pressure = u.to_code(row.pressure, dimensions::pressure);
      row.internal_energy = u.to_code(row.internal_energy, per_mass);
      row.velocity = u.to_code(row.velocity, dimensions::velocity);
    }
    return {};
  }

  /// More points where the surface of the body crosses a cell.
  std::array<int, 3> samples(const cell& c, double) const override {
    const double r =
        std::sqrt(symmetric_norm2(c.centre[0] - centre_[0], c.centre[1] - centre_[1], c.centre[2] - centre_[2]));
    const double half = 0.5 * std::sqrt(symmetric_norm2(c.width[0], c.width[1], c.width[2]));
    const double surface = table_.rows.back().r;
    if (r - half > surface) return {1, 1, 1};
    return r + half > surface ? std::array{8, 8, 8} : std::array{2, 2, 2};
  }

 private:
  double pressure_of(const radial_row& row) const {
    return table_.has_pressure ? row.pressure : eos().pressure(row.density, row.density * row.internal_energy);
  }

  std::string file_;
  bool cgs_ = false;
  vector centre_{0, 0, 0}, velocity_{0, 0, 0};
  double ambient_density_ = 0.0, ambient_pressure_ = 0.0;
  radial_table table_;
};

}  // namespace

std::unique_ptr<problem> make_profile() { return std::make_unique<profile_problem>(); }

}  // namespace plx::star
