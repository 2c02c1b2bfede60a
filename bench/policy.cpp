// Cost and benefit of policies: a policy that receives every task event; worker-cap on a memory-bound loop and on a
// compute-bound one; loop-grain compared with untuned loops. Two runtimes in one process alternate: one with the
// policy, one without.
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "control/policy.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/settings.hpp"
#include "report.hpp"
#include "rt/for_loop.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"
#include "timing.hpp"

namespace {

using namespace plx;

struct asked {
  bool quick = false;
  unsigned workers = 0;
  std::string only;
};

std::unique_ptr<runtime> make_runtime(const asked& a, const std::string& policies, const std::string& throughput = {}) {
  auto s = std::make_shared<probe::settings>();
  s->policies = policies;
  s->throughput = throughput;
  s->tuning_cache = "none";
  s->output = "/tmp/plx-bench-policy";
  return std::make_unique<runtime>(runtime_options{.workers = a.workers, .measure = std::move(s)});
}

/// A policy that receives the end of every task, and does nothing.
void event_cost(bench::report& report, const asked& a) {
  static const auto name = probe::register_name("bench policy");
  auto rt = make_runtime(a, "");
  const auto ns_per_task = [&] {
    constexpr int tasks = 20'000;
    return 1e9 / tasks * bench::wall_time_of([&] {
             rt->run([] {
               for (int i = 0; i < tasks; ++i) async({name}, [] {}).get();
             });
           });
  };
  std::vector<double> off, on;
  for (int turn = 0; turn < (a.quick ? 3 : 31); ++turn) {
    off.push_back(ns_per_task());
    const auto policy =
        rt->policies().on_event({.name = "watches", .busy = probe::when_busy::join},
                                probe::event_filter::of({probe::task_event_kind::stop}), [](probe::policy_context&) {});
    on.push_back(ns_per_task());
  }
  report.add("policy/event/off", bench::median(off), "ns", bench::lower);
  report.add("policy/event/on", bench::median(on), "ns", bench::lower);
}

/// a[i] = b[i] + s c[i] over arrays much larger than the caches.
struct triad {
  explicit triad(std::size_t n) : a(n, 0.0), b(n, 1.0), c(n, 2.0) {}
  void sweep(std::atomic<std::int64_t>& done) {
    constexpr std::int64_t chunk = 1 << 12;
    for_loop(std::int64_t{0}, static_cast<std::int64_t>(a.size()) / chunk, [&](std::int64_t k) {
      for (std::int64_t i = k * chunk; i < (k + 1) * chunk; ++i) {
        const auto j = static_cast<std::size_t>(i);
        a[j] = b[j] + 3 * c[j];
      }
      done.fetch_add(1, std::memory_order_relaxed);
    });
  }
  std::vector<double> a, b, c;
};

struct computing {
  void sweep(std::atomic<std::int64_t>& done) {
    for_loop(0, 4096, [&](int k) {
      double x = k;
      for (int i = 0; i < 400; ++i) x = std::sqrt(x * x + 1.5);
      sink.store(x, std::memory_order_relaxed);
      done.fetch_add(1, std::memory_order_relaxed);
    });
  }
  std::atomic<double> sink{0};
};

template <class Work>
double rate_of(runtime& rt, Work& work, std::atomic<std::int64_t>& done, double seconds) {
  const std::int64_t before = done;
  const double took = bench::wall_time_of([&] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    rt.run([&] {
      while (std::chrono::steady_clock::now() < end) work.sweep(done);
    });
  });
  return static_cast<double>(done - before) / took;
}

