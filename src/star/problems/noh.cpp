// Noh's problem: cold gas that flows towards a point, or towards an axis, at unit speed. A shock of infinite strength
// runs outward from there through the compressed inflow; the gas behind it is at rest. Known for its heating at the
// centre, and for carbuncles where the shock is aligned with the grid.
//
// Exact, with d = 2 or 3 dimensions and s = (gamma - 1) / 2 the speed of the shock: behind it rho = ((gamma + 1) /
// (gamma - 1))^d and p = s rho; ahead of it rho = (1 + t / r)^(d - 1). For gamma = 5/3: s = 1/3, rho = 16 or 64.
//
// Source: Noh (1987), J. Comput. Phys. 72, 78; Liska & Wendroff (2003).
#include <algorithm>
#include <cmath>

#include "base/config.hpp"
#include "num/symmetric.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {
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

}  // namespace plx::star
