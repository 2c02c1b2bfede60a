// The parts of bench_gpu_micro, and what they share.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "gpu/device.hpp"
#include "report.hpp"
#include "rt/runtime.hpp"

namespace plx::bench {

/// Microseconds on the clock of this process.
inline double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The median over `turns` of the microseconds that f() takes; a few calls before do not count.
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

/// Calls of the backend alone: no runtime takes part. Gives the microseconds from a launch until an event is seen.
double bare_costs(report& r, const gpu::backend& b, int index);
/// Futures in the three ways.
void future_costs(report& r, const gpu::backend& b, int index, double bare_seen_us);
/// Futures of a device that is emulated: what the runtime adds, measured without a card.
void emulated_costs(report& r);
/// Executors, aggregation, graphs, buffers.
void batch_costs(report& r, const gpu::backend& b, int index);

}  // namespace plx::bench
