// Collective calls on memory of the caller.
#include "net/group/elements.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "net/collectives.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"
#include "net/simulation.hpp"
#include "net/test/threads_test.hpp"
#include "rt/test/every_schedule_test.hpp"

namespace elements_test {

/// x -> a x + b modulo 2^64. Composition is associative and exact, not commutative: it detects a wrong order.
struct map {
  std::uint64_t a = 0, b = 0;
  bool operator==(const map&) const = default;
};
map composed(const map& first, const map& second) { return {second.a * first.a, second.a * first.b + second.b}; }

}  // namespace elements_test

template <>
inline constexpr bool plx::is_bitwise<elements_test::map> = true;

namespace {

using namespace plx;
using elements_test::composed;
using elements_test::map;

map value_of(unsigned rank, std::size_t i, map) { return {2 * (rank + i) + 3, rank * 1000 + i}; }
double value_of(unsigned rank, std::size_t i, double) {
  std::uint64_t x = (rank * 1'000'003u + i + 1) * 0x9e3779b97f4a7c15u;  // splitmix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return std::ldexp(static_cast<double>(x >> 8), static_cast<int>(x % 100));
}
template <class T>
std::vector<T> values_of(unsigned rank, std::size_t count) {
  std::vector<T> v;
  for (std::size_t i = 0; i < count; ++i) v.push_back(value_of(rank, i, T()));
  return v;
}

/// An independent implementation of the documented order: pairs first, then a binary tree.
template <class T, class Op>
std::vector<T> combined(unsigned n, std::size_t count, Op op) {
  std::vector<std::vector<T>> of_rank;
  for (unsigned r = 0; r < n; ++r) of_rank.push_back(values_of<T>(r, count));
  std::vector<T> result;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<T> places;
    const unsigned paired = 2 * (n - std::bit_floor(n));
    for (unsigned r = 0; r < paired; r += 2) places.push_back(op(of_rank[r][i], of_rank[r + 1][i]));
    for (unsigned r = paired; r < n; ++r) places.push_back(of_rank[r][i]);
    while (places.size() > 1) {
      for (std::size_t k = 0; k < places.size() / 2; ++k) places[k] = op(places[2 * k], places[2 * k + 1]);
      places.resize(places.size() / 2);
    }
    result.push_back(places[0]);
  }
  return result;
}

template <class T, class Op>
void check_all_reduce(const communicator& all, std::size_t count, Op op, const std::vector<T>& expected) {
  std::vector<T> in_place = values_of<T>(all.rank(), count);
  auto first = all.all_reduce(std::span<T>(in_place), op);
  auto second = all.all_reduce(values_of<T>(all.rank(), count), elementwise(op));
  first.get();
  EXPECT_EQ(in_place, expected);
  EXPECT_EQ(second.get(), expected);
}
template <class T, class Op>
void check_reduce_scatter(const communicator& all, std::size_t each, Op op, const std::vector<T>& expected) {
  std::vector<T> blocks = values_of<T>(all.rank(), each * all.size());
  all.reduce_scatter(std::span<T>(blocks), op).get();
  const auto block = [&](const std::vector<T>& v) {
    return std::vector<T>(v.begin() + static_cast<std::ptrdiff_t>(all.rank() * each),
                          v.begin() + static_cast<std::ptrdiff_t>((all.rank() + 1) * each));
  };
  EXPECT_EQ(block(blocks), block(expected));
}

// The numbers of elements are below and above the limits of collective::share_of(), and fewer than places.
TEST(Elements, ReductionsCombineInTheDocumentedOrder) {
  for (const unsigned n : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u})
    for (const std::size_t count : {0u, 1u, 5u, 600u, 8191u, 8197u}) {
      SCOPED_TRACE(std::to_string(n) + " localities, " + std::to_string(count) + " elements");
      const std::vector<double> sums = combined<double>(n, count, std::plus<>());
      const std::vector<map> maps = combined<map>(n, count, composed);
      const std::vector<map> blocks = combined<map>(n, count / n * n, composed);
      net::test::localities all(n, 1);
      all.run_all([&] {
        const communicator c;
        check_all_reduce(c, count, std::plus<>(), sums);
        check_all_reduce(c, count, composed, maps);
        check_reduce_scatter(c, count / n, composed, blocks);
      });
      for (unsigned i = 0; i < n; ++i) EXPECT_EQ(all.at(i).port().counts().refused, 0u);
    }
}

