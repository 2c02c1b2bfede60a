// jthread, stop tokens, and waits that end when a stop is requested.
#include "rt/thread.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>
#include <unordered_set>

#include "rt/event.hpp"
#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/test/every_schedule_test.hpp"

namespace {

using plx::testing::on_every_schedule;
using namespace std::chrono_literals;

TEST(stop_token, sources_tokens_and_what_is_possible) {
  on_every_schedule([] {
    const plx::stop_token none;
    EXPECT_FALSE(none.stop_possible());
    EXPECT_FALSE(none.stop_requested());
    plx::stop_source empty(plx::nostopstate);
    EXPECT_FALSE(empty.stop_possible());
    EXPECT_FALSE(empty.request_stop());
    EXPECT_EQ(empty.get_token(), none);

    std::optional<plx::stop_source> source(std::in_place);
    const plx::stop_token token = source->get_token();
    plx::stop_source copy = *source;
    EXPECT_EQ(copy, *source);
    source.reset();
    EXPECT_TRUE(token.stop_possible());
    copy = plx::stop_source();
    EXPECT_FALSE(token.stop_possible()) << "no source is left that could request a stop";
    EXPECT_NE(copy.get_token(), token);
    EXPECT_TRUE(copy.request_stop());
    EXPECT_FALSE(copy.request_stop());
    EXPECT_TRUE(copy.stop_requested());
    const plx::stop_token asked = copy.get_token();
    copy = plx::stop_source(plx::nostopstate);
    EXPECT_TRUE(asked.stop_possible()) << "a stop was requested, whatever sources are left";
  });
}

TEST(stop_callback, runs_once_in_the_requesting_thread_or_at_once) {
  on_every_schedule([] {
    plx::stop_source source;
    int called = 0, dropped = 0;
    std::optional<plx::thread::id> in;
    plx::stop_callback first(source.get_token(), [&] {
      ++called;
      in = plx::this_thread::get_id();
    });
    {
      plx::stop_callback gone(source.get_token(), [&] { ++dropped; });
    }
    plx::thread::id asking;
    plx::thread([&] {
      asking = plx::this_thread::get_id();
      EXPECT_TRUE(source.request_stop());
    }).join();
    EXPECT_EQ(called, 1);
    EXPECT_EQ(in, asking);
    EXPECT_EQ(dropped, 0);
    plx::stop_callback late(source.get_token(), [&] { ++called; });
    EXPECT_EQ(called, 2);
  });
}

// The destructor must not return while the callback runs, and must not block the worker on which the callback resumes.
TEST(stop_callback, its_destructor_waits_for_a_callback_that_waits) {
  on_every_schedule([] {
    plx::stop_source source;
    plx::event inside, go_on;
    bool ended = false;
    auto callback = [&] {
      inside.set();
      go_on.wait();
      ended = true;
    };
    std::optional<plx::stop_callback<decltype(callback)>> registered(std::in_place, source.get_token(), callback);
    auto asking = plx::async([&] { source.request_stop(); });
    inside.wait();
    auto opening = plx::async([&] { go_on.set(); });
    registered.reset();
    EXPECT_TRUE(ended);
    asking.get();
    opening.get();
  });
}

TEST(stop_callback, may_destroy_itself) {
  on_every_schedule([] {
    plx::stop_source source;
    struct self_destroyer;
    struct body {
      std::unique_ptr<self_destroyer>* self;
      void operator()() const { self->reset(); }
    };
    struct self_destroyer {
      plx::stop_callback<body> callback;
    };
    std::unique_ptr<self_destroyer> self;
    self.reset(new self_destroyer{plx::stop_callback<body>(source.get_token(), body{&self})});
    int others = 0;
    plx::stop_callback other(source.get_token(), [&] { ++others; });
    source.request_stop();
    EXPECT_EQ(self, nullptr);
    EXPECT_EQ(others, 1);
  });
}

TEST(stop_callback, registering_dropping_and_asking_race) {
  on_every_schedule([] {
    for (int round = 0; round < 5; ++round) {
      plx::stop_source source;
      std::atomic<int> called{0};
      std::vector<plx::future<void>> all;
      for (int t = 0; t < 3; ++t)
        all.push_back(plx::async([&, token = source.get_token()] {
          for (int i = 0; i < 4; ++i) {
            auto alive = std::make_unique<int>(7);
            plx::stop_callback c(token, [&, p = alive.get()] { called.fetch_add(*p == 7 ? 1 : 1000); });
          }
          while (!token.stop_requested()) plx::this_thread::yield();
        }));
      all.push_back(plx::async([source] { source.request_stop(); }));
      for (auto& f : all) f.get();
      EXPECT_LT(called.load(), 1000);
    }
  });
}

TEST(jthread, asks_to_stop_and_joins) {
  on_every_schedule([] {
    std::atomic<int> ended{0};
    {
      plx::jthread looping(
          [&](plx::stop_token token, int step) {
            while (!token.stop_requested()) plx::this_thread::yield();
            ended += step;
          },
          2);
      plx::jthread plain([&](int step) { ended += step; }, 3);
      plx::jthread none;
      EXPECT_FALSE(none.joinable());
      EXPECT_FALSE(none.request_stop());
      EXPECT_TRUE(looping.joinable());
      EXPECT_NE(looping.get_id(), plain.get_id());
      looping = std::move(plain);  // stops and joins the previous thread
      EXPECT_EQ(ended.load() % 3, 2 % 3);
    }
    EXPECT_EQ(ended.load(), 5);
  });
}

TEST(jthread, a_wait_ends_when_it_is_asked_to_stop) {
  on_every_schedule([] {
    plx::mutex m;
    plx::condition_variable_any c;
    bool ready = false;
    int gave_up = 0, got_it = 0;
    plx::latch started(3);
    const auto body = [&](auto wait) {
      return [&, wait](plx::stop_token token) {
        std::unique_lock lock(m);
        started.count_down();
        const bool got = wait(lock, token);
        EXPECT_TRUE(lock.owns_lock());
        EXPECT_EQ(got, ready);
        ++(got ? got_it : gave_up);
      };
    };
    const auto done = [&] { return ready; };
    {
      plx::jthread a(body([&](auto& lock, const plx::stop_token& t) { return c.wait(lock, t, done); }));
      plx::jthread b(body([&](auto& lock, const plx::stop_token& t) { return c.wait_for(lock, t, 1h, done); }));
      plx::jthread d(body([&](auto& lock, const plx::stop_token& t) {
        return c.wait_until(lock, t, std::chrono::steady_clock::now() + 1h, done);
      }));
      started.wait();
    }
    EXPECT_EQ(gave_up, 3);
    {
      plx::stop_source nobody_asks;
      plx::async([&, token = nobody_asks.get_token()] {
        std::unique_lock lock(m);
        EXPECT_FALSE(c.wait_for(lock, token, 10us, done));
      }).get();
      plx::jthread a([&](plx::stop_token token) {
        std::unique_lock lock(m);
        EXPECT_TRUE(c.wait(lock, token, done));
        ++got_it;
      });
      std::unique_lock lock(m);
      ready = true;
      c.notify_all();
      lock.unlock();
      a.join();
    }
    EXPECT_EQ(got_it, 1);
  });
}

TEST(thread_id, is_ordered_hashed_and_printed) {
  on_every_schedule([] {
    plx::thread t([] {});
    std::unordered_set<plx::thread::id> seen{t.get_id(), plx::thread::id()};
    EXPECT_TRUE(seen.contains(t.get_id()));
    EXPECT_NE(t.get_id() <=> plx::thread::id(), std::strong_ordering::equal);
    std::ostringstream nobody, somebody;
    nobody << plx::thread::id();
    somebody << t.get_id();
    EXPECT_NE(nobody.str(), somebody.str());
    t.join();
  });
}

TEST(thread, misuse_throws_what_the_standard_says) {
  on_every_schedule([] {
    const auto code = [](auto f) {
      try {
        f();
      } catch (const std::system_error& e) {
        return e.code();
      }
      return std::error_code();
    };
    plx::thread none;
    EXPECT_EQ(code([&] { none.join(); }), std::errc::invalid_argument);
    EXPECT_EQ(code([&] { none.detach(); }), std::errc::invalid_argument);
    plx::thread self;
    plx::event made, tried;
    self = plx::thread([&] {
      made.wait();
      EXPECT_EQ(code([&] { self.join(); }), std::errc::resource_deadlock_would_occur);
      tried.set();
    });
    made.set();
    tried.wait();
    self.join();
    plx::thread a([] {}), b;
    swap(a, b);
    EXPECT_FALSE(a.joinable());
    b.join();
  });
}

TEST(jthread, on_external_threads) {
  plx::runtime rt({.workers = 2, .bind = false});
  plx::stop_source source;
  std::atomic<int> called{0};
  plx::stop_callback c(source.get_token(), [&] { called.fetch_add(1); });
  std::thread([&] { source.request_stop(); }).join();
  EXPECT_EQ(called.load(), 1);
  plx::jthread t([](plx::stop_token token) {
    while (!token.stop_requested()) plx::this_thread::sleep_for(100us);
  });
}

TEST(stop_callback_death, an_exception_out_of_it_ends_the_program) {
  EXPECT_DEATH(
      {
        plx::stop_source source;
        plx::stop_callback c(source.get_token(), [] { throw 1; });
        source.request_stop();
      },
      "terminate");
}

}  // namespace
