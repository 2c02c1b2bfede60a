#include "base/clock.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

namespace {

TEST(Clock, AgreesWithTheMonotonicClock) {
  const double s0 = plx::monotonic_seconds();
  const plx::ticks t0 = plx::now_ticks();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const plx::ticks t1 = plx::now_ticks();
  const double s1 = plx::monotonic_seconds();
  // The counter's span lies within the other clock's; a busy machine stretches both equally, except at the edges.
  EXPECT_LE(plx::seconds(t1 - t0), (s1 - s0) * 1.001);
  EXPECT_GE(plx::seconds(t1 - t0), 0.03 * 0.999);
}

TEST(Clock, ConvertsBothWays) {
  const plx::ticks t = plx::ticks_from(2.5);
  EXPECT_NEAR(plx::seconds(t), 2.5, 1e-8);
  EXPECT_EQ(plx::ticks_from(0.0), 0u);
  EXPECT_EQ(plx::ticks_from(-1.0), 0u);
  EXPECT_EQ(plx::ticks_from(std::nan("")), 0u);
}

TEST(Clock, GoesForward) {
  plx::ticks last = plx::now_ticks();
  for (int i = 0; i < 100000; ++i) {
    const plx::ticks now = plx::now_ticks();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(Clock, ACounterThatTheKernelDistrustsIsNotUsed) {
  using plx::detail::counter_is_trusted;
  EXPECT_TRUE(counter_is_trusted(true, "tsc", "tsc hpet acpi_pm"));
  EXPECT_TRUE(counter_is_trusted(true, "tsc", ""));
  EXPECT_TRUE(counter_is_trusted(true, "", ""));  // no /sys
  EXPECT_TRUE(counter_is_trusted(true, "kvm-clock", "kvm-clock tsc acpi_pm"));
  EXPECT_FALSE(counter_is_trusted(true, "kvm-clock", "kvm-clock acpi_pm"));
  EXPECT_FALSE(counter_is_trusted(true, "kvm-clock", "kvm-clock tsc-early"));
  EXPECT_FALSE(counter_is_trusted(true, "hpet", "hpet acpi_pm"));
  EXPECT_FALSE(counter_is_trusted(true, "acpi_pm", "tsc acpi_pm"));  // the administrator's choice
  EXPECT_FALSE(counter_is_trusted(false, "tsc", "tsc hpet acpi_pm"));
}

TEST(Clock, ASpanIsNeverNegative) {
  EXPECT_EQ(plx::ticks_between(5, 7), 2u);
  EXPECT_EQ(plx::ticks_between(7, 5), 0u);
}

}  // namespace
