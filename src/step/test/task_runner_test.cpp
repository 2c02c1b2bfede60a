#include "step/task_runner.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>

#include "mesh/test/test_meshes.hpp"
#include "mesh/tree/block_mesh.hpp"
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

// Three stages on the blocks, each with a second pass beside finer blocks; then sums up the tree, a pass that reads the
// nodes of its level around it, and sums down again.
struct computation {
  static constexpr int stages = 3, numbers_of_refined = 3, numbers_of_block = 2 * (stages + 1) + numbers_of_refined;
  node_values u[stages + 1]{node_values(2), node_values(2), node_values(2), node_values(2)};
  node_values flux{2}, up{1}, beside{1}, down{1};
  const node_graph* graph = nullptr;

  void resize(std::size_t nodes) {
    for (node_values& v : u) v.resize(nodes);
    for (node_values* v : {&flux, &up, &beside, &down}) v->resize(nodes);
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
  void look_around(node_id n) {
    double sum = up.at(n)[0];
    for (const node_id other : graph->read_by(stencil::level_neighbours, n)) sum = mix(sum, up.at(other)[0]);
    beside.at(n)[0] = sum;
  }
  void scatter(node_id n) {
    double d = beside.at(n)[0];
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
    for (const node_id n : nodes) look_around(n);
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
      borders.push_back(std::make_unique<node_border>(c.u[s], std::vector{stencil::neighbours}));
      u.push_back(r.add_field({.name = "u" + std::to_string(s),
                               .given = s == 0,
                               .shared_at = {stencil::neighbours},
                               .transfers = {{stencil::neighbours, borders.back().get()}}}));
      borders.push_back(std::make_unique<node_border>(c.flux, std::vector{stencil::finer_faces}));
      flux.push_back(r.add_field({.name = "flux",
                                  .shared_at = {stencil::finer_faces},
                                  .transfers = {{stencil::finer_faces, borders.back().get()}}}));
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
    const std::vector<stencil> at_both{stencil::children, stencil::level_neighbours};
    borders.push_back(std::make_unique<node_border>(c.up, at_both));
    const field_id up = r.add_field({.name = "up",
                                     .shared_at = {stencil::children, stencil::level_neighbours},
                                     .transfers = {{stencil::children, borders.back().get()},
                                                   {stencil::level_neighbours, borders.back().get()}}}),
                   beside = r.add_field({.name = "beside"});
    borders.push_back(std::make_unique<node_border>(c.down, std::vector{stencil::parent}));
    const field_id down = r.add_field(
        {.name = "down", .shared_at = {stencil::parent}, .transfers = {{stencil::parent, borders.back().get()}}});
    r.add({.name = "test.gather",
           .where = node_set::blocks_and_refined,
           .reads = {{up, stencil::children}},
           .writes = {up},
           .kernel = kernel([this](node_id n) { c.gather(n); })});
    r.add({.name = "test.look_around",
           .where = node_set::blocks_and_refined,
           .reads = {{up}, {up, stencil::level_neighbours}},
           .writes = {beside},
           .kernel = kernel([this](node_id n) { c.look_around(n); })});
    r.add({.name = "test.scatter",
           .where = node_set::blocks_and_refined,
           .reads = {{beside}, {down, stencil::parent}},
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
    all.insert(all.end(), {c.up.at(n)[0], c.beside.at(n)[0], c.down.at(n)[0]});
  }
  return all;
}

block_mesh random_mesh(int seed) {
  std::mt19937_64 rng(static_cast<unsigned>(seed));
  constexpr std::array<int, 3> roots[] = {{2, 1, 2}, {2, 1, 2}, {1, 1, 1}, {3, 2, 1}, {4, 4, 4}, {5, 1, 2}};
  const mesh::boundary sides = seed % 2 == 0 ? mesh::boundary::periodic : mesh::boundary::outflow;
  const int n = seed % 3 == 0 ? 16 : 8;
  return mesh::test::random_mesh(mesh::test::box(roots[seed % 6], n, 3, sides), 10, rng);
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
      const std::size_t size = whole.is_block(n) ? computation::numbers_of_block : computation::numbers_of_refined;
      if (c.graph->is_local(n)) {
        const std::vector<double> found = all_values(c, {&n, 1});
        ASSERT_EQ(found, std::vector<double>(expected.begin() + at, expected.begin() + at + size)) << n;
      }
      at += size;
    }
    for (const node_id b : c.graph->local())
      for (const node_id n : c.graph->read_by(stencil::neighbours, b)) {
        const auto position =
            static_cast<std::size_t>(m.position(n)) * computation::numbers_of_block + 2 * computation::stages;
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
        for (int seed = 0; seed < 6; ++seed) compare(net, seed);
      });
    }
}