/// Rates of both in alternating turns of a second, after the policy has settled; and the cap that it keeps.
template <class Work>
void worker_cap(bench::report& report, const asked& a, const std::string& name, Work& work) {
  std::atomic<std::int64_t> done{0};
  auto plain = make_runtime(a, "");
  auto followed = make_runtime(a, "worker-cap", "/bench/work");
  const auto counted = followed->counters().add({"/bench/work", "1", "chunks", true}, [&] { return done.load(); });
  const auto cap = followed->actuators().find_as<std::int64_t>("worker-cap").value();
  std::vector<double> without, with, caps;
  for (int turn = 0; turn < (a.quick ? 1 : 3); ++turn) {
    without.push_back(rate_of(*plain, work, done, a.quick ? 0.1 : 1.5));
    rate_of(*followed, work, done, a.quick ? 0.1 : 4);
    with.push_back(rate_of(*followed, work, done, a.quick ? 0.1 : 1.5));
    caps.push_back(static_cast<double>(cap->get()));
  }
  report.add("policy/worker-cap/" + name + "/workers", bench::median(caps),
             "of " + std::to_string(plain->worker_count()), bench::lower);
  report.add("policy/worker-cap/" + name + "/rate", bench::median(with) / bench::median(without), "x without",
             bench::higher);
}

/// Time of a run without the policy relative to one with it, medians of turns, once every place is tuned.
template <class Loop>
void loop_grain(bench::report& report, const asked& a, const std::string& name, Loop loop) {
  auto plain = make_runtime(a, "");
  auto tuned = make_runtime(a, "loop-grain");
  const auto tuning_s = bench::wall_time_of([&] {
    tuned->run([&] {
      for (int i = 0; i < (a.quick ? 10 : 600); ++i) loop();
    });
  });
  std::vector<double> without, with;
  const double plain_s = bench::wall_time_of([&] {
    plain->run([&] {
      for (int i = 0; i < (a.quick ? 10 : 600); ++i) loop();
    });
  });
  const auto ten = [&](runtime& rt) {
    return rt.run([&] {
      return bench::wall_time_of([&] {
        for (int i = 0; i < 10; ++i) loop();
      });
    });
  };
  for (int turn = 0; turn < (a.quick ? 3 : 101); ++turn) {
    without.push_back(ten(*plain));
    with.push_back(ten(*tuned));
  }
  report.add("policy/loop-grain/" + name, bench::median(without) / bench::median(with), "x without", bench::higher);
  report.add("policy/loop-grain/" + name + "/while-tuning", plain_s / tuning_s, "x without", bench::higher);
  for (const auto& d : tuned->actuators().log()->all())
    std::printf("  %s -> %s: %s\n", d.from.c_str(), d.to.c_str(), d.why.c_str());
}

void loops(bench::report& report, const asked& a) {
  static std::vector<double> x(1 << 16, 1.0);
  const auto root = [](int i) { x[static_cast<std::size_t>(i)] = std::sqrt(x[static_cast<std::size_t>(i)] + 1); };
  loop_grain(report, a, "even-100us", [&] { for_loop(0, 1 << 15, root); });
  loop_grain(report, a, "uneven", [&] {
    for_loop(0, 2000, [](int i) {
      double v = i;
      for (int k = 0; k < i / 8; ++k) v = std::sqrt(v + 1);
      x[static_cast<std::size_t>(i)] = v;
    });
  });
  loop_grain(report, a, "short-10us", [&] { for_loop(0, 3000, root); });
}

}  // namespace

int main(int argc, char** argv) {
  bench::report report(argc, argv);
  asked a;
  for (std::size_t i = 0; i < report.rest().size(); ++i) {
    const std::string& word = report.rest()[i];
    const bool more = i + 1 < report.rest().size();
    if (word == "--quick") a.quick = true;
    if (word == "--threads" && more) a.workers = static_cast<unsigned>(std::atoi(report.rest()[++i].c_str()));
    if (word == "--only" && more) a.only = report.rest()[++i];
  }
  const auto wanted = [&](const char* part) { return a.only.empty() || a.only == part; };
  if (wanted("event")) event_cost(report, a);
  if (wanted("worker-cap")) {
    triad memory(a.quick ? std::size_t{1} << 20 : std::size_t{1} << 24);
    worker_cap(report, a, "memory", memory);
    computing cpu;
    worker_cap(report, a, "computing", cpu);
  }
  if (wanted("loop-grain")) loops(report, a);
  return report.finish();
}
