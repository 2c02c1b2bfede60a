// A queue between tasks: bounded, unbounded or of one element, closable.
//
//   plx::channel<int> c(plx::channel<int>::one_element);
//   for (int x : c) ...                                    // until it is closed and empty
//
// Thread safety: any number of senders and receivers, tasks or external threads. Cost: a lock and a queue operation;
// a task that must wait suspends. Example: channel_test.cpp.
#pragma once

#include <cstddef>
#include <deque>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "base/assert.hpp"
#include "rt/mutex.hpp"

namespace plx {

template <class T>
class channel {
 public:
  using value_type = T;
  static constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t one_element = 1;

  /// Requires: capacity > 0.
  explicit channel(std::size_t capacity = unbounded) : capacity_(capacity) {
    PLX_ASSERT(capacity > 0 && "the capacity of a channel must be at least one element", capacity);
  }
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;

  /// Waits while the channel is full. Returns false, without sending, if the channel is closed.
  bool send(T value) {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [this] { return closed_ || queue_.size() < capacity_; });
    return put(std::move(value));
  }
  /// Returns false, with `value` unchanged, if the channel is full or closed.
  bool try_send(T&& value) {
    std::unique_lock lock(mutex_);
    if (queue_.size() >= capacity_) return false;
    return put(std::move(value));
  }

  /// As try_send(), but waits up to the given time for free space.
  template <class Duration>
  bool try_send_for(T&& value, const Duration& d) {
    std::unique_lock lock(mutex_);
    if (!has_room_.wait_for(lock, d, [this] { return closed_ || queue_.size() < capacity_; })) return false;
    return put(std::move(value));
  }
  template <class TimePoint>
  bool try_send_until(T&& value, const TimePoint& t) {
    std::unique_lock lock(mutex_);
    if (!has_room_.wait_until(lock, t, [this] { return closed_ || queue_.size() < capacity_; })) return false;
    return put(std::move(value));
  }

  /// Waits while the channel is empty. Returns nullopt if the channel is closed and empty.
  std::optional<T> receive() {
    std::unique_lock lock(mutex_);
    has_element_.wait(lock, [this] { return closed_ || !queue_.empty(); });
    return take();
  }
  /// Returns nullopt if the channel is empty.
  std::optional<T> try_receive() {
    std::unique_lock lock(mutex_);
    return take();
  }
  /// As try_receive(), but waits up to the given time for an element.
  template <class Duration>
  std::optional<T> try_receive_for(const Duration& d) {
    std::unique_lock lock(mutex_);
    has_element_.wait_for(lock, d, [this] { return closed_ || !queue_.empty(); });
    return take();
  }
  template <class TimePoint>
  std::optional<T> try_receive_until(const TimePoint& t) {
    std::unique_lock lock(mutex_);
    has_element_.wait_until(lock, t, [this] { return closed_ || !queue_.empty(); });
    return take();
  }

  /// Iterates over the received elements until the channel is closed and empty. One per loop; several loops, in several
  /// tasks, share the elements.
  class iterator {
   public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;

    T& operator*() const { return *current_; }
    T* operator->() const { return &*current_; }
    iterator& operator++() {
      current_ = from_->receive();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& i, std::default_sentinel_t) { return !i.current_.has_value(); }

   private:
    explicit iterator(channel& c) : from_(&c), current_(c.receive()) {}
    channel* from_;
    mutable std::optional<T> current_;
    friend channel;
  };
  /// For a range-based for loop in one task; receives the first element.
  iterator begin() { return iterator(*this); }
  /// Reached when the channel is closed and empty.
  std::default_sentinel_t end() const noexcept { return std::default_sentinel; }

  /// Ends sending; elements in the channel can still be received.
  void close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    has_room_.notify_all();
    has_element_.notify_all();
  }
  /// True after close().
  [[nodiscard]] bool closed() const {
    std::unique_lock lock(mutex_);
    return closed_;
  }
  /// The capacity passed to the constructor.
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  /// The number of elements currently in the channel.
  [[nodiscard]] std::size_t size() const {
    std::unique_lock lock(mutex_);
    return queue_.size();
  }

 private:
  bool put(T&& value) {
    if (closed_) return false;
    queue_.push_back(std::move(value));
    has_element_.notify_one();
    return true;
  }
  std::optional<T> take() {
    if (queue_.empty()) return std::nullopt;
    std::optional<T> value(std::move(queue_.front()));
    queue_.pop_front();
    has_room_.notify_one();
    return value;
  }

  const std::size_t capacity_;
  mutable mutex mutex_;
  condition_variable has_room_{detail::wait_name{"channel, to send"}};
  condition_variable has_element_{detail::wait_name{"channel, to receive"}};
  std::deque<T> queue_;
  bool closed_ = false;
};

}  // namespace plx
