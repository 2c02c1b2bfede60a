// From a launch until a task resumes with its future.
#include "gpu/micro/parts.hpp"
#include "gpu/stream.hpp"
#include "gpu/testing/operations.hpp"

namespace plx::bench {

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

}  // namespace plx::bench