// An all-reduce of each element by itself, and one of the whole vector in one operation.
TEST(Elements, OtherReductionsGiveTheSameBits) {
  for (const unsigned n : {3u, 4u, 7u}) {
    net::test::localities all(n, 1);
    all.run_all([&] {
      const communicator c;
      const std::vector<double> mine = values_of<double>(c.rank(), 9000);
      const std::vector<double> large = c.all_reduce(mine, elementwise(std::plus<>())).get();
      const std::vector<double> whole =
          c.all_reduce(mine, [](const auto& a, const auto& b) { return elementwise(std::plus<>())(a, b); }).get();
      EXPECT_EQ(large, whole);
      for (std::size_t i = 0; i < mine.size(); i += 500)
        EXPECT_EQ(c.all_reduce(mine[i], std::plus<>()).get(), large[i]);
      EXPECT_EQ(c.reduce(mine, elementwise(std::plus<>()), n - 1).get().value_or(large), large);
    });
  }
}

TEST(Elements, CopiesArriveInTheCallersMemory) {
  for (const unsigned n : {1u, 2u, 3u, 4u, 5u, 8u})
    for (const std::size_t count : {0u, 3u, 9000u}) {
      net::test::localities all(n, 1);
      all.run_all([&] {
        const communicator c;
        for (unsigned root = 0; root < n; ++root) {
          std::vector<map> values = values_of<map>(c.rank(), count);
          c.broadcast(std::span<map>(values), root).get();
          EXPECT_EQ(values, values_of<map>(root, count));
        }
        const std::vector<map> mine = values_of<map>(c.rank(), count);
        std::vector<map> every(count * n), in_place(count * n);
        std::copy(mine.begin(), mine.end(), in_place.begin() + static_cast<std::ptrdiff_t>(c.rank() * count));
        auto gathered = c.all_gather(mine, std::span<map>(every));
        c.all_gather(std::span<const map>(in_place).subspan(c.rank() * count, count), std::span<map>(in_place)).get();
        gathered.get();
        EXPECT_EQ(every, in_place);
        for (unsigned i = 0; i < n; ++i)
          EXPECT_TRUE(std::equal(mine.begin(), mine.end(), every.begin() + static_cast<std::ptrdiff_t>(i * count),
                                 [&](const map& m, const map& e) {
                                   const auto at = static_cast<std::size_t>(&m - mine.data());
                                   return e == value_of(i, at, map());
                                 }));
      });
    }
}

