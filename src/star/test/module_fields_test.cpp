// Fields of additional physics on blocks and refined nodes, read at every stencil; tables, sums, functions for workers,
// and passes after the last stage. On any number of workers and localities, and on a device, the results are the same
// to the last bit, through regrids.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <sstream>

#include "base/file.hpp"
#include "mesh/test/test_meshes.hpp"
#include "star/device/portable_operation.hpp"
#include "star/driver/run.hpp"
#include "star/step/gas_step.hpp"
#include "star/test/localities_test.hpp"
#include "step/node_graph.hpp"

namespace plx::star {
namespace {

using namespace test;
using step::node_set;
using step::stencil;

// Not associative, so that a wrong order of terms is found.
PLX_DEVICE inline double mix(double a, double b) { return 0.75 * a + 1.25 * b + 1e-3 * a * b; }

/// The mean density of a node, from its cells or its children.
struct up_pass {
  static constexpr const char* name = "test.up";
  static constexpr int threads = 2;
  int up;
  PLX_DEVICE void operator()(const pass_view& v, std::int32_t node, int thread) const {
    double sum = 0.0;
    if (v.is_block(node))
      for (int c = thread; c < v.cells(); c += threads) sum += v.block(v.now, node)[c] / v.cells();
    else
      for (int c = 0; c < 8; ++c)
        if (v.child(node, c) >= 0) sum += 0.125 * v.field(up, v.child(node, c))[thread];
    v.field(up, node)[thread] = sum;
  }
};

/// A mean over the nodes of the same level around a node, with weights from a table. Counts the calls of on_worker().
struct level_pass {
  static constexpr const char* name = "test.level";
  static constexpr int threads = 2;
  int up, beside, weights;
  std::atomic<int>* calls;
  PLX_DEVICE void operator()(const pass_view& v, std::int32_t node, int thread) const {
    double sum = v.nodes.width[node];
    for (int d = 0; d < 27; ++d)
      if (const std::int32_t other = v.around(node, d); other >= 0)
        sum = mix(sum, v.table(weights)[d] * v.field(up, other)[thread]);
    v.field(beside, node)[thread] = sum / 64.0;
  }
  void on_worker(const pass_view& v, std::int32_t node) const {
    ++*calls;
    for (int thread = threads; thread-- > 0;) (*this)(v, node, thread);
  }
};

/// From the top down, on refined nodes alone.
struct down_pass {
  static constexpr const char* name = "test.down";
  static constexpr int threads = 2;
  int beside, down;
  PLX_DEVICE void operator()(const pass_view& v, std::int32_t node, int thread) const {
    const double above = v.parent(node) < 0 ? 1.0 : v.field(down, v.parent(node))[thread];
    v.field(down, node)[thread] = mix(above, v.field(beside, node)[thread]);
  }
};

/// On blocks, from the refined node above them.
struct block_pass {
  static constexpr const char* name = "test.block";
  static constexpr int threads = 3;
  int down, beside, leaf;
  PLX_DEVICE void operator()(const pass_view& v, std::int32_t node, int thread) const {
    const double above = v.field(down, v.parent(node))[thread % 2];
    v.field(leaf, node)[thread] = mix(above + thread, v.field(beside, node)[thread / 2]);
  }
};

/// Heats a block by a sum over the blocks that touch it, coarser, of its level, and finer.
struct touch_pass {
  static constexpr const char* name = "test.touch";
  static constexpr int threads = 32;
  int leaf;
  bool is_end;  // after the last stage
  int sums;

