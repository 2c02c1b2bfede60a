#include "rt/algorithm/scan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <forward_list>
#include <numeric>
#include <random>
#include <string>

#include "rt/algorithm/partition.hpp"
#include "rt/test/every_schedule_test.hpp"

namespace {

using plx::testing::on_every_schedule;
namespace ex = plx::execution;

constexpr std::size_t sizes[] = {0, 1, 2, 7, 8, 9, 63, 1000, 5003};

// String concatenation does not commute: each output shows every operand in its place.
TEST(scan, operands_keep_their_order) {
  on_every_schedule([] {
    for (std::size_t n : {0u, 1u, 2u, 40u, 150u}) {
      std::vector<std::string> words(n), out(n), expected(n);
      for (std::size_t i = 0; i < n; ++i) words[i] = std::string(1, static_cast<char>('a' + i % 26));
      std::inclusive_scan(words.begin(), words.end(), expected.begin());
      EXPECT_EQ(plx::inclusive_scan(plx::par, words, out.begin()), out.end());
      EXPECT_EQ(out, expected);
      std::exclusive_scan(words.begin(), words.end(), expected.begin(), std::string(">"));
      EXPECT_EQ(plx::exclusive_scan(plx::par, words, out.begin(), std::string(">")), out.end());
      EXPECT_EQ(out, expected);
    }
  });
}

TEST(scan, as_the_standard_does) {
  std::mt19937 random(5);
  on_every_schedule([&] {
    for (std::size_t n : sizes) {
      std::vector<int> v(n);
      for (auto& x : v) x = static_cast<int>(random() % 1000) - 500;
      std::vector<int> out(n), expected(n);
      const auto same = [&](auto, const char* what) { EXPECT_EQ(out, expected) << what << " of " << n; };
      const auto square = [](int x) { return x * x; };
      const auto max = [](int a, int b) { return a < b ? b : a; };
      std::inclusive_scan(v.begin(), v.end(), expected.begin());
      same(plx::inclusive_scan(plx::par, v, out.begin()), "inclusive");
      same(plx::inclusive_scan(plx::seq, v, out.begin()), "inclusive, seq");
      std::inclusive_scan(v.begin(), v.end(), expected.begin(), max, 3);
      same(plx::inclusive_scan(plx::par_unseq, v, out.begin(), max, 3), "inclusive with init");
      std::exclusive_scan(v.begin(), v.end(), expected.begin(), 7);
      same(plx::exclusive_scan(plx::par.with(ex::chunk_size{1}), v, out.begin(), 7), "exclusive");
      std::transform_inclusive_scan(v.begin(), v.end(), expected.begin(), std::plus<>(), square);
      same(plx::transform_inclusive_scan(plx::par, v.begin(), v.end(), out.begin(), std::plus<>(), square), "squares");
      std::transform_exclusive_scan(v.begin(), v.end(), expected.begin(), 1, std::plus<>(), square);
      same(plx::transform_exclusive_scan(plx::par, v.begin(), v.end(), out.begin(), 1, std::plus<>(), square), "ex");
      std::exclusive_scan(v.begin(), v.end(), expected.begin(), 0);
      out = v;
      same(plx::exclusive_scan(plx::par, out, out.begin(), 0), "in place");
    }
    const std::forward_list<int> list{1, 2, 3};
    std::vector<int> out;
    plx::inclusive_scan(plx::par, list, std::back_inserter(out));
    EXPECT_EQ(out, (std::vector<int>{1, 3, 6}));
    out.resize(3);
    EXPECT_EQ(plx::exclusive_scan(plx::par(ex::task), list, out.begin(), 1).get(), out.end());
    EXPECT_EQ(out, (std::vector<int>{1, 2, 4}));
  });
}

TEST(scan, bitwise_the_same_on_every_schedule) {
  std::mt19937_64 random(11);
  std::vector<double> x(30011), first, out(x.size());
  for (auto& e : x) e = std::ldexp(static_cast<double>(random() % 1000003) - 5e5, static_cast<int>(random() % 40) - 20);
  plx::inclusive_scan(plx::seq, x, out.begin());
  first = out;
  on_every_schedule([&] {
    std::fill(out.begin(), out.end(), 0.0);
    plx::inclusive_scan(plx::par, x, out.begin());
    EXPECT_EQ(std::memcmp(out.data(), first.data(), sizeof(double) * out.size()), 0);
  });
}

TEST(scan, an_exception_arrives_in_the_future) {
  on_every_schedule([] {
    std::vector<int> v(3000, 1), out(v.size());
    std::atomic<int> calls{0};
    const auto op = [&calls](int a, int b) {
      if (calls.fetch_add(1) == 2000) throw std::runtime_error("planted");
      return a + b;
    };
    EXPECT_THROW(plx::inclusive_scan(plx::par(ex::task), v, out.begin(), op).get(), std::runtime_error);
  });
}

TEST(copy_if, keeps_the_order) {
  std::mt19937 random(6);
  on_every_schedule([&] {
    for (std::size_t n : sizes) {
      std::vector<int> v(n);
      for (auto& e : v) e = static_cast<int>(random());
      for (int modulus : {1, 2, 7, 1 << 30}) {
        const auto some = [modulus](int e) { return e % modulus == 0; };
        std::vector<int> out(n), expected;
        std::copy_if(v.begin(), v.end(), std::back_inserter(expected), some);
        out.erase(plx::copy_if(plx::par, v, out.begin(), some), out.end());
        EXPECT_EQ(out, expected);
        out.resize(n);
        expected.clear();
        std::remove_copy_if(v.begin(), v.end(), std::back_inserter(expected), some);
        out.erase(plx::remove_copy_if(plx::par, v, out.begin(), some), out.end());
        EXPECT_EQ(out, expected);
      }
    }
    std::vector<int> out;
    plx::copy_if(plx::par, std::vector<int>{1, 2, 3}, std::back_inserter(out), [](int e) { return e != 2; });
    EXPECT_EQ(out, (std::vector<int>{1, 3}));
  });
}

TEST(partition, puts_the_matching_ones_first) {
  std::mt19937 random(8);
  std::vector<std::vector<int>> seen;
  std::vector<int> big(50'000);
  for (auto& e : big) e = static_cast<int>(random() % 100);
  on_every_schedule([&] {
    for (std::size_t n : sizes) {
      for (int modulus : {1, 2, 7, 1000}) {
        std::vector<int> v(big.begin(), big.begin() + static_cast<std::ptrdiff_t>(n));
        std::vector<int> expected = v, sorted = v;
        const auto some = [modulus](int e) { return e % modulus == 0; };
        const auto middle = plx::partition(plx::par, v, some);
        EXPECT_TRUE(std::is_partitioned(v.begin(), v.end(), some));
        EXPECT_EQ(middle, std::partition_point(v.begin(), v.end(), some));
        std::sort(v.begin(), v.end());
        std::sort(sorted.begin(), sorted.end());
        EXPECT_EQ(v, sorted);
        v = expected;
        const auto at = std::stable_partition(expected.begin(), expected.end(), some) - expected.begin();
        EXPECT_EQ(plx::stable_partition(plx::par, v, some) - v.begin(), at);
        EXPECT_EQ(v, expected);
      }
    }
  });
  for (int skew : {3, 50, 97}) {  // several chunks; few, half, most on the wrong side
    std::vector<int> first;
    for (unsigned workers : {1u, 2u, 4u}) {
      plx::runtime rt({.workers = workers, .bind = false});
      std::vector<int> v = big;
      std::vector<std::unique_ptr<int>> boxes;
      for (int e : v) boxes.push_back(std::make_unique<int>(e));
      const auto middle = rt.run([&] { return plx::partition(plx::par, v, [=](int e) { return e < skew; }); });
      EXPECT_EQ(middle - v.begin(), std::count_if(big.begin(), big.end(), [=](int e) { return e < skew; }));
      EXPECT_TRUE(std::is_partitioned(v.begin(), v.end(), [=](int e) { return e < skew; }));
      if (first.empty()) first = v;
      EXPECT_EQ(v, first);
      const auto box_middle = plx::partition(plx::par, boxes, [=](auto& p) { return *p < skew; });
      EXPECT_EQ(box_middle - boxes.begin(), middle - v.begin());
      EXPECT_TRUE(std::all_of(boxes.begin(), box_middle, [=](auto& p) { return *p < skew; }));
      EXPECT_TRUE(std::none_of(box_middle, boxes.end(), [=](auto& p) { return *p < skew; }));
    }
  }
}

}  // namespace
