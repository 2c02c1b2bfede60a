// The sampled stacks of one thread that wait to be drained: a ring of words in memory of fixed size.
//
// Thread safety: push() by one thread, also in a signal handler; drain() by one other thread at a time. push() is
// async-signal-safe. A full ring drops the newest samples and counts them. Cost: a copy.
// Invariant: words from tail_ to head_ are whole samples, and only drain() reads them.
// Example: probe/sample/test/sample_ring_test.cpp
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "probe/record/names.hpp"

namespace plx::probe {

/// The state of a thread when it was sampled.
enum class sampled_activity : std::uint8_t { task, searching, polling, outside };

/// The stack of one sample, with the task that ran.
struct stack_sample {
  sampled_activity activity = sampled_activity::outside;
  bool whole = false;                      // `frames` reach the outermost function of the task, or of the thread
  std::uint16_t weight = 1;                // periods of the timer that it stands for
  name_id task = unnamed;                  // the type of the running task
  std::span<const std::uintptr_t> frames;  // innermost first: where it ran, then return addresses
};

class sample_ring {
 public:
  static constexpr std::size_t most_frames = 127;

  /// Requires: `capacity` is a power of two above most_frames; `words` has as many words and outlives the ring.
  sample_ring(std::uint64_t* words, std::size_t capacity) noexcept : words_(words), capacity_(capacity) {}

  /// False if there is no room: the sample is dropped. Frames beyond most_frames are cut off.
  bool push(const stack_sample& s) noexcept {
    const std::size_t n = std::min(s.frames.size(), most_frames);
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    // acquire: pairs with the release in drain(); the words there have been read.
    if (head + n + 1 - tail_.load(std::memory_order_acquire) > capacity_) {
      lost_.store(lost_.load(std::memory_order_relaxed) + s.weight, std::memory_order_relaxed);
      return false;
    }
    const bool whole = s.whole && n == s.frames.size();
    at(head) = std::uint64_t{s.task} << 32 | std::uint64_t{s.weight} << 16 |
               std::uint64_t{static_cast<std::uint8_t>(s.activity)} << 8 | std::uint64_t{whole} << 7 | n;
    for (std::size_t i = 0; i < n; ++i) at(head + 1 + i) = s.frames[i];
    head_.store(head + 1 + n, std::memory_order_release);  // pairs with the acquire in drain()
    return true;
  }

  /// Calls take(sample) for each waiting sample, oldest first.
  template <class Take>
  void drain(Take&& take) {
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    std::uintptr_t frames[most_frames];
    while (tail != head) {
      const std::uint64_t first = at(tail);
      const std::size_t n = first & 0x7fu;
      for (std::size_t i = 0; i < n; ++i) frames[i] = at(tail + 1 + i);
      tail += 1 + n;
      take(stack_sample{.activity = static_cast<sampled_activity>(first >> 8 & 0xffu),
                        .whole = (first & 0x80u) != 0,
                        .weight = static_cast<std::uint16_t>(first >> 16 & 0xffffu),
                        .task = static_cast<name_id>(first >> 32),
                        .frames = {frames, n}});
      tail_.store(tail, std::memory_order_release);
    }
  }

  /// Periods of dropped samples.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

 private:
  std::uint64_t& at(std::uint64_t i) noexcept { return words_[i & (capacity_ - 1)]; }

  std::uint64_t* words_;
  std::size_t capacity_;
  std::atomic<std::uint64_t> head_{0}, tail_{0}, lost_{0};
};

}  // namespace plx::probe
