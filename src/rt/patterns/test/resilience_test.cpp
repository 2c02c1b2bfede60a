// Injected faults: calls that throw, and results with flipped bits.
#include "rt/patterns/resilience.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using plx::testing::on_every_schedule;

struct planned : std::runtime_error {
  explicit planned(int n) : std::runtime_error("planned"), number(n) {}
  int number;
};

// A bit of the result flips in calls 0 .. faults-1.
class flipping {
 public:
  explicit flipping(int faults) : left_(std::make_shared<std::atomic<int>>(faults)) {}
  double operator()(double x) const {
    double y = std::sqrt(x);
    if (left_->fetch_sub(1) > 0) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &y, sizeof y);
      bits ^= std::uint64_t{1} << 51;
      std::memcpy(&y, &bits, sizeof y);
    }
    return y;
  }

 private:
  std::shared_ptr<std::atomic<int>> left_;
};
constexpr auto sane = [](double y) { return std::abs(y * y - 2) < 1e-9; };

TEST(replay, again_until_it_does_not_throw) {
  on_every_schedule([] {
    int calls = 0;
    const auto third_time = [&calls](int x) {
      if (++calls < 3) throw planned(calls);
      return 10 * x;
    };
    EXPECT_EQ(plx::async_replay(5, third_time, 4).get(), 40);
    EXPECT_EQ(calls, 3);
    calls = 0;
    try {
      plx::async_replay(2, third_time, 4).get();
      FAIL() << "two attempts were enough";
    } catch (const planned& e) {
      EXPECT_EQ(e.number, 2) << "the last attempt's exception";
    }
    int voids = 0;
    plx::async_replay(3, [&voids] {
      plx::this_thread::yield();
      if (++voids < 2) throw planned(voids);
    }).get();
    EXPECT_EQ(voids, 2);
    EXPECT_THROW((void)plx::async_replay(0, [] {}), std::invalid_argument);
  });
}

TEST(replay, each_attempt_gets_the_arguments_as_they_were) {
  on_every_schedule([] {
    int tries = 0;
    const auto by_value = [&tries](std::vector<int> v) {
      v.push_back(1);
      if (++tries < 3) throw planned(tries);
      return v.size();
    };
    EXPECT_EQ(plx::async_replay(3, by_value, std::vector<int>{7}).get(), 2u);
  });
}

TEST(replay, again_until_the_result_is_valid) {
  on_every_schedule([] {
    EXPECT_TRUE(sane(plx::async_replay_validate(4, sane, flipping(3), 2.0).get()));
    try {
      plx::async_replay_validate(3, sane, flipping(3), 2.0).get();
      FAIL() << "a bad result was accepted";
    } catch (const plx::replay_error& e) {
      EXPECT_EQ(e.attempts(), 3u);
    }
    int calls = 0;
    plx::async_replay_validate(
        3, [&calls] { return calls == 2; }, [&calls] { ++calls; })
        .get();
    EXPECT_EQ(calls, 2);
  });
}

TEST(replicate, the_first_that_did_not_throw) {
  on_every_schedule([] {
    std::atomic<int> calls{0};
    const auto one_of_three = [&calls](int x) {
      if (calls.fetch_add(1) != 1) throw planned(0);
      return x;
    };
    EXPECT_EQ(plx::async_replicate(3, one_of_three, 6).get(), 6);
    EXPECT_EQ(calls.load(), 3);
    EXPECT_THROW(plx::async_replicate(
                     3, [](int) -> int { throw planned(0); }, 6)
                     .get(),
                 planned);
    EXPECT_THROW((void)plx::async_replicate(0, [] { return 1; }), std::invalid_argument);
  });
}

TEST(replicate, votes_outnumber_faults) {
  on_every_schedule([] {
    EXPECT_TRUE(sane(plx::async_replicate_vote(3, plx::majority, flipping(1), 2.0).get()));
    EXPECT_FALSE(sane(plx::async_replicate_vote(3, plx::majority, flipping(2), 2.0).get())) << "two faults agree";
    EXPECT_TRUE(sane(plx::async_replicate_vote_validate(3, plx::majority, sane, flipping(2), 2.0).get()));
    const auto mean = [](std::vector<double> v) {
      double sum = 0;
      for (double x : v) sum += x;
      return sum / static_cast<double>(v.size());
    };
    EXPECT_TRUE(sane(plx::async_replicate_vote(4, mean, flipping(0), 2.0).get()));
  });
}

TEST(replicate, of_the_valid_ones) {
  on_every_schedule([] {
    EXPECT_TRUE(sane(plx::async_replicate_validate(3, sane, flipping(2), 2.0).get()));
    EXPECT_THROW(plx::async_replicate_validate(3, sane, flipping(3), 2.0).get(), plx::replicate_error);
    EXPECT_THROW(plx::async_replicate_vote_validate(2, plx::majority, sane, flipping(2), 2.0).get(),
                 plx::replicate_error);
  });
}

TEST(majority, counts_votes) {
  EXPECT_EQ(plx::majority(std::vector<int>{3, 1, 1, 2}), 1);
  EXPECT_EQ(plx::majority(std::vector<int>{3, 1, 1, 3}), 3) << "the earliest one in case of a tie";
  EXPECT_EQ(plx::majority(std::vector<int>{5}), 5);
}

TEST(replay, once_the_arguments_are_ready) {
  on_every_schedule([] {
    int calls = 0;
    const auto second_time = [&calls](int a, int b) {
      if (++calls < 2) throw planned(calls);
      return a * b;
    };
    EXPECT_EQ(plx::dataflow_replay(2, second_time, plx::async([] { return 6; }), 7).get(), 42);
    EXPECT_THROW(plx::dataflow_replay(
                     5,
                     [](int) {
                       ADD_FAILURE() << "called without a value";
                       return 0;
                     },
                     plx::async([]() -> int { throw planned(1); }))
                     .get(),
                 planned);
    std::atomic<int> replicas{0};
    EXPECT_EQ(plx::dataflow_replicate(
                  3,
                  [&replicas](int x) {
                    if (replicas.fetch_add(1) == 0) throw planned(0);
                    return x + 1;
                  },
                  plx::async([] { return 1; }).share())
                  .get(),
              2);
    EXPECT_EQ(replicas.load(), 3);
  });
}

// A copy of the result throws while other replicas still run: they use the callable, which must not be destroyed first.
struct throws_when_copied {
  int copies_left = 1000;
  throws_when_copied() = default;
  throws_when_copied(const throws_when_copied& o) : copies_left(o.copies_left - 1) {
    if (copies_left < 0) throw planned(7);
  }
};
struct counted {
  explicit counted(std::atomic<int>& l) : living(&l) { ++*living; }
  counted(const counted& o) : living(o.living) { ++*living; }
  ~counted() { --*living; }
  std::atomic<int>* living;
};

TEST(replicate, waits_for_all_when_a_result_cannot_be_moved) {
  on_every_schedule([] {
    std::atomic<int> number{0}, ended{0}, living{0};
    auto f = plx::async_replicate(
        3,
        [&, callable = counted(living)](int) {
          throws_when_copied r;
          if (number++ == 0)
            r.copies_left = 1;  // the copy into its place succeeds, the next one throws
          else
            for (int i = 0; i < 10; ++i) plx::this_thread::yield();
          EXPECT_GT(callable.living->load(), 0);
          ++ended;
          return r;
        },
        1);
    EXPECT_THROW(f.get(), planned);
    EXPECT_EQ(ended.load(), 3);
    EXPECT_EQ(living.load(), 0);
  });
}

}  // namespace
