// Kokkos loops with futures: on the host they run as tasks, on a device in its streams.
#include <cstdio>
#include <vector>

#include "gpu/kokkos/parallel.hpp"
#include "gpu/kokkos/view.hpp"
#include "rt/runtime.hpp"
#include "rt/when.hpp"

namespace kk = plx::kokkos;

// For any execution space: Kokkos::Serial, Kokkos::OpenMP, Kokkos::Cuda, ...
template <class Space>
void two_sums(kk::space<Space>& on) {
  constexpr int n = 10'000;
  kk::instance<Space> in = on.take();                // work in one instance runs in order
  const kk::recycled_view<double*, Space> x(in, n);  // recycled memory, released after that work
  const auto v = x.view();
  auto filled = kk::async_parallel_for(
      in, "fill", n, KOKKOS_LAMBDA(int i) { v(i) = i; });
  auto sum = kk::async_parallel_reduce<double>(
      in, "sum", n, KOKKOS_LAMBDA(int i, double& s) { s += v(i); });
  auto largest = kk::async_parallel_reduce<Kokkos::Max<double>>(
      in, "largest", n, KOKKOS_LAMBDA(int i, double& s) { s = s < v(i) ? v(i) : s; });
  filled.get();
  std::printf("sum %.0f, largest %.0f\n", sum.get(), largest.get());
}

// Small loops of many tasks, each in the least loaded instance.
template <class Space>
void many_small_loops(kk::space<Space>& on) {
  std::vector<plx::future<long>> all;
  for (int k = 1; k <= 100; ++k)
    all.push_back(kk::async_parallel_reduce<long>(
        on, "small", k, KOKKOS_LAMBDA(int i, long& s) { s += i; }));
  auto total = plx::when_all(std::move(all)).then([](auto done) {
    long sum = 0;
    for (auto& f : done.get()) sum += f.get();
    return sum;
  });
  std::printf("100 loops: %ld\n", total.get());
}

int main() {
  const kk::guard kokkos;  // initializes and finalizes Kokkos
  plx::runtime rt({.workers = 2});
  kk::space<Kokkos::DefaultHostExecutionSpace> on(rt);
  rt.run([&] {
    two_sums(on);
    many_small_loops(on);
  });
}

// Output:
//   sum 49995000, largest 9999
//   100 loops: 166650
