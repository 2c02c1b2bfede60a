// Calls of the backend, by one thread, without a runtime.
#include <atomic>

#include "gpu/micro/parts.hpp"
#include "gpu/testing/operations.hpp"

namespace plx::bench {
namespace {

using namespace plx::gpu;
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

}  // namespace

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

}  // namespace plx::bench
