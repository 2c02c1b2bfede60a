// Slices of tasks as ranges of other tools, which then show task types by name: NVTX for NVIDIA's tools, and static
// probes (USDT) for bpftrace, perf and SystemTap.
//
// NVTX: each slice is a range of its worker's thread, in the domain "plx", with the task's key as payload. The tool is
// loaded by NVTX itself (NVTX_INJECTION64_PATH, which the tool sets); without one a range costs a few ns.
// USDT: probes parallax:task_begin(name, key, worker) and parallax:task_end(name, key, worker, finished) of a slice; a
// probe without a tool is a nop.
// Both need the tool's headers when Parallax is built (nvtx3/nvToolsExt.h, sys/sdt.h) and nothing when it runs.
// Thread safety: on_event() by any worker; the rest by one thread. Cost: none without it; with it a virtual call for
// each event of a task. Example: probe/ranges/test/range_output_test.cpp
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "probe/record/task_event.hpp"

namespace plx::probe {

/// Why ranges of `kinds` ("nvtx,usdt") are not available in this build, in one line; "" if they are.
std::string ranges_unavailable(std::string_view kinds);

class range_output final : public task_observer {
 public:
  /// Requires: ranges_unavailable(kinds) is "".
  explicit range_output(std::string_view kinds);
  ~range_output();
  range_output(const range_output&) = delete;
  range_output& operator=(const range_output&) = delete;

  /// Passes events on to another observer as well; null: to none.
  void pass_to(task_observer* next) noexcept { next_.store(next, std::memory_order_release); }
  void on_event(const task_event& e) noexcept override;

 private:
  struct texts;
  struct nvtx;
  std::atomic<task_observer*> next_{nullptr};  // release: pairs with the acquire of on_event()
  std::unique_ptr<texts> usdt_;                // null: not requested
  std::unique_ptr<nvtx> nvtx_;
};

}  // namespace plx::probe
