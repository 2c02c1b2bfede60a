// Futures of futures, launch policies, packaged_task with all kinds of callables, swapping.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "rt/event.hpp"
#include "rt/packaged_task.hpp"
#include "rt/runtime.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using plx::testing::on_every_schedule;

TEST(unwrap, a_future_of_a_future) {
  on_every_schedule([] {
    plx::future<int> f = plx::async([] { return plx::async([] { return 7; }); });
    EXPECT_EQ(f.get(), 7);
    auto g = plx::async([] { return plx::async([] { return std::make_unique<int>(8); }); }).unwrap();
    EXPECT_EQ(*g.get(), 8);
    plx::future<void> h = plx::async([] { return plx::async([] {}); });
    h.get();
    int x = 5;
    plx::future<int&> r = plx::async([&x] { return plx::async([&x]() -> int& { return x; }); });
    EXPECT_EQ(&r.get(), &x);
    auto s = plx::async([] { return plx::async([] { return 9; }).share(); }).unwrap();
    EXPECT_EQ(s.get(), 9);
    auto deferred =
        plx::async(plx::launch::deferred, [] { return plx::async(plx::launch::deferred, [] { return 4; }); }).unwrap();
    EXPECT_EQ(deferred.get(), 4);
    auto three = plx::async([] { return plx::async([] { return plx::async([] { return 3; }); }); }).unwrap().unwrap();
    EXPECT_EQ(three.get(), 3);
  });
}

TEST(unwrap, errors_of_either_come_out) {
  on_every_schedule([] {
    plx::future<int> outer = plx::async([]() -> plx::future<int> { throw std::runtime_error("outer"); });
    EXPECT_THROW(outer.get(), std::runtime_error);
    plx::future<int> inner = plx::async([] { return plx::async([]() -> int { throw std::domain_error("inner"); }); });
    EXPECT_THROW(inner.get(), std::domain_error);
    plx::future<int> none = plx::async([] { return plx::future<int>(); });
    try {
      none.get();
      FAIL() << "an inner future without a state returned a value";
    } catch (const plx::future_error& e) {
      EXPECT_EQ(e.code(), plx::future_errc::broken_promise);
    }
    plx::future<plx::future<int>> empty;
    EXPECT_THROW((void)empty.unwrap(), plx::future_error);
    (void)plx::async([] { return plx::async([] { return 1; }); }).unwrap();  // dropped
  });
}

// A loop whose steps are futures: each step returns the future of the remaining steps.
plx::future<int> countdown(int n) {
  if (n == 0) return plx::make_ready_future(0);
  return plx::async([n] { return countdown(n - 1); }).then([](auto f) { return f.get().get() + 1; });
}
TEST(unwrap, a_loop_of_futures) {
  on_every_schedule([] { EXPECT_EQ(countdown(20).get(), 20); });
}

TEST(launch, policies) {
  using plx::launch;
  static_assert((launch::async | launch::deferred) != launch::async);
  static_assert((~launch::async & launch::async) == launch{} && (launch::sync ^ launch::sync) == launch{});
  on_every_schedule([] {
    const auto me = plx::this_thread::get_id();
    bool here = false;
    auto f = plx::async(launch::sync, [&] { here = plx::this_thread::get_id() == me; });
    EXPECT_TRUE(f.is_ready());
    EXPECT_TRUE(here);
    EXPECT_THROW(plx::async(launch::sync, []() -> int { throw 1; }).get(), int);
    EXPECT_NE(plx::async(launch::async | launch::deferred, [] { return plx::this_thread::get_id(); }).get(),
              plx::thread::id());
    launch p = launch::async;
    p |= launch::deferred;
    p &= launch::deferred;
    EXPECT_EQ(plx::async(p, [] { return 1; }).wait_for(std::chrono::seconds(0)), plx::future_status::deferred);
  });
}

