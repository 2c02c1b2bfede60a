// One guard for all tests: Kokkos can be initialized once in a process.
#include <gtest/gtest.h>

#include <memory>

#include "gpu/kokkos/guard.hpp"

namespace {

struct with_kokkos final : testing::Environment {
  void SetUp() override { guard = std::make_unique<plx::kokkos::guard>(plx::kokkos::settings{.threads = 2}); }
  void TearDown() override { guard.reset(); }
  std::unique_ptr<plx::kokkos::guard> guard;
};

const auto* const kokkos = testing::AddGlobalTestEnvironment(new with_kokkos);

}  // namespace