  PLX_DEVICE double sum_around(const pass_view& v, std::int32_t node) const {
    const std::int32_t above = v.parent(node);
    int which = 0;
    while (v.child(above, which) != node) ++which;
    double sum = 0.0;
    for (int d = 0; d < 27; ++d) {
      const int x[3] = {d % 3 - 1, d / 3 % 3 - 1, d / 9 - 1};
      const std::int32_t beside = v.around(node, d);
      if (beside >= 0 && v.is_block(beside)) {
        sum = mix(sum, v.field(leaf, beside)[d % 3]);
      } else if (beside >= 0) {
        for (int c = 0; c < 8; ++c) {
          bool touches = true;
          for (int a = 0; a < 3; ++a) touches = touches && (x[a] == 0 || (c >> a & 1) == (x[a] < 0 ? 1 : 0));
          if (touches) sum = mix(sum, v.field(leaf, v.child(beside, c))[d % 3]);
        }
      } else {
        int over = 13;
        for (int a = 0, stride = 1; a < 3; ++a, stride *= 3) {
          const int at = (which >> a & 1) + x[a];
          over += at < 0 ? -stride : at > 1 ? stride : 0;
        }
        const std::int32_t coarser = v.around(above, over);
        if (coarser >= 0 && v.is_block(coarser)) sum = mix(sum, v.field(leaf, coarser)[d % 3]);
      }
    }
    return sum;
  }

  PLX_DEVICE void operator()(const pass_view& v, std::int32_t node, int thread) const {
    const double sum = sum_around(v, node), heat = 1e-4 * v.stage_dt() * (sum - std::floor(sum));
    double* next = v.block(v.next, node);
    const int cells = v.cells();
    for (int c = thread; c < cells; c += threads) next[i_energy * cells + c] += heat * (1.0 + 0.125 * v.stage_time());
    if (!is_end || thread != 0) return;
    double mass = 0.0;
    const double width = v.nodes.width[node];
    for (int c = 0; c < cells; ++c) mass += v.block(v.now, node)[c] * (width * width * width);
    v.field(sums, node)[0] = 1.0, v.field(sums, node)[1] = mass, v.field(sums, node)[2] = sum;
  }
};

/// All of them in each stage, the last one after the last stage, too.
class web final : public step_module {
 public:
  void before_stage(step::recipe& r, const stage_fields& f, std::vector<node_field>& own,
                    gas_passes& on) const override {
    // Two sets of memory in turn: what others read in a stage is overwritten by the stage after the next.
    const std::vector<node_field> before = own;
    const auto add = [&](const char* name, int doubles, node_set nodes, std::vector<stencil> at, std::size_t i) {
      return on.add_node_field(r, {.name = name, .nodes = nodes, .doubles = doubles}, std::move(at),
                               f.stage < 2 ? nullptr : &before[4 + i]);
    };
    const node_set all = node_set::blocks_and_refined;
    own = {add("up", 2, all, {stencil::children, stencil::level_neighbours}, 0), add("beside", 2, all, {}, 1),
           add("down", 2, node_set::refined, {stencil::parent}, 2),
           add("leaf", 3, node_set::blocks, {stencil::neighbours}, 3)};
    const auto [up, beside, down, leaf] = std::array{own[0], own[1], own[2], own[3]};
    if (!before.empty()) own.insert(own.end(), before.begin(), before.begin() + 4);
    std::vector<double> weights;
    for (int d = 0; d < 27; ++d) weights.push_back(0.01 * (1 + d % 7));
    const int table = on.add_table(r, weights);
    r.add({.name = up_pass::name,
           .where = all,
           .reads = {{f.now}, {up.field, stencil::children}},
           .writes = {up.field},
           .kernel = on.portable(device::portable(up_pass{up.index}), f.stage)});
    r.add({.name = level_pass::name,
           .where = all,
           .reads = {{up.field}, {up.field, stencil::level_neighbours}},
           .writes = {beside.field},
           .kernel = on.portable(device::portable(level_pass{up.index, beside.index, table, &calls}), f.stage)});
    r.add({.name = down_pass::name,
           .where = node_set::refined,
           .reads = {{beside.field}, {down.field, stencil::parent}},
           .writes = {down.field},
           .kernel = on.portable(device::portable(down_pass{beside.index, down.index}), f.stage)});
    r.add({.name = block_pass::name,
           .reads = {{beside.field}, {down.field, stencil::parent}},
           .writes = {leaf.field},
           .kernel = on.portable(device::portable(block_pass{down.index, beside.index, leaf.index}), f.stage)});
  }
  void after_stage(step::recipe& r, const stage_fields& f, std::vector<node_field>& own,
                   gas_passes& on) const override {
    r.add({.name = touch_pass::name,
           .reads = {{own[3].field}, {own[3].field, stencil::neighbours}, {f.next}},
           .writes = {f.next},
           .kernel = on.portable(device::portable(touch_pass{own[3].index, false, 0}), f.stage)});
  }
  void after_step(step::recipe& r, const stage_fields& f, std::vector<node_field>& own, gas_passes& on) const override {
    r.add({.name = "test.touch_at_end",
           .reads = {{own[3].field}, {own[3].field, stencil::neighbours}, {f.now}},
           .writes = {f.now, f.sums.field},
           .kernel = on.portable(device::portable(touch_pass{own[3].index, true, f.sums.index}), f.stage)});
  }
  std::vector<std::string> sums() const override { return {"blocks_now", "mass_now", "web"}; }

