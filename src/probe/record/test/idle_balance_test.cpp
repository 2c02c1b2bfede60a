// The division of idle time in sequences of events whose answer is known.
#include "probe/record/idle_balance.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "probe/record/recorder.hpp"

namespace plx::probe {
namespace {

constexpr ticks unit = 1'000'000'000;  // far above the time that a short search may stay out of the balance

struct workers {
  explicit workers(unsigned n) : shares(n) {
    for (idle_share& s : shares) s.join(balance, 0);
  }
  idle_balance balance;
  std::vector<idle_share> shares;
};

TEST(idle_balance, one_task_is_charged_the_idle_time_of_all_others) {
  workers w(4);
  for (unsigned i = 1; i < 4; ++i) w.shares[i].sleeps(0, 0);
  EXPECT_TRUE(w.shares[0].due());
  EXPECT_DOUBLE_EQ(w.shares[0].take(unit), 3.0 * unit);
  EXPECT_DOUBLE_EQ(w.shares[0].take(3 * unit), 6.0 * unit);
  EXPECT_DOUBLE_EQ(w.balance.alone(3 * unit), 0);
}

TEST(idle_balance, a_slice_is_charged_what_changed_during_it) {
  workers w(4);
  w.shares[1].sleeps(1 * unit, 0);  // 1/3 for each of three
  w.shares[2].sleeps(2 * unit, 0);  // 2/2 for each of two
  EXPECT_DOUBLE_EQ(w.shares[0].take(3 * unit), (0.5 + 1) * unit) << "what the second was charged falls to the others";
  w.shares[3].sleeps(3 * unit, 0);
  EXPECT_DOUBLE_EQ(w.shares[0].take(4 * unit), (1.5 + 3) * unit);
  w.shares[1].ends(4 * unit, 3 * unit);
  EXPECT_DOUBLE_EQ(w.shares[0].take(5 * unit), 1.0 * unit);
  EXPECT_DOUBLE_EQ(w.shares[1].take(5 * unit), 1.0 * unit);
}

TEST(idle_balance, time_before_a_worker_slept_falls_to_those_that_ran_then) {
  workers w(2);
  w.shares[1].sleeps(5 * unit, 2 * unit);
  EXPECT_DOUBLE_EQ(w.shares[0].take(6 * unit), 3.0 * unit);
  w.shares[1].ends(6 * unit, 3 * unit);
  w.shares[1].ends(9 * unit, 2 * unit);  // a search without a sleep
  EXPECT_DOUBLE_EQ(w.shares[0].take(9 * unit), 2.0 * unit);
  EXPECT_DOUBLE_EQ(w.shares[1].take(9 * unit), 0) << "it is not charged its own idle time";
}

TEST(idle_balance, polling_within_a_search_is_no_idle_time) {
  workers w(2);
  w.shares[1].sleeps(2 * unit, 1 * unit);
  w.shares[1].pauses(3 * unit);
  EXPECT_DOUBLE_EQ(w.shares[0].take(4 * unit), 2.0 * unit);
  w.shares[1].sleeps(5 * unit, 2 * unit);  // polled for the two units since
  EXPECT_DOUBLE_EQ(w.shares[0].take(6 * unit), 1.0 * unit);
}

TEST(idle_balance, without_a_task_nothing_is_charged) {
  workers w(2);
  w.shares[0].sleeps(1 * unit, 0);
  w.shares[1].sleeps(2 * unit, 0);
  EXPECT_DOUBLE_EQ(w.balance.alone(4 * unit), (1.0 + 4) * unit) << "a worker that sleeps has run no task since 1";
  w.shares[0].ends(5 * unit, 4 * unit);
  EXPECT_DOUBLE_EQ(w.shares[0].take(6 * unit), 1.0 * unit);
  EXPECT_DOUBLE_EQ(w.balance.alone(6 * unit), 7.0 * unit);
}

TEST(idle_balance, parked_workers_are_charged_to_none) {
  workers w(3);
  w.shares[1].sleeps(2 * unit, 1 * unit, true);
  w.shares[2].sleeps(2 * unit, 0);
  EXPECT_DOUBLE_EQ(w.shares[0].take(3 * unit), 1.0 * unit);
  EXPECT_DOUBLE_EQ(w.balance.alone(3 * unit), 2.0 * unit);
  w.shares[1].ends(4 * unit, 3 * unit);
  EXPECT_DOUBLE_EQ(w.shares[0].take(6 * unit), (1.0 + 2 * 0.5) * unit);
}

TEST(idle_balance, clocks_that_differ_charge_nothing_twice) {
  workers w(2);
  w.shares[1].sleeps(5 * unit, 0);
  EXPECT_DOUBLE_EQ(w.shares[0].take(4 * unit), 0);  // its clock is behind
  EXPECT_DOUBLE_EQ(w.shares[0].take(7 * unit), 2.0 * unit);
  EXPECT_DOUBLE_EQ(w.shares[0].take(6 * unit), 0);
  EXPECT_DOUBLE_EQ(w.shares[0].take(8 * unit), 1.0 * unit);
  w.shares[1].ends(6 * unit, 1 * unit);  // it woke when the other had been charged until 8
  EXPECT_DOUBLE_EQ(w.shares[0].take(9 * unit), 0);
  w.shares[1].sleeps(9 * unit, 0);
  EXPECT_DOUBLE_EQ(w.shares[0].take(12 * unit), (3 - 2) * 1.0 * unit) << "less what it was charged too much";
}

TEST(idle_balance, a_log_blames_the_name_of_the_slice) {
  recorder r(3);
  idle_balance& b = r.balance();
  for (unsigned i = 0; i < 3; ++i) r.worker(i).join(b, 0);
  const name_id setup = register_name("idle_balance_test/setup"), other = register_name("idle_balance_test/other");
  r.worker(1).idle(0, 4 * unit);  // charged to the two others in equal parts
  r.worker(0).record({.name = setup, .begin = 0, .end = 4 * unit});
  r.worker(0).ran_no_task(5 * unit);
  r.worker(2).record({.name = other, .begin = 0, .end = 4 * unit});
  r.worker(1).idle(5 * unit, 7 * unit);
  r.worker(0).ran_no_task(8 * unit);
  r.worker(2).held_up(other, 3 * unit);
  ASSERT_EQ(r.tasks().size(), 2u);
  for (const task_statistics& t : r.tasks()) {
    EXPECT_NEAR(t.blamed_s, seconds(2 * unit), 1e-9);
    EXPECT_NEAR(t.lock_waits_s, t.id == other ? seconds(3 * unit) : 0, 1e-9);
  }
  const idle_blame all = r.blame();
  EXPECT_NEAR(all.blamed_s, seconds(4 * unit), 1e-9);
  EXPECT_NEAR(all.unattributed_s, seconds(1 * unit), 1e-9) << "the rest is charged at the end of worker 2's next slice";
}

void spin(unsigned n) {
  for (unsigned i = 0; i < n; ++i) asm volatile("" ::: "memory");
}

/// Threads that sleep and wake at any time: all charges sum to the idle time.
TEST(idle_balance, slices_while_the_same_workers_are_idle_are_charged_their_lengths) {
  recorder r(3);
  const std::array names{register_name("ib same 0"), register_name("ib same 1")};
  const ticks start = now_ticks() + unit;  // later than the moment at which the others fall asleep
  for (unsigned i = 0; i < 3; ++i) r.worker(i).join(r.balance(), start);
  for (unsigned i = 1; i < 3; ++i) r.worker(i).sleeps(start, 0);
  for (ticks i = 0; i < 6; ++i) {
    const ticks begin = start + i * unit;
    r.worker(0).record({.name = names[i % 2], .begin = begin, .end = begin + unit, .finished = i != 3});
  }
  for (const name_id n : names) EXPECT_DOUBLE_EQ(r.worker(0).blame(n)->idle.load(), 2 * 3.0 * unit);
}

TEST(idle_balance, charges_sum_to_the_idle_time_of_concurrent_workers) {
  constexpr unsigned n = 4;
  idle_balance b;
  std::array<double, n> charged{}, idle{};
  std::vector<std::thread> threads;
  std::atomic<unsigned> joined{0};
  for (unsigned i = 0; i < n; ++i)
    threads.emplace_back([&, i] {
      idle_share s;
      s.join(b, now_ticks());
      for (++joined; joined != n;) std::this_thread::yield();
      for (int k = 0; k < 3000; ++k) {
        const ticks begin = now_ticks();
        if (k % 3 == 0) s.sleeps(begin, 0);
        if (k % 3 == 2) s.sleeps(now_ticks(), 0, true);
        spin(200 * i);
        const ticks end = now_ticks();
        s.ends(end, end - begin);
        idle[i] += static_cast<double>(end - begin);
        for (int slice = 0; slice < 3; ++slice) {
          spin(300 * (n - i));
          if (s.due()) charged[i] += s.take(now_ticks());
        }
      }
      s.leave(now_ticks());
    });
  for (std::thread& t : threads) t.join();
  double all = b.alone(now_ticks()), expected = 0;
  for (unsigned i = 0; i < n; ++i) all += charged[i], expected += idle[i];
  EXPECT_NEAR(all, expected, 0.001 * expected);
}

}  // namespace
}  // namespace plx::probe