// With one worker, a forked task runs until it first waits before its creator continues.
TEST(launch, fork_starts_at_once) {
  plx::runtime rt({.workers = 1, .bind = false});
  rt.run([] {
    std::vector<int> order;
    plx::event go;
    std::vector<plx::future<void>> all;
    for (int i = 0; i < 3; ++i) {
      all.push_back(plx::async(plx::launch::fork, [&order, &go, i] {
        order.push_back(10 * i);
        go.wait();
      }));
      order.push_back(10 * i + 1);
    }
    go.set();
    for (auto& f : all) f.get();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 10, 11, 20, 21}));
  });
  plx::async(plx::launch::fork, [] {}).get();  // on an external thread like async
}

TEST(launch, forked_tasks_on_every_schedule) {
  on_every_schedule([] {
    std::atomic<int> sum{0};
    std::vector<plx::future<int>> all;
    for (int i = 0; i < 20; ++i)
      all.push_back(plx::async(plx::launch::fork, [&sum, i] {
        if (i % 2 == 0) plx::this_thread::yield();
        return sum += i;
      }));
    for (auto& f : all) f.get();
    EXPECT_EQ(sum.load(), 190);
  });
}

struct adder {
  int base = 0;
  int operator()(int x) const { return base + x; }
  int member(int x) { return base - x; }
};
int twice(int x) { return 2 * x; }

TEST(packaged_task, all_kinds_of_callables) {
  on_every_schedule([] {
    plx::packaged_task from_function(twice);
    plx::packaged_task from_lambda([](int x, int y) noexcept { return x - y; });
    plx::packaged_task from_functor(adder{10});
    static_assert(std::is_same_v<decltype(from_function), plx::packaged_task<int(int)>>);
    static_assert(std::is_same_v<decltype(from_lambda), plx::packaged_task<int(int, int)>>);
    static_assert(std::is_same_v<decltype(from_functor), plx::packaged_task<int(int)>>);
    plx::packaged_task<int(adder&, int)> from_member(&adder::member);
    plx::packaged_task<void(int)> drops_the_result(twice);
    auto a = from_function.get_future();
    auto b = from_lambda.get_future();
    auto c = from_functor.get_future();
    auto d = from_member.get_future();
    auto e = drops_the_result.get_future();
    adder object{1};
    from_member(object, 3);
    swap(from_function, from_functor);
    from_function(1);  // adder
    from_functor(2);   // twice
    from_lambda(7, 9);
    drops_the_result(1);
    EXPECT_EQ(a.get(), 4);
    EXPECT_EQ(b.get(), -2);
    EXPECT_EQ(c.get(), 11);
    EXPECT_EQ(d.get(), -2);
    e.get();
    EXPECT_THROW((void)from_lambda.get_future(), plx::future_error);
    int x = 1;
    plx::packaged_task<int&()> reference([&x]() -> int& { return x; });
    auto r = reference.get_future();
    plx::thread(std::move(reference)).join();
    EXPECT_EQ(&r.get(), &x);
  });
}

TEST(future, ready_after_a_time) {
  on_every_schedule([] {
    auto later = plx::make_ready_future_after(std::chrono::microseconds(20), 5);
    EXPECT_EQ(later.wait_for(std::chrono::hours(1)), plx::future_status::ready);
    EXPECT_EQ(later.get(), 5);
    plx::make_ready_future_after(std::chrono::microseconds(1)).get();
    EXPECT_EQ(plx::make_ready_future_at(std::chrono::steady_clock::now(), std::string("x")).get(), "x");
    plx::make_ready_future_at(std::chrono::steady_clock::now()).get();
  });
}

TEST(promise, swaps) {
  on_every_schedule([] {
    plx::promise<int> a, b;
    auto fa = a.get_future(), fb = b.get_future();
    a.swap(b);
    a.set_value(1);
    b.set_value(2);
    EXPECT_EQ(fa.get(), 2);
    EXPECT_EQ(fb.get(), 1);
  });
}

TEST(shared_future, continuations_with_a_policy) {
  on_every_schedule([] {
    plx::promise<int> p;
    plx::shared_future<int> s = p.get_future();
    auto a = s.then(plx::launch::sync, [](auto f) { return f.get() + 1; });
    auto b = s.then(plx::launch::async, [](auto f) { return f.get() + 2; });
    p.set_value(1);
    EXPECT_TRUE(a.is_ready());
    EXPECT_EQ(a.get() + b.get(), 5);
  });
}

}  // namespace
