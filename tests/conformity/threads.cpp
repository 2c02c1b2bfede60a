// thread, jthread, this_thread, stop tokens, and waits with stop tokens.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <unordered_set>
#include <vector>

#include PLX_CONFORMITY_HEADER
#include "report.hpp"

namespace conformity::PLX_CONFORMITY_PROGRAM {
namespace {

using namespace std::chrono_literals;

template <class F>
bool invalid_argument(F f) {
  try {
    f();
  } catch (const std::system_error& e) {
    return e.code() == std::errc::invalid_argument;
  }
  return false;
}

void plain(report& r) {
  std::string text;
  names::thread t([](std::string& to, const std::string& what, int n) { to = what + std::to_string(n); },
                  std::ref(text), "a copy ", 5);
  const bool before = t.joinable();
  t.join();
  r.add({"thread", text, before, t.joinable(), t.get_id() == names::thread::id()});
  r.add({"not joinable", invalid_argument([&] { t.join(); }), invalid_argument([&] { t.detach(); })});
  auto owned = std::make_unique<int>(3);
  int seen = 0;
  names::thread a([&seen](std::unique_ptr<int> p) { seen = *p; }, std::move(owned)), b;
  swap(a, b);
  b.join();
  a = names::thread([&seen] { ++seen; });
  a.join();
  r.add({"moved", seen, a.joinable(), b.joinable()});
  std::atomic<bool> done{false};
  names::thread([&done] { done = true; }).detach();
  while (!done) names::this_thread::yield();
  r.add({"detached", done.load()});
}

struct counted {
  counted(int& c, int& m) noexcept : copies(&c), moves(&m) {}
  counted(const counted& o) noexcept : copies(o.copies), moves(o.moves) { ++*copies; }
  counted(counted&& o) noexcept : copies(o.copies), moves(o.moves) { ++*moves; }
  void operator()(const counted&) const noexcept {}
  int* copies;
  int* moves;
};

// Counts copies and moves of the callable and an argument until the call.
template <class Thread>
void copied(report& r, const char* name) {
  int copies = 0, moves = 0;
  const counted kept(copies, moves);
  Thread(kept, kept).join();
  const int copies_of_lvalues = copies, moves_of_lvalues = moves;
  Thread(counted(copies, moves), counted(copies, moves)).join();
  r.add({name, copies_of_lvalues, moves_of_lvalues, copies - copies_of_lvalues, moves - moves_of_lvalues});
}

template <class F>
bool is_ready(const F& f) {
  return f.wait_for(0s) == names::future_status::ready;
}
template <class F>
bool throws(F f) {
  try {
    f();
  } catch (int) {
    return true;
  }
  return false;
}

// Results and notifications at thread exit, which precede the return of join().
void exits(report& r) {
  names::promise<int> value, failing;
  names::promise<void> nothing;
  auto f = value.get_future(), g = failing.get_future();
  auto h = nothing.get_future();
  names::packaged_task<int(int)> call([](int i) { return 2 * i; }), thrower([](int) -> int { throw 1; });
  auto called = call.get_future(), thrown = thrower.get_future();
  bool early = true, again = false;
  names::thread t([&] {
    value.set_value_at_thread_exit(7);
    failing.set_exception_at_thread_exit(std::make_exception_ptr(1));
    nothing.set_value_at_thread_exit();
    call.make_ready_at_thread_exit(21);
    thrower.make_ready_at_thread_exit(0);
    early = is_ready(f) || is_ready(g) || is_ready(h) || is_ready(called) || is_ready(thrown);
    try {
      value.set_value(8);
    } catch (const names::future_error& e) {
      again = e.code() == names::future_errc::promise_already_satisfied;
    }
  });
  t.join();
  r.add({"at exit", early, again, is_ready(f) && is_ready(g) && is_ready(h) && is_ready(called) && is_ready(thrown)});
  r.add({"at exit, results", f.get(), throws([&] { g.get(); }), called.get(), throws([&] { thrown.get(); })});
  names::promise<int> of_async;
  auto later = of_async.get_future();
  names::async(names::launch::async, [&] { of_async.set_value_at_thread_exit(3); }).get();
  r.add({"at exit of async", is_ready(later), later.get()});
  names::mutex m;
  names::condition_variable condition;
  bool ended = false;
  names::thread notifying([&] {
    names::unique_lock<names::mutex> lock(m);
    ended = true;
    names::notify_all_at_thread_exit(condition, std::move(lock));
  });
  {
    names::unique_lock<names::mutex> lock(m);
    condition.wait(lock, [&] { return ended; });
  }
  notifying.join();
  r.add({"notified at exit", ended});
}

int allocated = 0, deallocated = 0;
template <class T>
struct counting_allocator {
  using value_type = T;
  counting_allocator() = default;
  template <class U>
  counting_allocator(const counting_allocator<U>&) noexcept {}  // NOLINT: implicit, as the standard's
  T* allocate(std::size_t n) {
    ++allocated;
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* p, std::size_t n) noexcept {
    ++deallocated;
    std::allocator<T>().deallocate(p, n);
  }
  friend bool operator==(const counting_allocator&, const counting_allocator&) = default;
};

void allocating(report& r) {
  allocated = deallocated = 0;
  names::future<std::string> f;
  {
    names::promise<std::string> p(std::allocator_arg, counting_allocator<int>());
    f = p.get_future();
    p.set_value("text");
  }
  r.add({"allocator", allocated > 0, deallocated > 0 && allocated == deallocated, f.get(), allocated == deallocated});
}

void identities(report& r) {
  const auto me = names::this_thread::get_id();
  std::unordered_set<names::thread::id> ids{me, names::thread::id()};
  std::vector<names::thread> all;
  std::atomic<int> same{0};
  names::latch everybody(5);
  for (int i = 0; i < 4; ++i)
    all.emplace_back([&] {
      const auto mine = names::this_thread::get_id();
      everybody.arrive_and_wait();
      names::this_thread::yield();
      if (mine == names::this_thread::get_id()) ++same;
    });
  for (auto& t : all) ids.insert(t.get_id());
  everybody.count_down();
  for (auto& t : all) t.join();
  std::ostringstream printed, nobody;
  printed << me;
  nobody << names::thread::id();
  r.add({"identities", ids.size(), same.load(), me == names::this_thread::get_id(), names::thread::id() < me,
         (me <=> names::thread::id()) > 0, printed.str() != nobody.str(), names::thread::hardware_concurrency() > 0});
}

void sleeping(report& r) {
  const auto begin = std::chrono::steady_clock::now();
  names::this_thread::sleep_for(2ms);
  const auto middle = std::chrono::steady_clock::now();
  names::this_thread::sleep_until(middle + 2ms);
  const auto end = std::chrono::steady_clock::now();
  names::this_thread::sleep_for(-1s);
  names::this_thread::sleep_until(begin);
  r.add({"sleep", middle - begin >= 2ms, end - middle >= 2ms});
}

void stopping(report& r) {
  const names::stop_token nothing;
  names::stop_source source, empty(names::nostopstate);
  const names::stop_token token = source.get_token();
  r.add({"stop, before", nothing.stop_possible(), empty.stop_possible(), token.stop_possible(), token.stop_requested(),
         token == source.get_token(), token == nothing, empty.request_stop()});
  int called = 0;
  names::stop_callback first(token, [&called] { called += 1; });
  auto gone = std::make_unique<names::stop_callback<std::function<void()>>>(token, [&called] { called += 100; });
  gone.reset();
  const bool asked = source.request_stop();
  r.add({"stop, after", asked, source.request_stop(), token.stop_requested(), called});
  names::stop_callback late(token, [&called] { called += 10; });
  r.add({"stop, a late callback", called});
  names::stop_token orphan;
  {
    names::stop_source short_lived;
    orphan = short_lived.get_token();
  }
  r.add({"stop, without sources", orphan.stop_possible(), orphan.stop_requested()});
}

void joining(report& r) {
  std::atomic<int> loops{0};
  int plain = 0;
  {
    names::jthread looping(
        [&loops](names::stop_token token, int first) {
          loops = first;
          while (!token.stop_requested()) names::this_thread::yield();
          loops.fetch_add(1);
        },
        10);
    names::jthread other([&plain] { plain = 5; });
    r.add({"jthread", looping.joinable(), looping.get_stop_token().stop_possible(), names::jthread().joinable(),
           names::jthread().get_stop_token().stop_possible()});
    names::jthread moved = std::move(other);
    r.add({"jthread, moved", other.joinable(), moved.joinable()});
  }
  r.add({"jthread, ended", loops.load(), plain});
  names::mutex m;
  names::condition_variable_any never;
  bool result = true, owned = false;
  names::latch waiting(1);
  names::jthread t([&](const names::stop_token& token) {
    names::unique_lock<names::mutex> lock(m);
    waiting.count_down();
    result = never.wait(lock, token, [] { return false; });
    owned = lock.owns_lock();
  });
  waiting.wait();
  const bool asked = t.request_stop();
  t.join();
  r.add({"a wait that is stopped", asked, t.request_stop(), result, owned});
  names::stop_source source;
  names::unique_lock<names::mutex> lock(m);
  const bool timed = never.wait_for(lock, source.get_token(), 1ms, [] { return false; });
  source.request_stop();
  const bool stopped =
      never.wait_until(lock, source.get_token(), std::chrono::steady_clock::now() + 1h, [] { return false; });
  const bool fulfilled = never.wait(lock, source.get_token(), [] { return true; });
  r.add({"stops and deadlines", timed, stopped, fulfilled});
}

}  // namespace

void threads(report& r) {
  plain(r);
  copied<names::thread>(r, "thread, copies and moves");
  copied<names::jthread>(r, "jthread, copies and moves");
  exits(r);
  allocating(r);
  identities(r);
  sleeping(r);
  stopping(r);
  joining(r);
}

}  // namespace conformity::PLX_CONFORMITY_PROGRAM
