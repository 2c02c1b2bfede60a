// The parquet equations of the 2x2 cluster: time per iteration, the rotations between two processes in three forms, and
// the products of matrices of the Bethe-Salpeter equation beside the library's own.
//
//   bench_parquet [--json FILE]
//   mpirun -n 2 bench_parquet inside rotation [--json FILE]
//   mpirun -n 2 bench_parquet inside sweep OPTIONS              (parquet_sweep.hpp)
#include <algorithm>
#include <cstdio>
#include <deque>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "net/action.hpp"
#include "net/buffer.hpp"
#include "net/collectives.hpp"
#include "net/core/node.hpp"
#include "net/job.hpp"
#include "num/dense/linear_algebra.hpp"
#include "num/large_vector.hpp"
#include "parquet/distribution/rotation_exchange.hpp"
#include "parquet/equations/bethe_salpeter.hpp"
#include "parquet/solver/solver.hpp"
#include "parquet_sweep.hpp"
#include "report.hpp"
#include "rt/runtime.hpp"

void bench_drop_block(const plx::buffer<std::complex<double>>&) {}

namespace {

using namespace plx;
using namespace plx::parquet;
using complex = std::complex<double>;

constexpr int turns = 7;

hubbard_model plaquette() {
  const auto lattice = std::make_shared<const qmc::cluster>(qmc::cluster::named("2x2").value());
  return {lattice, {-4, 0, 0, 4}, 2, 0, 2};
}

struct timer final : solver_observer {
  std::vector<double> seconds;
  void iterated(const iteration_report& r) override {
    if (r.iteration > 0) seconds.push_back(r.seconds);
  }
};

// Seconds per iteration with nc fermionic momenta and frequencies.
double iteration_s(runtime& rt, int nc) {
  const auto model = plaquette();
  const auto grid = std::make_shared<const vertex_grid>(model.lattice, nc / 8, nc / 8);
  solver_settings settings;
  settings.iterations = turns + 1;
  timer watch;
  const auto done = rt.run([&] { return solve(model, grid, settings, watch); });
  return done ? bench::median(watch.seconds) : 0;
}

// Gflop/s of solve_bethe_salpeter and of the product alone, on one worker; the best of several, because a product takes
// some milliseconds and another program may interrupt it.
void add_products(runtime& rt, bench::report& report) {
  const auto model = plaquette();
  const vertex_grid grid(model.lattice, 32, 1);
  const int n = grid.rows(0);
  std::vector<double> ours, library;
  rt.run([&] {
    const propagator g(model, qmc::matsubara_function(4, 128), 1);
    const auto weights = pair_weights(grid, g, channel::density, {0, 0});
    complex_matrix gamma(n, n), f(n, n), phi(n, n);
    for (int turn = 0; turn < 5 * turns; ++turn) {
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) gamma(i, j) = f(i, j) = complex(1.0 / (1 + i + j), 0.5);
      const double flops = 8e-9 * n * n * n;
      double begin = monotonic_seconds();
      solve_bethe_salpeter(gamma.view(), weights, f, phi);
      ours.push_back(flops / (monotonic_seconds() - begin));
      begin = monotonic_seconds();
      multiply(complex(1), gamma, f, complex(0), phi);
      library.push_back(flops / (monotonic_seconds() - begin));
    }
  });
  const double best = *std::max_element(ours.begin(), ours.end());
  report.add("parquet/bse", best, "Gflop/s", bench::higher);
  report.add("parquet/bse/share", best / *std::max_element(library.begin(), library.end()), "of the product alone",
             bench::higher);
}

