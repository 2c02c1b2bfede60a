#include "parquet/run/run_device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "gpu/cpu/cpu_backend.hpp"
#include "net/collectives.hpp"
#include "net/team.hpp"
#include "net/test/threads_test.hpp"
#include "parquet/run/options.hpp"
#include "rt/runtime.hpp"

namespace plx::parquet {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

parquet_options with(const char* device) {
  parquet_options o;
  o.device = device;
  return o;
}

TEST(ParquetRunDevice, IsThatOfTheOption) {
  runtime rt({.workers = 1, .bind = false});
  rt.run([&] {
    EXPECT_EQ(open_device(with("cpu"), rt, {}).value(), nullptr);
    EXPECT_EQ(open_device(with("emulated"), rt, {}).value()->get_backend().name, "cpu");
    const gpu::cpu::testing_backend none({.count_fails = gpu::cpu::no_driver});
    const auto refused = open_device(with("cuda"), rt, {}, &none.get());
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().message, StartsWith("run.device = \"cuda\": cpu: "));
    EXPECT_THAT(refused.error().message, HasSubstr("; run.device = \"cpu\" needs none"));
    EXPECT_EQ(refused.error().message.find('\n'), std::string::npos);
  });
}

TEST(ParquetRunDevice, LocalitiesOfAHostTakeItsDevicesInTurn) {
  gpu::cpu::testing_backend two({.devices = 2}), none({.count_fails = gpu::cpu::no_driver});
  net::test::localities job(3, 1);
  std::mutex lock;
  std::vector<int> taken(3, -1);
  std::string messages;
  job.run_all([&] {
    const team members{communicator("parquet")};
    runtime& rt = net::node_here().home();
    {
      const auto own = open_device(with("emulated"), rt, members, &two.get());
      const std::lock_guard guard(lock);
      taken[members.rank()] = own.value()->index();
    }
    const auto refused = open_device(with("emulated"), rt, members, members.rank() == 1 ? &none.get() : &two.get());
    const std::lock_guard guard(lock);
    EXPECT_FALSE(refused.has_value());
    if (!refused) messages += refused.error().message;
  });
  EXPECT_EQ(taken, (std::vector<int>{0, 1, 0}));
  EXPECT_THAT(messages, StartsWith("run.device = \"emulated\": "));  // of one of them
  EXPECT_EQ(messages.find("run.device", 1), messages.rfind("run.device"));
}

}  // namespace
}  // namespace plx::parquet
