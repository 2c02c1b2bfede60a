// A column of fast, light gas that rises through a gas at rest in a uniform gravitational field: a problem with options
// and a source term.
#include <cmath>

#include "base/config.hpp"
#include "star/device/portable_operation.hpp"
#include "star/output/analysis.hpp"
#include "star/problems/registry.hpp"
#include "star/step/gas_step.hpp"

namespace {

using namespace plx::star;

/// The source term of a uniform acceleration along z: d(rho v)/dt = rho g, dE/dt = rho v g.
struct gravity {
  static constexpr const char* name = "jet.gravity";
  static constexpr int threads = 64;
  double g;
  PLX_DEVICE void operator()(const pass_view& v, std::int32_t block, int thread) const {
    const double* now = v.block(v.now, block);
    double* next = v.block(v.next, block);
    const int cells = v.cells(), z = (i_momentum + 2) * cells, energy = i_energy * cells;
    for (int c = thread; c < cells; c += threads) {
      next[z + c] += v.stage_dt() * now[c] * g;
      next[energy + c] += v.stage_dt() * now[z + c] * g;
    }
  }
};

class gravity_module final : public step_module {
 public:
  double g = 0.0;
  void after_stage(plx::step::recipe& r, const stage_fields& f, std::vector<node_field>&,
                   gas_passes& on) const override {
    r.add({.name = gravity::name,
           .reads = {{f.now}, {f.next}},
           .writes = {f.next},
           .kernel = on.portable(device::portable(gravity{g}), f.stage)});
  }
};

class jet_in_gravity final : public problem {
 public:
  void describe(plx::config_table& t) override {
    t.section("jet_in_gravity", "A column of fast gas in a uniform field");
    t.add("jet_in_gravity.mach", mach_, {.unit = "1", .help = "of the column", .max = 50, .above = 0});
    t.add("jet_in_gravity.radius", radius_, {.unit = "code", .help = "of the column", .above = 0});
    t.add("jet_in_gravity.gravity", gravity_.g, {.unit = "code", .help = "acceleration along z", .max = 0});
  }

  /// At rest: p = rho = exp(g z), an isothermal gas in equilibrium. At the lower boundary the column.
  primitive at(const vector& x, double) const override {
    const double z = x[2] - setting().lower[2];
    primitive w;
    w.density = w.pressure = std::exp(gravity_.g * z);
    const vector middle = box_centre();
    const double r = std::hypot(x[0] - middle[0], x[1] - middle[1]);
    if (r < radius_ && z < 2.0 * radius_) {
      w.density = 0.1;
      w.pressure = 1.0;
      w.velocity[2] = mach_ * eos().sound_speed(1.0, 1.0);
    }
    return w;
  }

  std::vector<const step_module*> modules() const override { return {&gravity_}; }

 protected:
  plx::result<void> do_prepare() override {
    if (2.0 * radius_ < box_width()[0]) return {};
    return plx::error{
        "jet_in_gravity.radius: expected less than half the width of the box; lower it, or widen mesh.upper"};
  }

 private:
  double mach_ = 3.0, radius_ = 0.1;
  gravity_module gravity_;
};

const bool registered =
    register_problem({"jet_in_gravity", "a column of fast gas in a uniform field", make<jet_in_gravity>});

/// Mass that rises, and the greatest height at which gas rises faster than sound.
class rising_gas final : public analysis {
 public:
  std::vector<column> columns() const override {
    return {{"rising_mass", "code"}, {"height", "code", reduction::largest}};
  }
  void of_cell(const analysis_cell& c, double* values) const override {
    const double speed = c.state.velocity[2];
    values[0] = speed > 0.0 ? c.state.density * c.volume : 0.0;
    const bool fast = speed > c.eos.sound_speed(c.state.density, c.state.pressure);
    values[1] = fast ? c.centre[2] : 0.0;
  }
};

const bool added = register_analysis({"rising_gas", "mass that rises, and how high", make<rising_gas>});

}  // namespace
