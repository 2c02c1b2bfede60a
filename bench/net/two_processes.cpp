// The parts that need two processes.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <complex>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "net/action.hpp"
#include "net/coalescing.hpp"
#include "net/collectives.hpp"
#include "net/job.hpp"
#include "net/locality.hpp"
#include "parts.hpp"
#include "raw.hpp"

namespace plx::bench {

// An empty call and its answer, one at a time; and the same with messages of UCX alone, alternating.
namespace {

void nothing() {}

constexpr int trips = 200;

double call_us() {
  for (int i = 0; i < 10; ++i) async<&nothing>(1).get();
  const double begin = monotonic_seconds();
  for (int i = 0; i < trips; ++i) async<&nothing>(1).get();
  return (monotonic_seconds() - begin) / trips * 1e6;
}

}  // namespace

void round_trip(inside& in) {
  std::vector<double> calls, messages;
  in.j.run_root([&] {
    beside_ucx ucx;
    for (int i = 0; in.more(i, 500); ++i) {
      calls.push_back(call_us());
      if (ucx.here()) messages.push_back(ucx.round_trip_us(trips));
    }
  });
  if (in.j.here() != 0) return;
  in.rows.add("net/rtt" + in.suffix, median(calls), "us", lower);
  if (!messages.empty()) in.rows.add("net/rtt_ucx" + in.suffix, median(messages), "us", lower);
}

// Independent small calls with a result, by both localities concurrently: calls per second and direction.
namespace {

using number = std::complex<double>;
number conjugate(number z) { return std::conj(z); }

constexpr struct {
  const char* name;
  coalescing how;
  int calls;  // per turn
} ways[] = {
    {"direct", {.parcels = 1}, 2'560},
    {"selfclock", self_clocking, 20'480},
    {"static128", {.parcels = 128, .interval_us = 1000}, 20'480}};  // whole messages: the last one does not wait

/// Calls per second of this locality.
double rate(int calls) {
  static std::vector<future<number>> results;
  results.clear();
  results.reserve(calls);
  const locality_id other = 1 - find_here();
  const double begin = monotonic_seconds();
  for (int i = 0; i < calls; ++i) results.push_back(async<&conjugate>(other, number(i, 1)));
  for (auto& r : results) r.wait();
  return calls / (monotonic_seconds() - begin);
}

}  // namespace

void rates(inside& in) {
  std::vector<double> seen[std::size(ways)];
  in.j.run([&] {
    const communicator all;
    for (int i = 0; all.broadcast(in.more(i, 60)).get(); ++i)
      for (std::size_t k = 0; k < std::size(ways); ++k) {
        all.barrier().get();
        coalesce_all(ways[k].how);  // flushes pending parcels, so that messages start with the calls
        const double mine = rate(ways[k].calls);
        coalesce_all(self_clocking);
        const double slower = all.all_reduce(mine, minimum()).get();
        if (i > 0) seen[k].push_back(slower);  // the first turn allocates memory
      }
  });
  if (in.j.here() != 0) return;
  for (std::size_t k = 0; k < std::size(ways); ++k) {
    std::printf("# %s: best %.3g calls/s\n", ways[k].name, *std::max_element(seen[k].begin(), seen[k].end()));
    in.rows.add("net/rate" + in.suffix + "/" + ways[k].name, median(seen[k]), "calls/s per direction", higher);
  }
}

// Calls with an argument of 64 MiB, four in flight (and one, and two), compared with messages of UCX alone, to one
// buffer or to four, and with copies within a process. The data of a call arrive in memory released by earlier calls;
// of four calls in flight the transport holds two, because it sends no more at a time (net/parcels/parcel_port.hpp).
//
// In addition to times there are two counts of the receiver that do not depend on other load of the machine: page
// faults (memory that was not reused) and how often it slept per call.
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

// The sum of a double over both localities, one at a time; and the same with the installed MPI, alternating.
namespace {

constexpr int reductions = 500;

double ours(const communicator& all) {
  all.barrier().get();
  const double begin = monotonic_seconds();
  for (int i = 0; i < reductions; ++i) all.all_reduce(1.0, std::plus<>()).get();
  return (monotonic_seconds() - begin) / reductions * 1e6;
}

}  // namespace

void all_reduce(inside& in) {
  std::vector<double> plx_us, mpi_us;
  in.j.run([&] {
    const communicator all;
    const bool both = all.all_reduce(in.mpi != nullptr ? 1 : 0, minimum()).get() != 0;
    for (int i = 0; all.broadcast(in.more(i, 400)).get(); ++i) {
      plx_us.push_back(ours(all));
      if (both) mpi_us.push_back(in.mpi->all_reduce(reductions) / reductions * 1e6);
    }
  });
  if (in.j.here() != 0) return;
  in.rows.add("net/allreduce" + in.suffix + "/plx", median(plx_us), "us", lower);
  if (!mpi_us.empty()) in.rows.add("net/allreduce" + in.suffix + "/mpi", median(mpi_us), "us", lower);
}

// All localities but one make calls of 10 us faster than that one can run them: by how much its memory grows, and how
// many calls run per second. Without flow control it would grow by some 300 bytes per call.
namespace {

void take_10us() {
  for (const ticks begin = now_ticks(), span = ticks_from(10e-6); now_ticks() - begin < span;) {
  }
}
long peak_kib() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return u.ru_maxrss;
}

}  // namespace

void flood(inside& in) {
  const int n = in.quick ? 20'000 : in.calls;
  const unsigned senders = in.j.size() - 1;
  long before = 0, after = 0;
  in.j.run_root([&] {
    for (int i = 0; i < 1000; ++i) post<&nothing>(1);  // memory that is allocated once
    before = async<&peak_kib>(1).get();
  });
  const double begin = monotonic_seconds();
  in.j.run([n] {
    for (int i = 0; i < n && find_here() != 1; ++i) post<&take_10us>(1);
  });
  const double span = monotonic_seconds() - begin;
  in.j.run_root([&] { after = async<&peak_kib>(1).get(); });
  if (in.j.here() != 0) return;
  const std::string many = senders == 1 ? "" : fmt::format("/{}", senders);
  in.rows.add("net/flood/memory" + many + in.suffix, static_cast<double>(after - before) / 1024, "MiB", lower);
  in.rows.add("net/flood/rate" + many + in.suffix, senders * (n / span), "calls/s", higher);
}

}  // namespace plx::bench
