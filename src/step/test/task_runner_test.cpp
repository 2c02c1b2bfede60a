#include "step/task_runner.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <random>
#include <stdexcept>

#include "mesh/curve_cut.hpp"
#include "mesh/test_meshes.hpp"
#include "net/core/node.hpp"
#include "net/error.hpp"
#include "net/test/threads_test.hpp"
#include "rt/runtime.hpp"

namespace plx::step {
namespace {

using mesh::block_mesh;
using mesh::curve_parts;

// A number that depends on all its terms and on their order; exact in double.
double mix(double a, double b) { return std::fmod(a * 131071.0 + b * 31.0 + 7.0, 2147483647.0); }

// Three stages on the blocks, each with a second pass beside finer blocks; then sums up the tree, and down again.
struct computation {
  static constexpr int stages = 3;
  node_values u[stages + 1]{node_values(2), node_values(2), node_values(2), node_values(2)};
  node_values flux{2}, up{1}, down{1};
  const node_graph* graph = nullptr;

  void resize(std::size_t nodes) {
    for (node_values& v : u) v.resize(nodes);
    for (node_values* v : {&flux, &up, &down}) v->resize(nodes);
  }
  void begin(node_id b) { u[0].at(b)[0] = b + 1, u[0].at(b)[1] = 2 * b + 5; }
  void advance(node_id b, int s) {
    double a = u[s].at(b)[0], c = u[0].at(b)[1];
    for (const node_id n : graph->read_by(stencil::neighbours, b)) a = mix(a, u[s].at(n)[0] + u[s].at(n)[1]);
    u[s + 1].at(b)[0] = a, u[s + 1].at(b)[1] = mix(c, a);
    flux.at(b)[0] = mix(a, s), flux.at(b)[1] = s;
  }
  void correct(node_id b, int s) {
    for (const node_id n : graph->read_by(stencil::finer_faces, b))
      u[s + 1].at(b)[0] = mix(u[s + 1].at(b)[0], flux.at(n)[0] + flux.at(n)[1]);
  }
  void source(node_id b, int s) { u[s + 1].at(b)[1] += s; }
  void gather(node_id n) {
    double sum = graph->is_block(n) ? u[stages].at(n)[0] : 1.0;
    for (const node_id c : graph->read_by(stencil::children, n)) sum = mix(sum, up.at(c)[0]);
    up.at(n)[0] = sum;
  }
  void scatter(node_id n) {
    double d = up.at(n)[0];
    for (const node_id p : graph->read_by(stencil::parent, n)) d = mix(d, down.at(p)[0]);
    down.at(n)[0] = d;
  }
  // In the order of a plain program; all nodes are local.
  void run_plainly() {
    const auto nodes = graph->local();
    for (int s = 0; s < stages; ++s) {
      for (const node_id b : nodes)
        if (graph->is_block(b)) advance(b, s);
      for (const node_id b : nodes)
        if (graph->contains(node_set::beside_finer, b)) correct(b, s);
      for (const node_id b : nodes)
        if (graph->is_block(b)) source(b, s);
    }
    for (const node_id n : nodes) gather(n);
    for (std::size_t i = nodes.size(); i-- > 0;)
      if (!graph->is_block(nodes[i])) scatter(nodes[i]);
    for (const node_id n : nodes)
      if (graph->is_block(n)) scatter(n);
  }
};

struct described {
  explicit described(computation& on) : c(on) {
    std::vector<field_id> u, flux;
    for (int s = 0; s <= computation::stages; ++s) {
      borders.push_back(std::make_unique<node_border>(c.u[s], stencil::neighbours));
      u.push_back(r.add_field({.name = "u" + std::to_string(s),
                               .given = s == 0,
                               .transfers = {{stencil::neighbours, borders.back().get()}}}));
      borders.push_back(std::make_unique<node_border>(c.flux, stencil::finer_faces));
      flux.push_back(r.add_field({.name = "flux", .transfers = {{stencil::finer_faces, borders.back().get()}}}));
    }
    for (int s = 0; s < computation::stages; ++s) {
      const field_id next = u[s + 1];
      r.add({.name = "test.advance",
             .reads = {{u[s], stencil::neighbours}, {u[s]}, {u[0]}},
             .writes = {next, flux[s]},
             .kernel = kernel([this, s](node_id b) { c.advance(b, s); })});
      r.add({.name = "test.correct",
             .where = node_set::beside_finer,
             .reads = {{flux[s], stencil::finer_faces}, {next}},
             .writes = {next},
             .kernel = kernel([this, s](node_id b) { c.correct(b, s); })});
      r.add({.name = "test.source", .reads = {{next}}, .writes = {next}, .kernel = kernel([this, s](node_id b) {
                                                                           c.source(b, s);
                                                                         })});
    }
    borders.push_back(std::make_unique<node_border>(c.up, stencil::children));
    const field_id up = r.add_field({.name = "up", .transfers = {{stencil::children, borders.back().get()}}});
    borders.push_back(std::make_unique<node_border>(c.down, stencil::parent));
    const field_id down = r.add_field({.name = "down", .transfers = {{stencil::parent, borders.back().get()}}});
    r.add({.name = "test.gather",
           .where = node_set::blocks_and_refined,
           .reads = {{up, stencil::children}},
           .writes = {up},
           .kernel = kernel([this](node_id n) { c.gather(n); })});
    r.add({.name = "test.scatter",
           .where = node_set::blocks_and_refined,
           .reads = {{up}, {down, stencil::parent}},
           .writes = {down},
           .kernel = kernel([this](node_id n) { c.scatter(n); })});
    r.publish({u[computation::stages], stencil::neighbours});
  }
  computation& c;
  std::vector<std::unique_ptr<border>> borders;
  recipe r;
};

std::vector<double> all_values(const computation& c, std::span<const node_id> nodes) {
  std::vector<double> all;
  for (const node_id n : nodes) {
    if (c.graph->is_block(n))
      for (const node_values& u : c.u) all.insert(all.end(), u.at(n), u.at(n) + 2);
    all.insert(all.end(), {c.up.at(n)[0], c.down.at(n)[0]});
  }
  return all;
}

block_mesh random_mesh(int seed) {
  std::mt19937_64 rng(static_cast<unsigned>(seed));
  return mesh::test::random_mesh(
      mesh::test::box({2, 1, 2}, 8, 3, seed % 2 == 0 ? mesh::boundary::periodic : mesh::boundary::outflow), 10, rng);
}

std::vector<double> expected_on(const block_mesh& m) {
  const curve_parts one(m.block_count());
  const node_graph graph(m, one, 0, true);
  computation c;
  c.graph = &graph;
  c.resize(graph.node_count());
  for (const node_id b : m.blocks()) c.begin(b);
  c.run_plainly();
  return all_values(c, graph.local());
}

// Two runs, with other meshes between them, so that counters and messages are used again.
void compare(exchange& net, int seed) {
  computation c;
  described d(c);
  ASSERT_TRUE(d.r.check()) << d.r.check().error().message;
  task_runner runner(d.r, net);
  for (int turn = 0; turn < 3; ++turn) {
    const block_mesh m = random_mesh(seed + turn / 2);
    const std::vector<double> weights(m.block_count(), 1.0);
    const curve_parts parts(mesh::cut_curve(weights, net.count()), net.count());
    runner.adopt(m, parts);
    c.graph = &runner.nodes();
    c.resize(c.graph->node_count());
    for (const node_id b : m.blocks()) c.begin(b);  // given: also those of other localities
    for (int run = 0; run < 3; ++run) runner.run();
    const std::vector<double> expected = expected_on(m);
    const curve_parts one(m.block_count());
    const node_graph whole(m, one, 0, true);
    std::size_t at = 0;
    for (const node_id n : whole.local()) {
      const std::size_t size = whole.is_block(n) ? 10 : 2;
      if (c.graph->is_local(n)) {
        const std::vector<double> found = all_values(c, {&n, 1});
        ASSERT_EQ(found, std::vector<double>(expected.begin() + at, expected.begin() + at + size)) << n;
      }
      at += size;
    }
    for (const node_id b : c.graph->local())
      for (const node_id n : c.graph->read_by(stencil::neighbours, b)) {
        const auto position = static_cast<std::size_t>(m.position(n)) * 10 + 2 * computation::stages;
        ASSERT_EQ(c.u[computation::stages].at(n)[0], expected[position]) << "published value of " << n;
      }
  }
}

TEST(TaskRunner, ComputesWhatAPlainProgramComputes) {
  for (const unsigned workers : {1u, 2u, 3u}) {
    runtime rt({.workers = workers});
    for (int seed = 0; seed < 6; ++seed) rt.run([&] { compare(exchange::alone(), seed); });
  }
}

TEST(TaskRunner, ComputesTheSameOnSeveralLocalities) {
  for (const unsigned n : {2u, 3u, 5u})
    for (const unsigned workers : {1u, 2u}) {
      net::test::localities job(n, workers);
      job.run_all([] {
        exchange net(net::node_here());
        for (int seed = 0; seed < 4; ++seed) compare(net, seed);
      });
    }
}

TEST(TaskRunner, ThrowsWhatAKernelThrowsAfterAllTasksHaveEnded) {
  runtime rt({.workers = 2});
  const block_mesh m = random_mesh(1);
  const curve_parts one(m.block_count());
  recipe r;
  const field_id u = r.add_field({.name = "u", .given = true}), v = r.add_field({.name = "v"});
  std::atomic<int> runs{0};
  bool fails = true;
  const node_id culprit = m.blocks()[3];
  r.add({.name = "test.first", .reads = {{u}}, .writes = {v}, .kernel = kernel([&](node_id n) {
                                                                if (n == culprit && fails)
                                                                  throw std::runtime_error("block 3");
                                                                ++runs;
                                                              })});
  r.add({.name = "test.second", .reads = {{v, stencil::neighbours}}, .writes = {}, .kernel = kernel([&](node_id) {
                                                                                     ++runs;
                                                                                   })});
  task_runner runner(r, exchange::alone());
  runner.adopt(m, one);
  rt.run([&] {
    EXPECT_THROW(runner.run(), std::runtime_error);
    EXPECT_LT(runs, 2 * static_cast<int>(m.block_count()));
    fails = false, runs = 0;
    runner.run();
    EXPECT_EQ(runs, 2 * static_cast<int>(m.block_count()));
  });
}

// The recipe of a test: which rule does it break?
std::string complaint(const recipe& r) {
  const auto checked = r.check();
  return checked ? "" : checked.error().message;
}

auto nothing() {
  return kernel([](node_id) {});
}

TEST(Recipe, RefusesAFieldThatIsReadBeforeItIsWritten) {
  recipe r;
  const field_id u = r.add_field({.name = "u"});
  r.add({.name = "p", .reads = {{u}}, .writes = {}, .kernel = nothing()});
  EXPECT_EQ(complaint(r), "pass p reads the field u: expected an earlier pass that writes it, found none");
}

TEST(Recipe, RefusesAPassWithoutAKernel) {
  recipe r;
  r.add({.name = "p", .reads = {}, .writes = {}, .kernel = nullptr});
  EXPECT_EQ(complaint(r), "pass p: expected a kernel, found none");
}

TEST(Recipe, RefusesNewValuesInPlaceOfThoseThatNeighboursRead) {
  recipe r;
  const field_id u = r.add_field({.name = "u", .given = true});
  r.add({.name = "p", .reads = {{u, stencil::neighbours}}, .writes = {u}, .kernel = nothing()});
  EXPECT_NE(complaint(r).find("expected another field for the new values, since the order"), std::string::npos);
  recipe later;
  const field_id v = later.add_field({.name = "v", .given = true});
  later.add({.name = "p", .reads = {{v, stencil::neighbours}}, .writes = {}, .kernel = nothing()});
  later.add({.name = "q", .reads = {}, .writes = {v}, .kernel = nothing()});
  EXPECT_EQ(complaint(later),
            "pass q writes the field v after pass p has read it at its neighbours: expected another field for the new "
            "values");
}

// Two fields in turn in the same memory: allowed if the pass that overwrites waits for all readers.
TEST(Recipe, ProvesThatMemoryIsFreeBeforeItIsOverwritten) {
  const auto described_with = [](stencil second) {
    recipe r;
    const field_id u = r.add_field({.name = "u", .given = true, .storage = 0}), v = r.add_field({.name = "v"}),
                   w = r.add_field({.name = "w", .storage = 0});
    r.add({.name = "p", .reads = {{u, stencil::neighbours}}, .writes = {v}, .kernel = nothing()});
    r.add({.name = "q", .reads = {{v, second}}, .writes = {w}, .kernel = nothing()});
    return complaint(r);
  };
  EXPECT_EQ(described_with(stencil::neighbours), "");
  EXPECT_EQ(described_with(stencil::own),
            "pass q overwrites the field u with w while pass p may still read it at its neighbours: expected other "
            "memory, or a read of what that pass writes");
}

// The parent reads sums of its children; they may be overwritten once the children have read what it made of them.
TEST(Recipe, ProvesTheSameForTrees) {
  const auto described_with = [](stencil second) {
    recipe r;
    const field_id sum = r.add_field({.name = "sum", .storage = 0}), mean = r.add_field({.name = "mean"}),
                   again = r.add_field({.name = "again", .storage = 0});
    const node_set all = node_set::blocks_and_refined;
    r.add({.name = "up", .where = all, .reads = {{sum, stencil::children}}, .writes = {sum}, .kernel = nothing()});
    r.add({.name = "down", .where = all, .reads = {{sum}, {mean, second}}, .writes = {mean}, .kernel = nothing()});
    r.add({.name = "up again",
           .where = all,
           .reads = {{again, stencil::children}},
           .writes = {again},
           .kernel = nothing()});
    return complaint(r);
  };
  EXPECT_EQ(described_with(stencil::parent), "");
  EXPECT_NE(
      described_with(stencil::children).find("pass up again overwrites the field sum with again while pass up may"),
      std::string::npos);
}

TEST(Recipe, RefusesToPublishWhatNoPassWrites) {
  recipe r;
  r.publish({r.add_field({.name = "u", .given = true}), stencil::neighbours});
  EXPECT_EQ(complaint(r), "the field u is published: expected a pass that writes it, found none");
}

}  // namespace
}  // namespace plx::step
