// Runs a test's body in every execution space that Kokkos was built with: on the test's own thread with one worker, and
// in a task with three; and in Serial with seeds of a deterministic runtime. Bodies are function templates, since
// device code cannot be defined in a lambda or in a test itself.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "gpu/kokkos/parallel.hpp"
#include "gpu/kokkos/view.hpp"
#include "rt/test/every_schedule_test.hpp"

namespace plx::testing {

#if defined(PLX_TSAN)
inline constexpr bool only_serial = true;  // the OpenMP library is not instrumented
#else
inline constexpr bool only_serial = false;
#endif

template <class F>
void in_task_or_here(plx::runtime& rt, bool in_task, F f) {
  if (in_task)
    rt.run(f);
  else
    f();
}

template <class Space, class Body>
void on_space(unsigned workers, Body body) {
  SCOPED_TRACE(std::string(Space::name()) + ", workers " + std::to_string(workers));
  plx::runtime rt({.workers = workers, .bind = false});
  if constexpr (kokkos::detail::on_device<Space>) {
    gpu::device d(rt, gpu::find_backend(kokkos::detail::device_traits<Space>::backend));
    kokkos::space<Space> on(d);
    in_task_or_here(rt, workers > 1, [&] { body(rt, on); });
  } else {
    kokkos::space<Space> on(rt, {.threads_each = 2});
    in_task_or_here(rt, workers > 1, [&] { body(rt, on); });
  }
}

template <class Body>
void on_each_space(Body body) {
  for (const unsigned workers : {1u, 3u}) {
#if defined(KOKKOS_ENABLE_SERIAL)
    on_space<Kokkos::Serial>(workers, body);
#endif
#if defined(KOKKOS_ENABLE_OPENMP)
    if (!only_serial) on_space<Kokkos::OpenMP>(workers, body);
#endif
#if defined(KOKKOS_ENABLE_THREADS)
    if (!only_serial) on_space<Kokkos::Threads>(workers, body);
#endif
#if defined(KOKKOS_ENABLE_CUDA)
    on_space<Kokkos::Cuda>(workers, body);
#endif
#if defined(KOKKOS_ENABLE_HIP)
    on_space<Kokkos::HIP>(workers, body);
#endif
#if defined(KOKKOS_ENABLE_SYCL)
    on_space<Kokkos::SYCL>(workers, body);
#endif
    if (::testing::Test::HasFailure()) return;
  }
#if defined(KOKKOS_ENABLE_SERIAL)
  for (std::uint64_t seed = 1; seed <= seed_count() / 5; ++seed) {
    SCOPED_TRACE("deterministic, seed " + std::to_string(seed));
    plx::runtime rt({.workers = 3, .deterministic = true, .seed = seed});
    rt.run([&] {
      kokkos::space<Kokkos::Serial> on(rt);
      body(rt, on);
    });
    if (::testing::Test::HasFailure()) return;
  }
#endif
}

/// Runs a function template `f(runtime, space)` in each space.
#define PLX_ON_EACH_SPACE(f) ::plx::testing::on_each_space([](plx::runtime& rt, auto& on) { f(rt, on); })

}  // namespace plx::testing