// A given field that is updated beside finer blocks only, and sums over refined nodes that skip the blocks.
void run_on_subsets(exchange& net, const block_mesh& m, std::vector<double>& found) {
  node_values given(1), seen(1), count(1);
  node_border given_border(given, {stencil::neighbours}), count_border(count, {stencil::children});
  recipe r;
  const field_id u = r.add_field({.name = "u",
                                  .given = true,
                                  .shared_at = {stencil::neighbours},
                                  .transfers = {{stencil::neighbours, &given_border}}}),
                 v = r.add_field({.name = "v"}),
                 c = r.add_field({.name = "count",
                                  .given = true,
                                  .shared_at = {stencil::children},
                                  .transfers = {{stencil::children, &count_border}}});
  const node_graph* graph = nullptr;
  r.add({.name = "test.update",
         .where = node_set::beside_finer,
         .reads = {{u}},
         .writes = {u},
         .kernel = kernel([&](node_id b) { given.at(b)[0] += 1000.0; })});
  r.add({.name = "test.see", .reads = {{u, stencil::neighbours}}, .writes = {v}, .kernel = kernel([&](node_id b) {
                                                                                   seen.at(b)[0] = 0.0;
                                                                                   for (const node_id n :
                                                                                        graph->read_by(
                                                                                            stencil::neighbours, b))
                                                                                     seen.at(b)[0] += given.at(n)[0];
                                                                                 })});
  r.add({.name = "test.count",
         .where = node_set::refined,
         .reads = {{c, stencil::children}},
         .writes = {c},
         .kernel = kernel([&](node_id n) {
           count.at(n)[0] = 0.0;
           for (const node_id child : graph->read_by(stencil::children, n)) count.at(n)[0] += count.at(child)[0];
         })});
  ASSERT_TRUE(r.check()) << r.check().error().message;
  task_runner runner(r, net);
  const curve_parts parts(mesh::cut_curve(std::vector<double>(m.block_count(), 1.0), net.count()), net.count());
  runner.adopt(m, parts);
  graph = &runner.nodes();
  for (node_values* values : {&given, &seen, &count}) values->resize(graph->node_count());
  for (const node_id b : m.blocks()) given.at(b)[0] = b, count.at(b)[0] = 1.0;
  runner.run();
  for (const node_id n : graph->local())
    found[static_cast<std::size_t>(n)] = graph->is_block(n) ? seen.at(n)[0] : count.at(n)[0];
}

TEST(TaskRunner, SendsTheNodesOnWhichAFieldIsWritten) {
  for (int seed = 0; seed < 4; ++seed) {
    const block_mesh m = random_mesh(seed);
    std::vector<double> one(mesh::tree(m).node_count()), several = one;
    runtime rt({.workers = 2});
    rt.run([&] { run_on_subsets(exchange::alone(), m, one); });
    net::test::localities job(3, 2);
    job.run_all([&] {
      exchange net(net::node_here());
      run_on_subsets(net, m, several);
    });
    EXPECT_EQ(several, one);
  }
}

