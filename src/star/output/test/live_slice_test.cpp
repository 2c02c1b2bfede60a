#include "star/output/live_slice.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "probe/live/live_json.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "probe/settings.hpp"
#include "rt/runtime.hpp"
#include "session/session.hpp"
#include "star/driver/simulation.hpp"

namespace plx::star {
namespace {

runtime_options serving() {
  runtime_options o{.workers = 2};
  probe::settings measure;
  measure.output = probe::temporary_path("live_slice");
  measure.serve = "127.0.0.1:0";
  o.measure = std::make_shared<probe::settings>(measure);
  return o;
}

struct LiveSlice : testing::Test {
  runtime rt{serving()};
  std::unique_ptr<input> in =
      input::from_text("[problem]\nname = \"sedov\"\n", "t",
                       {"mesh.root_blocks=[2,4,2]", "mesh.lower=[-0.5,-1,-0.5]", "mesh.upper=[0.5,1,0.5]",
                        "mesh.max_level=1", "sedov.centre=[0.2,0.2,0.2]", "run.max_steps=3"})
          .value();
  setup s = in->prepare().value();
  simulation sim{*in, s, rt};
};

TEST_F(LiveSlice, EveryPixelIsACellOfTheBlockAtItsPosition) {
  sim.start();
  while (!sim.finished()) ASSERT_TRUE(sim.step());
  const probe::live_picture p = live_slice(sim);
  ASSERT_EQ(p.width, 32);
  ASSERT_EQ(p.height, 64);
  double area = 0;
  for (const auto& b : p.blocks) area += b.width * b.height;
  EXPECT_NEAR(area, 2.0, 1e-12) << "the blocks cover the plane";
  EXPECT_TRUE(std::any_of(p.blocks.begin(), p.blocks.end(), [](const auto& b) { return b.level == 1; }));
  EXPECT_TRUE(std::any_of(p.blocks.begin(), p.blocks.end(), [](const auto& b) { return b.level == 0; }));
  // Compared with a search for the block and the cell at each pixel's centre.
  const mesh::block_mesh& m = sim.state().mesh;
  for (int j = 0; j < p.height; ++j) {
    for (int i = 0; i < p.width; ++i) {
      const double x[3] = {-0.5 + (i + 0.5) / 32, -1 + (j + 0.5) / 32, 0};
      mesh::location l{1, {}};
      for (int a = 0; a < 3; ++a) l.x[a] = static_cast<int>((x[a] - m.box().lower[a]) * 4);
      const mesh::slot_id slot = m.find_covering(l);
      ASSERT_NE(slot, mesh::no_slot);
      int c[3];
      for (int a = 0; a < 3; ++a) c[a] = static_cast<int>((x[a] - m.lower(slot)[a]) / m.cell_width(slot));
      ASSERT_EQ(p.values[static_cast<std::size_t>(j * 32 + i)],
                static_cast<float>(sim.state().now.block(slot)[(c[2] * 8 + c[1]) * 8 + c[0]]));
    }
  }
  EXPECT_TRUE(std::all_of(p.blocks.begin(), p.blocks.end(), [](const auto& b) { return b.cost_s > 0; }));
}

TEST_F(LiveSlice, IsDrawnOnlyForAViewer) {
  probe::picture_board* const board = rt.session()->pictures();
  ASSERT_NE(board, nullptr);
  board->read_with([]() noexcept { return 100.0; });
  sim.start();
  EXPECT_FALSE(picture_wanted(sim)) << "the page has no viewer";
  EXPECT_EQ(board->look().number, 0u);
  EXPECT_TRUE(picture_wanted(sim));
  show_slice(sim);
  EXPECT_EQ(board->look().number, 1u);
  EXPECT_FALSE(picture_wanted(sim)) << "the last picture is less than a second old";
}

TEST(LiveSliceOff, NothingHappensWithoutAPage) {
  runtime rt{{.workers = 1}};
  EXPECT_EQ(rt.session(), nullptr);
  auto in = input::from_text("[problem]\nname = \"sedov\"\n", "t", {"mesh.root_blocks=[1,1,1]"}).value();
  const setup s = in->prepare().value();
  simulation sim(*in, s, rt);
  sim.start();
  EXPECT_FALSE(picture_wanted(sim));
}

}  // namespace
}  // namespace plx::star
