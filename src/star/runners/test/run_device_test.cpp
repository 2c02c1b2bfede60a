// Whole runs on a device that fails: their messages and their files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "gpu/cpu/cpu_backend.hpp"
#include "rt/runtime.hpp"
#include "star/driver/run.hpp"

namespace plx::star {
namespace {

struct with_step final : run_observer {
  explicit with_step(std::function<void(const step_report&)> g) : f(std::move(g)) {}
  void stepped(const step_report& r) override { f(r); }
  std::function<void(const step_report&)> f;
};

class RunOnDevice : public ::testing::Test {
 protected:
  ~RunOnDevice() override { std::filesystem::remove_all(folder); }

  /// Eight blocks of 8^3, a few steps; `said` receives the log from warnings on.
  run_end run_on(const gpu::cpu::testing_backend& b, std::vector<std::string> sets,
                 std::function<void(const step_report&)> stepped) {
    sets.insert(sets.begin(),
                {"run.device=emulated", "mesh.root_blocks=[2,2,2]", "mesh.max_level=0", "run.max_steps=40"});
    const auto in = input::from_text("[problem]\nname = \"sedov\"\n", "t", sets).value();
    const setup s = in->prepare().value();
    runtime rt({.workers = 2});
    run_request request;
    request.out = folder;
    request.backend = &b.get();
    with_step observer(std::move(stepped));
    said.clear();
    const auto hear = [](void* all, log_level, std::string_view line) {
      static_cast<std::vector<std::string>*>(all)->emplace_back(line);
    };
    log_to_function(hear, &said, log_level::warning);
    const run_end end = run(*in, s, rt, request, observer);
    log_to_function(nullptr, nullptr, log_level::none);
    return end;
  }

  const std::string folder = "run-device-" + std::to_string(getpid());
  std::vector<std::string> said;
};

TEST_F(RunOnDevice, OutOfMemoryAtTheStartIsAnErrorBeforeTheRun) {
  const gpu::cpu::testing_backend b({.memory_bytes = 100'000});
  const run_end end = run_on(b, {}, [](const step_report&) {});
  EXPECT_EQ(end.status, run_status::failed);
  EXPECT_EQ(end.message.find("run.device = \"emulated\": "), 0u) << end.message;
  EXPECT_NE(end.message.find("memory"), std::string::npos) << end.message;
  EXPECT_EQ(end.message.find("--resume"), std::string::npos) << end.message;
  EXPECT_EQ(end.message.find('\n'), std::string::npos) << end.message;
  EXPECT_THAT(said, ::testing::IsEmpty());  // plx-star prints the message
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(RunOnDevice, ALossDuringTheRunNamesACheckpointOnlyIfOneExists) {
  for (const bool kept : {false, true}) {
    std::filesystem::remove_all(folder);
    gpu::cpu::testing_backend b({});
    const std::vector<std::string> sets{kept ? "output.checkpoint_interval_s=1e-9" : "output.checkpoint_interval_s=0"};
    const run_end end = run_on(b, sets, [&](const step_report& r) {
      if (r.step == 20) b.lose(0);
    });
    EXPECT_EQ(end.status, run_status::failed);
    EXPECT_NE(end.message.find("after step "), std::string::npos) << end.message;
    EXPECT_EQ(end.message.find("--resume " + folder) != std::string::npos, kept) << end.message;
    EXPECT_TRUE(std::filesystem::exists(folder + "/run.json"));
    EXPECT_LE(said.size(), 2u) << ::testing::PrintToString(said);  // the end, and the loss of the device
  }
}

}  // namespace
}  // namespace plx::star
