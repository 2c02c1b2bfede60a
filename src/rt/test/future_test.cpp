#include "rt/future.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rt/async.hpp"
#include "rt/event.hpp"
#include "rt/packaged_task.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using plx::testing::on_every_schedule;
using plx::testing::with_every_runtime;
using namespace std::chrono_literals;

std::error_code code_of(auto&& f) {
  try {
    f();
  } catch (const plx::future_error& e) {
    return e.code();
  }
  return {};
}

TEST(future, async_gives_the_result_of_the_call) {
  on_every_schedule([] {
    EXPECT_EQ(plx::async([](int x) { return x + 1; }, 41).get(), 42);
    EXPECT_EQ(plx::async([] { return std::string("text"); }).get(), "text");
    EXPECT_EQ(*plx::async([](std::unique_ptr<int> p) { return p; }, std::make_unique<int>(7)).get(), 7);
  });
}

TEST(future, async_calls_members_and_returns_references) {
  struct box {
    int value = 3;
    int& ref() { return value; }
    int times(int n) const { return value * n; }
  };
  on_every_schedule([] {
    box b;
    EXPECT_EQ(plx::async(&box::times, &b, 5).get(), 15);
    plx::async(&box::ref, &b).get() = 9;
    EXPECT_EQ(b.value, 9);
  });
}

TEST(future, many_tasks_from_one_task) {
  on_every_schedule([] {
    std::vector<plx::future<int>> all;
    for (int i = 0; i < 300; ++i) all.push_back(plx::async([i] { return i * i; }));
    for (int i = 0; i < 300; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].get(), i * i);
  });
}

TEST(future, a_chain_of_waiting_tasks) {
  struct chain {
    static int depth(int n) { return n == 0 ? 0 : 1 + plx::async(depth, n - 1).get(); }
  };
  on_every_schedule([] { EXPECT_EQ(chain::depth(100), 100); });
}

TEST(future, exceptions_come_out_of_get) {
  on_every_schedule([] {
    auto f = plx::async([]() -> int { throw std::runtime_error("planned"); });
    try {
      f.get();
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "planned");
    }
  });
}

// The C++ runtime records per thread which exceptions are being handled; this record moves with a task that waits
// inside a handler.
TEST(future, a_handler_may_wait) {
  on_every_schedule([] {
    std::vector<plx::future<void>> all;
    for (int i = 0; i < 4; ++i)
      all.push_back(plx::async([i] {
        try {
          throw std::runtime_error(std::to_string(i));
        } catch (const std::runtime_error& e) {
          plx::this_thread::yield();
          EXPECT_EQ(e.what(), std::to_string(i));
          try {
            throw;
          } catch (const std::runtime_error& again) {
            EXPECT_EQ(again.what(), std::to_string(i));
          }
          try {
            throw i;
          } catch (int n) {
            plx::this_thread::yield();
            EXPECT_EQ(n, i);
          }
        }
        EXPECT_EQ(std::current_exception(), nullptr);
        EXPECT_EQ(std::uncaught_exceptions(), 0);
      }));
    for (auto& f : all) f.get();
  });
  try {
    throw 5;
  } catch (int) {  // the deterministic mode runs its tasks on the caller's thread
    plx::runtime rt({.workers = 2, .deterministic = true});
    rt.run([] {
      EXPECT_EQ(std::current_exception(), nullptr);
      plx::this_thread::yield();
    });
    EXPECT_NE(std::current_exception(), nullptr);
  }
}

TEST(future, misuse_is_named) {
  on_every_schedule([] {
    plx::future<int> empty;
    EXPECT_FALSE(empty.valid());
    EXPECT_EQ(code_of([&] { empty.get(); }), plx::future_errc::no_state);
    EXPECT_EQ(code_of([&] { empty.wait(); }), plx::future_errc::no_state);

    auto f = plx::make_ready_future(1);
    EXPECT_EQ(f.get(), 1);
    EXPECT_FALSE(f.valid());
    EXPECT_EQ(code_of([&] { f.get(); }), plx::future_errc::no_state);

    plx::promise<int> p;
    auto g = p.get_future();
    EXPECT_EQ(code_of([&] { (void)p.get_future(); }), plx::future_errc::future_already_retrieved);
    p.set_value(2);
    EXPECT_EQ(code_of([&] { p.set_value(3); }), plx::future_errc::promise_already_satisfied);
    EXPECT_EQ(g.get(), 2);

    plx::future<int> orphan;
    { orphan = plx::promise<int>().get_future(); }
    EXPECT_EQ(code_of([&] { orphan.get(); }), plx::future_errc::broken_promise);
  });
}

