#include "gpu/kokkos/guard.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>
#include <string>

#include "gpu/kokkos/space.hpp"
#include "gpu/test/message_of_test.hpp"
#include "rt/runtime.hpp"

namespace plx::kokkos {
namespace {

using plx::testing::message_of;
using ::testing::HasSubstr;

// One test, in its own program: Kokkos can be initialized only once.
TEST(guard, initializes_and_finalizes_kokkos_once) {
  using host = Kokkos::DefaultHostExecutionSpace;
  EXPECT_THAT(message_of([] {
                plx::runtime rt({.workers = 1, .bind = false});
                space<host> too_early(rt);
              }),
              HasSubstr("create a plx::kokkos::guard first"));
  {
    guard first({.threads = 2});
    EXPECT_TRUE(first.initialized_here());
    EXPECT_TRUE(Kokkos::is_initialized());
    {
      guard second;
      EXPECT_FALSE(second.initialized_here());
    }
    EXPECT_TRUE(Kokkos::is_initialized());

    require_space(host::name());
    EXPECT_THAT(std::string(execution_spaces()), HasSubstr(host::name()));
    const std::string none = message_of([] { require_space("Abacus"); });
    EXPECT_THAT(none, HasSubstr("no execution space 'Abacus'"));
    EXPECT_THAT(none, HasSubstr(std::string(execution_spaces())));
    EXPECT_THAT(none, HasSubstr(version()));
    EXPECT_THAT(message_of([] { require_space("Ser"); }), HasSubstr("no execution space 'Ser'"));
#if defined(KOKKOS_ENABLE_CUDA)
    plx::runtime rt({.workers = 1, .bind = false});
    gpu::device cpu(rt, gpu::find_backend("cpu"));
    EXPECT_THAT(message_of([&] { space<Kokkos::Cuda> wrong(cpu); }), HasSubstr("needs a device of backend cuda"));
#endif
  }
  EXPECT_TRUE(Kokkos::is_finalized());
  EXPECT_THAT(message_of([] { guard again; }), HasSubstr("cannot be initialized a second time"));
}

}  // namespace
}  // namespace plx::kokkos
