// The operations for tests in SYCL.
#include <algorithm>

#include "gpu/sycl/kernel.hpp"
#include "gpu/testing/operations.hpp"

namespace plx::gpu::testing {

using sycl::queue_of;
using sycl::with_items;

void add_sycl(const launch& where, const add_item* items, unsigned n) {
  with_items(where, items, n, [&](const auto& list) {
    constexpr std::size_t width = 256;
    queue_of(where).parallel_for(::sycl::range<2>(n, width), [=](::sycl::id<2> at) {
      const add_item& a = list[at[0]];
      for (std::size_t i = at[1]; i < a.n; i += width) a.z[i] = a.x[i] + a.y[i];
    });
  });
}

void add_multiply_sycl(const launch& where, const add_multiply_item* items, unsigned n) {
  with_items(where, items, n, [&](const auto& list) {
    std::uint32_t longest = 1;
    for (unsigned i = 0; i < n; ++i) longest = std::max(longest, items[i].n);
    queue_of(where).parallel_for(::sycl::range<2>(n, longest), [=](::sycl::id<2> at) {
      const add_multiply_item& a = list[at[0]];
      const std::size_t i = at[1];
      if (i >= a.n) return;
      double x[add_multiply_chains];
      for (int c = 0; c < add_multiply_chains; ++c) x[c] = static_cast<double>(i) + c;
      for (std::uint32_t r = 0; r < a.rounds; ++r)
        for (double& v : x) v = v * a.factor + a.term;
      double sum = 0;
      for (const double v : x) sum += v;
      a.out[i] = sum;
    });
  });
}

void chain_sycl(const launch& where, const chain_item* items, unsigned n) {
  with_items(where, items, n, [&](const auto& list) {
    queue_of(where).single_task([=] {
      for (unsigned i = 0; i < n; ++i) *list[i].word = *list[i].word * 31 + list[i].value;
    });
  });
}

void spin_sycl(const launch& where, const spin_item* items, unsigned n) {
  with_items(where, items, n, [&](const auto& list) {
    queue_of(where).parallel_for(::sycl::range<1>(n), [=](::sycl::id<1> at) {
      const spin_item& s = list[at[0]];
      // The standard has no device clock: a few operations per nanosecond instead.
      volatile std::uint64_t work = 0;
      for (std::uint64_t i = 0; i < s.nanoseconds; ++i) work = work + 1;
      if (s.done != nullptr)
        ::sycl::atomic_ref<std::uint32_t, ::sycl::memory_order::relaxed, ::sycl::memory_scope::system>(*s.done).store(
            s.value);
    });
  });
}

void empty_sycl(const launch& where, const empty_item*, unsigned n) {
  queue_of(where).parallel_for(::sycl::range<1>(n), [](::sycl::id<1>) {});
}

void crash_sycl(const launch& where, const crash_item*, unsigned) {
  const volatile std::uintptr_t nowhere = 16;  // volatile hides the value from the compiler
  queue_of(where).single_task([at = std::uintptr_t{nowhere}] { *reinterpret_cast<volatile std::uint32_t*>(at) = 1; });
}

}  // namespace plx::gpu::testing
