#include "star/refine/regrid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace plx::star {
namespace {

using mesh::flag;

mesh::block_mesh roots() {
  mesh::domain d;
  d.root_blocks = {4, 4, 4};
  d.max_level = 1;
  d.sides.fill(mesh::boundary::outflow);
  return mesh::block_mesh(d);
}

refinement_options limited_to(int blocks) {
  refinement_options o;
  o.max_blocks = blocks;
  return o;
}

/// Blocks whose value, their position plus one, is above the factor are refined.
struct by_position {
  const mesh::block_mesh& mesh;
  int evaluations = 0;
  std::vector<flag> operator()(double factor) {
    ++evaluations;
    std::vector<flag> flags(mesh.slot_count(), flag::keep);
    for (const mesh::slot_id s : mesh.blocks())
      if (mesh.level(s) == 0 && mesh.position(s) + 1 > factor) flags[s] = flag::refine;
    return flags;
  }
};

std::size_t refined(const std::vector<flag>& flags) {
  return static_cast<std::size_t>(std::count(flags.begin(), flags.end(), flag::refine));
}

TEST(BlockLimit, ThresholdsAreWeakenedUntilTheMeshFitsAndNoFurther) {
  const mesh::block_mesh m = roots();
  by_position criteria{m};
  block_limit none(limited_to(0));
  EXPECT_EQ(refined(none.choose(m, std::ref(criteria))), 63u);
  EXPECT_EQ(criteria.evaluations, 1);
  block_limit wide(limited_to(64 + 7 * 63));
  EXPECT_EQ(refined(wide.choose(m, std::ref(criteria))), 63u);
  EXPECT_EQ(wide.weakening(), 1.0);
  EXPECT_EQ(criteria.evaluations, 2);
  block_limit tight(limited_to(64 + 7 * 10));
  const std::size_t some = refined(tight.choose(m, std::ref(criteria)));
  EXPECT_LE(some, 10u);
  EXPECT_GE(some, 5u);  // 2^(1/8) of 54 is 4.9 blocks
  EXPECT_GE(tight.weakening(), 54.0);
  EXPECT_LT(tight.weakening(), 54.0 * 1.0906);
  EXPECT_LT(criteria.evaluations, 20);

  // The next check begins there, and a checkpoint continues there.
  criteria.evaluations = 0;
  block_limit resumed(limited_to(64 + 7 * 10));
  resumed.restore(tight.state());
  EXPECT_EQ(resumed.choose(m, std::ref(criteria)), tight.choose(m, std::ref(criteria)));
  EXPECT_EQ(resumed.weakening(), tight.weakening());
  EXPECT_EQ(criteria.evaluations, 4);  // two each
}

TEST(BlockLimit, ThresholdsRecoverWhenTheRequestsDo) {
  const mesh::block_mesh m = roots();
  block_limit limit(limited_to(64 + 7 * 10));
  limit.choose(m, by_position{m});
  const auto quiet = [&](double) { return std::vector<flag>(m.slot_count(), flag::keep); };
  int checks = 0;
  for (; limit.weakening() > 1.0 && checks < 100; ++checks) limit.choose(m, quiet);
  EXPECT_EQ(checks, 6);  // 2^(47/8), eight steps per check
}

// The thresholds become as small as fits: 19 blocks are refined, and 23 with the next step. Each check strengthens by a
// factor of two at most. Where the criteria request more, they are weakened again.
TEST(BlockLimit, ATargetIsReachedFromBelow) {
  const mesh::block_mesh m = roots();
  refinement_options o = limited_to(64 + 7 * 20);
  o.fill_blocks = true;
  block_limit target(o);
  const auto strict = [&](double factor) { return by_position{m}(4096.0 * factor); };
  int checks = 0;
  std::size_t found = 0;
  for (; found == 0 && checks < 100; ++checks) found = refined(target.choose(m, strict));
  EXPECT_EQ(checks, 7);
  while (checks++ < 20) found = refined(target.choose(m, strict));
  EXPECT_LE(found, 20u);
  EXPECT_GE(found, 16u);
  EXPECT_LT(target.weakening(), 64.0 / 4096);

  block_limit resumed(o);
  resumed.restore(target.state());
  EXPECT_EQ(resumed.weakening(), target.weakening());
  EXPECT_EQ(resumed.choose(m, strict), target.choose(m, strict));

  EXPECT_LE(refined(target.choose(m, by_position{m})), 20u);
  EXPECT_GT(target.weakening(), 1.0);
}

// Criteria that never request anything end at a thousandth of their thresholds.
TEST(BlockLimit, ThresholdsAreNotStrengthenedBeyondAThousandth) {
  const mesh::block_mesh m = roots();
  refinement_options o = limited_to(1000);
  o.fill_blocks = true;
  block_limit target(o);
  for (int checks = 0; checks < 20; ++checks)
    target.choose(m, [&](double) { return std::vector<flag>(m.slot_count(), flag::keep); });
  EXPECT_EQ(target.weakening(), 1.0 / 1024);
}

TEST(BlockLimit, WithoutAMeshThatFitsOnlyWhatIsNotWeakenedIsLeft) {
  const mesh::block_mesh m = roots();
  block_limit limit(limited_to(64));
  const auto region = [&](double factor) {
    std::vector<flag> flags = by_position{m}(factor);
    flags[m.blocks()[0]] = flag::refine;
    return flags;
  };
  EXPECT_EQ(refined(limit.choose(m, region)), 1u);
}

}  // namespace
}  // namespace plx::star
