#include "mesh/tree/domain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/config.hpp"

namespace {

using namespace plx::mesh;
using testing::HasSubstr;

TEST(Domain, RefusesImpossibleDomains) {
  domain d;
  EXPECT_TRUE(d.check());
  d.block_size = 9;
  EXPECT_THAT(d.check().error().message, HasSubstr("mesh.block_size = 9: expected an even number"));
  d = {};
  d.max_level = 22;
  EXPECT_THAT(d.check().error().message, HasSubstr("mesh.max_level = 22: expected 0 to 21"));
  d = {};
  d.root_blocks = {2, 1, 1};
  EXPECT_THAT(d.check().error().message, HasSubstr("not cubes"));
  d.upper = {2.0, 1.0, 1.0};
  EXPECT_TRUE(d.check());
  d.upper[1] = 0.0;
  EXPECT_THAT(d.check().error().message, HasSubstr("expected lower < upper"));
  d = {};
  d.sides[3] = boundary::outflow;
  EXPECT_THAT(d.check().error().message, HasSubstr("y lower and y upper"));
  d = {};
  d.root_blocks[2] = 0;
  EXPECT_THAT(d.check().error().message, HasSubstr("mesh.root_blocks[2] = 0"));
}

TEST(Domain, CellsAreHalvedExactly) {
  domain d;
  d.root_blocks = {3, 3, 3};
  for (int level = 0; level < deepest_level; ++level) EXPECT_EQ(d.cell_width(level), 2 * d.cell_width(level + 1));
}

TEST(Domain, MirroredPointsHaveOppositeCoordinates) {
  domain d;
  d.root_blocks = {3, 6, 3};
  d.lower = {-0.7, -1.4, -0.7};
  d.upper = {0.7, 1.4, 0.7};
  for (int axis = 0; axis < 2; ++axis)
    for (int level = 0; level < 5; ++level) {
      const std::int64_t all = 2 * d.blocks_along(axis, level) * d.block_size;
      for (std::int64_t half = 0; half <= all; ++half)
        ASSERT_EQ(d.coordinate(axis, level, half), -d.coordinate(axis, level, all - half));
    }
}

TEST(MeshOptions, MakeADomainFromText) {
  plx::config_table table;
  mesh_options options;
  options.describe(table);
  ASSERT_TRUE(
      table.load_text("[mesh]\nroot_blocks = [2, 1, 1]\nupper = [2.0, 1.0, 1.0]\nmax_level = 4\n"
                      "prolongation = 'central'\n"
                      "sides = ['inflow', 'outflow', 'periodic', 'periodic', 'reflecting', 'outflow']",
                      "test.toml"));
  const auto d = options.make_domain();
  ASSERT_TRUE(d) << d.error().message;
  EXPECT_EQ(d->root_blocks, (std::array{2, 1, 1}));
  EXPECT_EQ(d->max_level, 4);
  EXPECT_EQ(d->prolongation, limiter::central);
  EXPECT_EQ(d->sides[0], boundary::inflow);
  EXPECT_EQ(d->sides[4], boundary::reflecting);
  ASSERT_TRUE(table.set("mesh.block_size=9"));
  EXPECT_THAT(options.make_domain().error().message, HasSubstr("expected an even number"));
  EXPECT_THAT(table.set("mesh.max_level=22").error().message, HasSubstr("mesh.max_level"));
  options.sides[1] = "open";
  EXPECT_THAT(options.make_domain().error().message,
              HasSubstr("\"open\": expected one of periodic, outflow, reflecting, inflow"));
}

}  // namespace
