#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "gpu/testing/add_multiply.hpp"
#include "gpu/testing/operation_table.hpp"
#include "gpu/testing/trial.hpp"

namespace plx::gpu::testing {
namespace {

/// Arrays on the device, with no guards.
class arrays : public operation_data {
 public:
  explicit arrays(trial& on) : on_(on) {}

 protected:
  void* place(const void* values, std::size_t n, std::size_t element, bool, array_use) override {
    void* p = on_.allocate(n * element);
    if (values != nullptr && n > 0) {
      on_.copy(p, values, n * element);
      on_.synchronize();
    }
    return p;
  }

 private:
  trial& on_;
};

// Seconds per repetition of the work that put() submits.
template <class F>
double median_seconds(trial& on, F&& put) {
  constexpr double wanted_s = 2e-3;
  constexpr int turns = 5, in_graph = 20;
  put();
  const double once = on.seconds_of(put);
  if (once > 0.1) return once;
  const native_graph g = on.capture([&] {
    for (int i = 0; i < in_graph; ++i) put();
  });
  const int launches = std::clamp(static_cast<int>(wanted_s / (once * in_graph)), 1, 50);
  on.launch(g);
  std::vector<double> all;
  for (int t = 0; t < turns; ++t) {
    const double s = on.seconds_of([&] {
      for (int i = 0; i < launches; ++i) on.launch(g);
    });
    all.push_back(s / (launches * in_graph));
  }
  std::sort(all.begin(), all.end());
  return all[turns / 2];
}

}  // namespace

row_time time_row(const operation_row& r, const backend& b) {
  trial on(b);
  arrays data(on);
  std::vector<std::byte> items;
  row_time t;
  t.cost = r.make(data, items);
  t.seconds = median_seconds(on, [&] { on.launch(*r.op, items); });
  return t;
}

device_limits measure_limits(const backend& b) {
  trial on(b);
  const bool is_device = b.name != "cpu";
  device_limits most;
  const std::size_t bytes = std::size_t{is_device ? 1024u : 64u} << 20;
  void *from = on.allocate(bytes), *to = on.allocate(bytes);
  most.bytes_per_s = 2.0 * static_cast<double>(bytes) / median_seconds(on, [&] { on.copy(to, from, bytes); });

  const std::uint32_t n = 2048 * std::max(on.info().multiprocessors, 1u) * (is_device ? 4 : 1), rounds = 2048;
  const add_multiply_item item{static_cast<double*>(on.allocate(n * sizeof(double))), 0.999, 1e-3, n, rounds};
  std::vector<std::byte> items(sizeof item);
  std::memcpy(items.data(), &item, sizeof item);
  most.flops_per_s =
      2.0 * add_multiply_chains * rounds * n / median_seconds(on, [&] { on.launch(add_multiply, items); });
  return most;
}

std::string row_time_title() {
  return fmt::format("{:<44} {:>10} {:>9} {:>7} {:>10} {:>7}", "operation", "us", "GB/s", "% copy", "GFLOP/s",
                     "% fp64");
}

std::string row_time_line(const operation_row& r, const row_time& t, const device_limits& most) {
  const double bytes = t.cost.bytes / t.seconds, flops = t.cost.flops / t.seconds;
  std::string text = fmt::format("{:<44} {:>10.2f} {:>9.1f} {:>7.1f}", r.name, 1e6 * t.seconds, 1e-9 * bytes,
                                 100 * bytes / most.bytes_per_s);
  if (t.cost.flops == 0) return text + fmt::format(" {:>10} {:>7}", "-", "-");
  return text + fmt::format(" {:>10.1f} {:>7.1f}", 1e-9 * flops, 100 * flops / most.flops_per_s);
}

}  // namespace plx::gpu::testing
