// future, shared_future, promise, packaged_task, async: results, errors, waits.
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include PLX_CONFORMITY_HEADER
#include "report.hpp"

namespace conformity::PLX_CONFORMITY_PROGRAM {
namespace {

using namespace std::chrono_literals;

template <class F>
const char* error_of(F f) {
  try {
    f();
  } catch (const names::future_error& e) {
    if (e.code() == names::future_errc::broken_promise) return "broken_promise";
    if (e.code() == names::future_errc::future_already_retrieved) return "future_already_retrieved";
    if (e.code() == names::future_errc::promise_already_satisfied) return "promise_already_satisfied";
    if (e.code() == names::future_errc::no_state) return "no_state";
    return "another future_error";
  } catch (const std::logic_error&) {
    return "logic_error";
  } catch (const std::runtime_error&) {
    return "runtime_error";
  } catch (int) {
    return "int";
  }
  return "nothing";
}

const char* name_of(names::future_status s) {
  return s == names::future_status::ready ? "ready" : s == names::future_status::timeout ? "timeout" : "deferred";
}

struct account {
  int balance = 0;
  int deposit(int n) { return balance += n; }
  int operator()(int n) const { return balance - n; }
};

long fib(int n) {
  if (n < 2) return n;
  auto left = names::async(names::launch::async, fib, n - 1);
  const long right = fib(n - 2);
  return left.get() + right;
}

void calls(report& r) {
  account a;
  auto by_pointer = names::async(names::launch::async, &account::deposit, &a, 5);
  r.add({"member by pointer", by_pointer.get(), a.balance});
  auto by_copy = names::async(names::launch::async, &account::deposit, a, 5);
  r.add({"member of a copy", by_copy.get(), a.balance});
  auto by_reference = names::async(names::launch::async, &account::deposit, std::ref(a), 2);
  r.add({"member by reference", by_reference.get(), a.balance});
  r.add({"functor", names::async(a, 3).get()});
  auto moved = names::async(
      names::launch::async, [](std::unique_ptr<int> p) { return std::make_unique<int>(*p + 1); },
      std::make_unique<int>(41));
  r.add({"move-only", *moved.get()});
  names::future<int&> reference = names::async(names::launch::async, [&a]() -> int& { return a.balance; });
  reference.get() = 100;
  r.add({"reference", a.balance});
  names::async([&a] { a.balance = 1; }).get();
  r.add({"void", a.balance});
  r.add({"nested", fib(12)});
  r.add({"exception", error_of([] { names::async([]() -> int { throw std::runtime_error("x"); }).get(); })});
}

void deferred(report& r) {
  int ran = 0;
  const auto me = names::this_thread::get_id();
  auto f = names::async(names::launch::deferred, [&] {
    ++ran;
    return names::this_thread::get_id() == me;
  });
  r.add({"deferred, asked", name_of(f.wait_for(0s)), name_of(f.wait_until(std::chrono::steady_clock::now())), ran});
  r.add({"deferred, waited for", f.get(), ran});
  {
    auto dropped = names::async(names::launch::deferred, [&ran] { ran = 100; });
  }
  r.add({"deferred, dropped", ran});
  auto either = names::async(names::launch::async | names::launch::deferred, [] { return 7; });
  r.add({"either", either.get()});
  auto throws = names::async(names::launch::deferred, []() -> int { throw 5; });
  r.add({"deferred, throwing", error_of([&] { throws.get(); }), throws.valid()});
  auto shared = names::async(names::launch::deferred, [&ran] { return ++ran; }).share();
  r.add({"deferred, shared", shared.get(), shared.get(), ran});
}

void promises(report& r) {
  names::promise<std::string> p;
  auto f = p.get_future();
  r.add({"second get_future", error_of([&] { (void)p.get_future(); })});
  r.add({"not yet", name_of(f.wait_for(2ms)), name_of(f.wait_until(std::chrono::system_clock::now() + 2ms))});
  names::thread setting([&p] {
    names::this_thread::sleep_for(1ms);
    p.set_value("value");
  });
  f.wait();
  r.add({"set", name_of(f.wait_for(0s)), f.valid(), f.get(), f.valid()});
  setting.join();
  r.add({"second get", error_of([&] { f.get(); })});
  r.add({"second set", error_of([&] { p.set_value("again"); }),
         error_of([&] { p.set_exception(std::make_exception_ptr(1)); })});
  names::future<int> orphan;
  r.add({"no state", error_of([&] { orphan.wait(); }), orphan.valid()});
  { orphan = names::promise<int>().get_future(); }
  r.add({"broken", error_of([&] { orphan.get(); })});
  names::promise<int> q;
  auto g = q.get_future();
  names::promise<int> other(std::move(q));
  r.add({"moved from", error_of([&] { q.set_value(1); }), error_of([&] { (void)q.get_future(); })});
  other.set_exception(std::make_exception_ptr(std::logic_error("x")));
  r.add({"exception set", error_of([&] { g.get(); })});
  names::promise<void> a, b;
  auto fa = a.get_future(), fb = b.get_future();
  a.swap(b);
  a.set_value();
  r.add({"swapped", name_of(fa.wait_for(0s)), name_of(fb.wait_for(0s))});
  b.set_value();
  int x = 1;
  names::promise<int&> to_reference;
  auto fr = to_reference.get_future();
  to_reference.set_value(x);
  fr.get() = 3;
  r.add({"promise of a reference", x});
}

// `p = std::move(p)`, and the state after assignments.
void assigned(report& r) {
  names::promise<int> p;
  auto f = p.get_future();
  auto& same = p;
  p = std::move(same);
  r.add({"promise, assigned to itself", name_of(f.wait_for(0s)), error_of([&] { p.set_value(1); })});
  names::packaged_task<int()> task([] { return 1; }), other([] { return 2; });
  auto first = task.get_future(), second = other.get_future();
  task = std::move(other);
  r.add({"packaged, assigned", error_of([&] { first.get(); }), other.valid(), name_of(second.wait_for(0s))});
  task();
  r.add({"packaged, the assigned one", second.get()});
}

void errors(report& r) {
  try {
    names::future<int>().wait();
  } catch (const std::logic_error& e) {
    const auto& error = dynamic_cast<const names::future_error&>(e);
    const std::error_code code = names::future_errc::no_state;
    r.add({"future_error", error.code() == code, error.code() == names::future_errc::broken_promise,
           error.code().category() == names::future_category(), error.code().category().name(),
           error.code() == names::make_error_condition(names::future_errc::no_state),
           names::make_error_code(names::future_errc::broken_promise).message().empty()});
  }
}

void shared(report& r) {
  names::promise<int> p;
  names::shared_future<int> s = p.get_future().share();
  std::vector<names::thread> readers;
  std::vector<int> read(4);
  for (int i = 0; i < 4; ++i)
    readers.emplace_back([s, &place = read[static_cast<std::size_t>(i)], i] { place = s.get() + i; });
  p.set_value(10);
  for (auto& t : readers) t.join();
  r.add({"shared", read[0], read[1], read[2], read[3], s.get(), s.valid(),
         &s.get() == &names::shared_future<int>(s).get()});
  names::shared_future<int> none;
  r.add({"shared, no state", error_of([&] { (void)none.get(); })});
  names::promise<void> q;
  names::shared_future<void> failed(q.get_future());
  q.set_exception(std::make_exception_ptr(7));
  r.add({"shared exception, twice", error_of([&] { failed.get(); }), error_of([&] { failed.get(); })});
}

void packaged(report& r) {
  names::packaged_task<int(int)> t([](int x) {
    if (x < 0) throw std::runtime_error("negative");
    return 2 * x;
  });
  auto f = t.get_future();
  r.add({"packaged, second get_future", error_of([&] { (void)t.get_future(); })});
  t(4);
  r.add({"packaged", f.get(), error_of([&] { t(5); })});
  t.reset();
  auto g = t.get_future();
  names::thread calling(std::move(t), -1);
  r.add({"packaged, throwing", error_of([&] { g.get(); }), t.valid()});
  calling.join();
  r.add({"packaged, moved from", error_of([&] { t(1); }), error_of([&] { (void)t.get_future(); })});
  names::future<int> never;
  {
    names::packaged_task<int()> dropped([] { return 1; });
    never = dropped.get_future();
  }
  r.add({"packaged, dropped", error_of([&] { never.get(); })});
  names::packaged_task deduced([](int a, int b) { return a - b; });
  auto d = deduced.get_future();
  deduced(5, 3);
  r.add({"packaged, deduced", d.get()});
}

}  // namespace

void futures(report& r) {
  calls(r);
  deferred(r);
  promises(r);
  assigned(r);
  errors(r);
  shared(r);
  packaged(r);
}

}  // namespace conformity::PLX_CONFORMITY_PROGRAM
