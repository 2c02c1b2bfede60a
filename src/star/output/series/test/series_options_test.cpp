#include "star/output/series/series_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "star/test/localities_test.hpp"

namespace plx::star {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string complaint(const std::string& series) {
  const auto in = test::blast({"output.series=[" + series + "]"});
  const auto s = in->prepare();
  return s ? "no error" : s.error().message;
}

TEST(SeriesOptions, AreCheckedBeforeTheRun) {
  EXPECT_EQ(complaint("{every_steps=2}"), "no error");
  const struct {
    const char* series;
    const char* message;
  } cases[] = {
      {"{}",
       "output.series, number 1 ('mesh_1'): expected one of every_time, every_steps and every_wall_s above 0, found "
       "none"},
      {"{every_steps=1},{kind=\"slice\",every_time=1,every_steps=1}",
       "number 2 ('slice_2'): expected one of every_time"},
      {"{every_steps=1,variables=[\"densty\"]}", "unknown variable 'densty'; did you mean 'density'?"},
      {"{every_steps=1,variables=[\"qqqqqqqq\"]}", "unknown variable 'qqqqqqqq'; known are density, velocity_x, "},
      {"{every_steps=1,variables=[\"species_0\"]}", "unknown variable 'species_0'"},
      {"{every_steps=1,variables=[]}", "variables: expected at least one, found none"},
      {"{every_steps=1,variables=[\"mach\",\"mach\"]}", "variables: expected each once, found 'mach' twice"},
      {"{every_steps=1,name=\"A b\"}", "expected a name of lower-case letters"},
      {"{every_steps=1,name=\"a\"},{every_steps=1,name=\"a\"}",
       "number 2 ('a'): expected a name of its own, found that of number 1"},
      {"{every_time=1e-12}", "every_time = 1e-12: expected at most 1e+09 files"},
      {"{every_steps=1,axis=\"x\"}",
       "axis has no effect with kind = \"mesh\"; expected it with slice and projection only"},
      {"{every_steps=1,kind=\"projection\",position=0.1}", "position has no effect with kind = \"projection\""},
      {"{every_steps=1,kind=\"slice\",bins=3}", "bins has no effect"},
      {"{every_steps=1,kind=\"slice\",weight=\"mass\"}", "weight has no effect"},
      {"{every_steps=1,kind=\"profile\",weight=\"none\"}",
       "weight: expected mass or volume with kind = \"profile\", found \"none\""},
      {"{every_steps=1,kind=\"slice\",level=3}", "level = 3: expected at most mesh.max_level = 2"},
      {"{every_steps=1,kind=\"slice\",position=0.6}", "a number from -0.5 to 0.5, the box along z, found 0.6"},
      {"{every_steps=1,kind=\"slice\",position=\"top\"}", "position: expected \"middle\" or a number"},
      {"{every_steps=1,kind=\"profile\",radii=[0.3,0.2]}", "radii: expected inner < outer, found 0.3 and 0.2"},
      {"{every_steps=1,kind=\"profile\",spacing=\"log\"}", "expected radii with an inner radius above 0"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(complaint(c.series), HasSubstr(c.message));
    EXPECT_THAT(complaint(c.series), StartsWith("output.series, number ")) << c.series;
  }
}

TEST(SeriesOptions, MayDifferWhenARunIsResumed) { EXPECT_TRUE(may_change_on_resume("output.series.kind")); }

TEST(SeriesOptions, GiveTheEdgesOfShells) {
  mesh::domain box;
  series_options s;
  s.bins = 4;
  s.radii = {0.0, 2.0};
  EXPECT_EQ(s.edges_in(box), (std::vector<double>{0, 0.5, 1, 1.5, 2}));
  s.radii = {1.0, 16.0};
  s.spacing = "log";
  const std::vector<double> edges = s.edges_in(box);
  for (int i = 0; i <= 4; ++i) EXPECT_NEAR(edges[static_cast<std::size_t>(i)], std::pow(2.0, i), 1e-14 * 16);
  s = {};
  s.centre = {0, 0, 0};
  EXPECT_EQ(s.edges_in(box).back(), std::sqrt(3.0));
  EXPECT_EQ(s.position_in(box), 0.5);
}

}  // namespace
}  // namespace plx::star
