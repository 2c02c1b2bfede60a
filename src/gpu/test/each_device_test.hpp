// Runs a test's body on every backend that has a device, with real workers, or on stepped devices of the cpu backend
// with many seeds of a deterministic runtime.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "gpu/cpu/cpu_backend.hpp"
#include "gpu/device.hpp"
#include "rt/runtime.hpp"
#include "rt/test/every_schedule_test.hpp"

namespace plx::testing {

/// `body(runtime, device)` on the test's own thread.
template <class Body>
void on_each_device(Body body) {
  for (const gpu::backend* b : gpu::backends()) {
    if (gpu::device_count(*b) == 0) continue;
    for (const unsigned workers : {1u, 3u}) {
      for (const auto way : {gpu::completion_way::poll, gpu::completion_way::callback, gpu::completion_way::flag}) {
        SCOPED_TRACE(std::string(b->name) + ", workers " + std::to_string(workers) + ", way " +
                     std::to_string(static_cast<int>(way)));
        plx::runtime rt({.workers = workers, .bind = false});
        gpu::device d(rt, *b, 0, {.way = way});
        body(rt, d);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

/// Does the same with a device of the cpu backend whose steps the seed decides, for at most `most` seeds.
template <class Body>
void on_stepped_devices(Body body, std::uint64_t most = ~std::uint64_t{0}) {
  for (std::uint64_t seed = 1; seed <= std::min(seed_count(), most); ++seed) {
    SCOPED_TRACE("deterministic, seed " + std::to_string(seed));
    gpu::cpu::testing_backend b({.stepped = true, .seed = seed});
    plx::runtime rt({.workers = 3, .deterministic = true, .seed = seed});
    gpu::device d(rt, b.get());
    body(rt, d);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace plx::testing
