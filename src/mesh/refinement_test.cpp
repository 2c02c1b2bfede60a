#include "mesh/refinement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/config.hpp"
#include "mesh/gather.hpp"
#include "mesh/test_meshes.hpp"

namespace {

using namespace plx::mesh;
using testing::HasSubstr;

std::string wrong(const std::string& text) {
  const auto c = parse_criterion(text);
  return c ? "" : c.error().message;
}

TEST(Refinement, ReadsCriteria) {
  auto c = parse_criterion("second_derivative  press refine=0.7 coarsen=0.25 noise=0.02 max_level=5");
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->variable, "press");
  EXPECT_EQ(c->refine, 0.7);
  EXPECT_EQ(c->coarsen, 0.25);
  EXPECT_EQ(c->noise, 0.02);
  EXPECT_EQ(c->max_level, 5);
  c = parse_criterion("threshold rho above=0.1,1,1e3");
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->above, (std::vector<double>{0.1, 1, 1000}));
  EXPECT_EQ(c->coarsen, 0.8);
  c = parse_criterion("sphere center=0.5,0,-1 radius=0.25 level=3");
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->lower, (std::array{0.5, 0.0, -1.0}));
  EXPECT_FALSE(c->needs_tile());
}

TEST(Refinement, SaysWhatIsWrongWithACriterion) {
  EXPECT_THAT(wrong(""), HasSubstr("expected it to begin with second_derivative, gradient"));
  EXPECT_THAT(wrong("grad rho refine=1 coarsen=0"), HasSubstr("\"grad rho refine=1 coarsen=0\": expected it to begin"));
  EXPECT_THAT(wrong("gradient refine=0.2 coarsen=0.1"), HasSubstr("expected a variable after \"gradient\""));
  EXPECT_THAT(wrong("gradient rho coarsen=0.1"), HasSubstr("refine= is missing"));
  EXPECT_THAT(wrong("gradient rho refine=0.1 coarsen=0.2"), HasSubstr("expected coarsen <= refine"));
  EXPECT_THAT(wrong("gradient rho refine=x coarsen=0.2"), HasSubstr("expected numbers, found \"x\""));
  EXPECT_THAT(wrong("gradient rho refine=2 coarsen=0.2"), HasSubstr("refine=2: expected 0 to 1"));
  EXPECT_THAT(wrong("gradient rho refine=1 coarsen=0.2 noise=1"),
              HasSubstr("unknown \"noise=\": expected refine, coarsen, max_level"));
  EXPECT_THAT(wrong("gradient rho refine=1 coarsen=0.2 max_level=1.5"), HasSubstr("expected a whole number"));
  EXPECT_THAT(wrong("threshold rho above=1,0.5"), HasSubstr("ascending"));
  EXPECT_THAT(wrong("threshold rho above=1,,2"), HasSubstr("expected numbers, found \"\""));
  EXPECT_THAT(wrong("sphere center=1,2 radius=1 level=2"), HasSubstr("center=1,2: expected 3 numbers"));
  EXPECT_THAT(wrong("box lower=0,0,0 level=2"), HasSubstr("upper= is missing"));
  EXPECT_THAT(wrong("gradient rho steep"), HasSubstr("expected key=value, found \"steep\""));
  const std::vector<std::string> texts{"box lower=0,0,0 upper=1,1,1 level=1", "gradient q refine=1 coarsen=0"};
  const std::vector<std::string> known{"rho", "press"};
  EXPECT_THAT(parse_criteria(texts, known).error().message,
              HasSubstr("refine.criteria[1]: criterion \"gradient q refine=1 coarsen=0\": unknown variable \"q\": "
                        "expected one of rho, press"));
}

TEST(Refinement, OptionsBindToATable) {
  plx::config_table table;
  refinement_options options;
  options.describe(table);
  ASSERT_TRUE(table.load_text("[refine]\ncriteria = ['gradient rho refine=0.2 coarsen=0.1']\nevery = 8\n", "t"));
  EXPECT_EQ(options.criteria.size(), 1u);
  EXPECT_EQ(options.every, 8);
}

// A root grid of 4^3 blocks, one variable, judged and decided.
class Judge : public testing::Test {
 protected:
  template <class F>
  std::vector<flag> flags(const std::string& text, int buffer, F&& field) {
    const criterion c = parse_criterion(text).value();
    arena values({{"q"}}, 8);
    test::fill_with(mesh_, values, [&](double x, double y, double z, int) { return field(x, y, z); });
    std::vector<judgement> judgements(mesh_.slot_count());
    tile_scratch scratch;
    for (const slot_id s : mesh_.blocks())
      judgements[s] = judge(c, mesh_, s, gather_tile(mesh_, values, s, {}, scratch), buffer);
    return decide(mesh_, judgements);
  }
  flag at(const std::vector<flag>& f, int x, int y, int z) { return f[mesh_.find({0, {x, y, z}})]; }

  domain box_ = test::box({4, 4, 4}, 8, 3, boundary::outflow);
  block_mesh mesh_{box_};
};

