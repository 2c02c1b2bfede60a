#include "rt/algorithm/for_each.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <forward_list>
#include <list>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>

#include "rt/algorithm/search.hpp"
#include "rt/algorithm/transform.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using plx::testing::on_every_schedule;
namespace ex = plx::execution;

template <class F>
void with_every_policy(F f) {
  f(plx::seq);
  f(plx::unseq);
  f(plx::par);
  f(plx::par_unseq);
  f(plx::par.with(ex::chunk_size{5}));
}

TEST(for_each, every_element_once) {
  on_every_schedule([] {
    with_every_policy([](auto policy) {
      for (std::size_t n : {0u, 1u, 2u, 9u, 1000u}) {
        std::vector<int> v(n, 1);
        plx::for_each(policy, v, [](int& x) { ++x; });
        plx::for_each(policy, v.begin(), v.end(), [](int& x) { x *= 2; });
        EXPECT_EQ(plx::for_each_n(policy, v.begin(), n, [](int& x) { --x; }), v.end());
        EXPECT_EQ(v, std::vector<int>(n, 3));
      }
      std::list<int> list{1, 2, 3};
      plx::for_each(policy, list, [](int& x) { ++x; });
      EXPECT_EQ(plx::for_each_n(policy, list.begin(), 2, [](int& x) { ++x; }), std::prev(list.end()));
      EXPECT_EQ(list, (std::list<int>{3, 4, 4}));
      EXPECT_EQ(plx::for_each_n(policy, list.begin(), -3, [](int&) { FAIL(); }), list.begin());
    });
  });
}

// Iterators without random access: docs/runtime.md, "Limitations".
TEST(for_each, a_list_is_traversed_in_order_by_the_caller) {
  plx::runtime rt({.workers = 4, .bind = false});
  rt.run([] {
    std::list<int> list(100, 1);
    const auto caller = plx::this_thread::get_id();
    int next = 0;
    plx::for_each(plx::par, list, [&](int& x) {
      EXPECT_EQ(plx::this_thread::get_id(), caller);
      x = next++;
    });
    EXPECT_TRUE(std::is_sorted(list.begin(), list.end()));
    EXPECT_EQ(next, 100);
  });
}

TEST(for_each, as_a_future) {
  on_every_schedule([] {
    std::vector<std::unique_ptr<int>> v(100);
    auto done = plx::for_each(plx::par(ex::task), v, [](auto& p) { p = std::make_unique<int>(1); });
    static_assert(std::is_same_v<decltype(done), plx::future<void>>);
    done.get();
    EXPECT_TRUE(plx::all_of(plx::par, v, [](auto& p) { return p != nullptr; }));
    auto failed = plx::for_each(plx::par(ex::task), v, [&v](auto& p) {
      if (&p == &v[50]) throw std::runtime_error("planted");
    });
    EXPECT_THROW(failed.get(), std::runtime_error);
    EXPECT_THROW(plx::for_each(plx::seq(ex::task), v, [](auto&) { throw 1; }).get(), int);
  });
}

TEST(for_each, waits_inside_and_nests) {
  on_every_schedule([] {
    std::vector<int> v(40, 0);
    plx::for_each(plx::par, v, [](int& x) {
      x = plx::async([] { return 1; }).get();
      std::vector<int> inner(10, 1);
      plx::for_each(plx::par, inner, [](int& y) { ++y; });
      x += std::accumulate(inner.begin(), inner.end(), 0);
    });
    EXPECT_EQ(v, std::vector<int>(40, 21));
  });
}

TEST(for_each, on_an_external_thread) {
  plx::runtime rt({.workers = 2, .bind = false});
  std::vector<int> v(1000, 1);
  plx::for_each(plx::par, v, [](int& x) { ++x; });
  plx::for_each(plx::par(ex::task), v, [](int& x) { ++x; }).get();
  EXPECT_EQ(v, std::vector<int>(1000, 3));
}

using policies_death = ::testing::Test;
TEST(policies_death, an_exception_ends_the_program) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        plx::runtime rt({.workers = 2, .bind = false});
        std::vector<int> v(100);
        plx::for_each(plx::par, v, [](int&) { throw std::runtime_error("planted"); });
      },
      "planted");
  EXPECT_DEATH(
      {
        std::vector<int> v(100);
        plx::for_each(plx::seq, v, [](int&) { throw std::runtime_error("planted"); });
      },
      "planted");
}

TEST(policies, traits) {
  static_assert(plx::is_execution_policy_v<plx::execution::parallel_policy>);
  static_assert(plx::is_execution_policy<decltype(plx::seq(ex::task))>::value);
  static_assert(!plx::is_execution_policy_v<int>);
}

