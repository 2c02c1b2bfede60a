#include "gpu/kokkos/parallel.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "gpu/kokkos/test/each_space_test.hpp"
#include "rt/async.hpp"
#include "rt/when.hpp"

namespace plx::kokkos {

/// The values of a View, copied to the host.
template <class On, class View>
std::vector<typename View::non_const_value_type> values_of(On& on, const View& v) {
  std::vector<typename View::non_const_value_type> out(v.size());
  Kokkos::View<typename View::non_const_data_type, typename View::array_layout, Kokkos::HostSpace,
               Kokkos::MemoryUnmanaged>
      host(out.data(), v.layout());
  async_deep_copy(on, host, v).get();
  return out;
}

struct doubled {};

template <class View>
struct set_or_double {
  View v;
  KOKKOS_FUNCTION void operator()(int i) const { v(i) = i; }
  KOKKOS_FUNCTION void operator()(doubled, int i) const { v(i) = 2 * i; }
};

template <class Space>
void loops_over_ranges(plx::runtime&, space<Space>& on) {
  constexpr int n = 1000;
  const Kokkos::View<long*, typename Space::memory_space> v("v", n);
  async_parallel_for(
      on, "all", n, KOKKOS_LAMBDA(int i) { v(i) = 3L * i; })
      .get();
  async_parallel_for(
      on, "some", Kokkos::RangePolicy<Space>(10, 20), KOKKOS_LAMBDA(int i) { v(i) = -i; })
      .get();
  async_parallel_for(
      on, "none", 0, KOKKOS_LAMBDA(int) { v(0) = 99; })
      .get();
  std::vector<long> expected(n);
  for (int i = 0; i < n; ++i) expected[i] = i >= 10 && i < 20 ? -i : 3L * i;
  EXPECT_EQ(values_of(on, v), expected);

  async_parallel_for(on, "tagged", Kokkos::RangePolicy<Space, doubled>(0, n), set_or_double<decltype(v)>{v}).get();
  for (int i = 0; i < n; ++i) expected[i] = 2 * i;
  EXPECT_EQ(values_of(on, v), expected);
}
TEST(kokkos_for, calls_each_index_of_a_range_once) { PLX_ON_EACH_SPACE(loops_over_ranges); }

template <class Space>
void loops_over_tiles(plx::runtime&, space<Space>& on) {
  constexpr int n0 = 13, n1 = 7;
  const Kokkos::View<long**, typename Space::memory_space> v("v", n0, n1);
  async_parallel_for(
      on, "tiles", Kokkos::MDRangePolicy<Space, Kokkos::Rank<2>>({1, 0}, {n0, n1}, {4, 2}),
      KOKKOS_LAMBDA(int i, int j) { v(i, j) += 100 * i + j; })
      .get();
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), v);
  for (int i = 0; i < n0; ++i)
    for (int j = 0; j < n1; ++j) ASSERT_EQ(host(i, j), i == 0 ? 0 : 100 * i + j);
}
// Copies with a call of Kokkos, which Threads accepts from the guard's thread only.
TEST(kokkos_for, calls_each_index_of_a_tiled_range_once) { PLX_ON_EACH_SPACE(loops_over_tiles); }

// Each team adds up its rows in scratch memory.
template <class Space>
void loops_over_teams(plx::runtime&, space<Space>& on) {
  using policy = Kokkos::TeamPolicy<Space>;
  using scratch = Kokkos::View<long*, typename Space::scratch_memory_space, Kokkos::MemoryUnmanaged>;
  constexpr int teams = 9, n = 40;
  const Kokkos::View<long*, typename Space::memory_space> v("v", teams);
  const auto iterations = [](const Space& s) {
    return policy(s, teams, 1).set_scratch_size(0, Kokkos::PerTeam(scratch::shmem_size(n)));
  };
  async_parallel_for(
      on, "teams", iterations,
      KOKKOS_LAMBDA(const typename policy::member_type& team) {
        const scratch mine(team.team_scratch(0), n);
        const int t = team.league_rank();
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, n), [&](int i) { mine(i) = 10L * t + i; });
        team.team_barrier();
        long sum = 0;
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(team, n), [&](int i, long& s) { s += mine(i); }, sum);
        Kokkos::single(Kokkos::PerTeam(team), [&] { v(t) = sum; });
      })
      .get();
  std::vector<long> expected(teams);
  for (int t = 0; t < teams; ++t) expected[t] = n * 10L * t + n * (n - 1) / 2;
  EXPECT_EQ(values_of(on, v), expected);
}
TEST(kokkos_for, runs_teams_with_scratch_memory) { PLX_ON_EACH_SPACE(loops_over_teams); }

