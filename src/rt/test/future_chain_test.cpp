// Long chains of futures: a task frees its inputs when it has used them.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "rt/dataflow.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/when.hpp"

namespace {

using plx::testing::on_every_schedule;
using done = plx::shared_future<void>;

TEST(future_chain, inputs_and_callables_are_gone_when_the_result_is_there) {
  on_every_schedule([] {
    auto input = std::make_shared<int>(1), captured = std::make_shared<int>(2);
    plx::shared_future<std::shared_ptr<int>> first = plx::make_ready_future(input);
    plx::future<int> flow = plx::dataflow([captured](const auto& f) { return *f.get() + *captured; }, first);
    flow.wait();
    EXPECT_EQ(captured.use_count(), 1);
    plx::future<int> then = first.then([captured](const auto& f) { return *f.get() + *captured; });
    then.wait();
    EXPECT_EQ(captured.use_count(), 1);
    first = {};
    EXPECT_EQ(input.use_count(), 1);
    EXPECT_EQ(flow.get() + then.get(), 6);
  });
}

// Destroying the futures of a chain recursively would overflow the stack of the task that holds the last one.
TEST(future_chain, hundred_thousand_links_need_no_deep_stack) {
  plx::runtime rt({.workers = 2});
  rt.run([] {
    std::vector<done> row(3, plx::make_ready_future().share());
    for (int step = 0; step < 100'000; ++step) {
      const std::vector<done> before = row;
      row[0] = plx::dataflow([](const done&, const done&) {}, before[0], before[1]);
      row[1] = plx::when_all(before.begin(), before.end()).then([](const auto&) {});
      row[2] = before[2].then([](const done&) {});
    }
    for (const done& d : row) d.get();
  });
}

}  // namespace
