// A spherical body from a table of density and pressure or internal energy over radius, in a thin uniform gas.

#include <cmath>

#include "base/config.hpp"
#include "num/symmetric.hpp"
#include "star/problems/radial_table.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {
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
