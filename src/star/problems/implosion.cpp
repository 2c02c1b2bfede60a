// The implosion problem: gas at rest in a closed square, thin and of low pressure beyond a diagonal near the lower left
// corner. Shocks run back and forth between the walls and drive a jet along the diagonal, which schemes that break the
// symmetry of x and y lose.
//
// Source: Hui, Li & Li (1999), J. Comput. Phys. 153, 596; Liska & Wendroff (2003): box [0, 0.3]^2, gamma
// 1.4, to t = 2.5.
#include <algorithm>
#include <cmath>

#include "base/config.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {
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

}  // namespace plx::star
