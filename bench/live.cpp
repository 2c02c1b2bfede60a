// Cost of the live page's server, by number of workers whose flight rings are full: CPU time and bytes of an answer.
//
// live/poll/N: an answer of /poll.json as the page requests it each second; live/poll/N/every-counter: with the
// counters of every worker; live/poll/N/single-rows: without grouping of workers, as for ./plx top. Example:
// docs/probe.md.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "probe/counters/standard_counters.hpp"
#include "probe/live/live_server.hpp"
#include "report.hpp"

namespace {

using namespace plx;
using namespace plx::probe;

constexpr std::size_t ring_records = default_flight_records;
constexpr double window_s = 2;

/// CPU time of this thread: other programs may take its core.
double cpu_s() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Workers whose rings are full of slices of the last two seconds, of eight names.
class busy_workers {
 public:
  explicit busy_workers(unsigned workers) : recorder_(workers) { recorder_.flight(ring_records); }
  recorder& all() { return recorder_; }
  /// Records the slices since the last call.
  void go_on() {
    const ticks until = now_ticks(), each = ticks_from(window_s / static_cast<double>(ring_records));
    for (; at_ + each < until; at_ += each, ++n_)
      for (unsigned w = 0; w < recorder_.worker_count(); ++w)
        recorder_.worker(w).record({.name = static_cast<name_id>(1 + (n_ * 7919 >> 5) % 8),
                                    .begin = at_,
                                    .end = at_ + each / 2 + (n_ * 31 + w) % (each / 2)});
  }

 private:
  recorder recorder_;
  ticks at_ = now_ticks() - ticks_from(window_s);
  std::uint64_t n_ = 0;
};

void measure(bench::report& report, unsigned workers, int turns) {
  counter_registry counters;
  busy_workers busy(workers);
  const auto machine = add_machine_counters(counters), own = add_recorder_counters(counters, busy.all());
  const auto waits = add_wait_counters(counters, busy.all());
  live_pages pages(busy.all(), counters, nullptr);
  const std::string authorization = "Bearer " + pages.token().text();
  const std::pair<const char*, const char*> queries[] = {
      {"", "rows=32&each=0"}, {"/every-counter", "rows=32&each=1"}, {"/single-rows", "each=0"}};
  for (const auto& [name, fields] : queries) {
    std::vector<double> ms;
    std::size_t bytes = 0;
    const auto poll = [&, fields = fields](std::uint64_t catalog) {
      const std::string query = fmt::format("window_s={}&catalog={}&{}", window_s, catalog, fields);
      return *pages
                  .answer({.path = "/poll.json", .query = query, .host = "127.0.0.1", .authorization = authorization},
                          false)
                  .body;
    };
    const std::string first = poll(0);  // with the list of counters, whose number the page then sends
    const std::uint64_t catalog = std::stoull(first.substr(first.find("\"catalog\":") + 10));
    for (int i = 0; i < turns; ++i) {
      for (int call = 0; call < 5; ++call) busy.go_on();  // one that records much takes long
      const double begin_s = cpu_s();
      bytes = poll(catalog).size();
      ms.push_back(1e3 * (cpu_s() - begin_s));
      std::this_thread::sleep_for(std::chrono::milliseconds(210));  // an answer is kept for a fifth of a second
    }
    report.add(fmt::format("live/poll/{}{}", workers, name), bench::median(ms), "ms", bench::lower);
    report.add(fmt::format("live/poll/{}{}/bytes", workers, name), static_cast<double>(bytes) / 1024, "KiB",
               bench::lower);
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::report report(argc, argv);
  const bool quick = std::count(report.rest().begin(), report.rest().end(), "--quick") != 0;
  for (int i = 1; i <= 8; ++i) register_name(fmt::format("bench.live.{}", i));
  for (const unsigned workers : {2u, 16u, 128u}) measure(report, workers, quick ? 1 : 11);
  return report.finish();
}