// All calls at the same time. The network of a simulation also checks that the memory of no message is changed.
TEST(Elements, ResultsDoNotDependOnMessageOrder) {
  constexpr std::size_t count = 8192;
  std::vector<std::vector<double>> sums(10);
  std::vector<std::vector<map>> maps(10);
  for (unsigned n = 1; n < 10; ++n) {
    sums[n] = combined<double>(n, count, std::plus<>());
    maps[n] = combined<map>(n, 3 * n, composed);
  }
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    const auto n = static_cast<unsigned>(1 + seed % 9);
    net::simulation sim({.localities = n, .seed = seed});
    sim.run([&] {
      const communicator c;
      std::vector<double> sum = values_of<double>(c.rank(), count), copy(100, c.rank()), every(100 * n);
      std::vector<map> part = values_of<map>(c.rank(), 3 * n);
      std::vector<future<void>> calls;
      calls.push_back(c.all_reduce(std::span<double>(sum), std::plus<>()));
      calls.push_back(c.reduce_scatter(std::span<map>(part), composed));
      calls.push_back(c.all_gather(std::vector<double>(100, c.rank()), std::span<double>(every)));
      calls.push_back(c.broadcast(std::span<double>(copy), n - 1));
      for (auto& f : calls) f.get();
      EXPECT_EQ(sum, sums[n]);
      for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(part[3 * c.rank() + i], maps[n][3 * c.rank() + i]);
      for (unsigned i = 0; i < n; ++i) EXPECT_EQ(every[100 * i + 99], i);
      EXPECT_EQ(copy, std::vector<double>(100, n - 1));
    });
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

struct sent {
  std::uint64_t messages = 0, bytes = 0;
};
/// The messages that each locality sends in f(communicator).
template <class F>
std::vector<sent> sent_in(unsigned n, F f) {
  net::simulation sim({.localities = n, .workers = 1, .credits = 64});
  std::vector<std::optional<communicator>> all(n);
  sim.run([&] { all[find_here()].emplace(); });
  std::vector<net::port_counts> before;
  for (locality_id i = 0; i < n; ++i) before.push_back(sim.at(i).port().counts());
  sim.run([&] { f(*all[find_here()]); });
  std::vector<sent> result;
  for (locality_id i = 0; i < n; ++i) {
    const net::port_counts now = sim.at(i).port().counts();
    result.push_back({now.messages_sent - before[i].messages_sent, now.bytes_sent - before[i].bytes_sent});
  }
  sim.run([&] { all[find_here()].reset(); });
  return result;
}

// Each locality of 8 sends 4 + 2 + 1 and 1 + 2 + 4 eighths of the bytes, each of 6 and of 3 a block to every other one,
// twice. With 18 localities, whose blocks are too small, the first four are two pairs: of 16 places, each sends
// 8 + 4 + 2 + 1 sixteenths, twice; the first of a pair also sends the result to the second, which sends its values.
TEST(Elements, MessagesAndBytesOfALargeAllReduce) {
  constexpr std::size_t count = 1 << 15, bytes = count * sizeof(double), least_head = 500;
  const auto large = [](const communicator& c) {
    std::vector<double> v(count, 1.0);
    c.all_reduce(std::span<double>(v), std::plus<>()).get();
    EXPECT_EQ(v, std::vector<double>(count, c.size()));
  };
  for (const sent& s : sent_in(8, large)) {
    EXPECT_EQ(s.messages, 6u);
    EXPECT_GE(s.bytes, bytes / 8 * 14);
    EXPECT_LE(s.bytes, bytes / 8 * 14 + 6 * least_head);
  }
  for (const unsigned n : {3u, 6u})
    for (const sent& s : sent_in(n, large)) {
      EXPECT_EQ(s.messages, 2 * (n - 1)) << n;
      EXPECT_GE(s.bytes, 2 * (n - 1) * (bytes / n)) << n;
      EXPECT_LE(s.bytes, 2 * (n - 1) * (bytes / n + least_head)) << n;
    }
  constexpr std::size_t fewer = 8192, fewer_bytes = fewer * sizeof(double);
  const std::vector<sent> pairs = sent_in(18, [](const communicator& c) {
    std::vector<double> v(fewer, 1.0);
    c.all_reduce(std::span<double>(v), std::plus<>()).get();
    EXPECT_EQ(v, std::vector<double>(fewer, 18));
  });
  for (unsigned i = 0; i < 18; ++i) {
    const bool first = i < 4 && i % 2 == 0, second = i < 4 && i % 2 != 0;
    EXPECT_EQ(pairs[i].messages, first ? 9u : second ? 1u : 8u) << i;
    const std::size_t expected = second ? fewer_bytes : fewer_bytes / 16 * 30 + (first ? fewer_bytes : 0);
    EXPECT_GE(pairs[i].bytes, expected) << i;
    EXPECT_LE(pairs[i].bytes, expected + 9 * least_head) << i;
  }
  // The operation on whole vectors: three times the bytes of 8 localities.
  const auto whole = [](const communicator& c) {
    const auto sum = [](const std::vector<double>& a, const std::vector<double>& b) {
      return elementwise(std::plus<>())(a, b);
    };
    EXPECT_EQ(c.all_reduce(std::vector<double>(count, 1.0), sum).get(), std::vector<double>(count, c.size()));
  };
  for (const sent& s : sent_in(8, whole)) {
    EXPECT_EQ(s.messages, 3u);
    EXPECT_GE(s.bytes, 3 * bytes);
  }
}

TEST(Elements, MessagesAndBytesOfAReduceScatter) {
  constexpr std::size_t each = 4096, bytes = each * sizeof(double), least_head = 500;
  for (const auto& [n, messages] : {std::pair{8u, 3u}, {3u, 2u}, {7u, 6u}})
    for (const sent& s : sent_in(n, [](const communicator& c) {
           std::vector<double> v(each * c.size(), 1.0);
           c.reduce_scatter(std::span<double>(v), std::plus<>()).get();
           EXPECT_EQ(v[c.rank() * each], c.size());
         })) {
      EXPECT_EQ(s.messages, messages) << n;
      EXPECT_GE(s.bytes, (n - 1) * bytes) << n;
      EXPECT_LE(s.bytes, (n - 1) * (bytes + least_head)) << n;
    }
}

/// Runs f(communicator) on all localities; each of them must fail with this text.
template <class F>
void expect_failures(unsigned n, const std::string& text, F f) {
  net::test::localities all(n, 1);
  std::atomic<unsigned> failures{0};
  all.run_all([&] {
    const communicator c;
    try {
      f(c);
      ADD_FAILURE() << "no error on " << c.rank() << " of " << n;
    } catch (const std::exception& e) {
      failures += std::string(e.what()).find(text) != std::string::npos;
      if (std::string(e.what()).find(text) == std::string::npos) ADD_FAILURE() << e.what();
    }
  });
  EXPECT_EQ(failures, n);
}

TEST(Elements, DifferentNumbersOfElementsAreReportedByAllMembers) {
  for (const unsigned n : {2u, 3u, 4u, 5u, 6u, 8u})
    for (unsigned wrong = 0; wrong < n; ++wrong)
      for (const std::size_t count : {7u, 8192u, 16384u}) {
        SCOPED_TRACE(std::to_string(n) + ", " + std::to_string(wrong) + ", " + std::to_string(count));
        expect_failures(n, "all members", [&](const communicator& c) {
          std::vector<double> v(c.rank() == wrong ? count + 1 : count);
          c.all_reduce(std::span<double>(v), std::plus<>()).get();
        });
        expect_failures(n, "all members", [&](const communicator& c) {
          std::vector<double> v((c.rank() == wrong ? 3 : 2) * n);
          c.reduce_scatter(std::span<double>(v), std::plus<>()).get();
        });
      }
  // On both sides of a limit: half of one is the whole of the other; a block is large enough on one locality only.
  const auto expect_other_calls = [](unsigned n, std::size_t one, std::size_t others) {
    expect_failures(n, "all members make the same calls", [&](const communicator& c) {
      std::vector<double> v(c.rank() == 1 ? one : others);
      c.all_reduce(std::span<double>(v), std::plus<>()).get();
    });
  };
  expect_other_calls(4, 6000, 12000);
  expect_other_calls(17, 8600, 8800);
}

TEST(Elements, CopiesOfAnotherSizeAreErrors) {
  net::test::localities all(3, 1);
  all.run_all([&] {
    const communicator c;
    std::vector<double> v(c.rank() == 2 ? 5 : 4), every(9);
    auto copy = c.broadcast(std::span<double>(v), 0);
    if (c.rank() == 2) {
      EXPECT_THROW(copy.get(), std::logic_error);
    } else {
      EXPECT_NO_THROW(copy.get());
    }
    v.resize(c.rank() == 1 ? 2 : 3), every.resize(3 * v.size());
    EXPECT_THROW(c.all_gather(v, std::span<double>(every)).get(), std::logic_error);
    EXPECT_NO_THROW(c.barrier().get());
  });
}

TEST(Elements, AnExceptionInAnOperationReachesAll) {
  for (const std::size_t count : {1u, 10'000u})
    expect_failures(5, "no sum of these", [&](const communicator& c) {
      std::vector<double> v(count);
      c.all_reduce(std::span<double>(v), [](double, double) -> double {
         throw std::domain_error("no sum of these");
       }).get();
    });
}

// A locality dies at any moment: no call hangs, and completed results are correct.
TEST(Elements, ADeathAtAnyMomentIsReported) {
  constexpr std::size_t count = 8192;
  int died = 0;
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    const auto n = static_cast<unsigned>(2 + seed % 5);
    const locality_id dead = static_cast<locality_id>(seed / 5 % n);
    net::simulation sim({.localities = n, .seed = seed, .kills = {{dead, 0, 1e-3}}});
    sim.run([&] {
      std::vector<double> sums(count);
      try {
        const communicator c;
        for (unsigned turn = 0; turn < 6; ++turn) {
          std::iota(sums.begin(), sums.end(), turn);
          c.all_reduce(std::span<double>(sums), std::plus<>()).get();
          for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(sums[i], n * static_cast<double>(i + turn));
          c.reduce_scatter(std::span<double>(sums).first(n), std::plus<>()).get();
        }
      } catch (const locality_lost& e) {
        EXPECT_TRUE(find_here() == dead || e.which() == dead) << e.what();
        died += find_here() != dead;
      }
    });
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
  EXPECT_GT(died, 0);
}

}  // namespace
