// Hang reports: where they are written, and when.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

#include "base/log.hpp"
#include "base/test/timeout_test.hpp"
#include "rt/explain/explain.hpp"
#include "rt/latch.hpp"
#include "rt/runtime.hpp"
#include "rt/thread.hpp"

namespace {

using namespace std::chrono_literals;

// Collects the log while it lives.
class logged {
 public:
  logged() {
    plx::log_to_function(
        [](void* self, plx::log_level, std::string_view line) {
          auto& me = *static_cast<logged*>(self);
          const std::lock_guard lock(me.mutex_);
          (me.text_ += line) += '\n';
        },
        this, plx::log_level::warning);
  }
  ~logged() { plx::log_to_function(nullptr, nullptr, plx::log_level::none); }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  bool comes_to_hold(const std::string& part) {
    return plx::comes_true([&] { return text().find(part) != std::string::npos; });
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

unsigned count(const std::string& text, const std::string& part) {
  unsigned n = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(hang, run_reports_it_once) {
  logged log;
  plx::runtime rt({.workers = 2, .bind = false, .report_hang_after_s = 0.05});
  plx::promise<int> p;
  auto f = p.get_future();
  std::thread late([&] {
    EXPECT_TRUE(log.comes_to_hold("waits for a late promise"));
    std::this_thread::sleep_for(200ms);
    p.set_value(7);
  });
  EXPECT_EQ(rt.run({plx::probe::register_name("waits for a late promise")}, [&f] { return f.get(); }), 7);
  late.join();
  EXPECT_EQ(count(log.text(), "run() waits"), 1u) << log.text();
  EXPECT_EQ(count(log.text(), "waits on future"), 1u) << log.text();
}

TEST(hang, sleeping_or_working_tasks_do_not_hang) {
  logged log;
  plx::runtime rt({.workers = 2, .bind = false, .report_hang_after_s = 0.02});
  rt.run([] { plx::this_thread::sleep_for(150ms); });
  rt.run([] {
    auto busy = plx::async({{}, 1}, [] { std::this_thread::sleep_for(150ms); });
    plx::this_thread::yield();
    busy.get();
  });
  EXPECT_EQ(log.text(), "");
}

TEST(hang, a_signal_makes_it_explain) {
  logged log;
  struct sigaction before {
  }, after{};
  sigaction(SIGUSR2, nullptr, &before);
  {
    plx::latch go(1);
    plx::runtime rt({.workers = 2, .bind = false, .explain_signal = SIGUSR2});
    plx::runtime another({.workers = 1, .bind = false, .explain_signal = SIGUSR2});
    plx::post({plx::probe::register_name("asked by a signal")}, [&go] { go.wait(); });
    ASSERT_TRUE(plx::comes_true([&] { return !rt.explain_waits().empty(); }));
    raise(SIGUSR2);
    EXPECT_TRUE(log.comes_to_hold("asked by a signal"));
    EXPECT_TRUE(log.comes_to_hold("runtime 2 of 2: no task waits"));
    go.count_down();
  }
  sigaction(SIGUSR2, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

TEST(hang, the_environment_asks_for_the_signal) {
  setenv("PLX_EXPLAIN_SIGNAL", "SIGUSR1", 1);
  {
    logged log;
    plx::runtime rt({.workers = 1, .bind = false});
    EXPECT_EQ(rt.options().explain_signal, SIGUSR1);
    raise(SIGUSR1);
    EXPECT_TRUE(log.comes_to_hold("no task waits"));
  }
  setenv("PLX_EXPLAIN_SIGNAL", "NONE", 1);
  EXPECT_THROW(plx::runtime({.workers = 1}), std::invalid_argument);
  unsetenv("PLX_EXPLAIN_SIGNAL");
  setenv("PLX_REPORT_HANG", "soon", 1);
  EXPECT_THROW(plx::runtime({.workers = 1}), std::invalid_argument);
  unsetenv("PLX_REPORT_HANG");
  EXPECT_EQ(plx::detail::signal_named("QUIT", ""), SIGQUIT);
  EXPECT_EQ(plx::detail::signal_named("10", ""), 10);
}

}  // namespace
