#include "workload.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <tuple>

namespace plx::scale {
namespace {

constexpr const char* text = R"([run]
stages = 2
variables = 6
steps_per_look = 4
[mesh]
block_size = 8
root_blocks = [2, 1, 1]
max_level = 1
periodic = [false, false, true]
[tasks]
"star.stage" = 3e-5
[gravity]
order = 4
theta = 0.5
carried = 0.75
[costs]
tree_s = 1e-6
totals_s = 2e-6
look_s = 3e-6
rebuild_s = 4e-6
plan_s = 7e-6
step_s = 5e-6
root_s = 6e-6
jitter = 0.1
[blocks]
level = [1, 1, 1, 1, 1, 1, 1, 1, 0]
x = [0, 1, 0, 1, 0, 1, 0, 1, 1]
y = [0, 0, 1, 1, 0, 0, 1, 1, 0]
z = [0, 0, 0, 0, 1, 1, 1, 1, 0]
seconds = [1e-4, 1e-4, 1e-4, 1e-4, 1e-4, 1e-4, 1e-4, 1e-4, 2e-4]
)";

result<workload> read(std::string what, const std::string& from = "", const std::string& to = "") {
  if (!from.empty()) what.replace(what.find(from), from.size(), to);
  const std::string path = "/tmp/plx_workload_test." + std::to_string(getpid()) + ".toml";
  std::ofstream(path) << what;
  auto w = read_workload(path);
  unlink(path.c_str());
  return w;
}

TEST(Workload, IsReadAsWritten) {
  const auto w = read(text);
  ASSERT_TRUE(w) << w.error().message;
  EXPECT_EQ(w->stages, 2);
  EXPECT_EQ(w->variables, 6);
  EXPECT_EQ(w->blocks.size(), 9u);
  EXPECT_EQ(w->seconds_of("star.stage"), 3e-5);
  EXPECT_EQ(w->seconds_of("star.other"), 0.0);
  ASSERT_TRUE(w->gravity);
  EXPECT_EQ(w->gravity->order, 4);
  EXPECT_EQ(w->carried, 0.75);
  EXPECT_EQ(w->reach(), mesh::reach::faces);
  EXPECT_DOUBLE_EQ(w->stepping_s(), 1e-3);
  EXPECT_DOUBLE_EQ(w->costs.root_s, 6e-6);
  EXPECT_DOUBLE_EQ(w->costs.plan_s, 7e-6);
  EXPECT_EQ(w->box.sides[5], mesh::boundary::periodic);
  EXPECT_EQ(w->box.sides[0], mesh::boundary::outflow);
}

TEST(Workload, AnErrorIsOneLineWithFileAndKey) {
  const std::tuple<const char*, const char*, const char*> defects[] = {
      {"stages = 2", "stages = 1", "run.stages: expected a number of 2 or more, found 1"},
      {"stages = 2", "", "run.stages: expected a number of 2 or more, found none"},
      {"root_s = 6e-6", "root_s = -1.0", "costs.root_s: expected a number of 0 or more"},
      {"root_s = 6e-6", "root_s = 6e-6\nlists_s = -1", "costs.lists_s: expected a number of 0 or more, found -1"},
      {"level = [1,", "part = [0, 1]\nlevel = [1,", "blocks.part: expected a list of 9 values, found 2"},
      {"= 3e-5", "= -3e-5", "tasks: star.stage: expected a number of 0 or more"},
      {"order = 4", "order = 9", "gravity: "},
      {"theta = 0.5", "", "gravity.theta: expected a number of 0 or more, found none"},
      {"carried = 0.75", "carried = 1.5", "gravity.carried: expected a fraction, found 1.5"},
      {"stages = 2", "stages = 4", "run.stages: expected 2 or 3, found 4"},
      {"x = [0, 1,", "x = [0,", "blocks.x: expected a list of 9 values, found 8"},
      {"1e-4, 2e-4]", "1e-4, -2e-4]", "blocks.seconds: expected 0 or more"},
      {"level = [1, 1, 1,", "level = [1, 1, 0,", "level"},  // no mesh
      {"[mesh]", "[mesh", "line 5"},
  };
  for (const auto& [from, to, message] : defects) {
    const auto w = read(text, from, to);
    ASSERT_FALSE(w) << to;
    EXPECT_NE(w.error().message.find(message), std::string::npos) << w.error().message;
    EXPECT_EQ(w.error().message.find('\n'), std::string::npos) << w.error().message;
  }
  EXPECT_FALSE(read_workload("/nowhere.toml"));
}

TEST(Workload, CopiesAreMirroredSoThatLevelsFit) {
  const auto one = read(text);
  const workload all = mirrored(*one, {3, 2, 2});
  EXPECT_EQ(all.blocks.size(), 12 * 9u);
  EXPECT_NEAR(all.stepping_s(), 12e-3, 1e-12);
  const auto m = mesh_of(all);
  ASSERT_TRUE(m) << m.error().message;
  std::set<double> costs;
  for (std::size_t i = 0; i < all.blocks.size(); ++i) EXPECT_EQ(all.block_s[i], all.blocks[i].level == 0 ? 2e-4 : 1e-4);
  // Along x: fine, coarse | coarse, fine | fine, coarse.
  EXPECT_NE(m->find({0, {2, 0, 0}}), mesh::no_slot);
  EXPECT_NE(m->find({1, {6, 0, 0}}), mesh::no_slot);
  EXPECT_NE(m->find({1, {8, 0, 0}}), mesh::no_slot);
}

}  // namespace
}  // namespace plx::scale
