#include "net/partitioned_vector.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "net/simulation.hpp"
#include "net/test/threads_test.hpp"

namespace {

using namespace plx;

std::vector<int> random_numbers(std::size_t n, int most) {
  std::mt19937 random(static_cast<unsigned>(n) + 1);
  std::vector<int> v(n);
  for (int& x : v) x = static_cast<int>(random() % static_cast<unsigned>(most));
  return v;
}

// Compares each algorithm's result, read on every locality, with that of the standard algorithm.
void compare_with_std(std::size_t n, int most) {
  std::vector<int> expected = random_numbers(n, most);
  partitioned_vector<int> v("v", n);
  ASSERT_EQ(v.size(), n);
  for (std::size_t k = 0; k < v.local().size(); ++k) v.local()[k] = expected[v.first() + k];
  v.fence().get();
  EXPECT_EQ(v.get(0, n).get(), expected);
  EXPECT_EQ(v.reduce(7, std::plus<>()).get(), std::accumulate(expected.begin(), expected.end(), 7));
  const auto same = [&](const char* what) {
    EXPECT_EQ(v.get(0, n).get(), expected) << what;
    v.fence().get();  // no locality changes elements that others still read
  };
  v.transform([](int x) { return 3 * x - 1; }).get();
  for (int& x : expected) x = 3 * x - 1;
  same("transform");
  v.sort().get();
  std::sort(expected.begin(), expected.end());
  same("sort");
  v.sort(std::greater<>()).get();
  std::sort(expected.begin(), expected.end(), std::greater<>());
  same("sort, descending");
  v.transform([](int x) { return x % 5; }).get();
  for (int& x : expected) x %= 5;
  v.inclusive_scan(std::plus<>()).get();
  std::inclusive_scan(expected.begin(), expected.end(), expected.begin());
  same("inclusive_scan");
  v.transform([](int x) { return x % 7; }).get();
  for (int& x : expected) x %= 7;
  v.exclusive_scan(10, std::plus<>()).get();
  std::exclusive_scan(expected.begin(), expected.end(), expected.begin(), 10);
  same("exclusive_scan");
  v.resize(n + 5, -1).get();
  expected.resize(n + 5, -1);
  EXPECT_EQ(v.get(0, v.size()).get(), expected);
  v.resize(n / 2).get();
  expected.resize(n / 2);
  EXPECT_EQ(v.get(0, v.size()).get(), expected);
  v.fence().get();
}

TEST(PartitionedVector, AlgorithmsMatchTheStandards) {
  for (const unsigned localities : {1u, 2u, 3u, 4u})
    for (const std::size_t n : {0u, 1u, 2u, 3u, 10u, 1000u, 20'000u})
      for (const int most : {1000, 3}) {
        SCOPED_TRACE(testing::Message() << localities << " localities, " << n << " elements");
        net::test::localities all(localities);
        all.run_all([&] { compare_with_std(n, most); });
      }
}

TEST(PartitionedVector, ResultsDoNotDependOnMessageOrder) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    net::simulation sim({.localities = 3, .seed = seed});
    sim.run([] { compare_with_std(50, 20); });
  }
}

TEST(PartitionedVector, ElementsCanBeSetOnAnyLocality) {
  net::test::localities all(3);
  all.run_all([] {
    partitioned_vector<std::string> v("words", 10, "none");
    const std::string mine(1, static_cast<char>('a' + v.members().rank()));
    if (v.members().rank() == 2) v.set(2, std::vector<std::string>(6, mine)).get();
    if (v.members().rank() == 1) v.set(9, mine).get();
    v.fence().get();
    EXPECT_EQ(v.get(1).get(), "none");
    EXPECT_EQ(v.get(7).get(), "c");
    EXPECT_EQ(v.get(9).get(), "b");
    EXPECT_EQ(v.reduce("", std::plus<>()).get(), "nonenoneccccccnoneb");
    v.fence().get();
  });
}

TEST(PartitionedVector, PartsAreNearlyEqualAndInOrder) {
  for (unsigned ranks = 1; ranks < 8; ++ranks)
    for (std::size_t n = 0; n < 40; ++n) {
      const net::partition p(n, ranks);
      std::size_t at = 0;
      for (unsigned r = 0; r < ranks; ++r) {
        EXPECT_EQ(p.begin_of(r), at);
        for (std::size_t k = 0; k < p.size_of(r); ++k) EXPECT_EQ(p.rank_of(at++), r);
      }
      EXPECT_EQ(at, n);
    }
}

template <int i>
struct element {
  double x = i;
};

}  // namespace

template <int i>
inline constexpr bool plx::is_bitwise<element<i>> = true;

namespace {

template <int i>
void use_elements() {
  partitioned_vector<element<i>> v("v" + std::to_string(i), 4);
  v.fence().get();
  EXPECT_EQ(v.get(3).get().x, i);
  v.fence().get();
}

TEST(PartitionedVector, HasAnyNumberOfElementTypes) {
  net::test::localities all(2);
  all.run_all([] {
    []<int... i>(std::integer_sequence<int, i...>) { (use_elements<i>(), ...); }
    (std::make_integer_sequence<int, 40>());
  });
}

}  // namespace