struct throws_when_copied {
  throws_when_copied() = default;
  throws_when_copied(const throws_when_copied&) { throw 1; }
};

TEST(future, a_value_that_cannot_be_copied_leaves_the_promise_open) {
  on_every_schedule([] {
    plx::promise<throws_when_copied> p;
    auto f = p.get_future();
    EXPECT_THROW(p.set_value({}), int);
    EXPECT_FALSE(f.is_ready());
    p.set_exception(std::make_exception_ptr(std::runtime_error("planned")));
    f.wait();
  });
}

TEST(future, of_several_writers_one_wins) {
  plx::runtime rt({.workers = 1, .bind = false});
  for (int round = 0; round < 200; ++round) {
    plx::promise<int> p;
    std::atomic<int> refused{0};
    std::vector<std::thread> writers;
    for (int i = 0; i < 3; ++i)
      writers.emplace_back([&, i] {
        if (code_of([&] { p.set_value(i); }) == plx::future_errc::promise_already_satisfied) refused.fetch_add(1);
      });
    for (auto& w : writers) w.join();
    EXPECT_EQ(refused.load(), 2);
    EXPECT_LT(p.get_future().get(), 3);
  }
}

TEST(future, promise_wakes_a_waiting_task) {
  on_every_schedule([] {
    plx::promise<int> p;
    auto waiting = plx::async([f = p.get_future()]() mutable { return f.get() + 1; });
    plx::this_thread::yield();
    p.set_value(1);
    EXPECT_EQ(waiting.get(), 2);
  });
}

TEST(future, promise_set_by_an_external_thread) {
  plx::runtime rt({.workers = 2, .bind = false});
  plx::promise<int> p;
  std::thread outside([&p] {
    std::this_thread::sleep_for(2ms);
    p.set_value(5);
  });
  EXPECT_EQ(rt.run([f = p.get_future()]() mutable { return f.get(); }), 5);
  outside.join();
}

TEST(future, external_threads_wait_for_tasks) {
  plx::runtime rt({.workers = 2, .bind = false});
  for (int i = 0; i < 50; ++i) EXPECT_EQ(plx::async([i] { return i; }).get(), i);
}

TEST(future, shared_future_has_many_readers) {
  on_every_schedule([] {
    plx::promise<std::string> p;
    plx::shared_future<std::string> s = p.get_future().share();
    std::vector<plx::future<std::size_t>> readers;
    for (int i = 0; i < 10; ++i) readers.push_back(plx::async([s] { return s.get().size(); }));
    p.set_value("four");
    for (auto& r : readers) EXPECT_EQ(r.get(), 4u);
    EXPECT_EQ(s.get(), "four");
    EXPECT_TRUE(s.is_ready());
  });
}

TEST(future, then_runs_once_the_result_is_there) {
  on_every_schedule([] {
    auto late = plx::async([] { return 20; }).then([](plx::future<int> f) { return f.get() + 1; });
    auto early = plx::make_ready_future(1).then([](auto f) { return f.get() + 1; });
    auto third = late.then(plx::launch::sync, [](auto f) { return 2 * f.get(); });
    EXPECT_EQ(third.get(), 42);
    EXPECT_EQ(early.get(), 2);
    EXPECT_FALSE(late.valid());
    auto failed = plx::async([]() -> int { throw 7; }).then([](auto f) { return f.get(); });
    EXPECT_THROW(failed.get(), int);
  });
}

