#include "base/text.hpp"

#include <gtest/gtest.h>

namespace {

TEST(Nearest, DistanceCountsInsertDropChangeAndSwap) {
  EXPECT_EQ(plx::edit_distance("", "abc"), 3u);
  EXPECT_EQ(plx::edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(plx::edit_distance("lveel", "level"), 1u);
  EXPECT_EQ(plx::edit_distance("same", "same"), 0u);
}

TEST(Nearest, FindsTheIntendedWordOrNothing) {
  const std::vector<std::string> known{"mesh.max_level", "mesh.block_size", "hydro.cfl", "hll"};
  EXPECT_EQ(plx::nearest("mesh.max_lvl", known), "mesh.max_level");
  EXPECT_EQ(plx::nearest("max_level", known), "mesh.max_level");
  EXPECT_EQ(plx::nearest("hlc", known), "hll");
  EXPECT_EQ(plx::nearest("output.interval", known), "");
  EXPECT_EQ(plx::nearest("xy", known), "");
  EXPECT_EQ(plx::did_you_mean("hydro.cfk", known), "; did you mean 'hydro.cfl'?");
}

}  // namespace