TEST_F(Judge, AJumpIsSeenByTheBlocksOnBothSides) {
  for (const char* text : {"gradient q refine=0.3 coarsen=0.1", "second_derivative q refine=0.7 coarsen=0.3"}) {
    // Between blocks 1 and 2 along x.
    const auto f = flags(text, 0, [](double x, double, double) { return x < 2 ? 1.0 : 10.0; });
    for (int y = 0; y < 4; ++y) {
      EXPECT_EQ(at(f, 0, y, 2), flag::keep);  // the root level has nowhere to coarsen to
      EXPECT_EQ(at(f, 1, y, 2), flag::refine);
      EXPECT_EQ(at(f, 2, y, 2), flag::refine);
      EXPECT_EQ(at(f, 3, y, 2), flag::keep);
    }
  }
}

TEST_F(Judge, SmoothFieldsWantNothing) {
  for (const char* text : {"gradient q refine=0.3 coarsen=0.1", "second_derivative q refine=0.7 coarsen=0.3"}) {
    const auto f = flags(text, 4, [](double x, double y, double z) { return 10 + x + 2 * y - z; });
    for (const slot_id s : mesh_.blocks()) EXPECT_EQ(f[s], flag::keep);
  }
}

TEST_F(Judge, BufferReachesNeighboursAcrossFacesEdgesAndCorners) {
  // One peak in cell (6, 6, 6) of block (1, 1, 1): two cells from its upper sides.
  const auto peak = [](double x, double y, double z) {
    const double c = 1 + 6.5 / 8;
    return std::abs(x - c) < 0.01 && std::abs(y - c) < 0.01 && std::abs(z - c) < 0.01 ? 5.0 : 1.0;
  };
  const auto count = [&](const std::vector<flag>& f) { return std::count(f.begin(), f.end(), flag::refine); };
  EXPECT_EQ(count(flags("threshold q above=2", 0, peak)), 1);
  EXPECT_EQ(count(flags("threshold q above=2", 1, peak)), 1);
  EXPECT_EQ(count(flags("threshold q above=2", 2, peak)), 8);
  EXPECT_EQ(count(flags("threshold q above=2", 6, peak)), 8);
  EXPECT_EQ(count(flags("threshold q above=2", 7, peak)), 27);
  EXPECT_EQ(at(flags("threshold q above=2", 2, peak), 2, 2, 2), flag::refine);
}

TEST_F(Judge, ThresholdsPerLevelAskForAsManyLevels) {
  const criterion c = parse_criterion("threshold q above=1,2,4").value();
  std::vector<double> tile(14 * 14 * 14, 3.0);
  EXPECT_EQ(judge(c, mesh_, 0, tile.data(), 0).want, 2);
  std::fill(tile.begin(), tile.end(), 0.9);
  EXPECT_EQ(judge(c, mesh_, 0, tile.data(), 0).want, 0);
  // On level 1: 0.9 is over 0.8 * above[0], so the block stays.
  const block_mesh finer = plan_regrid(mesh_, std::vector<flag>(64, flag::refine), 1).next;
  const slot_id s = finer.blocks()[0];
  EXPECT_EQ(judge(c, finer, s, tile.data(), 0).want, 1);
  std::fill(tile.begin(), tile.end(), 0.7);
  EXPECT_EQ(judge(c, finer, s, tile.data(), 0).want, 0);
}

TEST_F(Judge, RegionsHoldTheirLevelAndMaxLevelCaps) {
  const criterion sphere = parse_criterion("sphere center=2,2,2 radius=0.1 level=2").value();
  std::vector<judgement> j(mesh_.slot_count());
  for (const slot_id s : mesh_.blocks()) j[s] = judge(sphere, mesh_, s, nullptr, 0);
  const auto f = decide(mesh_, j);
  EXPECT_EQ(std::count(f.begin(), f.end(), flag::refine), 8);
  EXPECT_EQ(at(f, 1, 2, 1), flag::refine);
  EXPECT_EQ(at(f, 0, 0, 0), flag::keep);
  const criterion box = parse_criterion("box lower=0.5,0.5,0.5 upper=1.5,0.6,0.6 level=1").value();
  for (const slot_id s : mesh_.blocks()) j[s] = judge(box, mesh_, s, nullptr, 0);
  const auto g = decide(mesh_, j);
  EXPECT_EQ(std::count(g.begin(), g.end(), flag::refine), 2);
  // At its level the region holds it; the other blocks may go.
  const block_mesh finer = plan_regrid(mesh_, g, 1).next;
  j.assign(finer.slot_count(), {});
  for (const slot_id s : finer.blocks()) j[s] = judge(box, finer, s, nullptr, 0);
  const auto h = decide(finer, j);
  EXPECT_EQ(h[finer.find({1, {1, 1, 1}})], flag::keep);
  EXPECT_EQ(h[finer.find({1, {0, 0, 0}})], flag::coarsen);
}

TEST_F(Judge, CriteriaCombine) {
  const judgement a{2, 2, 5}, b{1, 3, 8};
  const judgement c = combine(a, b);
  EXPECT_EQ(c.want, 2);
  EXPECT_EQ(c.want_around, 3);
  EXPECT_EQ(c.around, 13u);
}

}  // namespace