// GB/s of reading contributions into a small buffer and adding them to Gamma, on one worker and without messages; the
// best of several.
void add_map(runtime& rt, bench::report& report) {
  const auto model = plaquette();
  const vertex_grid grid(model.lattice, 16, 16);
  double read = 0, added = 0;
  rt.run([&] {
    const propagator g(model, qmc::matsubara_function(4, 128), 1);
    const large_vector<complex> values(grid.size(), complex(1, 2));
    large_vector<complex> gamma(grid.size());
    std::vector<complex> together(rotation_exchange::block_numbers);
    const vertex_reader phi(grid, g, values.data());
    const rotation_map map(grid);
    const auto runs = runs_of(grid, 0, grid.n_slabs());
    for (int turn = 0; turn < 3 * turns; ++turn)
      for (const rotation r : all_rotations) {
        double bytes = 0, read_s = 0, added_s = 0;
        for (const auto& source : runs)
          for (const auto& target : runs) {
            const auto columns = map.columns_of(r, target.frequency, source.frequency);
            const double begin = monotonic_seconds();
            complex* at = together.data();
            for (int c = 0; c < columns.count; ++c) {
              const rotation_map::step s{r, source.frequency, target, columns.first + c};
              map.gather(phi, s, source.momenta, at);
              at += map.size_of(s, source.momenta);
            }
            const double middle = monotonic_seconds();
            bytes += static_cast<double>(at - together.data()) * sizeof(complex);
            at = together.data();
            for (int c = 0; c < columns.count; ++c) {
              const rotation_map::step s{r, source.frequency, target, columns.first + c};
              map.add(at, s, source.momenta, gamma.data(), 0);
              at += map.size_of(s, source.momenta);
            }
            read_s += middle - begin;
            added_s += monotonic_seconds() - middle;
          }
        read = std::max(read, 1e-9 * bytes / read_s);
        added = std::max(added, 1e-9 * bytes / added_s);
      }
  });
  report.add("parquet/rotation/read", read, "GB/s", bench::higher);
  report.add("parquet/rotation/add", added, "GB/s", bench::higher);
}

struct nothing_follows final : rotation_listener {
  void complete(int, bool) override {}
};

// GB/s sent by one process: bytes of rows for the other one over the time of the rotations, local rows and the memory
// where Gamma begins included.
double rotation_gb_s(const vertex_reader& phi, const team& members, rotation_form form) {
  std::vector<double> rates;
  rotation_exchange exchange(phi.grid(), members, form);
  const auto& grid = phi.grid();
  large_vector<complex> gamma(grid.slab_offset(grid.first_slab(members.rank() + 1, 2)) -
                              grid.slab_offset(grid.first_slab(members.rank(), 2)));
  nothing_follows listener;
  for (int turn = 0; turn <= turns; ++turn) {
    const double begin = monotonic_seconds();
    exchange.prepare(phi.green(), gamma.data());
    const double prepared = monotonic_seconds() - begin;
    members.communicator().barrier().get();
    const auto work = exchange.rotate(phi, listener);
    double slowest = 0;
    for (const double s : members.gather(std::vector<double>{prepared + work.seconds})) slowest = std::max(slowest, s);
    if (turn > 0) rates.push_back(1e-9 * work.sent_bytes / slowest);
  }
  members.communicator().barrier().get();
  return bench::median(rates);
}

// The same bytes in messages of the same size, which are received and dropped.
double blocks_gb_s(const team& members, double bytes) {
  std::vector<double> rates;
  const auto n = static_cast<std::size_t>(bytes / sizeof(complex) / rotation_exchange::block_numbers);
  for (int turn = 0; turn <= turns; ++turn) {
    members.communicator().barrier().get();
    const double begin = monotonic_seconds();
    std::deque<future<void>> on_way;
    for (std::size_t i = 0; i < n; ++i) {
      if (on_way.size() == rotation_exchange::blocks_on_way) {
        on_way.front().get();
        on_way.pop_front();
      }
      on_way.push_back(async<&bench_drop_block>(members.communicator().members()[1 - members.rank()],
                                                buffer<complex>(rotation_exchange::block_numbers)));
    }
    for (auto& one : on_way) one.get();
    members.communicator().barrier().get();
    const double seconds = monotonic_seconds() - begin;
    if (turn > 0)
      rates.push_back(1e-9 * static_cast<double>(n * rotation_exchange::block_numbers * sizeof(complex)) / seconds);
  }
  return bench::median(rates);
}