TEST(future, then_on_a_shared_future_leaves_it_usable) {
  on_every_schedule([] {
    plx::shared_future<int> s = plx::async([] { return 3; }).share();
    auto a = s.then([](auto f) { return f.get() + 1; });
    auto b = s.then([](auto f) { return f.get() + 2; });
    EXPECT_EQ(a.get() + b.get() + s.get(), 12);
  });
}

TEST(future, waiting_with_a_deadline) {
  with_every_runtime([](plx::runtime& rt) {
    rt.run([] {
      plx::promise<void> p;
      auto f = p.get_future();
      EXPECT_EQ(f.wait_for(1us), plx::future_status::timeout);
      EXPECT_EQ(f.wait_for(-1s), plx::future_status::timeout);
      auto setter = plx::async([&p] {
        plx::this_thread::sleep_for(50us);
        p.set_value();
      });
      EXPECT_EQ(f.wait_for(1h), plx::future_status::ready);
      EXPECT_EQ(f.wait_until(std::chrono::steady_clock::now()), plx::future_status::ready);
      setter.get();
    });
  });
}

// The task behind the future may need its waiter to continue after the deadline.
TEST(future, a_deadline_holds_whatever_the_task_does) {
  on_every_schedule([] {
    plx::promise<void> go;
    auto f = plx::async([&go] { go.get_future().get(); });
    EXPECT_EQ(f.wait_for(1us), plx::future_status::timeout);
    go.set_value();
    f.get();
  });
}

TEST(future, polling_with_yields) {
  on_every_schedule([] {
    auto f = plx::async([] { return 1; });
    while (f.wait_for(0s) != plx::future_status::ready) plx::this_thread::yield();
    EXPECT_EQ(f.get(), 1);
  });
}

// A deadline that has passed only polls: no other task runs meanwhile.
TEST(future, a_poll_does_not_wait) {
  plx::runtime rt({.workers = 1, .bind = false});
  rt.run([] {
    plx::promise<int> p;
    auto f = p.get_future();
    bool other_ran = false;
    plx::post([&other_ran] { other_ran = true; });
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(f.wait_for(0s), plx::future_status::timeout);
      EXPECT_EQ(f.wait_until(std::chrono::steady_clock::now() - 1s), plx::future_status::timeout);
    }
    EXPECT_FALSE(other_ran);
    p.set_value(1);
    EXPECT_EQ(f.wait_for(0s), plx::future_status::ready);
    plx::this_thread::yield();
    EXPECT_TRUE(other_ran);
  });
}

TEST(future, a_poller_polls_a_future) {
  plx::testing::with_every_runtime([](plx::runtime& rt) {
    struct polled {
      plx::promise<int> p;
      plx::future<int> f = p.get_future();
      plx::event seen;
    } it;
    const auto id = rt.add_poller(
        [](void* arg) {
          auto& mine = *static_cast<polled*>(arg);
          if (mine.f.wait_for(0s) != plx::future_status::ready) return plx::poll_result::pending;
          if (mine.seen.occurred()) return plx::poll_result::idle;
          mine.seen.set();
          return plx::poll_result::progressed;
        },
        &it);
    rt.run([&it] {
      plx::this_thread::yield();
      it.p.set_value(1);
      it.seen.wait();
    });
    rt.remove_poller(id);
  });
}

// Several tasks wait for one result, some with deadlines that pass, and detach from its list.
TEST(future, waiters_that_give_up_leave_the_others_waiting) {
  on_every_schedule([] {
    plx::promise<int> p;
    plx::shared_future<int> s = p.get_future().share();
    std::vector<plx::future<int>> waiting;
    for (int i = 0; i < 6; ++i)
      waiting.push_back(plx::async([s, i] {
        if (i % 2 == 0)
          while (s.wait_for(std::chrono::microseconds(2 + i)) != plx::future_status::ready) {
          }
        return s.get();
      }));
    plx::this_thread::sleep_for(20us);
    p.set_value(7);
    for (auto& w : waiting) EXPECT_EQ(w.get(), 7);
  });
}

