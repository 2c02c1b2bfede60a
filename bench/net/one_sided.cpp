// Puts and atomic operations on the memory of the other locality, and the same by UCX alone, alternating.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "net/collectives.hpp"
#include "net/job.hpp"
#include "net/window.hpp"
#include "parts.hpp"
#include "raw.hpp"

namespace plx::bench {
namespace {

constexpr struct {
  const char* name;
  std::size_t bytes;
  int puts;  // per turn
} sizes[] = {{"8", 8, 2000},        {"64", 64, 2000},      {"512", 512, 2000},  {"4KiB", 4096, 1000},
             {"64KiB", 65536, 100}, {"1MiB", 1 << 20, 16}, {"4MiB", 4 << 20, 8}};
constexpr std::size_t most_bytes = std::size_t{4} << 20;
constexpr unsigned in_flight = 64;

/// Calls begin(i) for all i below n; at most `window` of the futures that it returns are not ready. Seconds.
template <class F>
double seconds_of(int n, unsigned window, F begin) {
  std::deque<decltype(begin())> under_way;
  begin().get();  // brings the memory into the cache, as with UCX alone
  const double start = monotonic_seconds();
  for (int i = 0; i < n; ++i) {
    under_way.push_back(begin());
    if (under_way.size() < window) continue;
    under_way.front().get();
    under_way.pop_front();
  }
  for (auto& f : under_way) f.get();
  return monotonic_seconds() - start;
}

/// Runs f on the root, with a window that has `n` elements on each locality; the other locality serves it.
template <class T, class F>
void with_window(inside& in, std::size_t n, F f) {
  in.j.run([&] {
    const communicator all;
    const window<T> w(all, n);
    if (all.rank() == 0) f(w);
    all.barrier().get();
  });
}

}  // namespace

void put(inside& in) {
  std::vector<double> ours[std::size(sizes)], ucx[std::size(sizes)];
  with_window<char>(in, most_bytes, [&](const window<char>& w) {
    beside_memory raw(most_bytes);
    const std::vector<char> source(most_bytes, 1);
    for (int i = 0; in.more(i, 200); ++i)
      for (std::size_t k = 0; k < std::size(sizes); ++k) {
        const auto& [name, bytes, n] = sizes[k];
        const std::span<const char> from = std::span(source).first(bytes);
        const double s = seconds_of(n, in_flight, [&] { return w.put(1, 0, from); });
        ours[k].push_back(static_cast<double>(bytes) * n / s / 1e9);
        if (raw.here()) ucx[k].push_back(raw.put_bytes_per_s(n, bytes, in_flight) / 1e9);
      }
  });
  if (in.j.here() != 0) return;
  for (std::size_t k = 0; k < std::size(sizes); ++k) {
    const std::string row = "net/put/bw" + in.suffix + "/" + sizes[k].name;
    in.rows.add(row, median(ours[k]), "GB/s", higher);
    if (!ucx[k].empty()) in.rows.add(row + "/ucx", median(ucx[k]), "GB/s", higher);
  }
}

void atomics(inside& in) {
  constexpr int n = 1000;
  std::vector<double> ours, ucx, ours_one, ucx_one, signals;
  with_window<std::uint64_t>(in, 1, [&](const window<std::uint64_t>& w) {
    beside_memory raw(64);
    for (int i = 0; in.more(i, 400); ++i) {
      ours.push_back(n / seconds_of(n, in_flight, [&] { return w.fetch_add(1, 0, 1); }));
      if (raw.here()) ucx.push_back(raw.additions_per_s(n, in_flight));
      ours_one.push_back(seconds_of(n, 1, [&] { return w.fetch_add(1, 0, 1); }) / n * 1e6);
      if (raw.here()) ucx_one.push_back(1e6 / raw.additions_per_s(n, 1));
      const std::uint64_t value = 1;
      signals.push_back(seconds_of(n / 10, 1, [&] { return w.put_signal(1, 0, std::span(&value, 1)); }) / (n / 10) *
                        1e6);
    }
  });
  if (in.j.here() != 0) return;
  in.rows.add("net/atomics/rate" + in.suffix, median(ours), "operations/s", higher);
  if (!ucx.empty()) in.rows.add("net/atomics/rate" + in.suffix + "/ucx", median(ucx), "operations/s", higher);
  in.rows.add("net/atomics/latency" + in.suffix, median(ours_one), "us", lower);
  if (!ucx_one.empty()) in.rows.add("net/atomics/latency" + in.suffix + "/ucx", median(ucx_one), "us", lower);
  in.rows.add("net/put_signal" + in.suffix, median(signals), "us", lower);
}

}  // namespace plx::bench
