// Channels, latches and barriers that tasks of all localities use by name.
//
//   plx::distributed::channel<std::string> lines("log");
//   lines.send("begun").get();                           // anywhere
//   while (auto line = lines.receive().get()) ...        // anywhere
//   plx::distributed::barrier all("step", 12);           // 12 tasks, wherever they are
//   all.arrive_and_wait();
//
// Objects of one kind and name are the same everywhere. What they hold lives on one locality, which the name decides,
// until the job ends. Every call gives a future and does not wait itself.
//
// Loss: when the locality that has the object is lost, its users get locality_lost, now and later. When any other is
// lost, whoever waits gets locality_lost; a channel goes on, a latch or barrier that is not through stays broken.
//
// Thread safety: everything, from tasks. Cost: a message there and back; none from the locality that has the object.
// Example: net/group/test/distributed_test.cpp
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>

#include "net/group/call.hpp"
#include "net/locality.hpp"
#include "rt/future.hpp"

namespace plx::distributed {

namespace detail {

/// Which object, and where it is.
struct object {
  std::uint64_t id = 0;
  locality_id home = 0;
};
[[nodiscard]] object find(std::string_view kind, std::string_view name);

future<bool> send(object o, std::size_t capacity, net::payload value);
future<std::optional<net::payload>> receive(object o, std::size_t capacity);
future<void> close(object o, std::size_t capacity);
future<void> count_down(object o, std::ptrdiff_t expected, std::ptrdiff_t n);
future<void> wait(object o, std::ptrdiff_t expected);
future<void> arrive(object o, std::ptrdiff_t expected, bool drop);

}  // namespace detail

/// A queue. What one locality sends is received in the order in which it was sent.
template <class T>
class channel {
 public:
  static constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

  /// Requires: all give the same capacity, which is not 0.
  explicit channel(std::string_view name, std::size_t capacity = unbounded)
      : object_(detail::find("channel", name)), capacity_(capacity) {}

  /// Ready when there is room for it: true. False, and nothing sent, when the channel is closed.
  future<bool> send(const T& value) const { return detail::send(object_, capacity_, net::payload::of(value)); }
  /// The next element; nothing when the channel is closed and empty. Whoever drops this future drops an element.
  future<std::optional<T>> receive() const {
    return detail::receive(object_, capacity_).then(launch::sync, [](future<std::optional<net::payload>> f) {
      const std::optional<net::payload> p = f.get();
      return p ? std::optional<T>(p->as<T>()) : std::nullopt;
    });
  }
  /// No more elements will be sent; those in the channel can still be received. After what this locality has sent.
  future<void> close() const { return detail::close(object_, capacity_); }

 private:
  detail::object object_;
  std::size_t capacity_;
};

/// Opens once, when it was counted down `expected` times.
class latch {
 public:
  /// Requires: all give the same number, at least 0.
  latch(std::string_view name, std::ptrdiff_t expected) : object_(detail::find("latch", name)), expected_(expected) {}

  /// Ready when it was counted.
  future<void> count_down(std::ptrdiff_t n = 1) const { return detail::count_down(object_, expected_, n); }
  /// Ready when it is open.
  future<void> wait() const { return detail::wait(object_, expected_); }
  /// Both, one after the other.
  void arrive_and_wait(std::ptrdiff_t n = 1) const {
    count_down(n).get();
    wait().get();
  }

 private:
  detail::object object_;
  std::ptrdiff_t expected_;
};

/// Opens each time when `expected` have arrived.
class barrier {
 public:
  /// Requires: all give the same number, at least 1.
  barrier(std::string_view name, std::ptrdiff_t expected)
      : object_(detail::find("barrier", name)), expected_(expected) {}

  /// Ready when all have arrived in this phase.
  future<void> arrive() const { return detail::arrive(object_, expected_, false); }
  /// Both, one after the other.
  void arrive_and_wait() const { arrive().get(); }
  /// From the next phase on, one less is expected. Ready when it was counted.
  future<void> arrive_and_drop() const { return detail::arrive(object_, expected_, true); }

 private:
  detail::object object_;
  std::ptrdiff_t expected_;
};

}  // namespace plx::distributed
