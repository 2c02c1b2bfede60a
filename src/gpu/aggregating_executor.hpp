// Many launches of one operation become one: an executor that collects items and launches them together.
//
//   plx::gpu::aggregating_executor together(gpu, {.most = 64});
//   plx::future<void> f = plx::async(together, add, item);   // from any task, for any item
//
// A batch of an operation is launched when it is full; when nothing else of this executor runs on the device, which
// would then stand idle; when its first item has waited for `deadline_s`; and when no worker has a task any more that
// could add to it. Items are data and are grouped anew at each launch, so tasks may call different operations in any
// order, and any number of times: no item waits for one that never comes.
// Each item has its own future, and its own error: when a batch is refused, its items are launched one by one.
//
// Thread safety: everything; copies share the batches. Requires: the device outlives the last copy's use.
// Cost: per item a lock, a copy of the item and an allocation of the future; per batch a launch and a completion.
//   bench/gpu tells both. Errors: as executor's. Example: gpu/core/test/aggregating_executor_test.cpp
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/executor.hpp"

namespace plx::gpu {

struct aggregation_options {
  unsigned most = 64;          // items per launch
  double deadline_s = 100e-6;  // how long an item waits for others at most
};

/// What an executor has launched so far.
struct aggregation_counts {
  std::uint64_t items = 0, launches = 0;
  std::uint64_t full = 0, idle_device = 0, late = 0, no_task = 0;  // launches by reason
  std::uint64_t largest = 0;                                       // items of one launch
};

namespace detail {
class aggregator;
}

class aggregating_executor {
 public:
  explicit aggregating_executor(device& d, aggregation_options o = {});

  /// Launches what has been collected so far.
  void flush() const;
  /// From now on so many items per launch; at least 1.
  void set_most(unsigned most) const noexcept;
  [[nodiscard]] aggregation_counts counts() const noexcept;

  /// For the library's own headers.
  [[nodiscard]] plx::future<void> launch(const any_operation& op, const void* item) const;
  void launch_unheard(const any_operation& op, const void* item) const noexcept;

 private:
  std::shared_ptr<detail::aggregator> shared_;
};

}  // namespace plx::gpu
