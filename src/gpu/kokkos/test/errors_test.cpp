// Exceptions of kernels, and the names under which kernels are measured.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/test/timeout_test.hpp"
#include "gpu/kokkos/parallel.hpp"
#include "gpu/kokkos/test/each_space_test.hpp"
#include "gpu/test/message_of_test.hpp"
#include "probe/record/names.hpp"
#include "probe/record/recorder.hpp"

namespace plx::kokkos {

using testing::message_of;

#if defined(KOKKOS_ENABLE_SERIAL)

TEST(kokkos_errors, an_exception_of_a_kernel_is_held_only_by_its_future) {
  testing::with_every_runtime([](plx::runtime& rt) {
    rt.run([&] {
      space<Kokkos::Serial> on(rt);
      instance<Kokkos::Serial> in = on.take();
      auto fails = async_parallel_for(in, "fails", 10, [](int i) {
        if (i == 7) throw std::runtime_error("seven");
      });
      auto reduces = async_parallel_reduce<long>(in, "fails too", 10, [](int i, long& s) {
        if (i == 3) throw std::runtime_error("three");
        s += i;
      });
      auto works = async_parallel_reduce<long>(in, "works", 10, [](int i, long& s) { s += i; });
      EXPECT_EQ(message_of([&] { fails.get(); }), "seven");
      EXPECT_EQ(message_of([&] { reduces.get(); }), "three");
      EXPECT_EQ(works.get(), 45);
      // A later future holds it.
      auto behind = async_parallel_for(on, "again", 1, [](int) {
                      throw std::runtime_error("again");
                    }).then([](plx::future<void> f) {
        f.get();
        return 1;
      });
      EXPECT_EQ(message_of([&] { behind.get(); }), "again");
    });
  });
}

TEST(kokkos_errors, an_error_of_kokkos_is_held_by_the_future) {
  plx::runtime rt({.workers = 2, .bind = false});
  space<Kokkos::Serial> on(rt);
  const Kokkos::View<int*, Kokkos::HostSpace> a("a", 3), b("b", 4);
  EXPECT_NE(message_of([&] { async_deep_copy(on, a, b).get(); }), "");
}

// The callable and its captures are destroyed before the result is visible.
TEST(kokkos_futures, do_not_keep_the_kernel_alive) {
  plx::runtime rt({.workers = 2, .bind = false});
  space<Kokkos::Serial> on(rt);
  auto held = std::make_shared<int>(1);
  auto f = async_parallel_for(on, "holds", 1, [held](int) {});
  f.get();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(kokkos_names, name_the_tasks) {
  plx::runtime rt({.workers = 2, .bind = false});
  rt.recorder().trace(true, 1u << 12);
  {
    space<Kokkos::Serial> on(rt);
    for (int i = 0; i < 3; ++i) async_parallel_for(on, "a kernel of Kokkos", 10, [](int) {}).get();
    const Kokkos::View<int, Kokkos::HostSpace> v("my view");
    async_deep_copy(on, v, 1).get();
  }
  const probe::name_id kernel = probe::register_name("a kernel of Kokkos");
  const probe::name_id copy = probe::register_name("deep_copy my view");
  const auto named = [&](const probe::trace_data& trace, probe::name_id name) {
    std::ptrdiff_t n = 0;
    for (const auto& w : trace.workers)
      n += std::count_if(w.begin(), w.end(), [&](const auto& s) { return s.name == name && s.finished; });
    return n;
  };
  // A result is visible a moment before the end of its task is recorded.
  std::ptrdiff_t kernels = 0, copies = 0;
  EXPECT_TRUE(comes_true([&] {
    const probe::trace_data trace = rt.recorder().collect_trace();
    kernels = named(trace, kernel), copies = named(trace, copy);
    return kernels >= 3 && copies >= 1;
  }));
  EXPECT_EQ(kernels, 3);
  EXPECT_EQ(copies, 1);
}

#endif

}  // namespace plx::kokkos
