#include "probe/monitor/monitors.hpp"

#include <gtest/gtest.h>

#include "base/log.hpp"

namespace {

using namespace plx::probe;

TEST(Monitors, MissingRequestedMonitorsAreReported) {
  counter_registry r;
  const monitors m = add_monitors(r,
                                  {.perf = "nonsense",
                                   .papi = "PAPI_TOT_INS",
                                   .nvml = true,
                                   .papi_library = "/no/papi",
                                   .nvml_library = "/no/nvml"},
                                  {});
  EXPECT_EQ(m.missing.size(), 3u);
  testing::internal::CaptureStderr();
  report(m.missing);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("\nPAPI is omitted: /no/papi"), std::string::npos);
}

TEST(Monitors, WithoutARequestNothingIsReported) {
  counter_registry r;
  const monitors m = add_monitors(r, {}, {});
  EXPECT_TRUE(m.missing.empty());
  EXPECT_TRUE(r.query("/machine/threads"));
}

}  // namespace
