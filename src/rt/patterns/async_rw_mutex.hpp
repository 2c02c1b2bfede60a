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

#include <utility>

#include "rt/future.hpp"
#include "rt/sync/rw_turns.hpp"

namespace plx {

template <class T = void>
class async_rw_mutex;

namespace detail {

template <class T>
struct rw_value final : rw_core {
  template <class... A>
  explicit rw_value(A&&... a)
      : rw_core([](rw_core* c) noexcept { delete static_cast<rw_value*>(c); }), value(std::forward<A>(a)...) {}
  typename stored<T>::type value;
};

/// A reference to a granted turn.
class rw_hold {
 public:
  rw_hold() noexcept = default;
  explicit rw_hold(rw_turn* adopted) noexcept : turn_(adopted) {}
  rw_hold(const rw_hold& o) noexcept : turn_(o.turn_) {
    if (turn_ != nullptr) turn_->hold();
  }
  rw_hold(rw_hold&& o) noexcept : turn_(std::exchange(o.turn_, nullptr)) {}
  rw_hold& operator=(rw_hold o) noexcept {
    std::swap(turn_, o.turn_);
    return *this;
  }
  ~rw_hold() {
    if (turn_ != nullptr) rw_turn::drop(turn_);
  }
  rw_turn* get() const noexcept { return turn_; }

 private:
  rw_turn* turn_ = nullptr;
};

/// Common base of both access types. Accessing the value requires: not moved from or released.
template <class T, class Seen>
class rw_access_base {
 public:
  /// True if it holds its turn.
  [[nodiscard]] bool valid() const noexcept { return hold_.get() != nullptr; }
  /// Releases the turn before the end of this object's lifetime.
  void release() noexcept { hold_ = rw_hold(); }

 protected:
  rw_access_base() noexcept = default;
  explicit rw_access_base(rw_turn* t) noexcept : hold_(t) {}
  Seen& value() const noexcept { return static_cast<rw_value<T>&>(hold_.get()->core).value; }

 private:
  rw_hold hold_;
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
