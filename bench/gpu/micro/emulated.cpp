// Overhead of the runtime per future, without a GPU: calls take the times that were measured on one, and a kernel ends
// a fixed time after its launch. The waits are busy loops on the clock, so that no other thread interferes.
#include <cstdio>

#include "gpu/cpu/cpu_backend.hpp"
#include "gpu/micro/parts.hpp"
#include "gpu/stream.hpp"
#include "gpu/testing/operations.hpp"

namespace plx::bench {
namespace {

using namespace plx::gpu;

// Microseconds of the calls, docs/gpu.md.
constexpr double launch_us = 3.8, record_us = 0.14, pending_us = 0.13, ready_us = 1.25;
double kernel_us = 7.4;  // from the start of the launch to the end of the kernel; written while nothing runs

struct emulated_event {
  double done_at = 0;
};
double stream_done_at = 0;

void spend(double us) {
  const double until = now_us() + us;
  while (now_us() < until) {
  }
}

outcome make_event(native_device, bool, native_event& e) {
  e = reinterpret_cast<native_event>(new emulated_event);
  return {};
}
void free_event(native_device, native_event e) noexcept { delete reinterpret_cast<emulated_event*>(e); }
outcome record(native_device, native_event e, native_stream) {
  reinterpret_cast<emulated_event*>(e)->done_at = stream_done_at;
  spend(record_us);
  return {};
}
outcome query(native_device, native_event e, bool& done) {
  done = now_us() >= reinterpret_cast<emulated_event*>(e)->done_at;
  spend(done ? ready_us : pending_us);
  return {};
}
outcome launch(native_device, const any_operation&, const gpu::launch&, const void*, unsigned, item_errors) {
  stream_done_at = now_us() + kernel_us;
  spend(launch_us);
  return {};
}

backend emulated() {
  backend b = cpu::table();
  b.make_event = make_event;
  b.free_event = free_event;
  b.record = record;
  b.query = query;
  b.launch = launch;
  b.kernels_fail_alone = false;
  return b;
}

/// Without the runtime: launch, record, query until the event has completed.
double bare_us() {
  native_event e = nullptr;
  make_event(nullptr, false, e);
  const testing::empty_item item{};
  const double seen = median_us(500, [&] {
    launch(nullptr, testing::empty, {}, &item, 1, nullptr);
    record(nullptr, e, nullptr);
    for (bool done = false; !done;) query(nullptr, e, done);
  });
  free_event(nullptr, e);
  return seen;
}

}  // namespace

void emulated_costs(report& r) {
  const backend b = emulated();
  for (const unsigned workers : {1u, 2u, 4u}) {
    std::vector<double> all;
    for (const double us : {5.0, 6.0, 7.0, 7.4, 8.0, 9.0, 10.0, 12.0, 15.0, 20.0, 40.0}) {
      kernel_us = us;
      plx::runtime rt({.workers = workers});
      gpu::device d(rt, b);
      gpu::stream s(d);
      double seen = 0;
      rt.run([&] {
        seen = median_us(500, [&] {
          s.launch(testing::empty, testing::empty_item{});
          s.future().get();
        });
      });
      all.push_back(seen - bare_us());
      std::printf("#   a kernel that ends %.1f us after its launch begins: %.2f us\n", us, all.back());
    }
    r.add("gpu/future_overhead/emulated/w" + std::to_string(workers), median(all), "us", lower);
  }
}

}  // namespace plx::bench
