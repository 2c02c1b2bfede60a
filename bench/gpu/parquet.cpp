// The parquet equations of the 2x2 cluster on a device: the products beside cuBLAS alone, and iterations beside those
// of the workers, whose results they must have.
//
//   bench_gpu_parquet [--backend NAME] [--quick] [--nc N,N,...] [--json FILE]
//
// Without --backend the first device of the best backend; if only the cpu is available, one line says so, and there are
// no rows. --nc: fermionic momenta and frequencies, multiples of 8 (64, 128, 256 and 512; --quick: 32 on any backend);
// 512 takes 30 GB of the host.
// Rows for each of them: parquet/gpu/products/ncN, the products of the Bethe-Salpeter equation with the right factors
// and symmetries around them (Tflop/s of the products), parquet/gpu/products/share/ncN (of the rate of the products
// alone), and seconds per iteration with a history of two: parquet/gpu/ncN (vertices on the device),
// parquet/gpu/streamed/ncN (slabs stream through it), parquet/gpu/workers/ncN (no device), parquet/gpu/speedup/ncN. A
// number is the median of five turns; of iterations, of three.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "gpu/buffer.hpp"
#include "gpu/stream.hpp"
#include "gpu_program.hpp"
#include "parquet/device/operations.hpp"
#include "parquet/equations/bethe_salpeter.hpp"
#include "parquet/solver/solver.hpp"
#include "report.hpp"
#include "rt/runtime.hpp"

namespace {

using namespace plx;
using namespace plx::parquet;
using complex = std::complex<double>;

hubbard_model plaquette() {
  const auto lattice = std::make_shared<const qmc::cluster>(qmc::cluster::named("2x2").value());
  return {lattice, {-4, 0, 0, 4}, 2, 0, 2};
}

// The products of a group of slabs on one of several streams.
struct product_group {
  product_group(gpu::device& on, const vertex_grid& grid)
      : stream(on), n(grid.rows(0)), count(4 * grid.n_momenta()), size(static_cast<std::size_t>(n) * n) {
    for (auto* b : {&gamma, &phi, &f, &next}) *b = gpu::buffer<complex>(stream, count * size);
    weights = gpu::buffer<complex>(stream, n);
    partners = gpu::buffer<std::int32_t>(stream, 2 * static_cast<std::size_t>(n));
    change = gpu::buffer<std::uint64_t>(stream, 1);
    std::vector<complex> values(count * size);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = {std::sin(0.7 * static_cast<double>(i % 99991)), 0.5};
    for (const auto* b : {&gamma, &phi, &f}) stream.copy(b->data(), values.data(), b->bytes());
    stream.copy(weights.data(), values.data(), weights.bytes());
    for (const bool hole : {true, false}) {
      const auto own = slab_partners(grid, hole, {0, 0});
      stream.copy(partners.data() + (hole ? 0 : n), own.data(), own.size() * sizeof(std::int32_t));
      stream.wait();
    }
    stream.fill(change.data(), 0, change.bytes());
    stream.wait();
  }
  void multiply() {
    stream.launch(device::multiply, device::multiply_item{gamma.data(), f.data(), next.data(), n, count});
  }
  void solve() {
    std::vector<device::weigh_item> weigh;
    std::vector<device::symmetrize_item> mean;
    for (int i = 0; i < count; ++i) {
      const std::size_t at = static_cast<std::size_t>(i) * size;
      weigh.push_back({gamma.data() + at, phi.data() + at, weights.data(), f.data() + at, n});
      mean.push_back({next.data() + at, partners.data() + (i % 4 < 2 ? 0 : n), change.data(), n, i % 4});
    }
    stream.launch(device::weigh, std::span<const device::weigh_item>(weigh));
    multiply();
    stream.launch(device::symmetrize_slab, std::span<const device::symmetrize_item>(mean));
  }

