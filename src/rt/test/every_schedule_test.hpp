// Runs the body of a test on every kind of schedule: real workers (1, 2, 4) and many seeds of the deterministic mode.
// PLX_SEEDS sets the number of seeds (200 by default; the sanitizer builds, where each costs more, use 20).
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "rt/core/spinlock.hpp"
#include "rt/runtime.hpp"

namespace plx::testing {

inline std::uint64_t seed_count() {
  if (const char* text = std::getenv("PLX_SEEDS")) return std::strtoull(text, nullptr, 10);
#if defined(PLX_TSAN) || defined(PLX_ASAN)
  return 20;
#else
  return 200;
#endif
}

/// Calls `body(runtime)` on the test's own thread, once per schedule.
template <class Body>
void with_every_runtime(Body body) {
  for (unsigned workers : {1u, 2u, 4u}) {
    SCOPED_TRACE("workers " + std::to_string(workers));
    plx::runtime rt({.workers = workers, .bind = false});
    body(rt);
    EXPECT_EQ(rt.explain_waits(), "");
    if (::testing::Test::HasFailure()) return;
  }
  for (std::uint64_t seed = 1; seed <= seed_count(); ++seed) {
    SCOPED_TRACE("deterministic, seed " + std::to_string(seed));
    plx::runtime rt({.workers = 3, .deterministic = true, .seed = seed});
    body(rt);
    EXPECT_EQ(rt.explain_waits(), "");
    if (::testing::Test::HasFailure()) return;
  }
}

/// Calls `body()` as a task, once per schedule.
template <class Body>
void on_every_schedule(Body body) {
  with_every_runtime([&](plx::runtime& rt) { rt.run(body); });
}

}  // namespace plx::testing
