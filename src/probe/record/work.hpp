// The work that a program states for its tasks, for the roofline of its task types (docs/probe.md, "Roofline").
//
// Thread safety: all functions. Cost: a relaxed load while no runtime counts work; otherwise some 5 ns.
// Example: probe/monitor/test/task_counts_test.cpp
#pragma once

#include <atomic>

namespace plx::probe {

class slice_counts;  // slice_counts.hpp

namespace detail {

/// The number of runtimes that count stated work.
inline std::atomic<unsigned> work_wanted{0};
/// Set by the runtime: where counts of the calling thread's running task go; null outside of tasks.
inline std::atomic<slice_counts* (*)() noexcept> counts_of_running_task{nullptr};
void add_work(double flops, double bytes) noexcept;

}  // namespace detail

/// States that the running task does, or has just done, `flops` floating-point operations, and moves `bytes` between
/// memory and the processor; both add up per task type. No effect outside of tasks, and unless `--plx:roofline` is set.
/// Bytes are those that the task must move: data that caches do not keep for it, once each, and what it writes without
/// reading twice, because the processor reads a line of memory before it changes a part of it.
inline void count_work(double flops, double bytes) noexcept {
  if (detail::work_wanted.load(std::memory_order_relaxed) != 0) [[unlikely]]
    detail::add_work(flops, bytes);
}

}  // namespace plx::probe
