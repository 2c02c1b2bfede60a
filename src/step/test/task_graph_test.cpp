#include "step/task_graph.hpp"

#include <gtest/gtest.h>

#include "mesh/tree/block_mesh.hpp"

namespace plx::step {
namespace {

using mesh::block_mesh;
using mesh::curve_parts;

// Eight blocks in a row, of which the first four belong to locality 0. Two passes that read neighbours, each followed
// by one that does not.
struct row {
  row() {
    mesh::domain d;
    d.root_blocks = {8, 1, 1};
    d.upper = {8.0, 1.0, 1.0};
    d.sides.fill(mesh::boundary::outflow);
    m = std::make_unique<block_mesh>(d);
    parts = std::make_unique<curve_parts>(mesh::cut_curve(std::vector<double>(8, 1.0), 2), 2);
    const transfer by{stencil::neighbours, &border};
    const field_id u = r.add_field({.name = "u", .given = true, .shared_at = {stencil::neighbours}}),
                   v = r.add_field({.name = "v", .shared_at = {stencil::neighbours}, .transfers = {by}}),
                   w = r.add_field({.name = "w"});
    const auto add = [this](const char* name, access read, field_id written) {
      r.add({.name = name, .reads = {read}, .writes = {written}, .kernel = kernel([](node_id) {})});
    };
    add("a", {u, stencil::neighbours}, v);
    add("b", {v}, v);
    add("c", {v, stencil::neighbours}, w);
    add("d", {w}, w);
  }
  node_values values{2};
  node_border border{values, {stencil::neighbours}};
  recipe r;
  std::unique_ptr<block_mesh> m;
  std::unique_ptr<curve_parts> parts;
};

TEST(TaskGraph, APassWithoutInputsContinuesATask) {
  row all;
  task_graph g(all.r);
  const node_graph nodes(*all.m, *all.parts, 0, false);
  g.adopt(nodes);
  const auto block = [&](int i) { return all.m->find({0, {i, 0, 0}}); };
  EXPECT_EQ(g.passes_of(block(3)), 0b1111u);
  for (const int p : {0, 1, 3}) EXPECT_EQ(g.inputs(block(3), p), 0) << p;  // u is given
  EXPECT_EQ(g.inputs(block(3), 2), 2);
  EXPECT_EQ(g.inputs(block(0), 2), 1);
  ASSERT_EQ(g.links().size(), 1u);
  EXPECT_FALSE(g.is_last_source(g.links()[0], 0, block(3)));
  EXPECT_TRUE(g.is_last_source(g.links()[0], 1, block(3)));
  EXPECT_EQ(g.provided_by(1), std::vector<int>{0});
  EXPECT_TRUE(g.provided_by(2).empty());
}

TEST(TaskGraph, BlocksThatOthersWaitForComeFirstOnEachLocality) {
  row all;
  task_graph g(all.r);
  node_graph nodes(*all.m, *all.parts, 0, false);
  g.adopt(nodes);
  for (const int here : {0, 1}) {
    nodes.move_to(here);
    g.adopt_borders();
    EXPECT_EQ(nodes.here(), here);
    EXPECT_EQ(nodes.local().size(), 4u);
    EXPECT_EQ(g.order(false).front(), all.m->find({0, {here == 0 ? 3 : 4, 0, 0}}));
    EXPECT_EQ(g.order(true).front(), nodes.local().front());
    ASSERT_EQ(all.border.sends().size(), 1u);
    EXPECT_EQ(all.border.sends()[0].peer, 1 - here);
    EXPECT_EQ(all.border.sends()[0].doubles, 2u);
  }
}

}  // namespace
}  // namespace plx::step
