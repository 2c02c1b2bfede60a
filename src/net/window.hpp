// One-sided access to memory of other localities: put, get, atomic operations, and signals that a task there waits for.
//
//   plx::communicator all;
//   plx::window<double> w(all, 1000);                  // on every member: 1000 zeros, which the others can access
//   w.put(2, 10, values).get();                        // elements 10, 11, ... of rank 2; they have arrived
//   w.put_signal(right, 0, border).get();              // and then signal 0 of that rank increases by 1
//   w.wait_signal(0, step).get();                      // the neighbours' borders of `step` puts are here
//   for (double x : w.local()) ...
//   plx::window<std::uint64_t> counters(all, 1);
//   std::uint64_t ticket = counters.fetch_add(0, 0, 1).get();
//
// Creation and destruction are collective: all members of the communicator make them in the same order as its other
// calls, with any sizes. The destructor waits in a barrier until the operations of all members have ended. If an
// exception destroys the window, or a member is lost, it does not wait, and the memory stays until the job ends. After
// an exception on one member only, the destructors of the others wait for it: that member makes no further collective
// calls on the communicator, and exceptions end the window on all other members as well, or the job ends. A window is
// destroyed before its job.
//
// An operation returns a future; when it is ready the operation is complete on both sides: a put is visible to every
// later operation on those elements, and to a task of their owner that learns of it by a signal or a message.
// Operations in progress at the same time have no order, also from one task to one rank: wait for the first, or use
// put_signal(). Concurrent accesses to the same element, of which at least one is a put or a store, are a data race;
// atomic operations are atomic with respect to each other. Elements they change are read by get() or fetch_add(..., 0).
//
// Spans name memory of the caller, which stays valid until the future is ready, and, if it fails with locality_lost,
// until the job ends: the network may still use it. A plx::buffer owns its memory and may be dropped at once.
//
// Errors: std::out_of_range at once for elements, ranks and signals that do not exist. By the future: locality_lost.
// wait_signal() fails with it as soon as any member is lost, unless the signal has its value: survivors make a new
// window. Thread safety: everything except creation and destruction. Cost: within a host loads and stores of the
// calling task, without a message, if the transport is ucx; otherwise that of UCX's put, get and atomic operations;
// with the transport mpi, or PLX_DIRECT_ACCESS=off, a call and its reply for each 64 KiB. docs/net.md has times.
// Example: net/window/test/window_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "net/bitwise.hpp"
#include "net/buffer.hpp"
#include "net/team.hpp"
#include "net/window/region.hpp"
#include "rt/future.hpp"

namespace plx {

/// The types of atomic operations: integers of 32 and 64 bits.
template <class T>
concept window_word = std::is_integral_v<T> && !std::is_same_v<T, bool> && (sizeof(T) == 4 || sizeof(T) == 8);

/// Requires: is_bitwise<T> (net/bitwise.hpp), aligned to at most 64 bytes.
template <class T>
class window {
  static_assert(std::is_trivially_copyable_v<T> && is_bitwise<T> && !is_boolean<T>,
                "the elements of a window are copied as bytes: specialize plx::is_bitwise<T> if those are the value");
  static_assert(alignof(T) <= 64, "the memory of a window is aligned to 64 bytes");

 public:
  /// Collective. `size`: elements of this rank; all their bytes are zero. `signals`: the number of its signals.
  window(const communicator& members, std::size_t size, unsigned signals = 1)
      : region_(net::region::make(members, bytes_of(size), sizeof(T), signals)) {}
  /// The same for a team; alone, no job is needed.
  window(const team& members, std::size_t size, unsigned signals = 1)
      : region_(members.is_alone() ? net::region::make_alone(bytes_of(size), sizeof(T), signals)
                                   : net::region::make(members.communicator(), bytes_of(size), sizeof(T), signals)) {}
  /// Collective.
  ~window() {
    if (region_ != nullptr) region_->end(std::uncaught_exceptions() > exceptions_);
  }
  window(window&& o) noexcept = default;
  window& operator=(window&&) = delete;

  [[nodiscard]] unsigned rank() const noexcept { return region_->rank(); }    ///< of this locality
  [[nodiscard]] unsigned ranks() const noexcept { return region_->ranks(); }  ///< how many members there are
  /// The number of elements of a rank.
  [[nodiscard]] std::size_t size(unsigned rank) const { return region_->bytes_of(rank) / sizeof(T); }
  /// The elements of this rank.
  [[nodiscard]] std::span<T> local() const noexcept {
    return {reinterpret_cast<T*>(region_->memory()), region_->bytes_of(rank()) / sizeof(T)};
  }

