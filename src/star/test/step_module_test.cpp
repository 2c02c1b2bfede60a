// Additional physics, each in one place: sources, and a computation over the tree. On any number of workers and
// localities, and on a device, the results are the same to the last bit.
#include <gtest/gtest.h>

#include "gpu/backend.hpp"
#include "star/device/portable_operation.hpp"
#include "star/step/gas_step.hpp"
#include "star/test/localities_test.hpp"

namespace plx::star {
namespace {

using namespace test;

/// A uniform acceleration.
struct acceleration {
  static constexpr const char* name = "test.acceleration";
  static constexpr int threads = 32;
  double g[3];
  PLX_DEVICE void operator()(const pass_view& v, std::int32_t node, int thread) const {
    const double* u = v.block(v.now, node);
    double* next = v.block(v.next, node);
    const int cells = v.cells();
    for (int c = thread; c < cells; c += threads)
      for (int a = 0; a < 3; ++a) {
        next[(i_momentum + a) * cells + c] += v.stage_dt() * u[c] * g[a];
        next[i_energy * cells + c] += v.stage_dt() * u[(i_momentum + a) * cells + c] * g[a];
      }
  }
};

class falling final : public step_module {
 public:
  void after_stage(step::recipe& r, const stage_fields& f, std::vector<node_field>&, gas_passes& on) const override {
    r.add({.name = acceleration::name,
           .reads = {{f.now}, {f.next}},
           .writes = {f.next},
           .kernel = on.portable(device::portable(acceleration{{0.25, -0.5, 2.0}}), f.stage)});
  }
};

/// Mass and first moments of each node, from its cells or its children.
struct moments {
  static constexpr const char* name = "test.moments";
  static constexpr int threads = 4;
  int field;
  PLX_DEVICE void operator()(const pass_view& v, std::int32_t node, int thread) const {
    double sum = 0.0;
    if (v.is_block(node)) {
      const double* u = v.block(v.now, node);
      const double width = v.nodes.width[node], volume = width * width * width;
      for (int k = 0, c = 0; k < v.n; ++k)
        for (int j = 0; j < v.n; ++j)
          for (int i = 0; i < v.n; ++i, ++c) {
            const int cell[3] = {i, j, k};
            sum += volume * u[c] * (thread == 0 ? 1.0 : v.centre(node, thread - 1, cell[thread - 1]));
          }
    } else {
      for (int c = 0; c < 8; ++c)
        if (v.child(node, c) >= 0) sum += v.field(field, v.child(node, c))[thread];
    }
    v.field(field, node)[thread] = sum;
  }
};

/// The moments of the top above each node.
struct top_moments {
  static constexpr const char* name = "test.top_moments";
  static constexpr int threads = 4;
  int from, to;
  PLX_DEVICE void operator()(const pass_view& v, std::int32_t node, int thread) const {
    const std::int32_t above = v.parent(node);
    v.field(to, node)[thread] = above < 0 ? v.field(from, node)[thread] : v.field(to, above)[thread];
  }
};

/// A force towards the centre of mass of the domain.
struct attraction {
  static constexpr const char* name = "test.attraction";
  static constexpr int threads = 64;
  int field;
  PLX_DEVICE void operator()(const pass_view& v, std::int32_t node, int thread) const {
    const double* m = v.field(field, node);
    const double* u = v.block(v.now, node);
    double* next = v.block(v.next, node);
    const int cells = v.cells();
    for (int c = thread; c < cells; c += threads) {
      const int cell[3] = {c % v.n, c / v.n % v.n, c / (v.n * v.n)};
      for (int a = 0; a < 3; ++a) {
        const double g = 3.0 * (m[1 + a] / m[0] - v.centre(node, a, cell[a]));
        next[(i_momentum + a) * cells + c] += v.stage_dt() * u[c] * g;
        next[i_energy * cells + c] += v.stage_dt() * u[(i_momentum + a) * cells + c] * g;
      }
    }
  }
};

class toy_gravity final : public step_module {
 public:
  void before_stage(step::recipe& r, const stage_fields& f, std::vector<node_field>& own,
                    gas_passes& on) const override {
    const std::vector<node_field> before = own;
    const step::node_set all = step::node_set::blocks_and_refined;
    own = {on.add_node_field(r, {.name = "moments", .nodes = all, .doubles = 4}, {step::stencil::children},
                             before.empty() ? nullptr : &before[0]),
           on.add_node_field(r, {.name = "top moments", .nodes = all, .doubles = 4}, {step::stencil::parent},
                             before.empty() ? nullptr : &before[1])};
    r.add({.name = moments::name,
           .where = all,
           .reads = {{f.now}, {own[0].field, step::stencil::children}},
           .writes = {own[0].field},
           .kernel = on.portable(device::portable(moments{own[0].index}), f.stage)});
    r.add({.name = top_moments::name,
           .where = all,
           .reads = {{own[0].field}, {own[1].field, step::stencil::parent}},
           .writes = {own[1].field},
           .kernel = on.portable(device::portable(top_moments{own[0].index, own[1].index}), f.stage)});
  }
  void after_stage(step::recipe& r, const stage_fields& f, std::vector<node_field>& own,
                   gas_passes& on) const override {
    r.add({.name = attraction::name,
           .reads = {{f.now}, {own[1].field}, {f.next}},
           .writes = {f.next},
           .kernel = on.portable(device::portable(attraction{own[1].index}), f.stage)});
  }
};

outcome run_with(unsigned n, unsigned workers, std::vector<const step_module*> modules, std::vector<std::string> sets) {
  return run_on(
      n, workers, sets, [](simulation&) {}, nullptr, modules);
}

TEST(StepModule, AUniformGasFallsAsNewtonSays) {
  for (const char* scheme : {"rk3", "rk2"}) {
    const auto in =
        input::from_text("[problem]\nname = \"sod\"\n", "t",
                         {"mesh.root_blocks=[2,2,2]", "mesh.lower=[0,0,0]", "mesh.upper=[1,1,1]",
                          "mesh.sides=[\"periodic\",\"periodic\",\"periodic\",\"periodic\",\"periodic\",\"periodic\"]",
                          std::string("hydro.integrator=") + scheme, "hydro.reconstruction=plm", "run.t_end=0.5"})
            .value();
    setup s = in->prepare().value();
    const falling fall;
    s.modules = {&fall};
    runtime rt({.workers = 2});
    simulation sim(*in, s, rt);
    sim.start();
    rt.run([&] {
      auto& g = const_cast<gas&>(sim.state());
      const int cells = g.now.cells();
      for (const mesh::slot_id b : g.mesh.blocks()) {
        double* u = g.now.block(b);
        std::fill_n(u, 6 * cells, 0.0);
        std::fill_n(u, cells, 2.0);
        std::fill_n(u + i_energy * cells, cells, 5.0);
      }
    });
    while (!sim.finished()) ASSERT_TRUE(sim.step());
    const double t = sim.time(), g[3] = {0.25, -0.5, 2.0};
    const gas& state = sim.state();
    const int cells = state.now.cells();
    double kinetic = 0.0;
    for (const double a : g) kinetic += 0.5 * 2.0 * a * t * a * t;
    for (const mesh::slot_id b : state.mesh.blocks())
      for (int c = 0; c < cells; ++c) {
        const double* u = state.now.block(b) + c;
        EXPECT_EQ(u[0], 2.0);
        for (int a = 0; a < 3; ++a) EXPECT_NEAR(u[(i_momentum + a) * cells], 2.0 * g[a] * t, 1e-13);
        EXPECT_NEAR(u[i_energy * cells], 5.0 + kinetic, 1e-12);
      }
  }
}

TEST(StepModule, SourcesAreTheSameOnWorkersLocalitiesAndADevice) {
  const falling fall;
  const outcome one = run_with(1, 2, {&fall}, {});
  ASSERT_EQ(one.error, "");
  const outcome without = run_with(1, 2, {}, {});
  EXPECT_NE(one.totals, without.totals);
  expect_same(run_with(1, 1, {&fall}, {}), one);
  expect_same(run_with(3, 2, {&fall}, {}), one);
  for (const unsigned n : {1u, 2u}) expect_same(run_with(n, 2, {&fall}, {"run.device=emulated"}), one);
}

TEST(StepModule, APassOverTheTreeIsTheSameOnWorkersLocalitiesAndADevice) {
  const toy_gravity gravity;
  const falling fall;
  const outcome one = run_with(1, 2, {&gravity, &fall}, {});
  ASSERT_EQ(one.error, "");
  ASSERT_GT(one.blocks.size(), 64u);
  expect_same(run_with(1, 1, {&gravity, &fall}, {}), one);
  for (const unsigned n : {2u, 4u}) expect_same(run_with(n, 2, {&gravity, &fall}, {}), one);
  for (const unsigned n : {1u, 3u}) expect_same(run_with(n, 2, {&gravity, &fall}, {"run.device=emulated"}), one);
}

// The centre of mass at the top, as the pass computes it, attracts: a blast beside the centre moves there.
TEST(StepModule, ThePassOverTheTreeActs) {
  const toy_gravity gravity;
  const outcome with = run_with(1, 2, {&gravity}, {}), without = run_with(1, 2, {}, {});
  EXPECT_NE(with.totals, without.totals);
  EXPECT_NEAR(with.totals[0], without.totals[0], 1e-3 * without.totals[0]);
}

// A pass over refined nodes that uses the state, which blocks alone have.
class misplaced final : public step_module {
 public:
  void after_stage(step::recipe& r, const stage_fields& f, std::vector<node_field>&, gas_passes& on) const override {
    r.add({.name = "test.misplaced",
           .where = step::node_set::refined,
           .reads = {{f.now}},
           .writes = {f.next},
           .kernel = on.portable(device::portable(acceleration{{0.0, 0.0, 0.0}}), f.stage)});
  }
};

class many_fields final : public step_module {
 public:
  void before_stage(step::recipe& r, const stage_fields&, std::vector<node_field>&, gas_passes& on) const override {
    for (int i = 0; i < 6; ++i) on.add_node_field(r, {.name = "f", .doubles = 1}, {});
  }
};

TEST(StepModule, MistakesAreErrorsOfOneLine) {
  const misplaced wrong;
  const step_module* const one[] = {&wrong};
  EXPECT_EQ(
      check_modules(ssp_rk3, one).error().message,
      "pass test.misplaced runs on refined nodes and reads the field u0 at its own node, but it has memory on blocks "
      "only");
  const many_fields many;
  const step_module* const six_per_stage[] = {&many};
  EXPECT_NE(check_modules(ssp_rk3, six_per_stage).error().message.find("expected at most 16 fields"),
            std::string::npos);
  EXPECT_TRUE(check_modules(ssp_rk2, six_per_stage));
  const step_module* const none[] = {nullptr};
  EXPECT_NE(check_modules(ssp_rk3, none).error().message.find("null pointer"), std::string::npos);
  const toy_gravity gravity;
  const falling fall;
  const step_module* const good[] = {&gravity, &fall};
  EXPECT_TRUE(check_modules(ssp_rk3, good));
}

}  // namespace
}  // namespace plx::star
