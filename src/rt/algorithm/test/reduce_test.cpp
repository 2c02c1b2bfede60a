#include "rt/algorithm/reduce.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <list>
#include <memory>
#include <numeric>
#include <random>
#include <string>

#include "rt/algorithm/count.hpp"
#include "rt/test/every_schedule_test.hpp"

namespace {

using plx::testing::on_every_schedule;

/// x -> a x + b modulo 2^64: composition is associative but does not commute.
struct affine {
  std::uint64_t a = 1, b = 0;
  friend affine operator*(const affine& f, const affine& g) { return {f.a * g.a, f.a * g.b + f.b}; }
  bool operator==(const affine&) const = default;
};

std::vector<affine> maps(std::size_t n) {
  std::vector<affine> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = {2 * i + 3, i * i + 1};
  return v;
}

TEST(reduce, operands_keep_their_order) {
  on_every_schedule([] {
    for (std::size_t n : {0u, 1u, 2u, 3u, 100u, 1023u, 1025u, 3001u}) {
      const auto v = maps(n);
      const affine init{5, 7};
      const affine expected = std::accumulate(v.begin(), v.end(), init, std::multiplies<>());
      EXPECT_EQ(plx::reduce(plx::par, v, init, std::multiplies<>()), expected) << n;
      EXPECT_EQ(plx::reduce(plx::seq, v, init, std::multiplies<>()), expected) << n;
      const auto chunked = plx::par.with(plx::execution::chunk_size{7});
      EXPECT_EQ(plx::reduce(chunked, v, init, std::multiplies<>()), expected) << n;
    }
  });
}

TEST(reduce, strings) {
  std::vector<std::string> words;
  for (int i = 0; i < 300; ++i) words.push_back(std::to_string(i) + "-and-some-length,");
  const std::string expected = std::accumulate(words.begin(), words.end(), std::string());
  on_every_schedule([&] { EXPECT_EQ(plx::reduce(plx::par, words, std::string()), expected); });
}

TEST(reduce, values_that_only_move) {
  std::vector<int> v(2000);
  std::iota(v.begin(), v.end(), 1);
  on_every_schedule([&] {
    using box = std::unique_ptr<int>;
    const box sum = plx::transform_reduce(
        plx::par, v, std::make_unique<int>(5),
        [](box a, box b) {
          *a += *b;
          return a;
        },
        [](int x) { return std::make_unique<int>(x); });
    EXPECT_EQ(*sum, 2001005);
  });
}

// Floating-point sums depend on their grouping, so equal bits show equal groups.
TEST(reduce, bitwise_the_same_on_every_schedule) {
  std::mt19937_64 random(7);
  std::vector<double> x(20011), y(x.size());
  for (auto& e : x) e = std::ldexp(static_cast<double>(random() % 1000003) - 5e5, static_cast<int>(random() % 60) - 30);
  for (auto& e : y) e = 1.0 / static_cast<double>(1 + random() % 1000);
  const auto square_root_sum = [](auto policy, const std::vector<double>& v) {
    return plx::transform_reduce(policy, v, 0.1, std::plus<>(), [](double e) { return std::sqrt(std::abs(e)); });
  };
  std::vector<double> bits[5];
  on_every_schedule([&] {
    bits[0].push_back(plx::reduce(plx::par, x));
    bits[1].push_back(plx::reduce(plx::par_unseq, y.begin(), y.end(), 1.f));
    bits[2].push_back(plx::transform_reduce(plx::par, x, y, 0.0));
    bits[3].push_back(square_root_sum(plx::par, x));
    bits[4].push_back(plx::reduce(plx::par, y, 1.0, [](double a, double b) { return a + b; }));
  });
  EXPECT_EQ(bits[0][0], plx::reduce(plx::seq, x));
  EXPECT_EQ(bits[3][0], square_root_sum(plx::unseq, x));
  EXPECT_NEAR(bits[0][0], std::accumulate(x.begin(), x.end(), 0.0), 1e-3 * std::abs(bits[0][0]) + 1);
  for (const auto& b : bits)
    for (double d : b) EXPECT_EQ(std::memcmp(&d, b.data(), sizeof d), 0);
}

TEST(reduce, forms) {
  on_every_schedule([] {
    const std::vector<int> v{1, 2, 3, 4};
    const int plain[] = {5, 6};
    const std::list<int> list{1, 2, 3};
    EXPECT_EQ(plx::reduce(plx::par, v.begin(), v.end()), 10);
    EXPECT_EQ(plx::reduce(plx::par, v.begin(), v.end(), 1L, std::multiplies<>()), 24);
    EXPECT_EQ(plx::reduce(plx::par, plain), 11);
    EXPECT_EQ(plx::reduce(plx::par, list, 4), 10);
    EXPECT_EQ(plx::transform_reduce(plx::par, v, v, 0, std::plus<>(), std::minus<>()), 0);
    EXPECT_EQ(plx::transform_reduce(plx::par, list.begin(), list.end(), v.begin(), 0), 14);
    EXPECT_EQ(plx::reduce(plx::par(plx::execution::task), v).get(), 10);
    EXPECT_EQ(plx::reduce(plx::seq(plx::execution::task), v, 1).get(), 11);
  });
}

TEST(reduce, an_exception_arrives_in_the_future_and_values_are_destroyed) {
  on_every_schedule([] {
    const std::vector<int> v(3000, 1);
    auto alive = std::make_shared<int>(0);
    using handle = std::shared_ptr<int>;
    auto sum = plx::transform_reduce(
        plx::par(plx::execution::task), v.begin(), v.end(), alive, [](handle a, const handle&) { return a; },
        [&v, alive](const int& x) {
          if (&x == &v[1234]) throw std::runtime_error("planted");
          return alive;
        });
    EXPECT_THROW(sum.get(), std::runtime_error);
    sum = {};
    EXPECT_EQ(alive.use_count(), 1);
  });
}

TEST(count, matches_and_extremes) {
  std::mt19937 random(3);
  on_every_schedule([&] {
    for (std::size_t n : {0u, 1u, 2u, 1000u, 2049u}) {
      std::vector<int> v(n);
      for (auto& e : v) e = static_cast<int>(random() % 50);
      const auto odd = [](int x) { return x % 2 != 0; };
      EXPECT_EQ(plx::count_if(plx::par, v, odd), std::count_if(v.begin(), v.end(), odd));
      EXPECT_EQ(plx::count(plx::par, v, 7), std::count(v.begin(), v.end(), 7));
      EXPECT_EQ(plx::min_element(plx::par, v), std::min_element(v.begin(), v.end()));  // the first of equal elements
      EXPECT_EQ(plx::max_element(plx::par, v), std::max_element(v.begin(), v.end()));
      EXPECT_EQ(plx::max_element(plx::par, v, std::greater<>()),
                std::max_element(v.begin(), v.end(), std::greater<>()));
      EXPECT_EQ(plx::minmax_element(plx::par, v), std::minmax_element(v.begin(), v.end()));
    }
    const std::list<int> list{3, 1, 2, 1, 3};
    EXPECT_EQ(plx::min_element(plx::par, list), std::next(list.begin()));
    EXPECT_EQ(plx::minmax_element(plx::par, list).second, std::prev(list.end()));
    EXPECT_EQ(plx::count(plx::par, list, 1), 2);
  });
}

struct alignas(64) wide {
  double v = 0;
};

TEST(reduce, keeps_the_alignment_of_wide_types) {
  plx::runtime rt({.workers = 2, .bind = false});
  const std::vector<wide> values(3, wide{1});
  const auto sum = rt.run([&] {
    return plx::reduce(plx::par, values.begin(), values.end(), wide{}, [](const wide& a, const wide& b) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&a) % 64, 0u);
      return wide{a.v + b.v};
    });
  });
  EXPECT_EQ(sum.v, 3);
}

}  // namespace
