// A queue between tasks: bounded or unbounded, closable.
//
// Thread safety: any number of senders and receivers, tasks or foreign threads. Cost: a lock and a queue operation;
// a task that must wait gives its worker away. Example: channel_test.cpp.
#pragma once

#include <cstddef>
#include <deque>
#include <limits>
#include <optional>
#include <utility>

#include "base/assert.hpp"
#include "rt/mutex.hpp"

namespace plx {

template <class T>
class channel {
 public:
  static constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

  /// Requires: capacity > 0.
  explicit channel(std::size_t capacity = unbounded) : capacity_(capacity) {
    PLX_ASSERT(capacity > 0 && "a channel needs room for at least one element", capacity);
  }
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;

  /// Waits while the channel is full. False, and nothing sent, when it is closed.
  bool send(T value) {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [this] { return closed_ || queue_.size() < capacity_; });
    return put(std::move(value));
  }
  /// False, and `value` untouched, when the channel is full or closed.
  bool try_send(T&& value) {
    std::unique_lock lock(mutex_);
    if (queue_.size() >= capacity_) return false;
    return put(std::move(value));
  }

  /// Waits while the channel is empty. Nothing when it is closed and empty.
  std::optional<T> receive() {
    std::unique_lock lock(mutex_);
    has_element_.wait(lock, [this] { return closed_ || !queue_.empty(); });
    return take();
  }
  /// Nothing when the channel is empty.
  std::optional<T> try_receive() {
    std::unique_lock lock(mutex_);
    return take();
  }

  /// No more elements will be sent; those in the channel can still be received.
  void close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    has_room_.notify_all();
    has_element_.notify_all();
  }
  [[nodiscard]] bool closed() const {
    std::unique_lock lock(mutex_);
    return closed_;
  }
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
  condition_variable has_room_;
  condition_variable has_element_;
  std::deque<T> queue_;
  bool closed_ = false;
};

}  // namespace plx