TEST(transform, as_the_standard_does) {
  on_every_schedule([] {
    with_every_policy([](auto policy) {
      for (std::size_t n : {0u, 1u, 300u}) {
        std::vector<int> v(n), twice(n), sum(n);
        plx::generate(policy, v, [] { return 4; });
        EXPECT_EQ(plx::transform(policy, v, twice.begin(), [](int x) { return 2 * x; }), twice.end());
        EXPECT_EQ(plx::transform(policy, v, twice, sum.begin(), std::plus<>()), sum.end());
        EXPECT_EQ(plx::transform(policy, v.begin(), v.end(), sum.begin(), v.begin(), std::plus<>()), v.end());
        EXPECT_EQ(v, std::vector<int>(n, 16));
        EXPECT_EQ(plx::copy(policy, v, sum.begin()), sum.end());
        EXPECT_EQ(sum, v);
        EXPECT_EQ(plx::fill_n(policy, v.begin(), n, 3), v.end());
        plx::replace_if(
            policy, v.begin(), v.end(), [](int x) { return x == 3; }, 5);
        EXPECT_EQ(plx::copy_n(policy, v.begin(), n, sum.begin()), sum.end());
        EXPECT_EQ(sum, std::vector<int>(n, 5));
        plx::fill(policy, v, 6);
        EXPECT_EQ(v, std::vector<int>(n, 6));
        EXPECT_EQ(plx::generate_n(policy, v.begin(), n, [] { return 1; }), v.end());
        EXPECT_TRUE(plx::equal(policy, v, std::vector<int>(n, 1)));
      }
    });
  });
}

TEST(transform, elements_that_only_move_and_ranges_without_arrays) {
  on_every_schedule([] {
    std::vector<std::unique_ptr<int>> from(200), to(200);
    plx::generate(plx::par, from, [] { return std::make_unique<int>(1); });
    EXPECT_EQ(plx::move(plx::par, from.begin(), from.end(), to.begin()), to.end());
    EXPECT_TRUE(plx::all_of(plx::par, to, [](auto& p) { return *p == 1; }));
    EXPECT_TRUE(plx::none_of(plx::par, from, [](auto& p) { return p != nullptr; }));

    std::forward_list<int> list{1, 2, 3};
    std::vector<int> out;
    plx::transform(plx::par, list, std::back_inserter(out), [](int x) { return -x; });
    EXPECT_EQ(out, (std::vector<int>{-1, -2, -3}));

    std::vector<int> numbers(3000);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::vector<bool> bits(numbers.size());  // several elements share a word
    plx::transform(plx::par, numbers, bits.begin(), [](int x) { return x % 3 == 0; });
    EXPECT_EQ(std::count(bits.begin(), bits.end(), true), 1000);
  });
}

TEST(search, first_match) {
  on_every_schedule([] {
    with_every_policy([](auto policy) {
      for (std::size_t n : {0u, 1u, 5u, 2000u}) {
        std::vector<int> v(n, 0);
        EXPECT_EQ(plx::find(policy, v, 1), v.end());
        for (std::size_t i : {n - 1, n / 2, n / 3, std::size_t{0}}) {
          if (i >= n) continue;
          v[i] = 1;  // more and more matches, each new one is the first
          EXPECT_EQ(plx::find(policy, v, 1) - v.begin(), static_cast<std::ptrdiff_t>(i));
          EXPECT_EQ(plx::find_if_not(policy, v, [](int x) { return x == 0; }) - v.begin(),
                    static_cast<std::ptrdiff_t>(i));
        }
      }
    });
    const std::list<int> list{1, 2, 3};
    EXPECT_EQ(plx::find(plx::par, list, 2), std::next(list.begin()));
  });
}

TEST(search, quantifiers) {
  on_every_schedule([] {
    with_every_policy([](auto policy) {
      std::vector<int> v(777, 2);
      const auto even = [](int x) { return x % 2 == 0; };
      EXPECT_TRUE(plx::all_of(policy, v, even) && plx::any_of(policy, v, even) && !plx::none_of(policy, v, even));
      v[400] = 3;
      EXPECT_TRUE(!plx::all_of(policy, v, even) && plx::any_of(policy, v, even));
      v.clear();
      EXPECT_TRUE(plx::all_of(policy, v, even) && !plx::any_of(policy, v, even) && plx::none_of(policy, v, even));
      const std::string a = "abc", b = "abd";
      EXPECT_FALSE(plx::equal(policy, a, b));
      EXPECT_FALSE(plx::equal(policy, a.begin(), a.begin() + 2, b.begin(), b.end()));
      EXPECT_TRUE(plx::equal(policy, a.begin(), a.begin() + 2, b.begin()));
    });
    EXPECT_THROW((void)plx::any_of(plx::par(ex::task), std::vector<int>(100), [](int) -> bool { throw 1; }).get(), int);
  });
}

// One worker: another one may look at any number of elements before the first has looked at the match.
TEST(search, a_match_ends_it_early) {
  plx::runtime rt({.workers = 1, .bind = false});
  rt.run([] {
    std::vector<int> v(10'000'000, 0);
    v[10] = 1;
    std::atomic<long> looks{0};
    EXPECT_TRUE(plx::any_of(plx::par, v, [&](int x) {
      looks.fetch_add(1, std::memory_order_relaxed);
      return x == 1;
    }));
    EXPECT_LT(looks.load(), 5'000'000);
  });
}

// Elements share words: two workers that set neighbouring bits could lose one.
TEST(for_each, the_bits_of_a_vector) {
  plx::runtime rt({.workers = 4, .bind = false});
  rt.run([] {
    for (int round = 0; round < 20; ++round) {
      std::vector<bool> bits(50'003, false);
      plx::for_each(plx::par, bits, [](auto bit) { bit = true; });
      EXPECT_EQ(std::count(bits.begin(), bits.end(), true), 50'003);
    }
  });
}

}  // namespace
