// Channels, latches and barriers that tasks of all localities access by name.
//
//   plx::distributed::channel<std::string> lines("log");
//   lines.send("begun").get();                           // anywhere
//   while (auto line = lines.receive().get()) ...        // anywhere
//   plx::distributed::barrier all("step", 12);           // 12 tasks, wherever they are
//   all.arrive_and_wait();
//
// Objects with the same type and name are the same object on every locality. Their state lives on one locality, chosen
// by a hash of the name, until the job ends. Every call returns a future and does not block.
//
// Loss: when the locality that holds the object is lost, all calls fail with locality_lost. When another locality is
// lost, pending calls fail with locality_lost; a channel remains usable, an incomplete latch or barrier stays broken.
// Thread safety: everything, from tasks. Cost: a round trip; none on the locality that holds the object.
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

/// The id of an object and its locality.
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

/// A queue. The values of one sender are received in the order in which they were sent.
template <class T>
class channel {
 public:
  static constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

  /// Requires: the same capacity on all localities, not 0.
  explicit channel(std::string_view name, std::size_t capacity = unbounded)
      : object_(detail::find("channel", name)), capacity_(capacity) {}

  /// Ready with true when there is room for the value; with false, and nothing is sent, if the channel is closed.
  future<bool> send(const T& value) const { return detail::send(object_, capacity_, net::payload::of(value)); }
  /// The next element; empty if the channel is closed and empty. Dropping this future drops an element.
  future<std::optional<T>> receive() const {
    return detail::receive(object_, capacity_).then(launch::sync, [](future<std::optional<net::payload>> f) {
      const std::optional<net::payload> p = f.get();
      return p ? std::optional<T>(p->as<T>()) : std::nullopt;
    });
  }
  /// Closes the channel, after the values this locality has sent. Remaining elements can still be received.
  future<void> close() const { return detail::close(object_, capacity_); }

 private:
  detail::object object_;
  std::size_t capacity_;
};

/// Opens once, after being counted down `expected` times.
class latch {
 public:
  /// Requires: the same number on all localities, at least 0.
  latch(std::string_view name, std::ptrdiff_t expected) : object_(detail::find("latch", name)), expected_(expected) {}

  /// Ready when the count has been applied.
  future<void> count_down(std::ptrdiff_t n = 1) const { return detail::count_down(object_, expected_, n); }
  /// Ready when the latch is open.
  future<void> wait() const { return detail::wait(object_, expected_); }
  /// count_down() followed by wait(); blocks the calling task.
  void arrive_and_wait(std::ptrdiff_t n = 1) const {
    count_down(n).get();
    wait().get();
  }

 private:
  detail::object object_;
  std::ptrdiff_t expected_;
};

/// Opens each time `expected` participants have arrived.
class barrier {
 public:
  /// Requires: the same number on all localities, at least 1.
  barrier(std::string_view name, std::ptrdiff_t expected)
      : object_(detail::find("barrier", name)), expected_(expected) {}

  /// Ready when all have arrived in this phase.
  future<void> arrive() const { return detail::arrive(object_, expected_, false); }
  /// Arrives and blocks the calling task until all have arrived.
  void arrive_and_wait() const { arrive().get(); }
  /// Arrives; from the next phase on, one fewer participant is expected. Ready when the arrival has been counted.
  future<void> arrive_and_drop() const { return detail::arrive(object_, expected_, true); }

 private:
  detail::object object_;
  std::ptrdiff_t expected_;
};

}  // namespace plx::distributed
