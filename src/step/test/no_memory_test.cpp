// A recipe whose tasks cannot all be posted, or whose caller cannot wait, because memory is exhausted.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <vector>

#include "base/sanitizers.hpp"
#include "base/test/memory_limit_test.hpp"
#include "mesh/test/test_meshes.hpp"
#include "mesh/tree/block_mesh.hpp"
#include "rt/async.hpp"
#include "rt/latch.hpp"
#include "rt/runtime.hpp"
#include "step/task_runner.hpp"

#if !defined(PLX_ASAN) && !defined(PLX_TSAN)  // these need address space of their own
namespace plx::step {
namespace {

// Three passes on 512 blocks, one after the other. No kernel runs after run() has thrown.
struct long_recipe {
  recipe r;
  std::atomic<bool> over{false};
  std::atomic<int> runs{0};
  mesh::block_mesh blocks{mesh::test::box({8, 8, 8}, 8, 1, mesh::boundary::outflow)};
  mesh::curve_parts parts{blocks.block_count()};
  task_runner runner;

  long_recipe() : runner((describe(), r), exchange::alone()) { runner.adopt(blocks, parts); }
  void describe() {
    field_id before = r.add_field({.name = "u", .given = true, .shared_at = {stencil::neighbours}});
    for (const char* name : {"one", "two", "three"}) {
      const field_id next = r.add_field({.name = name, .shared_at = {stencil::neighbours}});
      r.add(
          {.name = name, .reads = {{before, stencil::neighbours}}, .writes = {next}, .kernel = kernel([this](node_id) {
                                                                                       if (over) std::_Exit(3);
                                                                                       ++runs;
                                                                                     })});
      before = next;
    }
  }
  int all() const { return 3 * static_cast<int>(blocks.block_count()); }
  bool throws() {
    try {
      runner.run();
    } catch (const std::bad_alloc&) {
      over = true;
    }
    return over;
  }
};

// Blocks of memory down to the smallest, of which some are returned: they suffice for a part of the tasks.
void use_up_memory(std::size_t left) {
  std::vector<void*> some(left / 4096);
  for (void*& p : some) p = std::malloc(4096 - 16);
  for (std::size_t bytes : {std::size_t{1} << 20, std::size_t{1} << 12, std::size_t{256}, std::size_t{16}})
    for (void* p = std::malloc(bytes); p != nullptr; p = std::malloc(bytes)) asm volatile("" ::"r"(p));
  for (void* p : some) std::free(p);
}

int run_without_memory_for_all_tasks(unsigned workers, std::size_t left) {
  long_recipe of;
  bool thrown = false, again = false;
  {
    runtime rt({.workers = workers, .bind = false});
    rt.run([&] {
      limit_address_space(0);
      use_up_memory(left);
      thrown = of.throws();
      const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
      setrlimit(RLIMIT_AS, &none);
    });
    rt.run([&] {  // tasks that are left over would run before
      of.over = false, of.runs = 0;
      of.runner.run();
      again = of.runs == of.all();
    });
  }
  return thrown && again ? 0 : 1;
}

TEST(NoMemoryDeathTest, ARunThatCannotPostAllTasksThrowsAfterTheOthersHaveEnded) {
  for (const unsigned workers : {1u, 2u})
    for (const std::size_t left : {std::size_t{0}, std::size_t{16} << 10})
      EXPECT_EXIT(std::_Exit(run_without_memory_for_all_tasks(workers, left)), testing::ExitedWithCode(0), "")
          << workers << " " << left;
}

// Tasks wait, until no further one can, because there is no address space for stacks.
int run_without_a_stack_to_wait(unsigned workers) {
  long_recipe of;
  {
    runtime rt({.workers = workers, .bind = false});
    limit_address_space(std::size_t{2} << 20);
    constexpr int n = 500;
    latch gate(1);
    std::atomic<int> begun{0}, refused{0};
    for (int i = 0; i < n; ++i)
      post([&] {
        ++begun;
        try {
          gate.wait();
        } catch (const std::bad_alloc&) {
          ++refused;
        }
      });
    while (begun < n) sched_yield();
    rt.run([&] {
      if (refused > 0 && of.throws()) std::_Exit(4);
    });
    gate.count_down();
  }
  return of.runs == of.all() ? 0 : 1;
}

TEST(NoMemoryDeathTest, ARunThatCannotWaitRunsItsTasks) {
  for (const unsigned workers : {1u, 2u})
    EXPECT_EXIT(std::_Exit(run_without_a_stack_to_wait(workers)), testing::ExitedWithCode(0), "") << workers;
}

}  // namespace
}  // namespace plx::step
#endif
