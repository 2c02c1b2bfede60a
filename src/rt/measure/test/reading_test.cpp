// Everything that may be read from other threads is read while the runtime does everything it can: concurrent reads
// must be free of data races. ThreadSanitizer checks that; without it these tests only check that nothing hangs.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <latch>
#include <thread>
#include <vector>

#include "control/policy.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/crash/flight_dump.hpp"
#include "probe/record/recorder.hpp"
#include "probe/settings.hpp"
#include "rt/async.hpp"
#include "rt/executor.hpp"
#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"
#include "rt/thread.hpp"
#include "rt/when.hpp"

namespace {

using namespace plx;

/// Calls `read` repeatedly on a thread of its own until it is destroyed. The constructor returns after the first call:
/// the rest of the test may end before the system schedules this thread again.
class reader {
 public:
  template <class F>
  explicit reader(F read)
      : thread_([this, read] {
          read();
          begun_.count_down();
          while (!end_.load(std::memory_order_relaxed)) read();
        }) {
    begun_.wait();
  }
  ~reader() {
    end_.store(true, std::memory_order_relaxed);
    thread_.join();
  }

 private:
  std::atomic<bool> end_{false};
  std::latch begun_{1};
  std::thread thread_;
};

/// Creates stacks of several sizes; tasks wait for locks, timers, futures and each other, with every kind of placement.
void do_everything(runtime& rt) {
  const executor ex = rt.get_executor();
  mutex m("reading");
  latch gate(1), there(40);
  task_group g;
  for (int i = 0; i < 40; ++i)
    g.run(task_info{probe::register_name("reading"), static_cast<std::uint64_t>(i)}, [&] {
      there.count_down();
      gate.wait();
      const std::lock_guard guard(m);
      this_thread::yield();
    });
  std::vector<future<int>> placed;
  for (int i = 0; i < 8; ++i) {
    placed.push_back(async(ex.with_priority(i % 2 == 0 ? priority::high : priority::low), [i] { return i; }));
    placed.push_back(async(ex.with_affinity(static_cast<unsigned>(i) % rt.worker_count()), [i] { return i; }));
    placed.push_back(async(ex.with_stack_size(std::size_t{16} << (10 + i % 4)), [i] {
      this_thread::sleep_for(std::chrono::microseconds(50));
      return i;
    }));
  }
  there.wait();
  gate.count_down();
  g.wait();
  when_all(std::move(placed)).get();
}

void work(runtime& rt, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    std::atomic<int> left{3};
    const std::uint64_t poller = rt.add_poller(
        [](void* n) { return --*static_cast<std::atomic<int>*>(n) > 0 ? poll_result::progressed : poll_result::idle; },
        &left);
    rt.run([&rt] { do_everything(rt); });
    rt.remove_poller(poller);
  }
}

TEST(counters, all_are_read_while_everything_happens) {
  runtime rt({.workers = 3});
  const auto policy =
      rt.policies().on_event({.name = "seen"}, probe::event_filter::of({probe::task_event_kind::start}), [](auto&) {});
  const auto cap = rt.actuators().find_as<std::int64_t>("worker-cap").value();
  std::int64_t n = 0;
  const reader counters([&] {
    EXPECT_TRUE(rt.counters().query("/*{*}/*@*"));
    EXPECT_TRUE(rt.counters().reset("/threads{*}/*"));
    EXPECT_TRUE(cap->set(1 + ++n % 3, "test", "to change something"));
  });
  work(rt, 10);
}

TEST(counters, the_recorder_is_read_and_switched_while_everything_happens) {
  runtime rt({.workers = 3});
  probe::recorder& r = rt.recorder();
  bool on = false;
  const reader tables([&] {
    (void)r.tasks(), (void)r.tasks(1), (void)r.costs(), (void)r.waits(), (void)r.ready_wait(), (void)r.span_s();
    (void)r.measurement_cost(), (void)r.traced(), (void)r.trace_lost(), (void)r.times(0);
    r.reset_costs();
  });
  const reader tracing([&] {
    r.trace(on = !on, 1024);
    r.trace_counter("reading", 1);
    r.mark("mark", "reading");
    r.drain();
    r.paths(!on);
    if (on) (void)r.collect_trace();
    r.forget_trace();
  });
  work(rt, 10);
}

TEST(counters, waits_and_last_slices_are_reported_while_everything_happens) {
  const std::string folder = testing::TempDir() + "plx_rt_reading_" + std::to_string(::getpid());
  auto s = std::make_shared<probe::settings>();
  s->output = folder;
  testing::internal::CaptureStderr();
  {
    runtime rt({.workers = 3, .measure = s});
    const reader waits([&] { (void)rt.explain_waits(); });
    const reader flight([&] { EXPECT_TRUE(probe::write_flight("a test", probe::next_flight_number())); });
    work(rt, 10);
  }
  (void)testing::internal::GetCapturedStderr();
  std::filesystem::remove_all(folder);
}

}  // namespace
