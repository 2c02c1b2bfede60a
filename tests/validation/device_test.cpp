// The verification problems on a device, with refinement, step by step together with the same run on the CPU's workers:
// the same tree, totals that drift by rounding only, the bounds of the exact solutions, and at the end the same bits.
//
// PLX_STAR_TEST_DEVICE names the device. Without it the device's kernels run on the CPU ("emulated"), slowly: then
// meshes are small.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "harness.hpp"
#include "shock_place.hpp"

namespace plx::star::validation {
namespace {

const std::string& tested() {
  static const char* const named = std::getenv("PLX_STAR_TEST_DEVICE");
  static const std::string name = named != nullptr ? named : "emulated";
  return name;
}
bool is_card() { return tested() != "emulated"; }

runtime& workers() {
  static runtime rt({.workers = is_card() ? 0u : 2u});
  return rt;
}

using texts = std::vector<std::string>;
texts with(texts sets, const texts& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

const std::string all_periodic = R"(mesh.sides=["periodic","periodic","periodic","periodic","periodic","periodic"])";

bool same_tree(const mesh::block_mesh& a, const mesh::block_mesh& b) {
  if (a.block_count() != b.block_count()) return false;
  for (std::size_t p = 0; p < a.block_count(); ++p)
    if (a.where(a.blocks()[p]) != b.where(b.blocks()[p])) return false;
  return true;
}

bool same_values(const gas& a, const gas& b) {
  for (std::size_t p = 0; p < a.mesh.block_count(); ++p)
    if (std::memcmp(a.now.block(a.mesh.blocks()[p]), b.now.block(b.mesh.blocks()[p]),
                    a.now.stride() * sizeof(double)) != 0)
      return false;
  return true;
}

/// A problem on the device and on the CPU's workers.
class pair_of_runs {
 public:
  pair_of_runs(const std::string& name, const texts& sets)
      : cpu(name, with(sets, {"run.device=cpu"}), workers()),
        device(name, with(sets, {"run.device=" + tested()}), workers()) {}

  /// Runs both to the end, and adds the rows that hold for any problem. `changes`: minimum number of mesh changes.
  void run(table& t, const std::string& what, int changes) {
    cpu.sim().start();
    device.sim().start();
    before_ = device.sim().totals();
    int trees = 0, changed = 0;
    while (!cpu.sim().finished()) {
      const mesh::block_mesh last = cpu.sim().state().mesh;
      const auto a = cpu.sim().step(), b = device.sim().step();
      ASSERT_TRUE(a) << a.error().message;
      ASSERT_TRUE(b) << b.error().message;
      const mesh::block_mesh& now = cpu.sim().state().mesh;
      trees += same_tree(now, device.sim().state().mesh) && cpu.sim().time() == device.sim().time() ? 0 : 1;
      changed += same_tree(last, now) ? 0 : 1;
      look_at_totals();
    }
    device.sim().fetch();
    t.holds(fmt::format("{}: the same tree and time in {} steps", what, cpu.sim().steps()),
            trees == 0 && device.sim().finished());
    t.holds(what + ": the same bits at the end", trees == 0 && same_values(cpu.sim().state(), device.sim().state()));
    t.at_most(what + ": drift of mass, momentum, energy, including outflow", drift_, 1e-13);
    if (changes > 0) t.at_least(what + ": mesh changes", changed, changes);
  }

  solved cpu, device;

 private:
  // Relative to the mass and to the energy; the momentum relative to sqrt(2 M E).
  void look_at_totals() {
    const std::vector<double> now = device.sim().totals();
    const double mass = before_[i_density], energy = before_[i_energy];
    for (int v = 0; v <= i_energy; ++v) {
      const double scale = v == i_density ? mass : v == i_energy ? energy : std::sqrt(2 * mass * energy);
      const double drift = std::abs(now[v] + device.sim().left(v) - before_[v]) / scale;
      if (!(drift <= drift_)) drift_ = drift;  // also if it is NaN
    }
  }

  std::vector<double> before_;
  double drift_ = 0.0;
};

// n cells across a box of edge 2 along x, one block across; refined by at most a factor of two.
texts tube(int n) {
  return {"mesh.root_blocks=" + array({n / 8.0, 1, 1}), "mesh.lower=" + array({-1, -8.0 / n, -8.0 / n}),
          "mesh.upper=" + array({1, 8.0 / n, 8.0 / n}), "mesh.max_level=1", "run.t_end=0.1"};
}

constexpr double published_sod = 4.6e-3;  // on 32 cells

// The jump is placed so that the shock approaches a block that is not refined yet.
void adaptive_sod(table& t, const texts& scheme, int n, double position) {
  const std::string what = fmt::format("adaptive, {} to {} cells", n, 2 * n);
  pair_of_runs r("sod",
                 with(with(tube(n), {"refinement.interval=1", fmt::format("sod.position={}", position)}), scheme));
  r.run(t, what, 1);
  t.at_most(what, r.device.l1(i_density), published_sod);
}

void sod_across_levels(table& t, const texts& scheme) {
  struct crossing {
    const char* what;
    double position, from, to;
  };
  for (const crossing& c : {crossing{"shock, coarse to fine", -0.125, 0.1, 0.9},
                            {"shock, fine to coarse", -0.125, -0.9, -0.1},
                            {"rarefaction, coarse to fine", 0.09375, -0.9, -0.1},
                            {"rarefaction, fine to coarse", 0.09375, 0.1, 0.9}}) {
    pair_of_runs r("sod", with(with(tube(64), {"refinement.gradient_of=[]", fmt::format("sod.position={}", c.position),
                                               "refinement.regions=" + array({c.from, c.to, -1, 1, -1, 1, 1})}),
                               scheme));
    r.run(t, c.what, 0);
    t.at_most(c.what, r.device.l1(i_density), published_sod);
  }
}

TEST(DeviceValidation, Sod) {
  table t("Sod on " + tested() + ", box of edge 2, t = 0.1, L1(rho)");
  adaptive_sod(t, {}, 32, -0.1875);
  if (!is_card()) return;
  for (const std::string& scheme : {std::string("hydro.scheme=faces"), full3d}) {
    adaptive_sod(t, {scheme}, 64, -0.15625);
    sod_across_levels(t, {scheme});
  }
}

// An octant with reflecting boundaries, a root grid of 2^3 blocks of 8^3 cells, and `levels` levels: as 32^3 << levels.
texts octant(int levels) {
  return {"mesh.lower=[0,0,0]",
          "mesh.upper=[0.5,0.5,0.5]",
          "mesh.root_blocks=[2,2,2]",
          fmt::format("mesh.max_level={}", levels),
          R"(refinement.gradient_of=["press"])",
          R"(mesh.sides=["reflecting","outflow","reflecting","outflow","reflecting","outflow"])"};
}

TEST(DeviceValidation, Sedov) {
  table t("Sedov on " + tested() + ", an octant with reflecting sides");
  if (!is_card()) {  // small
    pair_of_runs r("sedov", with(octant(1), {"mesh.root_blocks=[1,1,1]", "run.t_end=0.04"}));
    r.run(t, "as 32^3, t = 0.04", 0);
    const double exact = r.device.exact().references(0.04)[1].value;
    t.at_most("as 32^3, t = 0.04: shock radius, relative error",
              std::abs(shock_radius(r.device, cone::all) - exact) / exact, 0.03);
    return;
  }
  for (const auto& [scheme, levels, bound] :
       {std::tuple{std::string("hydro.scheme=faces"), 2, 0.01}, {full3d, 1, 0.015}}) {
    pair_of_runs r("sedov", with(octant(levels), {scheme}));
    const std::string what = fmt::format("{}, as {}^3", scheme, 32 << levels);
    r.run(t, what, 2);
    check_shock(t, what, r.device, bound);
  }
}

TEST(DeviceValidation, PeriodicBlast) {
  table t("Sedov on " + tested() + ", periodic box, refinement on");
  const texts size =
      is_card() ? texts{"run.max_steps=24"} : texts{"run.max_steps=4", "mesh.max_level=1", "refinement.interval=2"};
  for (const std::string& scheme : {std::string("hydro.scheme=faces"), full3d}) {
    if (scheme == full3d && !is_card()) break;
    pair_of_runs r("sedov", with({all_periodic, scheme, "sedov.centre=[0.11,-0.07,0.19]", "refinement.coarsen_after=1",
                                  "sedov.pressure=1e-3", "sedov.radius=0.1"},
                                 size));
    r.run(t, scheme, is_card() ? 1 : 0);
  }
}

struct wave {
  const char* name;
  double flow;
};

// A wavelength along x on n cells, with the middle half of the box refined once.
texts settings_of(const wave& w, int n, int sign) {
  const double half = 0.5 * 8 / n;
  return {fmt::format("linear_wave.wave={}", w.name),
          fmt::format("linear_wave.flow={}", w.flow),
          fmt::format("linear_wave.sign={}", sign),
          "linear_wave.direction=[1,0,0]",
          "mesh.root_blocks=" + array({n / 8.0, 1, 1}),
          "mesh.lower=" + array({-0.5, -half, -half}),
          "mesh.upper=" + array({0.5, half, half}),
          "mesh.max_level=1",
          "refinement.gradient_of=[]",
          "refinement.regions=" + array({-0.24, 0.24, -1, 1, -1, 1, 1}),
          is_card() ? "run.t_end=1.0" : "run.t_end=0.05"};
}

// The errors on n cells of waves in both directions.
double error_of_wave(table& t, const wave& w, int n, const std::string& scheme) {
  const std::string what = fmt::format("{}, {}, {} cells", scheme, w.name, n);
  pair_of_runs right("linear_wave", with(settings_of(w, n, 1), {scheme}));
  right.run(t, what, 0);
  const double error = right.device.l1_all();
  if (n > 32) return error;
  pair_of_runs left("linear_wave", with(settings_of(w, n, -1), {scheme}));
  left.run(t, what + ", to the left", 0);
  t.holds(what + ": left- and right-going errors are equal", left.device.l1_all() == error);
  return error;
}

// With ghosts from other levels, the order of a wave across the whole mesh is at least that of the prolongation.
TEST(DeviceValidation, LinearWaves) {
  table t("linear waves on " + tested() + ", along x, the middle half of the box twice as fine");
  if (!is_card()) {
    const double error = error_of_wave(t, {"sound", 0.0}, 32, "hydro.scheme=faces");
    solved uniform("linear_wave",
                   with(settings_of({"sound", 0.0}, 32, 1), {"mesh.max_level=0", "refinement.regions=[]"}));
    t.at_most("L1 of all variables, that of the unrefined mesh", error, uniform.run().l1_all());
    return;
  }
  const auto check_order = [&](const wave& w, const std::string& scheme) {
    const double coarser = error_of_wave(t, w, 32, scheme), error = error_of_wave(t, w, 64, scheme);
    t.with_order(fmt::format("{}, {}, 64 cells: L1 of all variables", scheme, w.name), error, coarser, 1.9);
  };
  for (const wave& w : {wave{"sound", 0.0}, {"entropy", 1.0}, {"shear1", 1.0}, {"shear2", 1.0}})
    check_order(w, "hydro.scheme=faces");
  check_order({"sound", 0.0}, full3d);
}

}  // namespace
}  // namespace plx::star::validation
