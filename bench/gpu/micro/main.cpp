// Cost of a launch, an event, a future, a buffer and a batch on a device. Without a device, one line gives the reason.
//
//   bench_gpu_micro [--backend NAME] [--device N] [--no-batches] [--emulated] [--json FILE]
//
// --no-batches: no executors, buffers and batches. --emulated: only the overhead of the runtime per future of an
// emulated device (emulated.cpp), which needs no GPU.
#include <charconv>
#include <cstdio>
#include <string>
#include <system_error>

#include "gpu/micro/parts.hpp"

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
    plx::bench::emulated_costs(r);
    if (emulated) return r.finish();
    std::vector<std::string> why_not;
    const plx::gpu::backend& b = name.empty() ? plx::gpu::best_backend(&why_not) : plx::gpu::find_backend(name);
    if (name.empty() && b.name == "cpu") {
      std::printf("# rows gpu/* are left out: %s\n",
                  why_not.empty() ? "no backend but cpu was built" : why_not.front().c_str());
      return r.finish();
    }
    {
      plx::runtime rt({.workers = 1});
      const plx::gpu::device d(rt, b, index);
      std::printf("# %s device %.*s, driver %s, %u multiprocessors\n", std::string(b.name).c_str(),
                  static_cast<int>(d.label().size()), d.label().data(), d.info().driver.c_str(),
                  d.info().multiprocessors);
    }
    const double seen_us = plx::bench::bare_costs(r, b, index);
    plx::bench::future_costs(r, b, index, seen_us);
    if (batches) plx::bench::batch_costs(r, b, index);
  } catch (const plx::gpu::error& e) {
    std::fprintf(stderr, "bench_gpu_micro: %s\n", e.what());
    return 1;
  }
  return r.finish();
}