TEST(TaskRunner, ThrowsWhatAKernelThrowsAfterAllTasksHaveEnded) {
  runtime rt({.workers = 2});
  const block_mesh m = random_mesh(1);
  const curve_parts one(m.block_count());
  recipe r;
  const field_id u = r.add_field({.name = "u", .given = true}),
                 v = r.add_field({.name = "v", .shared_at = {stencil::neighbours}});
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

const std::vector<stencil> at_neighbours{stencil::neighbours}, at_children{stencil::children},
    at_parent{stencil::parent};

TEST(Recipe, RefusesNewValuesInPlaceOfThoseThatNeighboursRead) {
  recipe r;
  const field_id u = r.add_field({.name = "u", .given = true, .shared_at = at_neighbours});
  r.add({.name = "p", .reads = {{u, stencil::neighbours}}, .writes = {u}, .kernel = nothing()});
  EXPECT_NE(complaint(r).find("expected another field for the new values, since the order"), std::string::npos);
  recipe later;
  const field_id v = later.add_field({.name = "v", .given = true, .shared_at = at_neighbours});
  later.add({.name = "p", .reads = {{v, stencil::neighbours}}, .writes = {}, .kernel = nothing()});
  later.add({.name = "q", .reads = {}, .writes = {v}, .kernel = nothing()});
  EXPECT_EQ(complaint(later),
            "pass q writes the field v after pass p has read it at its neighbours: expected another field for the new "
            "values");
}

TEST(Recipe, RefusesAFieldThatIsNotSharedOrNotWrittenEverywhere) {
  recipe alone;
  const field_id u = alone.add_field({.name = "u", .given = true, .shared_at = at_neighbours});
  alone.add(
      {.name = "p", .where = node_set::refined, .reads = {{u, stencil::children}}, .writes = {}, .kernel = nothing()});
  EXPECT_EQ(complaint(alone), "pass p reads the field u at its children: expected a field that is shared there");
  recipe partly;
  const field_id v = partly.add_field({.name = "v"});
  partly.add({.name = "p", .where = node_set::beside_finer, .reads = {}, .writes = {v}, .kernel = nothing()});
  partly.add({.name = "q", .reads = {{v}}, .writes = {}, .kernel = nothing()});
  EXPECT_EQ(
      complaint(partly),
      "pass q reads the field v at its own node: expected earlier passes that write it on all of these nodes, found "
      "some on a part of them");
}

TEST(Recipe, RefusesBothDirectionsInOnePassAndTooManyPasses) {
  recipe both;
  const field_id u = both.add_field({.name = "u", .shared_at = {stencil::children, stencil::parent}});
  both.add({.name = "p",
            .where = node_set::blocks_and_refined,
            .reads = {{u, stencil::children}, {u, stencil::parent}},
            .writes = {u},
            .kernel = nothing()});
  EXPECT_NE(complaint(both).find("expected one direction"), std::string::npos) << complaint(both);
  recipe many;
  for (int i = 0; i < 65; ++i) many.add({.name = "p", .reads = {}, .writes = {}, .kernel = nothing()});
  EXPECT_EQ(complaint(many), "expected at most 64 passes, found 65; the next one is p");
}

// Two fields in turn in the same memory: allowed if the pass that overwrites waits for all readers.
TEST(Recipe, ProvesThatMemoryIsFreeBeforeItIsOverwritten) {
  const auto described_with = [](stencil second) {
    recipe r;
    const field_id u = r.add_field({.name = "u", .given = true, .shared_at = at_neighbours, .storage = 0}),
                   v = r.add_field({.name = "v", .shared_at = at_neighbours}),
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

// A second writer on more nodes does not wait; an earlier field is used again later; a published field is overwritten.
TEST(Recipe, ExaminesEveryWriterAndTheWholeLifeOfAField) {
  recipe second;
  const field_id u = second.add_field({.name = "u", .given = true, .shared_at = at_neighbours, .storage = 0}),
                 v = second.add_field({.name = "v", .shared_at = at_neighbours}),
                 w = second.add_field({.name = "w", .storage = 0});
  second.add({.name = "read", .reads = {{u, stencil::neighbours}}, .writes = {v}, .kernel = nothing()});
  second.add({.name = "first",
              .where = node_set::beside_finer,
              .reads = {{v, stencil::neighbours}},
              .writes = {w},
              .kernel = nothing()});
  second.add({.name = "second", .reads = {}, .writes = {w}, .kernel = nothing()});
  EXPECT_NE(complaint(second).find("pass second overwrites the field u with w while pass read may"), std::string::npos);
  const auto in_turn = [](bool read_again, bool publish) {
    recipe r;
    const field_id a = r.add_field({.name = "a", .shared_at = at_neighbours, .storage = 0}),
                   b = r.add_field({.name = "b", .storage = 0});
    r.add({.name = "one", .reads = {}, .writes = {a}, .kernel = nothing()});
    r.add({.name = "two", .reads = {}, .writes = {b}, .kernel = nothing()});
    if (read_again) r.add({.name = "three", .reads = {{a}}, .writes = {}, .kernel = nothing()});
    if (publish) r.publish({a, stencil::neighbours});
    return complaint(r);
  };
  EXPECT_EQ(in_turn(false, false), "");
  for (const std::string& text : {in_turn(true, false), in_turn(false, true)})
    EXPECT_EQ(text,
              "the fields a and b have the same memory, and a is used after b is written: expected other memory for "
              "one of them");
}

// The parent reads sums of its children; they may be overwritten once the children have read what it made of them.
TEST(Recipe, ProvesTheSameForTrees) {
  const auto described_with = [](stencil second) {
    recipe r;
    const field_id sum = r.add_field({.name = "sum", .shared_at = at_children, .storage = 0}),
                   mean = r.add_field({.name = "mean", .shared_at = {second}}),
                   again = r.add_field({.name = "again", .shared_at = at_children, .storage = 0});
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

// Passes on blocks and on refined nodes wait together; a read at the nodes around of what is written later suffices.
TEST(Recipe, ProvesThatMemoryIsFreeFromSeveralPasses) {
  const auto described_with = [](bool blocks_wait, bool two_in_turn) {
    recipe r;
    const node_set all = node_set::blocks_and_refined;
    const std::vector<stencil> at_both{stencil::children, stencil::level_neighbours};
    const field_id sum = r.add_field({.name = "sum", .shared_at = at_both, .storage = 0}),
                   down = r.add_field({.name = "down", .shared_at = at_parent, .nodes = node_set::refined}),
                   seen = r.add_field({.name = "seen", .nodes = node_set::blocks}),
                   next = r.add_field({.name = "next", .shared_at = at_both, .storage = two_in_turn ? 1 : 0}),
                   last = r.add_field({.name = "last", .storage = 0});
    r.add({.name = "up", .where = all, .reads = {{sum, stencil::children}}, .writes = {sum}, .kernel = nothing()});
    if (two_in_turn)
      r.add({.name = "around",
             .where = all,
             .reads = {{sum, stencil::level_neighbours}},
             .writes = {},
             .kernel = nothing()});
    r.add({.name = "down",
           .where = node_set::refined,
           .reads = {{down, stencil::parent}},
           .writes = {down},
           .kernel = nothing()});
    if (blocks_wait) r.add({.name = "see", .reads = {{down, stencil::parent}}, .writes = {seen}, .kernel = nothing()});
    r.add({.name = "up again",
           .where = all,
           .reads = {{next, stencil::children}},
           .writes = {next},
           .kernel = nothing()});
    if (!two_in_turn) return complaint(r);
    r.add({.name = "around again",
           .where = all,
           .reads = {{next, stencil::level_neighbours}},
           .writes = {},
           .kernel = nothing()});
    r.add({.name = "end", .where = all, .reads = {}, .writes = {last}, .kernel = nothing()});
    return complaint(r);
  };
  EXPECT_EQ(described_with(true, false), "");
  EXPECT_NE(described_with(false, false).find("pass up again overwrites the field sum with next while pass up may"),
            std::string::npos);
  EXPECT_EQ(described_with(true, true), "");
}

// A result that goes up to the top and down again reaches every node after all have read.
TEST(Recipe, ProvesThatMemoryIsFreeAfterAWayUpAndDown) {
  const auto described_with = [](bool up, bool down, bool connected) {
    recipe r;
    const node_set all = node_set::blocks_and_refined;
    const field_id mass = r.add_field({.name = "mass", .shared_at = {stencil::level_neighbours}, .storage = 0}),
                   seen = r.add_field({.name = "seen"}), sum = r.add_field({.name = "sum", .shared_at = at_children}),
                   total = r.add_field({.name = "total", .shared_at = at_parent}),
                   next = r.add_field({.name = "next", .storage = 0});
    r.add({.name = "begin", .where = all, .reads = {}, .writes = {mass}, .kernel = nothing()});
    r.add({.name = "around",
           .where = all,
           .reads = {{mass, stencil::level_neighbours}},
           .writes = {seen},
           .kernel = nothing()});
    std::vector<access> below{{seen}}, above;
    if (up) below.push_back({sum, stencil::children});
    if (connected) above.push_back({sum});
    if (down) above.push_back({total, stencil::parent});
    r.add({.name = "up", .where = all, .reads = below, .writes = {sum}, .kernel = nothing()});
    r.add({.name = "down", .where = all, .reads = above, .writes = {total}, .kernel = nothing()});
    r.add({.name = "again", .where = all, .reads = {}, .writes = {next}, .kernel = nothing()});
    return complaint(r);
  };
  EXPECT_EQ(described_with(true, true, true), "");
  for (const std::string& text :
       {described_with(false, true, true), described_with(true, false, true), described_with(true, true, false)})
    EXPECT_NE(text.find("pass again overwrites the field mass with next while pass around may"), std::string::npos)
        << text;
}

TEST(Recipe, RefusesToPublishWhatNoPassWrites) {
  recipe r;
  r.publish({r.add_field({.name = "u", .given = true}), stencil::neighbours});
  EXPECT_EQ(complaint(r), "the field u is published: expected a pass that writes it, found none");
}

}  // namespace
}  // namespace plx::step
