// async_rw_mutex: access to a value as futures, granted in the order of the requests.
//
//   plx::async_rw_mutex<block> m(size);
//   m.readwrite().then(plx::unwrapping([](auto b) { fill(*b); }));                       // first
//   auto a = m.read().then(plx::unwrapping([](auto b) { return sum(*b); }));             // then these two, together
//   auto c = m.read().then(plx::unwrapping([](auto b) { return largest(*b); }));
//   m.readwrite().then(plx::unwrapping([](auto b) { b->resize(0); }));                   // then this
//
// A request never waits, so a whole graph of tasks can be written down in program order. An access is a value: it may
// be stored, moved into other tasks, and releases its turn when it is destroyed, in any task. Accesses may outlive the
// mutex. If a future is dropped, its access is released as soon as it is granted. Thread safety: read() and readwrite()
// may be called concurrently; the order is that of the calls. Cost: one allocation per request and one per turn.
// Example: async_rw_mutex_test.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

#include "rt/core/spinlock.hpp"
#include "rt/future.hpp"

namespace plx {

template <class T = void>
class async_rw_mutex;

namespace detail {

// The order in which requests are granted. They form turns: a write is a turn of its own, consecutive reads share one.
// Each turn counts its references: one per request and, once granted, per access, and one of the mutex while the turn
// is the last, so that reads may still join. The turn ends when the count reaches zero, and grants the next one.
// Invariants: only the first remaining turn is granted. `next` is set before the mutex releases its reference, so that
// the thread that ends the turn sees it. The last turn cannot end.

struct rw_turn;

/// A request that waits for its turn. `grant` must not wait; it takes over the request's reference to the turn.
struct rw_request {
  rw_request* next = nullptr;
  void (*grant)(rw_request*, rw_turn*) = nullptr;
};

/// The part of the mutex that its requests and accesses share; destroyed with the last of them.
struct rw_core {
  using destroy_function = void (*)(rw_core*) noexcept;
  explicit rw_core(destroy_function d) noexcept : destroy(d) {}

  void release() noexcept {
    if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(this);
  }
  /// Grants `r` immediately or in its turn.
  void request(rw_request& r, bool write);
  /// No more requests follow. Releases the mutex' own reference.
  void close() noexcept;

  destroy_function destroy;
  std::atomic<std::size_t> refs{1};  // the mutex, and each turn
  spinlock guard;
  rw_turn* last = nullptr;
};

struct rw_turn {
  rw_turn(rw_core& c, bool w) noexcept : core(c), write(w) { core.refs.fetch_add(1, std::memory_order_relaxed); }

  rw_core& core;
  const bool write;
  std::atomic<std::size_t> refs{2};  // the first request, and the mutex
  rw_turn* next = nullptr;

  spinlock guard;
  bool granted = false;
  rw_request* first_waiting = nullptr;
  rw_request* last_waiting = nullptr;

  void add_ref() noexcept { refs.fetch_add(1, std::memory_order_relaxed); }
  /// Releases a reference. If it was the last, ends the turn, and those after it that have no references left.
  void release() noexcept;
};

template <class T>
struct rw_value final : rw_core {
  template <class... A>
  explicit rw_value(A&&... a)
      : rw_core([](rw_core* c) noexcept { delete static_cast<rw_value*>(c); }), value(std::forward<A>(a)...) {}
  typename stored<T>::type value;
};

/// Common base of both access types. Accessing the value requires: not moved from or released.
template <class T, class Seen>
class rw_access_base {
 public:
  /// True if it holds its turn.
  [[nodiscard]] bool valid() const noexcept { return hold_.get() != nullptr; }
  /// Releases the turn before the end of this object's lifetime.
  void release() noexcept { hold_ = {}; }

 protected:
  rw_access_base() noexcept = default;
  explicit rw_access_base(rw_turn* t) noexcept : hold_(t) {}
  Seen& value() const noexcept { return static_cast<rw_value<T>&>(hold_.get()->core).value; }

 private:
  counted_ptr<rw_turn> hold_;
};
template <class T, class Seen>
class rw_access : public rw_access_base<T, Seen> {
 public:
  /// The value.
  Seen& get() const noexcept { return this->value(); }
  Seen& operator*() const noexcept { return this->value(); }
  Seen* operator->() const noexcept { return &this->value(); }

 protected:
  using rw_access_base<T, Seen>::rw_access_base;
};
template <class Seen>
class rw_access<void, Seen> : public rw_access_base<void, Seen> {
 protected:
  using rw_access_base<void, Seen>::rw_access_base;
};

/// The state of the future and the request in one allocation.
template <class Access>
class rw_request_state final : public future_state<Access>, public rw_request {
 public:
  rw_request_state() : future_state<Access>(destroy_state<rw_request_state>, 2) {
    this->grant = [](rw_request* r, rw_turn* t) {
      auto& self = static_cast<rw_request_state&>(*r);
      self.emplace(Access(t));
      self.complete();
      self.release();
    };
  }
};

}  // namespace detail

/// Holds a T constructed from the arguments of the constructor (void: no value, only the order).
template <class T>
class async_rw_mutex {
  using stored_type = typename detail::stored<T>::type;

 public:
  /// Shared read access. Copies share the turn.
  class read_access : public detail::rw_access<T, const stored_type> {
   public:
    read_access() noexcept = default;

   private:
    explicit read_access(detail::rw_turn* t) noexcept : detail::rw_access<T, const stored_type>(t) {}
    friend class detail::rw_request_state<read_access>;
  };
  /// Exclusive write access.
  class write_access : public detail::rw_access<T, stored_type> {
   public:
    write_access() noexcept = default;
    write_access(write_access&&) noexcept = default;
    write_access& operator=(write_access&&) noexcept = default;

   private:
    explicit write_access(detail::rw_turn* t) noexcept : detail::rw_access<T, stored_type>(t) {}
    friend class detail::rw_request_state<write_access>;
  };

  template <class... A>
  requires std::is_constructible_v<stored_type, A...>
  explicit async_rw_mutex(A&&... a) : core_(new detail::rw_value<T>(std::forward<A>(a)...)) {}
  async_rw_mutex(const async_rw_mutex&) = delete;
  async_rw_mutex& operator=(const async_rw_mutex&) = delete;
  ~async_rw_mutex() { core_->close(); }

  /// Granted when all writes requested before have ended, together with adjacent read requests.
  future<read_access> read() { return request<read_access>(false); }
  /// Granted exclusively, when all accesses requested before have ended.
  future<write_access> readwrite() { return request<write_access>(true); }

 private:
  template <class Access>
  future<Access> request(bool write) {
    auto* s = detail::make_state<detail::rw_request_state<Access>>();
    auto result = detail::adopt_state<Access>(s);
    core_->request(*s, write);
    return result;
  }

  detail::rw_value<T>* core_;
};

}  // namespace plx
