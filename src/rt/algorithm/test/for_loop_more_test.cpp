#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "rt/algorithm.hpp"
#include "rt/executor.hpp"
#include "rt/test/every_schedule_test.hpp"

namespace {

using plx::testing::on_every_schedule;
namespace ex = plx::execution;

// The index type holds every index up to the end, as in HPX: no iterations are lost if `0` is an int.
TEST(for_loop_more, the_index_type_comes_from_both_ends) {
  on_every_schedule([] {
    const std::size_t n = (std::size_t{1} << 32) + 3;
    std::atomic<int> calls{0};
    std::atomic<std::size_t> largest{0};
    plx::for_loop_strided(plx::par, 0, n, std::size_t{1} << 30, [&](auto i) {
      static_assert(std::is_same_v<decltype(i), std::size_t>);
      ++calls;
      for (auto seen = largest.load(); seen < i && !largest.compare_exchange_weak(seen, i);) {
      }
    });
    EXPECT_EQ(calls.load(), 5);
    EXPECT_EQ(largest.load(), std::size_t{1} << 32);
    std::atomic<std::int64_t> sum{0};
    plx::for_loop(plx::par, -2, std::int64_t{3}, [&sum](auto i) {
      static_assert(std::is_same_v<decltype(i), std::int64_t>);
      sum += i;
    });
    plx::for_loop(plx::par, short{0}, short{3}, [](auto i) { static_assert(std::is_same_v<decltype(i), short>); });
    EXPECT_EQ(sum.load(), 0);
  });
}

TEST(for_loop_more, reductions_and_inductions_together) {
  on_every_schedule([] {
    for (int n : {0, 1, 2, 1000, 3000}) {
      long sum = 5;
      int largest = -1, product = 1;
      double x = 0.5;
      std::vector<double> xs(static_cast<std::size_t>(n)), expected(xs.size());
      plx::for_loop(plx::par, 0, n, plx::reduction_plus(sum), plx::induction(x, 0.25), plx::reduction_max(largest),
                    plx::induction(xs.begin()), plx::reduction(product, 1, std::multiplies<>()),
                    [](int i, long& s, double at, int& m, auto to, int& p) {
                      s += i;
                      m = std::max(m, i);
                      *to = at;
                      p *= -1;
                    });
      EXPECT_EQ(sum, 5 + static_cast<long>(n) * (n - 1) / 2);
      EXPECT_EQ(largest, n - 1);
      EXPECT_EQ(product, n % 2 == 0 ? 1 : -1);
      EXPECT_EQ(x, 0.5 + 0.25 * n);
      for (int i = 0; i < n; ++i) expected[static_cast<std::size_t>(i)] = 0.5 + 0.25 * i;
      EXPECT_EQ(xs, expected);
    }
  });
}

TEST(for_loop_more, parts_come_in_the_order_of_indices) {
  on_every_schedule([] {
    std::string text = ">", expected = ">";
    for (int i = 0; i < 1500; ++i) expected += std::to_string(i) + ' ';
    plx::for_loop(plx::par, 0, 1500, plx::reduction_plus(text),
                  [](int i, std::string& s) { s += std::to_string(i) + ' '; });
    EXPECT_EQ(text, expected);
  });
}

TEST(for_loop_more, bitwise_the_same_on_every_schedule) {
  double first = 0;
  bool have_first = false;
  const auto sum_up = [](auto policy) {
    double sum = 0.1;
    plx::for_loop(policy, 0, 4321, plx::reduction_plus(sum), plx::induction(0.0, 1e-3),
                  [](int, double& s, double x) { s += std::sin(x) * 1e3; });
    return sum;
  };
  on_every_schedule([&] {
    const double sum = sum_up(plx::par);
    if (!std::exchange(have_first, true)) first = sum;
    EXPECT_EQ(std::memcmp(&sum, &first, sizeof sum), 0);
  });
  EXPECT_EQ(sum_up(plx::seq), first);
}

TEST(for_loop_more, strides_counts_and_futures) {
  on_every_schedule([] {
    std::vector<int> seen(20, 0);
    const auto mark = [&seen](int i) { ++seen[static_cast<std::size_t>(i)]; };
    plx::for_loop_strided(plx::par, 0, 20, 3, mark);        // 0 3 ... 18
    plx::for_loop_strided(plx::par, 19, 0, -6, mark);       // 19 13 7 1
    plx::for_loop_n(plx::par, 4, 2, mark);                  // 4 5
    plx::for_loop_n_strided(plx::seq, 8, 3, 4, mark);       // 8 12 16
    plx::for_loop(plx::par(ex::task), 10, 12, mark).get();  // 10 11
    plx::for_loop(plx::par, 5, 3, mark);
    EXPECT_EQ(seen, (std::vector<int>{1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 1, 0, 1, 1, 0, 1, 1}));
    int hits = 0, all = -1, some = 0, odd = 0, product = 2, least = 9;
    plx::for_loop(plx::par, 1, 5, plx::reduction_bit_xor(odd), plx::reduction_bit_and(all), plx::reduction_bit_or(some),
                  plx::reduction_multiplies(product), plx::reduction_min(least), plx::reduction_plus(hits),
                  [](int i, int& x, int& a, int& o, int& p, int& l, int& h) {
                    x ^= i;
                    a &= 8 + i;
                    o |= i;
                    p *= i;
                    l = std::min(l, i);
                    ++h;
                  });
    EXPECT_EQ(odd, 4);
    EXPECT_EQ(all, 8);
    EXPECT_EQ(some, 7);
    EXPECT_EQ(product, 48);
    EXPECT_EQ(least, 1);
    EXPECT_EQ(hits, 4);
    EXPECT_THROW(plx::for_loop(plx::par(ex::task), 0, 100,
                               [](int i) {
                                 if (i == 50) throw 1;
                               })
                     .get(),
                 int);
  });
}

// The executor of a policy: every chunk runs with its placement, and no iteration is lost.
TEST(policies, on_an_executor) {
  on_every_schedule([] {
    std::vector<int> v(500, 1);
    const plx::executor here;
    for (const plx::executor& e :
         {here, here.with_priority(plx::priority::high), here.with_priority(plx::priority::low), here.with_affinity(0),
          here.with_name("loop"), here.with_stack_size(256 << 10)}) {
      plx::for_each(plx::par.on(e), v, [](int& x) { ++x; });
      EXPECT_EQ(plx::reduce(plx::par(ex::task).on(e), v).get(), plx::reduce(plx::seq, v));
      plx::sort(plx::par.on(e)(ex::task), v, std::greater<>()).get();
    }
    EXPECT_EQ(v, std::vector<int>(500, 7));
    const plx::limiting_executor one(here, 1);
    EXPECT_EQ(plx::count(plx::par.on(one), v, 7), 500);
    EXPECT_EQ(plx::count(plx::par.on(plx::sequenced_executor()), v, 7), 500);
  });
}

}  // namespace
