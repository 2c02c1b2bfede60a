#include "rt/for_loop.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "rt/test/every_schedule_test.hpp"

namespace {

using plx::testing::on_every_schedule;

TEST(for_loop, every_index_once) {
  on_every_schedule([] {
    for (int n : {0, 1, 2, 3, 17, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
      plx::for_loop(0, n, [&seen](int i) { seen[static_cast<std::size_t>(i)].fetch_add(1); });
      for (auto& s : seen) EXPECT_EQ(s.load(), 1);
    }
  });
}

TEST(for_loop, ranges_that_start_elsewhere) {
  on_every_schedule([] {
    std::atomic<long> sum{0};
    plx::for_loop(-5, 6, [&sum](int i) { sum.fetch_add(i); });
    EXPECT_EQ(sum.load(), 0);
    plx::for_loop(7, 3, [](int) { ADD_FAILURE() << "an empty range"; });
    plx::for_loop(std::size_t{10}, std::size_t{13}, [&sum](std::size_t i) { sum.fetch_add(static_cast<long>(i)); });
    EXPECT_EQ(sum.load(), 33);
    std::vector<int> v(100);
    plx::for_loop(v.begin(), v.end(), [](auto it) { *it = 1; });
    EXPECT_EQ(std::accumulate(v.begin(), v.end(), 0), 100);
  });
}

TEST(for_loop, ranges_wider_than_their_type_counts) {
  constexpr int least = std::numeric_limits<int>::min(), most = std::numeric_limits<int>::max();
  EXPECT_EQ(plx::detail::distance(least, most), 4294967295);
  EXPECT_EQ(plx::detail::advanced(least, 4294967295), most);
  EXPECT_EQ(plx::detail::distance(std::int64_t{-5}, std::int64_t{6}), 11);
  on_every_schedule([&] { EXPECT_THROW(plx::for_loop(least, most, [](int) { throw 1; }), int); });
}

TEST(for_loop, nested) {
  on_every_schedule([] {
    std::vector<std::atomic<int>> cells(400);
    plx::for_loop(0, 20, [&cells](int i) {
      plx::for_loop(0, 20, [&cells, i](int j) { cells[static_cast<std::size_t>(20 * i + j)].fetch_add(1); });
    });
    for (auto& c : cells) EXPECT_EQ(c.load(), 1);
  });
}

TEST(for_loop, an_exception_ends_it) {
  on_every_schedule([] {
    std::atomic<int> calls{0};
    EXPECT_THROW(plx::for_loop(0, 100000,
                               [&calls](int i) {
                                 calls.fetch_add(1);
                                 if (i == 5) throw 1;
                               }),
                 int);
    EXPECT_GT(calls.load(), 0);
  });
}

TEST(for_loop, on_an_external_thread) {
  plx::runtime rt({.workers = 2, .bind = false});
  std::atomic<int> calls{0};
  plx::for_loop(0, 1000, [&calls](int) { calls.fetch_add(1); });
  EXPECT_EQ(calls.load(), 1000);
}

// Consecutive loops on real workers: halves are stolen, and the parent resumes on its own worker.
TEST(for_loop, one_after_the_other) {
  for (const unsigned workers : {2u, 4u}) {
    plx::runtime rt({.workers = workers, .bind = false});
    std::vector<long> values(3000, 0);
    rt.run([&] {
      for (int round = 0; round < 400; ++round) {
        const int n = round % 5 == 0 ? 7 : 3000;
        plx::for_loop(0, n, [&values](int i) {
          volatile int spin = 0;
          while (spin < 20) {
            const int next = spin + 1;
            spin = next;
          }
          ++values[static_cast<std::size_t>(i)];
        });
      }
    });
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], i < 7 ? 400 : 320) << i;
  }
}

// Both loops have the same body type, so the second one uses the estimate of the first.
void call_each(int n, const std::function<void(int)>& f) { plx::for_loop(0, n, f); }

TEST(for_loop, a_cheap_loop_does_not_serialize_an_expensive_one_of_the_same_type) {
  plx::runtime rt({.workers = 4, .bind = false});
  rt.run([] {
    for (int i = 0; i < 3; ++i) call_each(1'000'000, [](int) {});
    const auto first = std::this_thread::get_id();
    std::atomic<bool> helped{false};
    call_each(400, [&](int i) {
      if (std::this_thread::get_id() != first) helped = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (i == 8 && !helped && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    });
    EXPECT_TRUE(helped);
  });
}

}  // namespace