  mutable std::atomic<int> calls{0};
};

std::vector<std::string> options(const std::array<int, 3>& roots, int n, int max_level) {
  return {fmt::format("mesh.root_blocks=[{},{},{}]", roots[0], roots[1], roots[2]),
          fmt::format("mesh.upper=[{},{},{}]", roots[0] - 0.5, roots[1] - 0.5, roots[2] - 0.5),
          fmt::format("mesh.block_size={}", n),
          fmt::format("mesh.max_level={}", max_level),
          "refinement.regions=[-0.5,-0.2,-0.5,0.5,-0.5,0.1,1]",
          "run.max_steps=5"};
}

outcome run_web(unsigned n, unsigned workers, const web& w, std::vector<std::string> sets, bool device = false) {
  if (device) sets.emplace_back("run.device=emulated");
  return run_on(n, workers, sets, [](simulation&) {}, nullptr, {&w});
}

struct mesh_case {
  std::array<int, 3> roots;
  int n, max_level;
};

class ModuleFields : public testing::TestWithParam<mesh_case> {};

TEST_P(ModuleFields, AreTheSameOnWorkersLocalitiesAndADevice) {
  const mesh_case c = GetParam();
  const std::vector<std::string> sets = options(c.roots, c.n, c.max_level);
  const web w;
  const outcome one = run_web(1, 2, w, sets);
  ASSERT_EQ(one.error, "");
  EXPECT_GT(w.calls, 0);
  ASSERT_GT(one.blocks.size(), 8u);
  ASSERT_EQ(one.totals.size(), 9u);
  EXPECT_EQ(one.totals[6], static_cast<double>(one.blocks.size()));
  EXPECT_NEAR(one.totals[7], one.totals[0], 1e-12 * one.totals[0]);
  EXPECT_TRUE(std::isfinite(one.totals[8]));
  expect_same(run_web(1, 1, w, sets), one);
  for (const unsigned n : {2u, 4u}) {
    SCOPED_TRACE(fmt::format("{} localities", n));
    expect_same(run_web(n, 2, w, sets), one);
  }
  const int on_workers = w.calls;
  for (const unsigned n : {1u, 3u}) {
    SCOPED_TRACE(fmt::format("{} devices", n));
    expect_same(run_web(n, 2, w, sets, true), one);
  }
  EXPECT_EQ(w.calls, on_workers);
}

INSTANTIATE_TEST_SUITE_P(Meshes, ModuleFields,
                         testing::Values(mesh_case{{1, 1, 1}, 8, 3}, mesh_case{{1, 1, 1}, 16, 2},
                                         mesh_case{{3, 2, 1}, 8, 2}, mesh_case{{3, 2, 1}, 16, 1},
                                         mesh_case{{4, 4, 4}, 8, 1}, mesh_case{{5, 1, 2}, 8, 2}),
                         [](const auto& c) {
                           const auto& r = c.param.roots;
                           return fmt::format("roots_{}{}{}_cells_{}", r[0], r[1], r[2], c.param.n);
                         });

TEST(ModuleTables, CoverTheNodesAboveTheRootGrid) {
  std::mt19937_64 rng(3);
  for (const std::array<int, 3> roots : {std::array{1, 1, 1}, {3, 2, 1}, {4, 4, 4}, {5, 1, 2}}) {
    const mesh::block_mesh m = mesh::test::random_mesh(mesh::test::box(roots, 16, 3), 6, rng);
    const mesh::curve_parts one(m.block_count());
    const step::node_graph graph(m, one, 0, true);
    const node_arrays arrays(graph);
    ASSERT_EQ(arrays.around.size(), 27 * graph.node_count());
    ASSERT_EQ(arrays.children.size(), 8 * (graph.node_count() - m.slot_count()));
    int tops = 0;
    for (std::size_t i = m.slot_count(); i < graph.node_count(); ++i) {
      tops += arrays.parent[i] < 0 ? 1 : 0;
      for (int c = 0; c < 8; ++c) {
        const std::int32_t child = arrays.children[8 * (i - m.slot_count()) + static_cast<std::size_t>(c)];
        if (child < 0) continue;
        const auto at = static_cast<std::size_t>(child);
        EXPECT_EQ(arrays.width[i], 2.0 * arrays.width[at]);
        for (int a = 0; a < 3; ++a)
          EXPECT_DOUBLE_EQ(arrays.lower[3 * at + static_cast<std::size_t>(a)],
                           arrays.lower[3 * i + static_cast<std::size_t>(a)] + (c >> a & 1) * 16 * arrays.width[at]);
      }
    }
    EXPECT_EQ(tops, 1);
    const std::size_t top = graph.node_count() - 1;
    EXPECT_LE(*std::max_element(roots.begin(), roots.end()), 4.0 * arrays.width[top]);
  }
}

// Memory is there for nodes of the set alone: local ones, and those that they read.
TEST(ModuleFields, HaveMemoryWhereTheyAreUsedAlone) {
  std::mt19937_64 rng(4);
  const mesh::block_mesh m = mesh::test::random_mesh(mesh::test::box({3, 2, 1}, 8, 3), 12, rng);
  const mesh::curve_parts parts = equal_parts(m, 3);
  for (int here = 0; here < 3; ++here) {
    const step::node_graph graph(m, parts, here, true);
    for (const node_set set : {node_set::blocks, node_set::refined, node_set::blocks_and_refined})
      for (const stencil at : {stencil::own, stencil::neighbours, stencil::level_neighbours, stencil::parent}) {
        std::vector<bool> wanted(graph.node_count(), false);
        for (const step::node_id n : graph.local()) {
          if (graph.contains(set, n)) wanted[static_cast<std::size_t>(n)] = true;
          for (const step::node_id from : graph.read_by(at, n))
            if (graph.contains(set, from)) wanted[static_cast<std::size_t>(from)] = true;
        }
        const step::node_rows rows = graph.rows(set, {&at, 1});
        std::vector<int> used(static_cast<std::size_t>(rows.count), 0);
        for (std::size_t n = 0; n < wanted.size(); ++n) {
          EXPECT_EQ(rows.of[n] >= 0, wanted[n]);
          if (rows.of[n] >= 0) ++used[static_cast<std::size_t>(rows.of[n])];
        }
        EXPECT_EQ(used, std::vector<int>(used.size(), 1));
      }
  }
}

/// A module that does what a test says before each stage.
class described final : public step_module {
 public:
  std::function<void(step::recipe&, const stage_fields&, gas_passes&)> before;
  std::vector<std::string> names;
  void before_stage(step::recipe& r, const stage_fields& f, std::vector<node_field>&, gas_passes& on) const override {
    if (before) before(r, f, on);
  }
  std::vector<std::string> sums() const override { return names; }
};

std::string complaint(const described& d) {
  const step_module* const one[] = {&d};
  const auto checked = check_modules(ssp_rk2, one);
  return checked ? "" : checked.error().message;
}

TEST(ModuleFields, MistakesAreErrorsOfOneLine) {
  described d;
  d.before = [](step::recipe& r, const stage_fields&, gas_passes& on) {
    on.add_node_field(r, {.name = "odd", .nodes = node_set::beside_finer, .doubles = 1}, {});
  };
  EXPECT_EQ(complaint(d),
            "additional physics, the field odd: expected memory on blocks, refined nodes, or both, found blocks beside "
            "finer ones");
  d.before = [](step::recipe& r, const stage_fields&, gas_passes& on) {
    on.add_node_field(r, {.name = "empty", .doubles = 0}, {});
  };
  EXPECT_EQ(complaint(d), "additional physics, the field empty: expected at least one double per node, found 0");
  mesh::field_info found{.name = "heat", .total = "heat", .doubles = 1};
  d.before = [&](step::recipe& r, const stage_fields&, gas_passes& on) { on.add_node_field(r, found, {}); };
  const std::string refused =
      "additional physics, the field heat: expected only name, nodes and doubles (integrals are sums() of the module), "
      "found also ";
  EXPECT_EQ(complaint(d), refused + "total");
  found = {.name = "heat",
           .kind = mesh::field_kind::polar,
           .axis = 0,
           .limiter_group = 0,
           .role = mesh::quantity::energy,
           .doubles = 1};
  EXPECT_EQ(complaint(d), refused + "kind, axis, limiter_group, role");
  d.before = [](step::recipe& r, const stage_fields&, gas_passes& on) {
    const node_field first = on.add_node_field(r, {.name = "first", .doubles = 2}, {});
    on.add_node_field(r, {.name = "second", .doubles = 3}, {}, &first);
  };
  EXPECT_EQ(complaint(d),
            "additional physics, the field second: expected 2 doubles on blocks, as the field whose memory it takes "
            "over, found 3 on blocks");
  d.before = [](step::recipe& r, const stage_fields&, gas_passes& on) {
    for (int t = 0; t < 9; ++t) on.add_table(r, {double(t), 1.0});
  };
  EXPECT_EQ(complaint(d),
            "additional physics: expected at most 8 tables, found another one of 2 numbers; join tables into one");
  d.before = [](step::recipe& r, const stage_fields&, gas_passes& on) {
    for (int t = 0; t < 9; ++t) EXPECT_EQ(on.add_table(r, {double(t % 3), 1.0}), t % 3);
  };
  EXPECT_EQ(complaint(d), "");
  d.before = nullptr;
  d.names = {"first", "second"};
  EXPECT_EQ(complaint(d),
            "additional physics: expected a pass on blocks that writes the sums first, second, found none");
  d.names = {"Energy"};
  EXPECT_EQ(complaint(d),
            "additional physics: expected sums named by lower-case letters, digits and _, found 'Energy'");
  d.names = {"energy"};
  EXPECT_EQ(complaint(d),
            "additional physics: expected a sum with another name than the columns of history.csv, found 'energy'");
  d.names = {"one", "one"};
  EXPECT_EQ(complaint(d), "additional physics: expected each sum once, found 'one' twice");
}

// A pass that reads at the nodes of its level around it: the rules of other stencils apply.
TEST(ModuleFields, OfTheLevelAroundAreCheckedAsOthers) {
  described d;
  d.before = [](step::recipe& r, const stage_fields&, gas_passes& on) {
    const node_field a = on.add_node_field(r, {.name = "a", .nodes = node_set::blocks_and_refined, .doubles = 1},
                                           {stencil::level_neighbours});
    const node_field b = on.add_node_field(r, {.name = "b", .doubles = 1}, {});
    r.add({.name = "write", .reads = {}, .writes = {a.field}, .kernel = on.portable(nullptr, 0)});
    r.add({.name = "read",
           .reads = {{a.field, stencil::level_neighbours}},
           .writes = {b.field},
           .kernel = on.portable(nullptr, 0)});
  };
  EXPECT_EQ(complaint(d),
            "pass read reads the field a at the nodes of its level around it: expected earlier passes that write it on "
            "all of these nodes, found some on a part of them");
}

// The columns of a table, by name.
std::map<std::string, std::vector<std::string>> columns_of(const std::string& path) {
  std::istringstream file(plx::read_file(path).value());
  std::string line, cell;
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::string>> columns;
  for (bool first = true; std::getline(file, line); first = false) {
    std::istringstream cells(line);
    for (std::size_t i = 0; std::getline(cells, cell, ','); ++i)
      first ? names.push_back(cell) : columns[names.at(i)].push_back(cell);
  }
  return columns;
}

TEST(ModuleSums, AreColumnsOfTheHistoryOnWorkersAndADevice) {
  const std::string folder = std::filesystem::temp_directory_path() / fmt::format("plx_module_sums_{}", getpid());
  std::map<std::string, std::vector<std::string>> first;
  for (const std::string device : {"cpu", "emulated"})
    for (const int interval : {1, 3}) {
      std::filesystem::remove_all(folder);
      const web w;
      std::vector<std::string> sets = options({3, 2, 1}, 8, 2);
      sets.insert(sets.end(), {"run.device=" + device, fmt::format("output.history_interval={}", interval)});
      const auto in = blast(sets);
      setup s = in->prepare().value();
      s.modules = {&w};
      runtime rt({.workers = 2});
      run_request request;
      request.out = folder;
      run_observer silent;
      const run_end end = run(*in, s, rt, request, silent);
      ASSERT_EQ(end.message, "");
      const auto found = columns_of(folder + "/history.csv");
      const std::vector<std::string>& steps = found.at("step");
      ASSERT_EQ(steps.size(), interval == 1 ? 6u : 3u);
      for (const char* name : {"blocks_now", "mass_now", "web"}) {
        const std::vector<std::string>& column = found.at(name);
        EXPECT_EQ(column[0], "nan");
        for (std::size_t row = 1; row < steps.size(); ++row) {
          EXPECT_NE(column[row], "nan") << name << " " << steps[row];
          if (first.empty()) continue;
          EXPECT_EQ(column[row], first.at(name)[std::stoul(steps[row])]) << name << " " << steps[row];
        }
      }
      for (std::size_t row = 1; row < steps.size(); ++row) {
        const bool regridded = std::stoi(steps[row]) % 2 == 0;
        EXPECT_TRUE(regridded || found.at("blocks_now")[row] == found.at("blocks")[row]) << steps[row];
      }
      if (first.empty()) first = found;
    }
  std::filesystem::remove_all(folder);
}

TEST(ModuleSums, AreUnknownBeforeTheFirstStepAndKeptByACheckpoint) {
  const web w;
  const auto in = blast(options({1, 1, 1}, 8, 2));
  setup s = in->prepare().value();
  s.modules = {&w};
  runtime rt({.workers = 2});
  simulation sim(*in, s, rt);
  sim.start();
  ASSERT_EQ(sim.totals().size(), 9u);
  EXPECT_TRUE(std::isnan(sim.totals()[6]));
  ASSERT_TRUE(sim.step());
  EXPECT_GT(sim.totals()[6], 8.0);
  const auto numbers = sim.numbers();
  EXPECT_EQ(numbers.back().first, "module_sums");
  const std::vector<double> totals = sim.totals();
  EXPECT_EQ(numbers.back().second, std::vector<double>(totals.begin() + 6, totals.end()));
}

}  // namespace
}  // namespace plx::star
