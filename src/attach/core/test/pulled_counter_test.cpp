#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "attach/core/program.hpp"
#include "attach/plx_probe.h"
#include "probe/record/test/temporary_test.hpp"

namespace {

double throwing(void*) { throw std::runtime_error("not now"); }

TEST(PlxProbe, AThreadThatReadsACounterThatThrowsIsStillMeasured) {
  const std::string folder = plx::probe::temporary_path("pulled_counter");
  ASSERT_EQ(setenv("PLX_PROFILE", "csv", 1) + setenv("PLX_OUTPUT", folder.c_str(), 1), 0);
  ASSERT_EQ(plx_probe_init(), 1) << plx_probe_error();
  EXPECT_NE(plx_probe_add_counter("/own/throwing", "1", "Throws", throwing, nullptr), 0);
  EXPECT_EQ(plx_probe_write(), 1) << plx_probe_error();
  EXPECT_EQ(plx::probe::this_slot.inside, 0u);
  plx_probe_finalize();
  EXPECT_EQ(plx::probe::this_slot.inside, 0u);
  std::filesystem::remove_all(folder);
}

}  // namespace
