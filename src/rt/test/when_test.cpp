#include "rt/when.hpp"
#include "rt/dataflow.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using plx::testing::on_every_schedule;

TEST(when_all, tuple_and_vector) {
  on_every_schedule([] {
    auto [a, b] = plx::when_all(plx::async([] { return 1; }), plx::async([] { return 2.5; })).get();
    EXPECT_EQ(a.get(), 1);
    EXPECT_EQ(b.get(), 2.5);

    std::vector<plx::future<int>> many;
    for (int i = 0; i < 50; ++i) many.push_back(plx::async([i] { return i; }));
    int sum = 0;
    for (auto& f : plx::when_all(many.begin(), many.end()).get()) {
      EXPECT_TRUE(f.is_ready());
      sum += f.get();
    }
    EXPECT_EQ(sum, 49 * 50 / 2);
    EXPECT_TRUE(plx::when_all(std::vector<plx::future<int>>{}).get().empty());
    (void)plx::when_all().get();
  });
}

TEST(when_all, exceptions_stay_in_their_futures) {
  on_every_schedule([] {
    auto [bad, good] = plx::when_all(plx::async([]() -> int { throw 1; }), plx::async([] { return 2; })).get();
    EXPECT_THROW(bad.get(), int);
    EXPECT_EQ(good.get(), 2);
  });
}

TEST(when_all, an_empty_input_is_refused) {
  on_every_schedule([] {
    auto ready = plx::make_ready_future(1);
    EXPECT_THROW((void)plx::when_all(std::move(ready), plx::future<int>()), plx::future_error);
    auto pass = [](auto...) {};
    EXPECT_THROW((void)plx::dataflow(pass, plx::make_ready_future(1), plx::future<int>()), plx::future_error);
  });
}

TEST(when_all, a_deferred_input_is_run) {
  on_every_schedule([] {
    auto [a, b] =
        plx::when_all(plx::async(plx::launch::deferred, [] { return 1; }), plx::async([] { return 2; })).get();
    EXPECT_EQ(a.get() + b.get(), 3);
  });
}

TEST(when_any, the_first_one_decides) {
  on_every_schedule([] {
    plx::promise<int> slow;
    std::vector<plx::future<int>> inputs;
    inputs.push_back(slow.get_future());
    inputs.push_back(plx::async([] { return 5; }));
    auto r = plx::when_any(std::move(inputs)).get();
    EXPECT_EQ(r.index, 1u);
    EXPECT_EQ(r.futures[1].get(), 5);
    slow.set_value(6);
    EXPECT_EQ(r.futures[0].get(), 6);
    EXPECT_EQ(plx::when_any(std::vector<plx::future<int>>{}).get().index, static_cast<std::size_t>(-1));
  });
}

TEST(when_any, all_at_once) {
  on_every_schedule([] {
    auto r = plx::when_any(plx::async([] { return 0; }), plx::async([] { return 1; }), plx::make_ready_future(2)).get();
    ASSERT_LT(r.index, 3u);
    EXPECT_EQ(std::get<0>(r.futures).get() + std::get<1>(r.futures).get() + std::get<2>(r.futures).get(), 3);
  });
}

TEST(dataflow, waits_for_its_futures_and_passes_values) {
  on_every_schedule([] {
    auto a = plx::async([] { return 2; });
    plx::shared_future<int> b = plx::async([] { return 3; }).share();
    auto sum = plx::dataflow([](plx::future<int> x, plx::shared_future<int> y, int z) { return x.get() * y.get() + z; },
                             std::move(a), b, 4);
    EXPECT_EQ(sum.get(), 10);
    EXPECT_EQ(plx::dataflow([] { return 1; }).get(), 1);
    auto failed = plx::dataflow([](auto x) { return x.get(); }, plx::async([]() -> int { throw 1; }));
    EXPECT_THROW(failed.get(), int);
  });
}

// Pascal's triangle as a graph of dataflows: every node has two parents, the sum of row n is 2^n.
TEST(dataflow, a_graph) {
  on_every_schedule([] {
    constexpr std::size_t rows = 12;
    std::vector<plx::shared_future<long>> row{plx::make_ready_future(1L).share()};
    for (std::size_t n = 1; n <= rows; ++n) {
      std::vector<plx::shared_future<long>> next;
      for (std::size_t k = 0; k <= n; ++k) {
        auto left = k == 0 ? plx::make_ready_future(0L).share() : row[k - 1];
        auto right = k == n ? plx::make_ready_future(0L).share() : row[k];
        next.push_back(plx::dataflow([](auto x, auto y) { return x.get() + y.get(); }, left, right).share());
      }
      row = std::move(next);
    }
    long sum = 0;
    for (auto& f : row) sum += f.get();
    EXPECT_EQ(sum, 1L << rows);
  });
}

}  // namespace
