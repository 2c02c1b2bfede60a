// Reductions, scans and copies against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "gpu/kokkos/parallel.hpp"
#include "gpu/kokkos/test/each_space_test.hpp"
#include "gpu/kokkos/view.hpp"

namespace plx::kokkos {

KOKKOS_INLINE_FUNCTION long scattered(long i) { return (i * 7919 + 13) % 1009; }

template <class Space>
void reduces(plx::runtime&, space<Space>& on) {
  for (const int n : {0, 1, 777}) {
    long sum = 0, largest = Kokkos::reduction_identity<long>::max();
    int least_at = -1;
    for (int i = 0; i < n; ++i) {
      sum += scattered(i);
      largest = std::max(largest, scattered(i));
      if (least_at < 0 || scattered(i) < scattered(least_at)) least_at = i;
    }
    auto total = async_parallel_reduce<long>(
        on, "sum", n, KOKKOS_LAMBDA(int i, long& s) { s += scattered(i); });
    auto most = async_parallel_reduce<Kokkos::Max<long>>(
        on, "max", Kokkos::RangePolicy<Space>(0, n), KOKKOS_LAMBDA(int i, long& s) {
          if (scattered(i) > s) s = scattered(i);
        });
    EXPECT_EQ(total.get(), sum);
    EXPECT_EQ(most.get(), largest);
    if (n == 0) continue;
    auto least = async_parallel_reduce<Kokkos::MinLoc<long, int>>(
        on, "minloc", n, KOKKOS_LAMBDA(int i, Kokkos::ValLocScalar<long, int>& s) {
          if (scattered(i) < s.val || (scattered(i) == s.val && i < s.loc)) {
            s.val = scattered(i);
            s.loc = i;
          }
        });
    const auto found = least.get();
    EXPECT_EQ(found.val, scattered(least_at));
    EXPECT_EQ(found.loc % 1009, least_at % 1009);  // values repeat every 1009
  }
}
TEST(kokkos_reduce, returns_a_sum_or_the_value_of_a_reducer) { PLX_ON_EACH_SPACE(reduces); }

template <class Space>
void reduces_into_views(plx::runtime&, space<Space>& on) {
  constexpr int n = 500;
  instance<Space> in = on.take();
  const pinned_view<long, Space> sum(in), most(in);
  using most_of = Kokkos::Max<long, typename pinned_view<long, Space>::view_type::memory_space>;
  async_parallel_reduce(
      in, "into a view", n, KOKKOS_LAMBDA(int i, long& s) { s += scattered(i); }, sum.view())
      .get();
  async_parallel_reduce(
      in, "into a reducer", n,
      KOKKOS_LAMBDA(int i, long& s) {
        if (scattered(i) > s) s = scattered(i);
      },
      most_of(most.view()))
      .get();
  long expected = 0, largest = 0;
  for (int i = 0; i < n; ++i) expected += scattered(i), largest = std::max(largest, scattered(i));
  EXPECT_EQ(sum.view()(), expected);
  EXPECT_EQ(most.view()(), largest);
}
TEST(kokkos_reduce, writes_into_views_and_reducers_of_views) { PLX_ON_EACH_SPACE(reduces_into_views); }

template <class Space>
void scans(plx::runtime&, space<Space>& on) {
  for (const int n : {1, 700}) {
    instance<Space> in = on.take();
    const recycled_view<long*, Space> before(in, n);
    const pinned_view<long*, Space> host(in, n);
    const auto v = before.view();
    auto total = async_parallel_scan<long>(
        in, "scan", n, KOKKOS_LAMBDA(int i, long& sum, bool last) {
          if (last) v(i) = sum;
          sum += scattered(i);
        });
    const auto copied = async_deep_copy(in, host.view(), v);
    copied.wait();
    long sum = 0;
    for (int i = 0; i < n; ++i) {
      ASSERT_EQ(host.view()(i), sum) << i;
      sum += scattered(i);
    }
    EXPECT_EQ(total.get(), sum);

    async_parallel_scan(
        in, "scan without total", n,
        KOKKOS_LAMBDA(int i, long& s, bool last) {
          s += 2;
          if (last) v(i) = s;
        })
        .get();
    async_deep_copy(in, host.view(), v).get();
    for (int i = 0; i < n; ++i) ASSERT_EQ(host.view()(i), 2L * (i + 1)) << i;
  }
}
TEST(kokkos_scan, returns_prefix_sums_and_the_total) { PLX_ON_EACH_SPACE(scans); }

template <class Space>
void copies(plx::runtime&, space<Space>& on) {
  constexpr int n0 = 17, n1 = 5;
  using layout = typename Space::array_layout;
  const Kokkos::View<long**, layout, typename Space::memory_space> there("there", n0, n1), second("second", n0, n1);
  const Kokkos::View<long**, layout, Kokkos::HostSpace> from("from", n0, n1), back("back", n0, n1);
  for (int i = 0; i < n0; ++i)
    for (int j = 0; j < n1; ++j) from(i, j) = scattered(10 * i + j);
  instance<Space> in = on.take();
  static_cast<void>(async_deep_copy(in, there, from));
  static_cast<void>(async_deep_copy(in, second, there));
  async_deep_copy(in, back, second).get();
  for (int i = 0; i < n0; ++i)
    for (int j = 0; j < n1; ++j) ASSERT_EQ(back(i, j), from(i, j));
  static_cast<void>(async_deep_copy(in, second, 42L));
  async_deep_copy(in, back, second).get();
  for (int i = 0; i < n0; ++i)
    for (int j = 0; j < n1; ++j) ASSERT_EQ(back(i, j), 42);
}
TEST(kokkos_deep_copy, between_host_and_space_and_within_it) { PLX_ON_EACH_SPACE(copies); }

}  // namespace plx::kokkos