  gpu::stream stream;
  int n, count;
  std::size_t size;
  gpu::buffer<complex> gamma, phi, f, next, weights;
  gpu::buffer<std::int32_t> partners;
  gpu::buffer<std::uint64_t> change;
};

// Tflop/s of the products: with all that surrounds them, and alone.
void add_products(gpu::device& on, int nc, bool quick, bench::report& report) {
  const vertex_grid grid(plaquette().lattice, nc / 8, 1);
  std::vector<std::unique_ptr<product_group>> groups;
  for (int i = 0; i < 3; ++i) groups.push_back(std::make_unique<product_group>(on, grid));
  const double flops = 8.0 * groups[0]->count * std::pow(groups[0]->n, 3);
  const int repeats = quick ? 1 : std::clamp(static_cast<int>(3e12 / flops), 4, 400);  // some 60 ms
  const auto rate = [&](void (product_group::*f)()) {
    std::vector<double> rates;
    for (int turn = 0; turn <= (quick ? 1 : 5); ++turn) {
      const double begin = monotonic_seconds();
      for (int i = 0; i < repeats; ++i) ((*groups[i % groups.size()]).*f)();
      for (auto& g : groups) g->stream.wait();
      if (turn > 0) rates.push_back(1e-12 * flops * repeats / (monotonic_seconds() - begin));
    }
    return bench::median(rates);
  };
  const double alone = rate(&product_group::multiply), all = rate(&product_group::solve);
  std::printf("# products alone, %d matrices of %d rows a launch: %.4g Tflop/s\n", groups[0]->count, groups[0]->n,
              alone);
  report.add("parquet/gpu/products/nc" + std::to_string(nc), all, "Tflop/s", bench::higher);
  report.add("parquet/gpu/products/share/nc" + std::to_string(nc), all / alone, "of the products alone", bench::higher);
}

// Seconds from iteration to iteration: with the mixing and the propagator.
struct timer final : solver_observer {
  std::vector<double> seconds;
  double residual = 0, last = 0;
  void iterated(const iteration_report& r) override {
    const double now = monotonic_seconds();
    if (r.iteration > 0) seconds.push_back(now - last);
    std::printf("#   iteration %d: %.4g s, %.4g s since the one before, residual %.15g\n", r.iteration, r.seconds,
                r.iteration > 0 ? now - last : 0.0, r.residual);
    std::fflush(stdout);
    residual = r.residual;
    last = now;
  }
};

struct iterations {
  double seconds, residual;
};
iterations iterate(runtime& rt, int nc, gpu::device* on, bool resident) {
  const auto model = plaquette();
  const auto grid = std::make_shared<const vertex_grid>(model.lattice, nc / 8, nc / 8);
  solver_settings s;
  s.iterations = 5;
  s.history = 2;
  s.sigma_frequencies = std::max(128, nc / 8 * 3);
  s.device = on;
  s.resident = resident;
  timer watch;
  const auto done = rt.run([&] { return solve(model, grid, s, watch); });
  if (!done) std::printf("# %s\n", done.error().message.c_str());
  return done ? iterations{bench::median(watch.seconds), watch.residual} : iterations{NAN, NAN};
}

// How many of the results on the device are wrong.
int add_iterations(runtime& rt, gpu::device& on, int nc, bench::report& report) {
  const std::string name = "nc" + std::to_string(nc);
  std::printf("# %s on the device\n", name.c_str());
  const iterations device = iterate(rt, nc, &on, true);
  gpu::trim(on);
  std::printf("# %s, slabs stream\n", name.c_str());
  const iterations streamed = iterate(rt, nc, &on, false);
  gpu::trim(on);
  std::printf("# %s on %u workers\n", name.c_str(), rt.worker_count());
  const iterations workers = iterate(rt, nc, nullptr, false);
  report.add("parquet/gpu/" + name, device.seconds, "s", bench::lower);
  report.add("parquet/gpu/streamed/" + name, streamed.seconds, "s", bench::lower);
  report.add("parquet/gpu/workers/" + name, workers.seconds, "s", bench::lower);
  report.add("parquet/gpu/speedup/" + name, workers.seconds / device.seconds, "of the workers", bench::higher);
  int wrong = 0;
  for (const iterations& one : {device, streamed})
    if (!(std::abs(one.residual - workers.residual) <= 1e-9 * workers.residual)) {
      std::printf("# WRONG: residual %.15g, of the workers %.15g\n", one.residual, workers.residual);
      ++wrong;
    }
  return wrong;
}

std::vector<int> numbers_of(const std::string& list) {
  std::vector<int> numbers;
  for (std::size_t at = 0; at < list.size();) {
    std::size_t end = list.find(',', at);
    if (end == std::string::npos) end = list.size();
    numbers.push_back(std::atoi(list.substr(at, end - at).c_str()));
    at = end + 1;
  }
  return numbers;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::main_of("bench_gpu_parquet", argc, argv, [](bench::report& report) {
    std::string backend;
    std::vector<int> sizes = {64, 128, 256, 512};
    bool quick = false;
    const auto& words = report.rest();
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] == "--quick")
        quick = true;
      else if (words[i] == "--backend" && i + 1 < words.size())
        backend = words[++i];
      else if (words[i] == "--nc" && i + 1 < words.size())
        sizes = numbers_of(words[++i]);
      else
        throw std::runtime_error("'" + words[i] + "': expected --backend NAME, --quick, --nc N,N or --json FILE");
    }
    for (const int nc : sizes)
      if (nc < 8 || nc % 8 != 0) throw std::runtime_error("--nc: expected multiples of 8");
    if (quick) sizes = {32};
    const gpu::backend* b = bench::chosen_backend(backend, "parquet/gpu/*");
    if (b == nullptr) return 0;
    runtime rt;
    gpu::device on(rt, *b);
    std::printf("# device %s\n", std::string(on.label()).c_str());
    int wrong = 0;
    for (const int nc : sizes) {
      add_products(on, nc, quick, report);
      gpu::trim(on);
      wrong += add_iterations(rt, on, nc, report);
    }
    return wrong;
  });
}
