#include "star/share_tuner.hpp"

#include <gtest/gtest.h>

namespace plx::star {
namespace {

/// The rates of devices and workers in blocks/s, and the seconds per step that dividing the blocks costs.
share_tuner::sample sample_of(double share, double devices, double workers, double cost_s) {
  constexpr double blocks = 1000.0;
  share_tuner::sample s;
  s.blocks = blocks, s.steps = 10;
  s.devices_s = 10 * blocks * share / devices;
  s.workers_s = 10 * blocks * (1 - share) / workers;
  s.wall_s = (s.devices_s > s.workers_s ? s.devices_s : s.workers_s) + (share < 1.0 ? 10 * cost_s : 0.0);
  return s;
}

double settled(double devices, double workers, double cost_s) {
  share_tuner t;
  EXPECT_EQ(t.share(), 1.0);
  for (int i = 0; i < 3; ++i) t.measured(sample_of(t.share(), devices, workers, cost_s));
  return t.share();
}

TEST(ShareTuner, DevicesAndWorkersEndTogetherIfThatIsFaster) {
  EXPECT_DOUBLE_EQ(settled(3000, 1000, 0.0), 0.75);
  EXPECT_DOUBLE_EQ(settled(1000, 1000, 1e-3), 0.5);
}

TEST(ShareTuner, DevicesKeepAllBlocksIfDividingCostsMore) {
  EXPECT_EQ(settled(3000, 1000, 1.0), 1.0);
  EXPECT_EQ(settled(1e9, 1.0, 0.0), 1.0);
}

TEST(ShareTuner, MeasuresAgainAfterSomeTime) {
  share_tuner t;
  for (int i = 0; i < 3; ++i) t.measured(sample_of(t.share(), 3000, 1000, 0.0));
  for (int i = 0; i < share_tuner::settled_samples; ++i) {
    EXPECT_DOUBLE_EQ(t.share(), 0.75);
    t.measured(sample_of(t.share(), 3000, 1000, 0.0));
  }
  EXPECT_EQ(t.share(), 1.0);
  for (int i = 0; i < 3; ++i) t.measured(sample_of(t.share(), 1000, 3000, 0.0));
  EXPECT_DOUBLE_EQ(t.share(), 0.25);
}

TEST(ShareTuner, EmptyMeasurementsChangeNothing) {
  share_tuner t;
  t.measured({});
  EXPECT_EQ(t.share(), 1.0);
  EXPECT_NE(t.why(), "");
}

}  // namespace
}  // namespace plx::star