// There are no waits in between: each kernel needs the result of the previous one.
template <class Space>
void keeps_the_order(plx::runtime&, space<Space>& on) {
  constexpr int steps = 30;
  const Kokkos::View<long*, typename Space::memory_space> v("v", 4);
  instance<Space> in = on.take();
  for (int k = 1; k <= steps; ++k) step(in, v, k);
  in.future().get();
  long expected = 0;
  for (int k = 1; k <= steps; ++k) expected = expected * 31 % 1'000'003 + k;
  EXPECT_EQ(values_of(on, v), std::vector<long>(4, expected));
}
template <class In, class View>
void step(In& in, const View& v, int k) {
  static_cast<void>(async_parallel_for(
      in, "step", 4, KOKKOS_LAMBDA(int i) { v(i) = v(i) * 31 % 1'000'003 + k; }));
}
TEST(kokkos_instance, runs_kernels_in_order) { PLX_ON_EACH_SPACE(keeps_the_order); }

template <class On, class View>
plx::future<void> fill_with(On& on, const View& v, long value) {
  return async_parallel_for(
      on, "fill", static_cast<int>(v.size()), KOKKOS_LAMBDA(int i) { v(i) = value; });
}
template <class On, class View>
plx::future<void> add_up(On& on, const View& a, const View& b) {
  return async_parallel_for(
      on, "add", static_cast<int>(a.size()), KOKKOS_LAMBDA(int i) { a(i) += b(i); });
}
template <class On, class View>
plx::future<long> sum_of(On& on, const View& v, int n) {
  return async_parallel_reduce<long>(
      on, "sum", n, KOKKOS_LAMBDA(int i, long& s) { s += v(i); });
}

template <class Space>
void chains(plx::runtime&, space<Space>& on) {
  constexpr int n = 200;
  const Kokkos::View<long*, typename Space::memory_space> a("a", n), b("b", n);
  const long sum = [&] {
    auto both = plx::when_all(fill_with(on, a, 5), fill_with(on, b, 7));
    plx::future<void> added = both.then([&](auto f) {
      auto [x, y] = f.get();
      x.get(), y.get();
      return add_up(on, a, b);
    });
    plx::future<long> total = added.then([&](plx::future<void> f) {
      f.get();
      return sum_of(on, a, n);
    });
    return total.get();
  }();
  EXPECT_EQ(sum, 12L * n);
}
TEST(kokkos_futures, chain_with_then_and_when_all) { PLX_ON_EACH_SPACE(chains); }

template <class Space>
void many_at_once(plx::runtime& rt, space<Space>& on) {
  constexpr int tasks = 24, rounds = 4;
  const long total = [&] {
    std::vector<plx::future<long>> all;
    for (int t = 0; t < tasks; ++t)
      all.push_back(plx::async(rt.get_executor(), [&on, t] {
        long sum = 0;
        for (int r = 0; r < rounds; ++r) {
          instance<Space> in = on.take();
          const int n = 10 + t;
          recycled_view<long*, Space> v(r % 2 == 0 ? recycled_view<long*, Space>(in, n)
                                                   : recycled_view<long*, Space>(on, n));
          static_cast<void>(fill_with(in, v.view(), t + r));
          sum += sum_of(in, v.view(), n).get();
        }
        return sum;
      }));
    long sum = 0;
    for (auto& f : all) sum += f.get();
    return sum;
  }();
  long expected = 0;
  for (int t = 0; t < tasks; ++t)
    for (int r = 0; r < rounds; ++r) expected += (10 + t) * (t + r);
  EXPECT_EQ(total, expected);
}
TEST(kokkos_futures, of_concurrent_tasks_are_correct) { PLX_ON_EACH_SPACE(many_at_once); }

template <class Space>
void recycles(plx::runtime&, space<Space>& on) {
  const Space* first = nullptr;
  {
    instance<Space> a = on.take();
    first = &a.get();
  }
  EXPECT_EQ(on.size(), 1u);
  instance<Space> again = on.take();
  EXPECT_EQ(&again.get(), first);
  instance<Space> other = on.take();
  EXPECT_NE(&other.get(), first);
  EXPECT_EQ(on.size(), 2u);
  again = std::move(other);  // both stay taken until their objects are destroyed
  EXPECT_EQ(on.size(), 2u);
}
TEST(kokkos_space, reuses_returned_instances) { PLX_ON_EACH_SPACE(recycles); }

}  // namespace plx::kokkos
