#include "gpu/kokkos/view.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "gpu/kokkos/parallel.hpp"
#include "gpu/kokkos/test/each_space_test.hpp"

namespace plx::kokkos {

template <class Space>
void takes_memory_again(plx::runtime&, space<Space>& on) {
  instance<Space> in = on.take();
  const void* first = nullptr;
  {
    const recycled_view<double** [3], Space> v(in, 50, 4);
    first = v.view().data();
    EXPECT_EQ(v.view().extent(0), 50u);
    EXPECT_EQ(v.view().extent(1), 4u);
    EXPECT_EQ(v.view().extent(2), 3u);
  }
  recycled_view<double*, Space> again(in, 600);
  EXPECT_EQ(again.view().data(), first);
  recycled_view<double*, Space> other(on, 600);
  EXPECT_NE(other.view().data(), nullptr);
  EXPECT_NE(other.view().data(), first);
  again = std::move(other);
  EXPECT_NE(again.view().data(), first);
}
TEST(kokkos_view, reuses_released_memory) { PLX_ON_EACH_SPACE(takes_memory_again); }

template <class In, class View>
void fill_slowly(In& in, const View& v, long value) {
  static_cast<void>(async_parallel_for(
      in, "fill", static_cast<int>(v.size()), KOKKOS_LAMBDA(int i) { v(i) = value; }));
}
template <class In, class View>
void count_others(In& in, const View& v, long value, std::vector<plx::future<long>>& wrong) {
  wrong.push_back(async_parallel_reduce<long>(
      in, "check", static_cast<int>(v.size()), KOKKOS_LAMBDA(int i, long& s) { s += v(i) != value; }));
}

// A view is destroyed while its kernels are pending; writes by the next owner of that memory must come after them.
template <class Space>
void gives_back_in_order(plx::runtime&, space<Space>& on) {
  const long wrong = [&] {
    std::vector<plx::future<long>> all;
    instance<Space> a = on.take(), b = on.take();
    for (long k = 0; k < 40; ++k) {
      instance<Space>& in = k % 3 == 0 ? b : a;
      const recycled_view<long*, Space> v(in, 100);
      fill_slowly(in, v.view(), k);
      count_others(in, v.view(), k, all);
    }
    long sum = 0;
    for (auto& f : all) sum += f.get();
    return sum;
  }();
  EXPECT_EQ(wrong, 0);
}
TEST(kokkos_view, is_released_after_the_work_of_its_instance) { PLX_ON_EACH_SPACE(gives_back_in_order); }

}  // namespace plx::kokkos
