// The member functions of the standard's synchronization types, thread types and futures exist in plx as well. Compiled
// for both, never run: a missing member is a compile error.
#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <system_error>
#include <type_traits>

#include PLX_CONFORMITY_HEADER

namespace conformity::PLX_CONFORMITY_PROGRAM {
namespace {

using seconds = std::chrono::seconds;
using time_point = std::chrono::steady_clock::time_point;

template <class M>
concept lockable = requires(M m) {
  m.lock();
  { m.try_lock() } -> std::same_as<bool>;
  m.unlock();
}
&&std::is_default_constructible_v<M> && !std::is_copy_constructible_v<M> && !std::is_move_constructible_v<M> &&
    !std::is_copy_assignable_v<M>;
template <class M>
concept timed = requires(M m, seconds d, time_point t) {
  { m.try_lock_for(d) } -> std::same_as<bool>;
  { m.try_lock_until(t) } -> std::same_as<bool>;
};
template <class M>
concept shared = requires(M m) {
  m.lock_shared();
  { m.try_lock_shared() } -> std::same_as<bool>;
  m.unlock_shared();
};
template <class M>
concept shared_timed = requires(M m, seconds d, time_point t) {
  { m.try_lock_shared_for(d) } -> std::same_as<bool>;
  { m.try_lock_shared_until(t) } -> std::same_as<bool>;
};
static_assert(lockable<names::mutex> && std::is_nothrow_default_constructible_v<names::mutex>);
static_assert(lockable<names::timed_mutex> && timed<names::timed_mutex>);
static_assert(lockable<names::recursive_mutex>);
static_assert(lockable<names::recursive_timed_mutex> && timed<names::recursive_timed_mutex>);
static_assert(lockable<names::shared_mutex> && shared<names::shared_mutex>);
static_assert(lockable<names::shared_timed_mutex> && shared<names::shared_timed_mutex>);
static_assert(timed<names::shared_timed_mutex> && shared_timed<names::shared_timed_mutex>);

template <class C, class Lock>
concept condition = requires(C c, Lock l, seconds d, time_point t, bool (*p)()) {
  c.notify_one();
  c.notify_all();
  c.wait(l);
  c.wait(l, p);
  { c.wait_for(l, d) } -> std::same_as<names::cv_status>;
  { c.wait_for(l, d, p) } -> std::same_as<bool>;
  { c.wait_until(l, t) } -> std::same_as<names::cv_status>;
  { c.wait_until(l, t, p) } -> std::same_as<bool>;
};
template <class C, class Lock>
concept stoppable = requires(C c, Lock l, names::stop_token s, seconds d, time_point t, bool (*p)()) {
  { c.wait(l, s, p) } -> std::same_as<bool>;
  { c.wait_for(l, s, d, p) } -> std::same_as<bool>;
  { c.wait_until(l, s, t, p) } -> std::same_as<bool>;
};
static_assert(condition<names::condition_variable, names::unique_lock<names::mutex>>);
static_assert(condition<names::condition_variable_any, names::unique_lock<names::mutex>>);
static_assert(condition<names::condition_variable_any, names::shared_lock<names::shared_mutex>>);
static_assert(stoppable<names::condition_variable_any, names::unique_lock<names::mutex>>);

template <class S>
concept semaphore = requires(S s, seconds d, time_point t) {
  s.release();
  s.release(2);
  s.acquire();
  { s.try_acquire() }
  noexcept->std::same_as<bool>;
  { s.try_acquire_for(d) } -> std::same_as<bool>;
  { s.try_acquire_until(t) } -> std::same_as<bool>;
  { S::max() }
  noexcept->std::same_as<std::ptrdiff_t>;
};
static_assert(semaphore<names::counting_semaphore<>> && semaphore<names::counting_semaphore<5>>);
static_assert(semaphore<names::binary_semaphore> && names::counting_semaphore<5>::max() >= 5);
static_assert(std::is_same_v<names::binary_semaphore, names::counting_semaphore<1>>);

static_assert(requires(names::latch l, const names::latch& c) {
  l.count_down();
  l.count_down(2);
  { c.try_wait() }
  noexcept->std::same_as<bool>;
  c.wait();
  l.arrive_and_wait();
  l.arrive_and_wait(2);
  { names::latch::max() }
  noexcept->std::same_as<std::ptrdiff_t>;
});
using completion = void (*)() noexcept;
static_assert(requires(names::barrier<completion> b, const names::barrier<completion>& c,
                       names::barrier<completion>::arrival_token token) {
  { b.arrive() } -> std::same_as<names::barrier<completion>::arrival_token>;
  { b.arrive(2) } -> std::same_as<names::barrier<completion>::arrival_token>;
  c.wait(std::move(token));
  b.arrive_and_wait();
  b.arrive_and_drop();
  { names::barrier<completion>::max() }
  noexcept->std::same_as<std::ptrdiff_t>;
});

template <class F, class T>
concept reader = requires(F f, const F& c, seconds d, time_point t) {
  { f.get() } -> std::same_as<T>;
  { c.valid() }
  noexcept->std::same_as<bool>;
  c.wait();
  { c.wait_for(d) } -> std::same_as<names::future_status>;
  { c.wait_until(t) } -> std::same_as<names::future_status>;
}
&&std::is_nothrow_default_constructible_v<F>&& std::is_nothrow_move_constructible_v<F>;
static_assert(reader<names::future<int>, int> && reader<names::future<int&>, int&> &&
              reader<names::future<void>, void>);
static_assert(!std::is_copy_constructible_v<names::future<int>> &&
              std::is_copy_constructible_v<names::shared_future<int>>);
static_assert(reader<names::shared_future<int>, const int&> && reader<names::shared_future<int&>, int&>);
static_assert(requires(names::future<int> f) {
  { f.share() }
  noexcept->std::same_as<names::shared_future<int>>;
});
template <class P>
concept writer = requires(P p, P q, std::exception_ptr e) {
  p.get_future();
  p.set_exception(e);
  p.swap(q);
  swap(p, q);
}
&&std::is_nothrow_move_constructible_v<P> && !std::is_copy_constructible_v<P>;
static_assert(writer<names::promise<int>> && writer<names::promise<int&>> && writer<names::promise<void>>);
using task = names::packaged_task<int(double)>;
static_assert(requires(task t, task u) {
  { t.valid() }
  noexcept->std::same_as<bool>;
  { t.get_future() } -> std::same_as<names::future<int>>;
  t(1.0);
  t.reset();
  t.swap(u);
  swap(t, u);
} && std::is_nothrow_move_constructible_v<task> &&
              !std::is_copy_constructible_v<task>);

template <class T>
concept thread_like = requires(T t, T u) {
  { t.joinable() }
  noexcept->std::same_as<bool>;
  { t.get_id() }
  noexcept->std::same_as<typename T::id>;
  t.join();
  t.detach();
  t.swap(u);
  swap(t, u);
  { T::hardware_concurrency() }
  noexcept->std::same_as<unsigned>;
}
&&std::is_nothrow_default_constructible_v<T>&& std::is_nothrow_move_constructible_v<T> &&
    !std::is_copy_constructible_v<T>;
static_assert(thread_like<names::thread> && thread_like<names::jthread>);
static_assert(std::is_trivially_copyable_v<names::thread::id> && std::three_way_comparable<names::thread::id>);
static_assert(requires(names::jthread t) {
  { t.get_stop_source() }
  noexcept->std::same_as<names::stop_source>;
  { t.get_stop_token() }
  noexcept->std::same_as<names::stop_token>;
  { t.request_stop() }
  noexcept->std::same_as<bool>;
});
static_assert(requires(names::thread::id i) {
  { std::hash<names::thread::id>()(i) } -> std::same_as<std::size_t>;
});
static_assert(requires(names::stop_source s, names::stop_source o, names::stop_token t, names::stop_token u) {
  { s.request_stop() }
  noexcept->std::same_as<bool>;
  { s.stop_requested() }
  noexcept->std::same_as<bool>;
  { s.stop_possible() }
  noexcept->std::same_as<bool>;
  { t.stop_requested() }
  noexcept->std::same_as<bool>;
  { t.stop_possible() }
  noexcept->std::same_as<bool>;
  { s == o } -> std::same_as<bool>;
  { t == u } -> std::same_as<bool>;
  s.swap(o);
  t.swap(u);
  swap(s, o);
  swap(t, u);
});
static_assert(std::is_same_v<names::stop_callback<completion>::callback_type, completion>);

// thread::id has one constructor; its comparisons and its output are functions of the namespace.
static_assert(!std::is_constructible_v<names::thread::id, const void*>);
static_assert(requires(names::thread::id i, std::ostream& out) {
  { names::operator==(i, i) }
  noexcept->std::same_as<bool>;
  { names::operator<=>(i, i) }
  noexcept->std::same_as<std::strong_ordering>;
  names::operator<<(out, i);
});

static_assert(std::is_error_code_enum_v<names::future_errc>);
static_assert(requires(names::future_errc e, const names::future_error& error) {
  { names::make_error_code(e) }
  noexcept->std::same_as<std::error_code>;
  { names::make_error_condition(e) }
  noexcept->std::same_as<std::error_condition>;
  { names::future_category() }
  noexcept->std::same_as<const std::error_category&>;
  { error.code() }
  noexcept->std::same_as<const std::error_code&>;
});

// Objects of static storage duration need no dynamic initialization.
[[maybe_unused]] constinit names::latch constant_latch(1);
[[maybe_unused]] constinit names::mutex constant_mutex;
[[maybe_unused]] constinit names::once_flag constant_flag;

// Results that are set at thread exit, and allocators.
template <class T>
concept has_allocator = std::uses_allocator_v<T, std::allocator<int>> &&
    std::is_constructible_v<T, std::allocator_arg_t, std::allocator<int>>;
static_assert(has_allocator<names::promise<int>> && has_allocator<names::promise<int&>> &&
              has_allocator<names::promise<void>>);
static_assert(requires(names::promise<int> p, names::promise<int&> q, names::promise<void> r, const int c, int i,
                       task t, std::exception_ptr e, names::condition_variable v, names::unique_lock<names::mutex> l) {
  p.set_value_at_thread_exit(1);
  p.set_value_at_thread_exit(c);
  q.set_value_at_thread_exit(i);
  r.set_value_at_thread_exit();
  p.set_exception_at_thread_exit(e);
  t.make_ready_at_thread_exit(1.0);
  names::notify_all_at_thread_exit(v, std::move(l));
});

// Results with an overloaded operator&, and const results.
struct without_address {
  void operator&() const = delete;
};
static_assert(reader<names::shared_future<const int>, const int&> && writer<names::promise<const int>>);
[[maybe_unused]] void results_of_all_kinds(without_address& x) {
  names::promise<without_address> value;
  value.set_value(without_address{});
  (void)value.get_future().get();
  names::promise<without_address&> reference;
  reference.set_value(x);
  (void)reference.get_future().get();
  names::packaged_task<without_address&()> call([&x]() -> without_address& { return x; });
  call();
  (void)names::async([&x]() -> without_address& { return x; }).get();
  names::promise<const int> constant;
  constant.set_value(1);
  (void)constant.get_future().get();
}

}  // namespace
}  // namespace conformity::PLX_CONFORMITY_PROGRAM
