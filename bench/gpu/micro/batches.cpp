// Executors, aggregation, buffers.
#include <algorithm>

#include "gpu/aggregating_executor.hpp"
#include "gpu/buffer.hpp"
#include "gpu/micro/parts.hpp"
#include "gpu/testing/operations.hpp"

namespace plx::bench {
namespace {

using gpu::testing::spin_item;

/// Microseconds per item: every worker has a task that launches its share and waits for all of it.
template <class On>
double per_item(plx::runtime& rt, const On& on, unsigned items, std::uint64_t kernel_ns) {
  const unsigned tasks = rt.worker_count(), each = items / tasks;
  return median_us(9,
                   [&] {
                     rt.run([&] {
                       std::vector<plx::future<void>> all;
                       for (unsigned t = 0; t < tasks; ++t)
                         all.push_back(plx::async([&] {
                           std::vector<plx::future<void>> mine;
                           mine.reserve(each);
                           for (unsigned i = 0; i < each; ++i)
                             mine.push_back(plx::async(on, gpu::testing::spin, spin_item{kernel_ns, nullptr, 0}));
                           for (auto& f : mine) f.get();
                         }));
                       for (auto& f : all) f.get();
                     });
                   }) /
         (each * tasks);
}

void buffer_costs(report& r, plx::runtime& rt, gpu::device& d) {
  constexpr int n = 10'000;
  double taken = 0;
  rt.run([&] {
    gpu::stream s(d);
    taken = median_us(21, [&] {
      for (int i = 0; i < n; ++i) gpu::buffer<double> b(s, 1000);
    });
  });
  r.add("gpu/buffer/get_put", 1e3 * taken / n, "ns", lower);
}

}  // namespace

void batch_costs(report& r, const gpu::backend& b, int index) {
  for (const unsigned workers : {1u, 4u, 8u}) {
    plx::runtime rt({.workers = workers});
    gpu::device d(rt, b, index);
    const std::string suffix = "/w" + std::to_string(workers);
    if (workers == 1) buffer_costs(r, rt, d);
    r.add("gpu/item/executor" + suffix, per_item(rt, gpu::executor(d), 2048, 0), "us", lower);
    for (const unsigned most : {16u, 64u, 512u}) {
      const gpu::aggregating_executor on(d, {.most = most});
      r.add("gpu/item/aggregated" + std::to_string(most) + suffix, per_item(rt, on, 8192, 0), "us", lower);
      const gpu::aggregation_counts c = on.counts();
      std::printf("#   %.1f items per launch (%llu full, %llu device idle, %llu late, %llu no task left)\n",
                  static_cast<double>(c.items) / static_cast<double>(c.launches),
                  static_cast<unsigned long long>(c.full), static_cast<unsigned long long>(c.idle_device),
                  static_cast<unsigned long long>(c.late), static_cast<unsigned long long>(c.no_task));
    }
  }
}

}  // namespace plx::bench
