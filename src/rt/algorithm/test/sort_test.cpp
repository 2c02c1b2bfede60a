#include "rt/algorithm/sort.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <list>
#include <memory>
#include <numeric>
#include <random>
#include <string>

#include "rt/algorithm/merge.hpp"
#include "rt/test/every_schedule_test.hpp"

namespace {

using plx::testing::on_every_schedule;
namespace ex = plx::execution;

struct pair_of {
  int key, place;
  bool operator==(const pair_of&) const = default;
};
struct wide {  // too large to be exchanged unconditionally
  int key, place;
  double more[4];
  bool operator==(const wide& o) const { return key == o.key && place == o.place; }
};
const auto by_key = [](const auto& a, const auto& b) { return a.key < b.key; };

/// Orders that are bad for naive quicksorts, and random ones.
std::vector<std::vector<int>> patterns(int n) {
  std::mt19937 random(static_cast<unsigned>(n) + 1);
  std::vector<std::vector<int>> all(8, std::vector<int>(static_cast<std::size_t>(n)));
  for (int i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    all[0][k] = static_cast<int>(random());
    all[1][k] = i;
    all[2][k] = n - i;
    all[3][k] = 7;
    all[4][k] = static_cast<int>(random() % 3);
    all[5][k] = i < n / 2 ? i : n - i;  // organ pipe
    all[6][k] = i % 17;
    all[7][k] = i == n - 1 ? -1 : i;  // sorted except for one element
  }
  return all;
}

template <class T>
std::vector<T> numbered(const std::vector<int>& keys) {
  std::vector<T> v(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    v[i].key = keys[i];
    v[i].place = static_cast<int>(i);
  }
  return v;
}

TEST(sort, as_the_standard_does) {
  on_every_schedule([] {
    for (int n : {0, 1, 2, 3, 24, 25, 130, 3000})
      for (std::vector<int>& v : patterns(n)) {
        std::vector<int> expected = v;
        std::sort(expected.begin(), expected.end());
        std::vector<int> w = v;
        plx::sort(plx::par, v);
        EXPECT_EQ(v, expected);
        plx::sort(plx::seq, w.begin(), w.end(), std::greater<>());
        std::reverse(expected.begin(), expected.end());
        EXPECT_EQ(w, expected);
        EXPECT_TRUE(plx::is_sorted(plx::par, v) && plx::is_sorted(plx::par, w, std::greater<>()));
      }
  });
}

// Sizes that all workers partition together; equal elements show the resulting order.
TEST(sort, the_same_order_of_equals_for_any_number_of_workers) {
  for (const std::vector<int>& keys : patterns(300'000)) {
    std::vector<pair_of> first;
    for (unsigned workers : {1u, 2u, 4u}) {
      plx::runtime rt({.workers = workers, .bind = false});
      auto v = numbered<pair_of>(keys);
      rt.run([&v] { plx::sort(plx::par, v, by_key); });
      ASSERT_TRUE(std::is_sorted(v.begin(), v.end(), by_key));
      if (first.empty()) {
        first = v;
        auto places = v;
        std::sort(places.begin(), places.end(), [](auto& a, auto& b) { return a.place < b.place; });
        for (std::size_t i = 0; i < places.size(); ++i) ASSERT_EQ(places[i].place, static_cast<int>(i));
      }
      ASSERT_EQ(v, first);
    }
    auto v = numbered<pair_of>(keys);
    plx::sort(plx::seq, v, by_key);
    ASSERT_EQ(v, first);
  }
}

TEST(sort, many_elements_of_other_kinds) {
  plx::runtime rt({.workers = 4, .bind = false});
  rt.run([] {
    const auto keys = patterns(100'000)[0];
    std::vector<std::unique_ptr<int>> boxes;
    for (int k : keys) boxes.push_back(std::make_unique<int>(k));
    const auto less = [](const auto& a, const auto& b) { return *a < *b; };
    plx::sort(plx::par, boxes, less);
    EXPECT_TRUE(std::is_sorted(boxes.begin(), boxes.end(), less));
    std::vector<std::string> words;
    for (int k : keys) words.push_back("a string of some length " + std::to_string(k));
    auto expected = words;
    std::stable_sort(expected.begin(), expected.end());
    std::deque<std::string> deque(words.begin(), words.end());
    plx::sort(plx::par, words);
    EXPECT_EQ(words, expected);
    plx::stable_sort(plx::par, deque);
    EXPECT_TRUE(std::equal(deque.begin(), deque.end(), expected.begin(), expected.end()));
  });
}

TEST(sort, a_comparison_that_throws) {
  on_every_schedule([] {
    auto v = patterns(5000)[0];
    auto copy = v;
    std::atomic<int> calls{0};
    const auto less = [&calls](int a, int b) {
      if (calls.fetch_add(1) == 20'000) throw std::runtime_error("planted");
      return a < b;
    };
    EXPECT_THROW(plx::sort(plx::par(ex::task), v, less).get(), std::runtime_error);
    calls = 0;
    EXPECT_THROW(plx::stable_sort(plx::par(ex::task), copy, less).get(), std::runtime_error);
  });
}

// A comparison with the worst answers for the sort (McIlroy's adversary): the depth of recursion and the number of
// comparisons stay bounded.
TEST(sort, an_adversary_does_not_make_it_quadratic) {
  constexpr int n = 20'000;
  std::vector<int> values(n, n), index(n);
  std::iota(index.begin(), index.end(), 0);
  int solid = 0, candidate = 0;
  std::int64_t calls = 0;
  const auto less = [&](int a, int b) {
    if (++calls == 1) {  // the check whether the range is already sorted
      values[static_cast<std::size_t>(a)] = solid++;
      return true;
    }
    if (values[static_cast<std::size_t>(a)] == n && values[static_cast<std::size_t>(b)] == n)
      values[static_cast<std::size_t>(a == candidate ? a : b)] = solid++;
    if (values[static_cast<std::size_t>(a)] == n)
      candidate = a;
    else if (values[static_cast<std::size_t>(b)] == n)
      candidate = b;
    return values[static_cast<std::size_t>(a)] < values[static_cast<std::size_t>(b)];
  };
  plx::sort(plx::seq, index, std::ref(less));
  EXPECT_LT(calls, 100 * n);
}

TEST(stable_sort, keeps_the_order_of_equals) {
  on_every_schedule([] {
    for (int n : {0, 1, 30, 5000})
      for (const std::vector<int>& keys : patterns(n)) {
        auto v = numbered<pair_of>(keys), expected = v;
        auto w = numbered<wide>(keys), wide_expected = w;
        std::stable_sort(expected.begin(), expected.end(), by_key);
        std::stable_sort(wide_expected.begin(), wide_expected.end(), by_key);
        plx::stable_sort(plx::par, v, by_key);
        plx::stable_sort(plx::par, w, by_key);
        ASSERT_EQ(v, expected);
        ASSERT_EQ(w, wide_expected);
      }
  });
  for (const std::vector<int>& keys : patterns(200'000)) {
    plx::runtime rt({.workers = 4, .bind = false});
    auto v = numbered<pair_of>(keys), expected = v;
    std::stable_sort(expected.begin(), expected.end(), by_key);
    plx::stable_sort(plx::par, v, by_key);  // from an external thread
    ASSERT_EQ(v, expected);
    v = numbered<pair_of>(keys);
    plx::stable_sort(plx::seq, v, by_key);
    ASSERT_EQ(v, expected);
  }
}

TEST(merge, stable_and_cut_anywhere) {
  std::mt19937 random(4);
  on_every_schedule([&] {
    for (int n : {0, 1, 5, 700})
      for (int m : {0, 1, 300}) {
        std::vector<int> a(static_cast<std::size_t>(n)), b(static_cast<std::size_t>(m));
        for (int& x : a) x = static_cast<int>(random() % 50);
        for (int& x : b) x = static_cast<int>(random() % 50);
        std::sort(a.begin(), a.end());
        std::sort(b.begin(), b.end());
        auto left = numbered<wide>(a), right = numbered<wide>(b);
        for (auto& x : right) x.place += 1'000'000;
        std::vector<wide> out(left.size() + right.size()), expected(out.size());
        std::merge(left.begin(), left.end(), right.begin(), right.end(), expected.begin(), by_key);
        EXPECT_EQ(plx::merge(plx::par, left, right, out.begin(), by_key), out.end());
        EXPECT_EQ(out, expected);
        std::vector<int> plain(out.size()), plain_expected(out.size());
        std::merge(a.begin(), a.end(), b.begin(), b.end(), plain_expected.begin());
        plx::merge(plx::par.with(ex::chunk_size{3}), a, b, plain.begin());
        EXPECT_EQ(plain, plain_expected);
      }
    std::list<int> a{1, 3}, b{2};
    std::vector<int> out;
    plx::merge(plx::par, a, b, std::back_inserter(out));
    EXPECT_EQ(out, (std::vector<int>{1, 2, 3}));
  });
}

}  // namespace
