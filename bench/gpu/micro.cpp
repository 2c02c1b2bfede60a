// Cost of a launch, an event, a future, a buffer and a batch on a device. Without a device, one line gives the reason.
//
//   bench_gpu_micro [--backend NAME] [--device N] [--no-batches] [--emulated] [--json FILE]
//
// --no-batches: no executors, buffers and batches. --emulated: only the overhead of the runtime per future of an
// emulated device, which needs no GPU.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <string>
#include <system_error>
#include <vector>

#include "gpu/aggregating_executor.hpp"
#include "gpu/buffer.hpp"
#include "gpu/cpu/cpu_backend.hpp"
#include "gpu/device.hpp"
#include "gpu/stream.hpp"
#include "gpu/testing/operations.hpp"
#include "gpu_program.hpp"
#include "report.hpp"
#include "rt/runtime.hpp"

namespace plx::bench {
namespace {

using namespace plx::gpu;

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

// ---- Calls of the backend, by one thread, without a runtime.
using gpu::testing::empty_item;

class bare {
 public:
  bare(const backend& table, int index) : b(table) {
    check(b.open(b, index, d));
    check(b.make_stream(d, s));
    check(b.make_event(d, false, e));
    check(b.allocate(d, memory_kind::pinned, 1 << 20, host));
    check(b.allocate(d, memory_kind::device, 1 << 20, there));
  }
  ~bare() {
    b.release(d, memory_kind::pinned, host);
    b.release(d, memory_kind::device, there);
    b.free_event(d, e);
    b.free_stream(d, s);
    b.close(d);
  }
  void check(const outcome& o) const {
    if (!o) throw make_error(b, o, "", "");
  }
  void launch() const {
    const empty_item item{0};
    check(b.launch(d, gpu::testing::empty, {s, nullptr, nullptr}, &item, 1, nullptr));
  }
  void finish() const { check(b.synchronize(d, s)); }
  void wait_for_event() const {
    for (bool done = false; !done;) check(b.query(d, e, done));
  }

