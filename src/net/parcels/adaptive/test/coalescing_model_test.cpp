#include "net/parcels/adaptive/coalescing_follower.hpp"

#include <gtest/gtest.h>

#include "net/test/sending_program_test.hpp"

namespace coalescing_model_test {

using namespace plx;
using namespace plx::net;
using test::program_phase;
using test::sending_program;

TEST(CoalescingModel, ShareOfMessages) {
  traffic t;
  EXPECT_EQ(t.message_share(1), 0);
  t.span_s = 1e-3, t.workers = 2, t.parcels = 1000, t.messages = 500, t.message_s = 1e-6;
  EXPECT_DOUBLE_EQ(t.gap_s(), 2e-6);
  EXPECT_DOUBLE_EQ(t.parcels_per_message(), 2);
  EXPECT_DOUBLE_EQ(t.message_share(2), 0.25);  // 0.5 us of 2 us
  EXPECT_DOUBLE_EQ(t.message_share(1), 1 / 2.5);
  EXPECT_DOUBLE_EQ(t.message_share(10), 0.1 / 1.6);
}

TEST(CoalescingModel, SpansAddUp) {
  traffic a, b;
  a.span_s = 1, a.parcels = 10, a.messages = 5, a.slack = 0.1, a.message_s = 1e-6, a.gaps[3] = 9;
  b.span_s = 3, b.parcels = 30, b.messages = 6, b.slack = 0.5, b.gaps[3] = 20, b.gaps[8] = 9;
  a += b;
  EXPECT_DOUBLE_EQ(a.span_s, 4);
  EXPECT_DOUBLE_EQ(a.slack, 0.4);
  EXPECT_DOUBLE_EQ(a.parcels, 40);
  EXPECT_DOUBLE_EQ(a.messages, 11);
  EXPECT_DOUBLE_EQ(a.message_s, 1e-6);
  EXPECT_DOUBLE_EQ(a.gaps[3], 29);
  EXPECT_DOUBLE_EQ(a.gaps[8], 9);
}

/// The predicted number of parcels per message matches the simulated one within a factor of 1.5.
TEST(CoalescingModel, PredictsParcelsPerMessage) {
  for (const program_phase& p :
       {program_phase{.compute_s = 1e-6}, program_phase{.compute_s = 20e-6},
        program_phase{.burst = 48, .busy_pause_s = 1e-3}, program_phase{.burst = 7, .busy_pause_s = 50e-6}}) {
    sending_program before(p);
    const traffic seen = before.run(0.05);
    for (const unsigned n : {2u, 16u, 128u})
      for (const double us : {20.0, 200.0, 2000.0}) {
        sending_program program(p);
        program.set({.parcels = n, .interval_us = us});
        program.run(0.05);
        const double holds = program.run(0.05).parcels_per_message();
        const double estimate = fixed_parcels_per_message(seen, n, us * 1e-6);
        EXPECT_LT(estimate, 1.5 * holds) << p.compute_s << " " << p.burst << ": " << n << ", " << us;
        EXPECT_GT(estimate, holds / 1.5) << p.compute_s << " " << p.burst << ": " << n << ", " << us;
      }
  }
}

TEST(CoalescingModel, NothingIsGainedWithoutGaps) {
  traffic t;
  t.span_s = 1, t.parcels = 100, t.messages = 100;
  EXPECT_EQ(fixed_parcels_per_message(t, 64, 1e-3), 1);
  t.gaps[30] = 99;  // half a second each
  EXPECT_EQ(fixed_parcels_per_message(t, 64, 1e-3), 1);
  EXPECT_EQ(best_fixed(t).parcels, 2u);
  EXPECT_EQ(best_fixed(t).way, coalescing_way::fixed);
}

}  // namespace coalescing_model_test
