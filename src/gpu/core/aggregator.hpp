// The state shared by the copies of an aggregating_executor.
//
// Invariants: an item is in exactly one batch. A batch is in exactly one of: `open_` (at most one per operation), the
// thread that launches it, its stream's queue, the finisher. Only the holder of lock_ adds to an open batch.
// `in_flight_` counts the batches that were removed from open_ and are not finished; each of them holds a reference.
// All handles together hold one reference, released after a final flush().
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "gpu/aggregating_executor.hpp"
#include "gpu/core/completion.hpp"
#include "rt/runtime_options.hpp"

namespace plx::gpu::detail {

class stream_core;

class aggregator {
 public:
  aggregator(device_core& d, aggregation_options o);
  aggregator(const aggregator&) = delete;
  aggregator& operator=(const aggregator&) = delete;
  void add_ref() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  /// Must not be called by the poller.
  void release() noexcept {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  /// `state` is completed when the item's launch is done or has failed; null: the item has no future.
  void add(const any_operation& op, const void* item, plx::detail::future_state<void>* state);
  void flush();
  void set_most(unsigned most) noexcept { most_.store(most == 0 ? 1 : most, std::memory_order_relaxed); }
  [[nodiscard]] aggregation_counts counts() const noexcept;

 private:
  ~aggregator();
  enum class reason : std::uint8_t { full, idle_device, late, no_task };
  struct batch;

  static poll_result poll(void* self) { return static_cast<aggregator*>(self)->poll(); }
  poll_result poll();
  bool due(const batch& b, bool no_task, reason& why);
  std::unique_ptr<batch> take_due(bool no_task);
  void launch_soon(std::unique_ptr<batch> b);
  void launch(std::unique_ptr<batch> b) noexcept;
  bool launch_all(batch& b) noexcept;
  void launch_one_by_one(std::unique_ptr<batch> b) noexcept;
  std::unique_ptr<batch> new_batch(const any_operation& op);
  void keep(std::unique_ptr<batch> b) noexcept;
  void took_out(const batch& b, reason why) noexcept;  // under lock_

  device_core& home_;
  const ticks deadline_;
  std::atomic<unsigned> most_;
  mutable plx::detail::spinlock lock_;
  std::vector<std::unique_ptr<batch>> open_;
  std::vector<std::unique_ptr<batch>> spare_;
  aggregation_counts counts_;
  std::atomic<unsigned> n_open_{0}, in_flight_{0}, refs_{1};
  std::uint64_t poller_ = 0;
};

}  // namespace plx::gpu::detail
