#include "star/driver/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plx::star {
namespace {

using testing::HasSubstr;
using testing::Not;

const char* const text = "[problem]\nname = \"sod\"\n[mesh]\nroot_blocks = [2, 1, 1]\nupper = [2.0, 1.0, 1.0]\n";

TEST(Input, TakesTheOptionsOfItsProblem) {
  auto in = input::from_text(text, "t", {"sod.position=0.25", "run.t_end=3"});
  ASSERT_TRUE(in) << in.error().message;
  EXPECT_EQ(in.value()->problem_name, "sod");
  EXPECT_EQ(in.value()->run.t_end, 3.0);
  EXPECT_FALSE(in.value()->table.knows("sedov.energy"));
  const auto s = in.value()->prepare();
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(s->domain.root_blocks[0], 2);
  EXPECT_EQ(s->scheme.stages, 3);
}

TEST(Input, TheProblemCanBeSet) {
  EXPECT_TRUE(input::from_text(text, "t", {"problem.name=sedov", "sedov.energy=2"}));
  EXPECT_TRUE(input::from_text("", "t", {"problem.name=\"sedov\""}));
  const auto unknown = input::from_text(text, "t", {"problem.name=sedof"});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("sedov"));
}

TEST(Input, RefusesInconsistentOptions) {
  for (const char* wrong : {"mesh.block_size=12", "refinement.gradient_coarsen=0.9", "refinement.regions=[1]",
                            "refinement.regions=[3,4,0,1,0,1,1]", "output.mesh_interval=1e-300"}) {
    auto in = input::from_text(text, "t", {wrong});
    ASSERT_TRUE(in) << in.error().message;
    const auto s = in.value()->prepare();
    ASSERT_FALSE(s) << wrong;
    EXPECT_THAT(s.error().message, HasSubstr(std::string(wrong).substr(0, std::string(wrong).find('='))));
    EXPECT_THAT(s.error().message, Not(HasSubstr("\n")));
  }
}

TEST(Input, InflowIsTheInitialStateAtTheSide) {
  auto in =
      input::from_text(text, "t", {R"(mesh.sides=["inflow","outflow","periodic","periodic","periodic","periodic"])"});
  ASSERT_TRUE(in);
  const auto s = in.value()->prepare();
  ASSERT_TRUE(s) << s.error().message;
  ASSERT_EQ(s->sides.inflow[0].size(), 6u);
  EXPECT_EQ(s->sides.inflow[0][i_density], 1.0);
  EXPECT_TRUE(s->sides.inflow[1].empty());
}

TEST(Input, BoundariesThatTheProblemGives) {
  const std::string sides = R"(mesh.sides=["problem","problem","periodic","periodic","periodic","periodic"])";
  auto in = input::from_text(text, "t", {sides});
  ASSERT_TRUE(in);
  const auto s = in.value()->prepare();
  ASSERT_TRUE(s) << s.error().message;
  ASSERT_TRUE(s->sides.outside);
  double u[6];
  EXPECT_TRUE(s->sides.outside->at(1, {9.0, 0.0, 0.0}, 0.1, u));
  EXPECT_EQ(u[i_density], 0.125);

  auto unknown = input::from_text("[problem]\nname = \"implosion\"\n", "t", {sides});
  ASSERT_TRUE(unknown);
  const auto refused = unknown.value()->prepare();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("mesh.sides[0] = \"problem\": expected a problem that knows"));
  auto full = input::from_text(text, "t", {sides, "run.device=emulated", "hydro.scheme=full3d"});
  ASSERT_TRUE(full);
  EXPECT_THAT(full.value()->prepare().error().message, HasSubstr("run.device = \"cpu\" takes them"));
}

TEST(Identity, HoldsThePhysicsOnly) {
  auto a = input::from_text(text, "t", {}), b = input::from_text(text, "t", {"run.t_end=7", "output.precision=double"});
  auto c = input::from_text(text, "t", {"hydro.gamma=1.5"});
  EXPECT_EQ(identity_of(a.value()->table), identity_of(b.value()->table));
  EXPECT_NE(identity_of(a.value()->table), identity_of(c.value()->table));
  EXPECT_THAT(identity_of(a.value()->table), HasSubstr("mesh.root_blocks = [2, 1, 1]\n"));
  EXPECT_THAT(identity_of(a.value()->table), Not(HasSubstr("run.")));
}

TEST(Input, ListsTheOptionsOfAllProblems) {
  for (const char* key : {"sedov.energy", "sod.position", "linear_wave.wave", "mesh.max_level", "output.precision"}) {
    EXPECT_THAT(input::text_options(), HasSubstr(key));
    EXPECT_THAT(input::markdown(), HasSubstr(key));
  }
}

}  // namespace
}  // namespace plx::star
