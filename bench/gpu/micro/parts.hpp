// The parts of bench_gpu_micro, and common functions.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "gpu/device.hpp"
#include "report.hpp"
#include "rt/runtime.hpp"

namespace plx::bench {

/// Microseconds on this process's clock.
inline double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The median over `turns` of the microseconds that f() takes, after a few warm-up calls.
template <class F>
double median_us(int turns, F&& f) {
  std::vector<double> all;
  for (int i = -turns / 10 - 2; i < turns; ++i) {
    const double begin = now_us();
    f();
    if (i >= 0) all.push_back(now_us() - begin);
  }
  return median(std::move(all));
}

/// Calls of the backend alone, without a runtime. Returns the microseconds from a launch until an event is seen.
double bare_costs(report& r, const gpu::backend& b, int index);
/// Futures with the three ways of completion.
void future_costs(report& r, const gpu::backend& b, int index, double bare_seen_us);
/// Futures of an emulated device: the overhead of the runtime, measured without a GPU.
void emulated_costs(report& r);
/// Executors, aggregation, graphs, buffers.
void batch_costs(report& r, const gpu::backend& b, int index);

}  // namespace plx::bench
