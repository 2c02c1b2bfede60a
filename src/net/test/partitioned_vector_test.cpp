#include "net/partitioned_vector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "base/test/timeout_test.hpp"
#include "base/text.hpp"
#include "net/archive.hpp"
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

// The numbers of elements that each of several ranks gets in a sort, from parts with these elements.
std::vector<std::size_t> shares(std::vector<std::vector<int>> parts) {
  std::vector<net::detail::border<int>> samples;
  const auto n = static_cast<unsigned>(parts.size());
  for (unsigned r = 0; r < n; ++r) {
    std::sort(parts[r].begin(), parts[r].end());
    for (const std::uint64_t at : net::detail::sample_places(parts[r].size(), r)) {
      EXPECT_LT(at, parts[r].size());
      samples.push_back({parts[r][at], r, at});
    }
  }
  std::stable_sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) { return a.value < b.value; });
  std::vector<std::size_t> up_to(n + 1);
  for (unsigned k = 1; k <= n; ++k)
    for (unsigned r = 0; r < n; ++r)
      up_to[k] += k == n ? parts[r].size()
                         : net::detail::elements_up_to(parts[r], r, samples[samples.size() * k / n], std::less<>());
  std::vector<std::size_t> each;
  for (unsigned k = 0; k < n; ++k) each.push_back(up_to[k + 1] - up_to[k]);
  return each;
}

TEST(PartitionedVector, SortDividesAnyElementsNearlyEqually) {
  for (const unsigned ranks : {2u, 8u, 64u})
    for (const int kind : {0, 1, 2, 3}) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, kind " << kind);
      constexpr std::size_t each = 500;
      std::vector<std::vector<int>> parts(ranks);
      for (unsigned r = 0; r < ranks; ++r)
        for (std::size_t i = 0; i < each; ++i) {
          const auto place = static_cast<int>(r * each + i);
          // All equal; three values; the same numbers everywhere; sorted already.
          parts[r].push_back(kind == 0 ? 7 : kind == 1 ? place % 3 : kind == 2 ? static_cast<int>(i) : place);
        }
      for (const std::size_t n : shares(std::move(parts))) EXPECT_LE(n, 2 * each);
    }
}

std::atomic<bool> armed{false}, copying{false}, removed{false};
// Its copy waits until the vector that it is in has been destroyed.
struct witness {
  int alive = 1;
  witness() = default;
  witness(const witness& o) {
    if (!armed.exchange(false)) return;
    copying = true;
    EXPECT_TRUE(comes_true([] { return removed.load(); }));
    EXPECT_EQ(o.alive, 1) << "its memory was freed during the copy";
  }
  witness& operator=(const witness&) = default;
  ~witness() { alive = 0; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(alive);
  }
};

TEST(PartitionedVector, ElementsLiveUntilRemoteReadsHaveEnded) {
  net::test::localities all(2);
  copying = removed = false;
  all.run_all([] {
    auto v = std::make_unique<partitioned_vector<witness>>("witnesses", 0);
    v->resize(2).get();
    const std::uint64_t id = fnv1a("witnesses");
    v->fence().get();
    if (v->members().rank() == 0) {
      armed = true;
      auto f = async<&net::detail::read_part<witness>>(1, id, std::uint64_t{0}, std::uint64_t{1});
      EXPECT_EQ(f.get().size(), 1u);
    } else {
      EXPECT_TRUE(comes_true([] { return copying.load(); }));
    }
    if (v->members().rank() == 1) {
      v.reset();
      removed = true;
    }
  });
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