  const backend& b;
  native_device d = nullptr;
  native_stream s = nullptr;
  native_event e = nullptr;
  void *host = nullptr, *there = nullptr;
};

// Medians of single calls: the stream must not fill, which would make the caller wait.
template <class F>
double alone(const bare& on, F&& f, int calls = 100) {
  std::vector<double> all;
  for (int turn = 0; turn < 21; ++turn) {
    on.finish();
    const double begin = now_us();
    for (int i = 0; i < calls; ++i) f();
    all.push_back((now_us() - begin) / calls);
  }
  on.finish();
  return median(std::move(all));
}

void graph_costs(report& r, const bare& on) {
  for (const int nodes : {1, 10, 80}) {
    on.check(on.b.begin_capture(on.d, on.s));
    for (int i = 0; i < nodes; ++i) on.launch();
    native_graph g = nullptr;
    on.check(on.b.end_capture(on.d, on.s, g));
    const auto launch = [&] { on.check(on.b.launch_graph(on.d, g, on.s)); };
    r.add("gpu/graph/launch" + std::to_string(nodes), alone(on, launch, 20), "us", lower);
    on.finish();
    on.b.free_graph(on.d, g);
  }
}

double bare_costs(report& r, const backend& b, int index) {
  const bare on(b, index);
  r.add("gpu/launch/empty", alone(on, [&] { on.launch(); }), "us", lower);
  r.add("gpu/event/record", alone(on, [&] { on.check(b.record(on.d, on.e, on.s)); }), "us", lower);
  bool done = false;
  r.add("gpu/event/query_ready", alone(on, [&] { on.check(b.query(on.d, on.e, done)); }), "us", lower);
  {
    const gpu::testing::spin_item spin{20'000'000, nullptr, 0};
    on.check(b.launch(on.d, gpu::testing::spin, {on.s, nullptr, nullptr}, &spin, 1, nullptr));
    on.check(b.record(on.d, on.e, on.s));
    const double begin = now_us();
    for (int i = 0; i < 1000; ++i) on.check(b.query(on.d, on.e, done));
    r.add("gpu/event/query_pending", (now_us() - begin) / 1000, "us", lower);
    on.finish();
  }
  std::atomic<int> called{0};
  const auto call = [](void* n) { static_cast<std::atomic<int>*>(n)->fetch_add(1, std::memory_order_relaxed); };
  r.add("gpu/callback", alone(on, [&] { on.check(b.call(on.d, on.s, call, &called)); }), "us", lower);
  auto* flag = static_cast<std::uint32_t*>(on.host);
  r.add("gpu/flag/write", alone(on, [&] { on.check(b.write_flag(on.d, on.s, flag, 1)); }), "us", lower);
  for (const auto& [name, bytes] : {std::pair("1KiB", 1u << 10), {"1MiB", 1u << 20}})
    r.add(std::string("gpu/copy/") + name,
          alone(
              on, [&] { on.check(b.copy(on.d, on.s, on.there, on.host, bytes)); }, 20),
          "us", lower);
  graph_costs(r, on);
  const double seen = median_us(500, [&] {
    on.launch();
    on.check(b.record(on.d, on.e, on.s));
    on.wait_for_event();
  });
  r.add("gpu/seen/bare_event", seen, "us", lower);
  void* p = nullptr;
  r.add("gpu/allocate/1MiB",
        median_us(30,
                  [&] {
                    on.check(b.allocate(on.d, memory_kind::device, 1 << 20, p));
                    b.release(on.d, memory_kind::device, p);
                  }),
        "us", lower);
  return seen;
}

// ---- From a launch until a task resumes with its future.
void future_costs(report& r, const gpu::backend& b, int index, double bare_seen_us) {
  using gpu::completion_way;
  constexpr std::pair<completion_way, const char*> ways[] = {
      {completion_way::poll, "poll"}, {completion_way::callback, "callback"}, {completion_way::flag, "flag"}};
  for (const unsigned workers : {1u, 4u}) {
    plx::runtime rt({.workers = workers});
    gpu::device d(rt, b, index);
    const std::string suffix = workers == 1 ? "" : "/w" + std::to_string(workers);
    for (const auto& [way, name] : ways) {
      gpu::stream s(d);
      double seen = 0;
      rt.run([&] {
        seen = median_us(500, [&] {
          s.launch(gpu::testing::empty, gpu::testing::empty_item{});
          s.future(way).get();
        });
      });
      r.add(std::string("gpu/seen/") + name + suffix, seen, "us", lower);
      if (way == completion_way::poll) r.add("gpu/future_overhead" + suffix, seen - bare_seen_us, "us", lower);
      // A kernel that takes longer than an idle worker searches before it sleeps.
      rt.run([&] {
        seen = median_us(100, [&] {
          s.launch(gpu::testing::spin, gpu::testing::spin_item{200'000, nullptr, 0});
          s.future(way).get();
        });
      });
      r.add(std::string("gpu/seen200us/") + name + suffix, seen, "us", lower);
    }
    // The cost of future() itself, without waiting for each.
    gpu::stream s(d);
    std::vector<double> all;
    rt.run([&] {
      for (int turn = 0; turn < 21; ++turn) {
        std::vector<plx::future<void>> open;
        open.reserve(100);
        const double begin = now_us();
        for (int i = 0; i < 100; ++i) open.push_back(s.future());
        all.push_back((now_us() - begin) / 100);
        for (auto& f : open) f.get();
      }
    });
    r.add("gpu/future/make" + suffix, median(std::move(all)), "us", lower);
  }
}

// ---- Executors, aggregation, buffers.
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

// ---- Overhead of the runtime per future, without a GPU: calls take the times that were measured on one, and a kernel
// ends a fixed time after its launch. The waits are busy loops on the clock, so that no other thread interferes.
namespace emulation {

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

}  // namespace emulation

}  // namespace
}  // namespace plx::bench

int main(int argc, char** argv) {
  plx::bench::report r(argc, argv);
  std::string name;
  int index = 0;
  bool emulated = false, batches = true;
  const auto& rest = r.rest();
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == "--emulated") {
      emulated = true;
    } else if (rest[i] == "--no-batches") {
      batches = false;
    } else if (rest[i] == "--backend" && i + 1 < rest.size()) {
      name = rest[++i];
    } else if (rest[i] == "--device" && i + 1 < rest.size()) {
      const std::string& number = rest[++i];
      const auto [end, wrong] = std::from_chars(number.data(), number.data() + number.size(), index);
      if (wrong != std::errc() || end != number.data() + number.size()) {
        std::fprintf(stderr, "bench_gpu_micro: --device is '%s': expected a number\n", number.c_str());
        return 2;
      }
    } else {
      std::fprintf(
          stderr,
          "bench_gpu_micro: '%s': expected --backend NAME, --device N, --no-batches, --emulated or --json FILE\n",
          rest[i].c_str());
      return 2;
    }
  }
  try {
    plx::bench::emulation::emulated_costs(r);
    if (emulated) return r.finish();
    const plx::gpu::backend* b = plx::bench::chosen_backend(name, "gpu/*");
    if (b == nullptr) return r.finish();
    {
      plx::runtime rt({.workers = 1});
      const plx::gpu::device d(rt, *b, index);
      std::printf("# %s device %.*s, driver %s, %u multiprocessors\n", std::string(b->name).c_str(),
                  static_cast<int>(d.label().size()), d.label().data(), d.info().driver.c_str(),
                  d.info().multiprocessors);
    }
    const double seen_us = plx::bench::bare_costs(r, *b, index);
    plx::bench::future_costs(r, *b, index, seen_us);
    if (batches) plx::bench::batch_costs(r, *b, index);
  } catch (const plx::gpu::error& e) {
    std::fprintf(stderr, "bench_gpu_micro: %s\n", e.what());
    return 1;
  }
  return r.finish();
}
