// Kernels as tasks: a future of a kernel, a kernel that depends on it, and many small launches in a few batches.
#include "19_vector_add.hpp"

#include <cstdio>
#include <vector>

#include "gpu/aggregating_executor.hpp"
#include "gpu/buffer.hpp"
#include "gpu/executor.hpp"
#include "rt/runtime.hpp"

// The reference implementation: one item, on the host.
void vector_add_cpu(const add_item& a) {
  for (std::uint32_t i = 0; i < a.n; ++i) a.z[i] = a.x[i] + a.y[i];
}

namespace gpu = plx::gpu;

void two_sums(gpu::device& device) {
  constexpr std::uint32_t n = 10'000;
  gpu::stream s(device);
  gpu::buffer<double> x(s, n), y(s, n), z(s, n), host(s, n, gpu::memory_kind::pinned);
  for (std::uint32_t i = 0; i < n; ++i) host.span()[i] = i;
  s.copy(x.data(), host.data(), x.bytes());
  s.copy(y.data(), host.data(), y.bytes());

  // The second kernel starts when the first has ended, in any stream; only the last line waits.
  const gpu::executor on(device);
  plx::future<void> first = plx::async(on, vector_add, add_item{x.data(), y.data(), z.data(), n}, s.future());
  plx::future<void> second = plx::async(on, vector_add, add_item{z.data(), x.data(), y.data(), n}, std::move(first));
  second.get();
  s.copy(host.data(), y.data(), y.bytes());
  s.future().get();
  std::printf("3 * 9999 = %.0f\n", host.span()[n - 1]);
}

void many_small_sums(gpu::device& device) {
  constexpr std::uint32_t n = 100, sums = 1000;
  gpu::stream s(device);
  gpu::buffer<double> x(s, n), z(s, n * sums);
  s.fill(x.data(), 0, x.bytes());
  s.wait();

  // Any task may add an item, in any order: full batches are launched immediately, others when nothing can be added.
  const gpu::aggregating_executor together(device, {.most = 64});
  std::vector<plx::future<void>> all;
  for (std::uint32_t i = 0; i < sums; ++i)
    all.push_back(plx::async(together, vector_add, add_item{x.data(), x.data(), z.data() + i * n, n}));
  for (auto& f : all) f.get();
  const gpu::aggregation_counts c = together.counts();
  std::printf("%d items, fewer launches: %s\n", static_cast<int>(c.items), c.launches < c.items / 4 ? "yes" : "no");
}

int main() {
  plx::runtime rt({.workers = 2});
  gpu::device device(rt);  // the best available device; without a GPU, threads of the host
  rt.run([&] {
    two_sums(device);
    many_small_sums(device);
  });
}

// Output:
//   3 * 9999 = 29997
//   1000 items, fewer launches: yes
