// An executor that combines many launches of one operation into one.
//
//   plx::gpu::aggregating_executor together(gpu, {.most = 64});
//   plx::future<void> f = plx::async(together, add, item);   // from any task, for any item
//
// A batch of an operation is launched when it is full; when this executor has nothing else running on the device, which
// would be idle otherwise; when its first item has waited for `deadline_s`; and when no worker has a task left that
// could add to it. Items are data and are grouped for each launch, so tasks may call different operations in any order
// and number; no item waits for another one that is never submitted. Each item has its own future and its own error: if
// a batch is refused, its items are launched one by one.
//
// Thread safety: all functions; copies share the batches. Requires: the device outlives the last use of any copy.
// Cost: per item a lock, a copy of the item and an allocation for the future; per batch a launch and a completion
// (measured by bench/gpu). Errors: as for executor. Example: gpu/core/test/aggregating_executor_test.cpp
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/executor.hpp"

namespace plx::gpu {

struct aggregation_options {
  unsigned most = 64;          // maximum number of items per launch
  double deadline_s = 100e-6;  // maximum time that an item waits for others
};

/// Totals since the executor was created.
struct aggregation_counts {
  std::uint64_t items = 0, launches = 0;
  std::uint64_t full = 0, idle_device = 0, late = 0, no_task = 0;  // launches by reason
  std::uint64_t largest = 0;                                       // largest launch, in items
};

namespace detail {
class aggregator;
}

class aggregating_executor {
 public:
  explicit aggregating_executor(device& d, aggregation_options o = {});

  /// Launches the items collected so far.
  void flush() const;
  /// Sets the maximum number of items per launch (at least 1) for later launches.
  void set_most(unsigned most) const noexcept;
  [[nodiscard]] aggregation_counts counts() const noexcept;

  /// For internal use.
  [[nodiscard]] plx::future<void> launch(const any_operation& op, const void* item) const;
  void launch_unheard(const any_operation& op, const void* item) const noexcept;

 private:
  std::shared_ptr<detail::aggregator> shared_;
};

}  // namespace plx::gpu
