// The number of instances that a space creates.
#include "gpu/kokkos/space.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <thread>
#include <vector>

#include "gpu/kokkos/parallel.hpp"

namespace plx::kokkos {

#if defined(KOKKOS_ENABLE_SERIAL)

// All tasks find no instance at the same time.
TEST(kokkos_space, creates_no_more_instances_than_requested) {
  constexpr unsigned users = 8;
  plx::runtime rt({.workers = 2, .bind = false});
  for (int round = 0; round < 100; ++round) {
    space<Kokkos::Serial> on(rt, {.instances = 2});
    std::barrier<> together(users);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < users; ++t)
      threads.emplace_back([&] {
        together.arrive_and_wait();
        async_parallel_for(on, "work", 10, [](int) {}).get();
      });
    for (auto& t : threads) t.join();
    ASSERT_LE(on.size(), 2u) << "round " << round;
  }
}

#endif

}  // namespace plx::kokkos