  /// Writes to the elements `first`, first + 1, ... of a rank.
  future<void> put(unsigned rank, std::size_t first, std::span<const T> from) const {
    region_->check(rank, first, from.size(), "put");
    return region_->put(rank, first * sizeof(T), std::as_bytes(from), nullptr);
  }
  future<void> put(unsigned rank, std::size_t first, const buffer<T>& from) const {
    region_->check(rank, first, from.size(), "put");
    return region_->put(rank, first * sizeof(T), bytes_in(from), kept(rank, from));
  }
  future<void> put(unsigned rank, std::size_t at, const T& value) const {
    region_->check(rank, at, 1, "put");
    if (region_->is_mapped(rank)) return region_->put(rank, at * sizeof(T), one(value), nullptr);
    const auto copy = std::make_shared<T>(value);
    return region_->put(rank, at * sizeof(T), one(*copy), copy);
  }
  /// Reads elements of a rank.
  future<void> get(unsigned rank, std::size_t first, std::span<T> to) const {
    region_->check(rank, first, to.size(), "get");
    return region_->get(rank, first * sizeof(T), std::as_writable_bytes(to), nullptr);
  }
  future<buffer<T>> get(unsigned rank, std::size_t first, std::size_t n) const {
    region_->check(rank, first, n, "get");
    buffer<T> to(n);
    return region_->get(rank, first * sizeof(T), std::as_writable_bytes(std::span<T>(to)), kept(rank, to))
        .then(launch::sync, [to](future<void> done) {
          done.get();
          return to;
        });
  }
  future<T> get(unsigned rank, std::size_t at) const {
    region_->check(rank, at, 1, "get");
    if (region_->is_mapped(rank)) {
      T value;
      auto f = region_->get(rank, at * sizeof(T), std::as_writable_bytes(std::span<T>(&value, 1)), nullptr);
      return f.then(launch::sync, [value](future<void> done) {
        done.get();
        return value;
      });
    }
    const auto to = std::make_shared<T>();
    return region_->get(rank, at * sizeof(T), std::as_writable_bytes(std::span<T>(to.get(), 1)), to)
        .then(launch::sync, [to](future<void> done) {
          done.get();
          return *to;
        });
  }

  /// put(), and then the signal of that rank increases by `add`: a task that sees the new value of the signal sees
  /// the elements.
  future<void> put_signal(unsigned rank, std::size_t first, std::span<const T> from, unsigned signal = 0,
                          std::uint64_t add = 1) const {
    region_->check(rank, first, from.size(), "put_signal");
    region_->check_signal(rank, signal, "put_signal");
    return region_->put_signal(rank, first * sizeof(T), std::as_bytes(from), nullptr, signal, add);
  }
  future<void> put_signal(unsigned rank, std::size_t first, const buffer<T>& from, unsigned signal = 0,
                          std::uint64_t add = 1) const {
    region_->check(rank, first, from.size(), "put_signal");
    region_->check_signal(rank, signal, "put_signal");
    return region_->put_signal(rank, first * sizeof(T), bytes_in(from), kept(rank, from), signal, add);
  }
  /// Ready when a signal of this rank has at least this value. Signals start at 0 and never decrease.
  future<void> wait_signal(unsigned signal, std::uint64_t at_least) const {
    return region_->wait_signal(signal, at_least);
  }
  /// The value of a signal of this rank.
  [[nodiscard]] std::uint64_t signal(unsigned which) const { return region_->signal(which); }

  /// Adds to an element, modulo 2^32 or 2^64. The future holds the previous value. Atomic and sequentially consistent,
  /// as the operations below.
  future<T> fetch_add(unsigned rank, std::size_t at, T add) const requires window_word<T> {
    return apply(net::access_kind::fetch_add, rank, at, add, 0, "fetch_add");
  }
  /// Replaces an element. The future holds the previous value.
  future<T> exchange(unsigned rank, std::size_t at, T value) const requires window_word<T> {
    return apply(net::access_kind::exchange, rank, at, value, 0, "exchange");
  }
  /// Replaces an element by `desired` if it is `expected`. The future holds the previous value: it was replaced if that
  /// is `expected`.
  future<T> compare_exchange(unsigned rank, std::size_t at, T expected, T desired) const requires window_word<T> {
    return apply(net::access_kind::compare_exchange, rank, at, desired, expected, "compare_exchange");
  }

  /// Ready when all operations that this locality has begun on this window are complete. Throws the first of their
  /// errors since the previous flush: for callers that drop the futures of operations.
  future<void> flush() const { return region_->flush(); }

 private:
  static std::size_t bytes_of(std::size_t size) {
    if (size > SIZE_MAX / 2 / sizeof(T)) throw std::bad_alloc();
    return size * sizeof(T);
  }
  static std::span<const std::byte> one(const T& value) { return std::as_bytes(std::span<const T>(&value, 1)); }
  static std::span<const std::byte> bytes_in(const buffer<T>& b) {
    return std::as_bytes(std::span<const T>(b.data(), b.size()));
  }
  std::shared_ptr<const void> kept(unsigned rank, const buffer<T>& b) const {
    return region_->is_mapped(rank) ? nullptr : std::make_shared<buffer<T>>(b);
  }
  static std::uint64_t word(T value) noexcept {
    return static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<T>>(value));
  }
  future<T> apply(net::access_kind kind, unsigned rank, std::size_t at, T operand, T expected, const char* what) const {
    region_->check(rank, at, 1, what);
    auto f = region_->apply(kind, rank, at * sizeof(T), sizeof(T), word(operand), word(expected));
    if constexpr (std::is_same_v<T, std::uint64_t>) {
      return f;
    } else {
      if (f.is_ready()) return make_ready_future(static_cast<T>(f.get()));
      return f.then(launch::sync, [](future<std::uint64_t> previous) { return static_cast<T>(previous.get()); });
    }
  }

  std::shared_ptr<net::region> region_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace plx
