// Calls with an argument of 64 MiB, four in flight (and one, and two), compared with messages of UCX alone, to one
// buffer or to four, and with copies within a process. The data of a call arrive in memory released by earlier calls;
// of four calls in flight the transport holds two, because it sends no more at a time (net/parcels/parcel_port.hpp).
//
// In addition to times there are two counts of the receiver that do not depend on other load of the machine: page
// faults (memory that was not reused) and how often it slept per call.
#include <sys/resource.h>

#include <cstdio>
#include <cstring>
#include <deque>
#include <vector>

#include "base/clock.hpp"
#include "beside_ucx.hpp"
#include "net/action.hpp"
#include "net/job.hpp"
#include "parts.hpp"

namespace plx::bench {
namespace {

constexpr std::size_t bytes = std::size_t{64} << 20;

std::uint64_t swallow(const buffer<char>& b) { return b.size(); }

/// Page faults of this process, and how often its threads went to sleep.
std::vector<double> used_there() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return {static_cast<double>(u.ru_minflt + u.ru_majflt), static_cast<double>(u.ru_nvcsw)};
}

double calls_per_s(int n, const buffer<char>& argument, std::size_t window) {
  std::deque<future<std::uint64_t>> under_way;
  const double begin = monotonic_seconds();
  for (int i = 0; i < n; ++i) {
    under_way.push_back(async<&swallow>(1, argument));
    if (under_way.size() < window) continue;
    under_way.front().get();
    under_way.pop_front();
  }
  for (auto& f : under_way) f.get();
  return n / (monotonic_seconds() - begin);
}

double copies_per_s(int n, std::vector<char>& to, const buffer<char>& from) {
  const double begin = monotonic_seconds();
  for (int i = 0; i < n; ++i) {
    std::memcpy(to.data(), from.data(), bytes);
    asm volatile("" ::"r"(to.data()) : "memory");
  }
  return n / (monotonic_seconds() - begin);
}

}  // namespace

void bandwidth(inside& in) {
  constexpr double gb = static_cast<double>(bytes) / 1e9;
  std::vector<double> calls, one, two, messages, apart, copies, faults, sleeps;
  in.j.run_root([&] {
    beside_ucx ucx;
    const buffer<char> argument(bytes);
    std::memset(argument.data(), 1, bytes);
    std::vector<char> copy(bytes, 2);
    const int n = in.quick ? 4 : 10;
    for (int i = 0; in.more(i, 11); ++i) {
      const auto before = async<&used_there>(1).get();
      calls.push_back(gb * calls_per_s(n, argument, 4));
      const auto after = async<&used_there>(1).get();
      faults.push_back((after[0] - before[0]) / n);
      sleeps.push_back((after[1] - before[1]) / n);
      if (ucx.here()) messages.push_back(ucx.bytes_per_s(n, bytes) / 1e9);
      one.push_back(gb * calls_per_s(n, argument, 1));
      two.push_back(gb * calls_per_s(n, argument, 2));
      if (ucx.here()) apart.push_back(ucx.bytes_per_s(n, bytes, 4) / 1e9);
      copies.push_back(gb * copies_per_s(n, copy, argument));
    }
  });
  if (in.j.here() != 0) return;
  in.rows.add("net/bw64MiB" + in.suffix, median(calls) / median(messages.empty() ? copies : messages), "", higher);
  in.rows.add("net/bw64MiB" + in.suffix + "/calls", median(calls), "GB/s", higher);
  in.rows.add("net/bw64MiB" + in.suffix + "/calls_one", median(one), "GB/s", higher);
  in.rows.add("net/bw64MiB" + in.suffix + "/calls_two", median(two), "GB/s", higher);
  if (!messages.empty()) in.rows.add("net/bw64MiB" + in.suffix + "/ucx", median(messages), "GB/s", higher);
  if (!apart.empty()) in.rows.add("net/bw64MiB" + in.suffix + "/ucx_four", median(apart), "GB/s", higher);
  in.rows.add("net/bw64MiB" + in.suffix + "/faults", median(faults), "per call", lower);
  in.rows.add("net/bw64MiB" + in.suffix + "/sleeps", median(sleeps), "per call", lower);
  in.rows.add("net/bw64MiB" + in.suffix + "/memcpy", median(copies), "GB/s", higher);
}

}  // namespace plx::bench
