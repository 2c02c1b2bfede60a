// Slices of a runtime's tasks arrive at a tool of NVTX: tasks that wait, that run in the frame of another one, and that
// resume on another worker.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/test/timeout_test.hpp"
#include "control/policy.hpp"
#include "probe/record/recorder.hpp"
#include "probe/settings.hpp"
#include "rt/async.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"

namespace {

const plx::task_info leaf{plx::probe::register_name("leaf"), 3}, node{plx::probe::register_name("node")},
    waiting{plx::probe::register_name("waiting")};

/// A binary tree of nodes with 2^depth leaves. The first children run in the frame of their node.
void tree(int depth) {
  if (depth == 0) return;
  plx::task_group group;
  for (int i = 0; i < 2; ++i) group.run(depth == 1 ? leaf : node, [depth] { tree(depth - 1); });
  group.wait();
}

std::map<std::string, int> counted(const std::string& events) {
  std::map<std::string, int> lines;
  std::istringstream text(events);
  for (std::string line; std::getline(text, line);) ++lines[line];
  return lines;
}

struct Ranges : testing::Test {
  static const char* events() {
    static void* const tool = ::dlopen(FAKE_NVTX, RTLD_NOW);
    return reinterpret_cast<const char* (*)()>(::dlsym(tool, "fake_nvtx_events"))();
  }
  static plx::runtime_options options(const char* ranges) {
    ::setenv("NVTX_INJECTION64_PATH", FAKE_NVTX, 1);
    auto measure = std::make_shared<plx::probe::settings>();
    measure->ranges = ranges;
    return {.workers = 3, .bind = false, .measure = measure};
  }
};

void work(plx::runtime& rt) {
  rt.run([] {
    tree(8);
    std::vector<plx::future<int>> all;
    for (int i = 0; i < 50; ++i)
      all.push_back(plx::async(waiting, [] { return plx::async(leaf, [] { return 1; }).get(); }));
    for (auto& f : all) f.get();
  });
}

TEST_F(Ranges, EachSliceOfATaskIsARangeOfItsThread) {
  for (const bool with_origins : {false, true}) {  // then results that a task reads divide its slices
    (void)events();
    {
      plx::runtime rt(options("nvtx"));
      rt.recorder().paths(with_origins);
      work(rt);
    }
    std::map<std::string, int> found = counted(events());
    EXPECT_EQ(found["domain plx"], 1);
    EXPECT_EQ(found["push plx leaf 3"], 256 + 50);  // none of them waits
    EXPECT_GE(found["push plx node"], 254);
    EXPECT_GE(found["push plx waiting"], 50);
    EXPECT_EQ(found["push within a range"], 0);
    EXPECT_EQ(found["pop without a range"], 0);
    int pushes = 0;
    for (const auto& [line, n] : found) pushes += line.starts_with("push plx") ? n : 0;
    EXPECT_EQ(found["pop"], pushes);
    // A node continues after each child that ran in its frame: more ranges than tasks.
    EXPECT_GT(found["push plx node"], 300);
  }
}

TEST_F(Ranges, PoliciesGetEventsToo) {
  plx::runtime rt(options("nvtx"));
  std::atomic<int> ends = 0;
  {
    auto keep = rt.policies().on_event({.name = "counts"},
                                       plx::probe::event_filter::of({plx::probe::task_event_kind::stop}, {leaf.name}),
                                       [&](plx::probe::policy_context&) { ++ends; });
    work(rt);
    // The end of a task is reported after its result is ready.
    EXPECT_TRUE(plx::comes_true([&] { return ends >= 256 + 50; }));
  }
  EXPECT_EQ(ends, 256 + 50);
  (void)events();
  work(rt);
  EXPECT_EQ(ends, 256 + 50);
  EXPECT_EQ(counted(events())["push plx leaf 3"], 256 + 50);  // without the policy, too
}

TEST_F(Ranges, WithoutTheSettingThereAreNone) {
  (void)events();
  {
    plx::runtime rt(options(""));
    work(rt);
  }
  EXPECT_STREQ(events(), "");
}

}  // namespace