TEST(future, an_external_thread_waits_with_a_deadline) {
  plx::runtime rt({.workers = 1, .bind = false});
  plx::promise<void> p;
  auto f = p.get_future();
  EXPECT_EQ(f.wait_for(1ms), plx::future_status::timeout);
  rt.post([&p] { p.set_value(); });
  EXPECT_EQ(f.wait_for(1h), plx::future_status::ready);
  EXPECT_EQ(f.wait_for(0s), plx::future_status::ready);
}

// The alarm and the result arrive at the same time, repeatedly: each wait ends once, with one outcome or the other.
TEST(future, deadline_and_completion_race) {
  on_every_schedule([] {
    for (int i = 0; i < 30; ++i) {
      plx::promise<int> p;
      auto f = p.get_future();
      auto setter = plx::async([&p] {
        plx::this_thread::sleep_for(20us);
        p.set_value(1);
      });
      const auto status = f.wait_for(20us);
      EXPECT_TRUE(status == plx::future_status::ready || status == plx::future_status::timeout);
      EXPECT_EQ(f.get(), 1);
      setter.get();
    }
  });
}

TEST(future, deferred_runs_in_its_waiter) {
  on_every_schedule([] {
    bool ran = false;
    auto f = plx::async(plx::launch::deferred, [&ran] { return ran = true; });
    plx::this_thread::yield();
    EXPECT_FALSE(ran);
    EXPECT_EQ(f.wait_for(1us), plx::future_status::deferred);
    EXPECT_TRUE(f.get());
    auto never = plx::async(plx::launch::deferred, [] { ADD_FAILURE() << "not waited for"; });
  });
}

// A deferred future that was passed on may never be waited for: the continuation must make it run.
TEST(future, deferred_runs_when_something_is_attached) {
  on_every_schedule([] {
    auto f = plx::async(plx::launch::deferred, [] { return 1; }).then([](auto x) { return x.get() + 1; });
    EXPECT_EQ(f.get(), 2);
    plx::shared_future<int> s = plx::async(plx::launch::deferred, [] { return 5; }).share();
    auto a = s.then([](auto x) { return x.get(); });
    EXPECT_EQ(s.get() + a.get(), 10);
  });
}

TEST(future, packaged_task) {
  on_every_schedule([] {
    plx::packaged_task<int(int)> t([](int x) {
      if (x < 0) throw std::domain_error("negative");
      return 2 * x;
    });
    auto f = t.get_future();
    t(21);
    EXPECT_EQ(f.get(), 42);
    EXPECT_EQ(code_of([&] { t(1); }), plx::future_errc::promise_already_satisfied);
    plx::packaged_task<int(int)> moved(std::move(t));
    EXPECT_EQ(code_of([&] { moved(-1); }), plx::future_errc::promise_already_satisfied);
    t = std::move(moved);
    EXPECT_EQ(code_of([&] { t(-1); }), plx::future_errc::promise_already_satisfied);
    t.reset();
    auto g = t.get_future();
    plx::post([&t] { t(-1); });
    EXPECT_THROW(g.get(), std::domain_error);
    plx::packaged_task<int(int)> none;
    EXPECT_EQ(code_of([&] { none(1); }), plx::future_errc::no_state);
  });
}

TEST(future, captures_end_before_the_result_is_seen) {
  on_every_schedule([] {
    auto token = std::make_shared<int>(1);
    plx::async([token] {}).get();
    EXPECT_EQ(token.use_count(), 1);
  });
}

TEST(future, dropped_futures_leave_their_tasks_running) {
  std::atomic<int> ran{0};
  with_every_runtime([&ran](plx::runtime& rt) {
    ran = 0;
    rt.run([&ran] {
      for (int i = 0; i < 100; ++i) (void)plx::async([&ran] { ran.fetch_add(1); });
    });
    rt.run([&ran] {
      while (ran.load() != 100) plx::this_thread::yield();
    });
  });
  EXPECT_EQ(ran.load(), 100);
}

TEST(future_death, an_exception_out_of_a_posted_task_ends_the_program) {
  EXPECT_DEATH(
      {
        plx::runtime rt({.workers = 1, .bind = false});
        rt.run([] {
          plx::post([] { throw 1; });
          plx::this_thread::sleep_for(1h);
        });
      },
      "terminate");
}

}  // namespace