// The same bytes by all_to_all alone.
double transport_gb_s(const team& members, double bytes) {
  std::vector<double> rates;
  for (int turn = 0; turn <= turns; ++turn) {
    std::vector<std::vector<complex>> out(members.size());
    out[1 - members.rank()].resize(static_cast<std::size_t>(bytes) / sizeof(complex));
    members.communicator().barrier().get();
    const double begin = monotonic_seconds();
    members.communicator().all_to_all(out).get();
    const double seconds = monotonic_seconds() - begin;
    if (turn > 0) rates.push_back(1e-9 * bytes / seconds);
  }
  return bench::median(rates);
}

int inside_job(bench::report& report, const std::string& part, std::span<const std::string> rest) {
  // Before the job, so that all of its processes find the same error.
  result<bench::sweep_options> sweep = part == "sweep" ? bench::read_sweep(rest) : bench::sweep_options();
  plx::job job(plx::job_options{.runtime = {.workers = 1}});
  if (job.size() != 2 || (part != "transport" && part != "rotation" && part != "sweep")) {
    std::fprintf(stderr,
                 "bench_parquet: expected `inside transport`, `inside rotation` or `inside sweep` in a job of two\n");
    return 2;
  }
  if (!sweep) {
    if (job.here() == 0) std::fprintf(stderr, "bench_parquet: %s\n", sweep.error().message.c_str());
    return 2;
  }
  if (part == "sweep") return job.run([&] { return bench::sweep_parquet(job, *sweep); });
  if (part == "transport") {
    if (job.here() == 0) std::printf("transport %s\n", std::string(job.node().carrier().name()).c_str());
    job.run([] {});
    return 0;
  }
  job.run([&] {
    const team members{communicator("bench_parquet")};
    const auto model = plaquette();
    const vertex_grid grid(model.lattice, 16, 16);
    const propagator g(model, qmc::matsubara_function(4, 128), 1);
    const int first = grid.first_slab(members.rank(), 2), last = grid.first_slab(members.rank() + 1, 2);
    const large_vector<complex> values(grid.slab_offset(last) - grid.slab_offset(first), complex(1, 2));
    const vertex_reader phi(grid, g, values.data(), first);
    const double packed = rotation_gb_s(phi, members, rotation_form::packed),
                 coalesced = rotation_gb_s(phi, members, rotation_form::coalesced),
                 adaptive = rotation_gb_s(phi, members, rotation_form::adaptive),
                 rows = rotation_gb_s(phi, members, rotation_form::rows), blocks = blocks_gb_s(members, 32e6),
                 transport = transport_gb_s(members, 32e6);
    if (members.rank() != 0) return;
    report.add("parquet/rotation/rows", rows, "GB/s each way", bench::higher);
    report.add("parquet/rotation/coalesced", coalesced, "GB/s each way", bench::higher);
    report.add("parquet/rotation/adaptive", adaptive, "GB/s each way", bench::higher);
    report.add("parquet/rotation/packed", packed, "GB/s each way", bench::higher);
    report.add("parquet/rotation/blocks", blocks, "GB/s each way", bench::higher);
    report.add("parquet/rotation/share", packed / transport, "of the transport", bench::higher);
    report.add("parquet/rotation/rows/share", rows / transport, "of the transport", bench::higher);
    report.add("parquet/rotation/coalesced/share", coalesced / transport, "of the transport", bench::higher);
    report.add("parquet/rotation/transport", transport, "GB/s each way", bench::higher);
  });
  return job.here() == 0 ? report.finish() : 0;
}

}  // namespace

int main(int argc, char** argv) {
  bench::report report(argc, argv);
  const auto& words = report.rest();
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == "inside") {
      try {
        return inside_job(report, words[i + 1], std::span(words).subspan(i + 2));
      } catch (const job_error& e) {
        return e.report("bench_parquet");
      } catch (const std::exception& e) {
        return std::fprintf(stderr, "bench_parquet: %s\n", e.what()), 1;
      }
    }
  {
    runtime rt;
    report.add("parquet/iteration/nc64", iteration_s(rt, 64), "s", bench::lower);
    report.add("parquet/iteration/nc128", iteration_s(rt, 128), "s", bench::lower);
  }
  runtime one({.workers = 1});
  add_products(one, report);
  add_map(one, report);
  return report.finish();
}
