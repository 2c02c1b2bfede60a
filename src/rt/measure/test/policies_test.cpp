// Policies and actuators of a runtime: from an event to a decision in the run's folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/file.hpp"
#include "control/policy.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "probe/settings.hpp"
#include "rt/runtime.hpp"

namespace plx {
namespace {

using ::testing::HasSubstr;

TEST(runtime_policies, a_periodic_one_decides_and_the_run_folder_shows_it) {
  const std::string folder = probe::temporary_path("runtime_policies");
  std::filesystem::remove_all(folder);
  {
    auto measure = std::make_shared<probe::settings>();
    measure->output = folder;
    measure->trace = true;
    runtime rt({.workers = 2, .bind = false, .measure = measure});
    auto cap = rt.actuators().find_as<std::int64_t>("worker-cap").value();
    std::atomic<bool> done{false};
    auto p = rt.policies().every({.name = "half", .resets = true}, 0.001, [&](probe::policy_context& me) {
      EXPECT_TRUE(me.set(*cap, 1, "half is enough").has_value());
      done = true;
    });
    while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(rt.run([] { return 7; }), 7);
    p.remove();
    EXPECT_EQ(cap->get(), 2);
  }
  const std::string decisions = read_file(folder + "/decisions.csv").value();
  EXPECT_THAT(decisions, HasSubstr(",half,worker-cap,2,1,half is enough\n"));
  EXPECT_THAT(decisions, HasSubstr(",half,worker-cap,1,2,the policy was removed\n"));
  EXPECT_THAT(read_file(folder + "/policies.csv").value(), HasSubstr("\nhalf,"));
  std::filesystem::remove_all(folder);
}

TEST(runtime_policies, kept_ones_end_with_the_runtime) {
  std::atomic<int> calls{0};
  {
    runtime rt({.workers = 1, .bind = false});
    rt.policies().every({.name = "kept"}, 0.001, [&](probe::policy_context&) { ++calls; }).keep();
    while (calls == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const int then = calls;
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  EXPECT_EQ(calls, then);
}

}  // namespace
}  // namespace plx
