// The operations for tests in SYCL. A launch function reads its items from memory that the device can read.
#include <sycl/sycl.hpp>

#include "gpu/testing/operations.hpp"

namespace plx::gpu::testing {
namespace {

::sycl::queue& queue_of(const launch& where) { return *reinterpret_cast<::sycl::queue*>(where.stream); }

template <class Item>
const Item* staged(const launch& where, const Item* items, unsigned n) {
  return static_cast<const Item*>(where.stage(where, items, n * sizeof(Item)));
}

}  // namespace

void add_sycl(const launch& where, const add_item* items, unsigned n) {
  constexpr std::size_t width = 256;
  const add_item* all = staged(where, items, n);
  if (all == nullptr) return;
  queue_of(where).parallel_for(::sycl::range<2>(n, width), [=](::sycl::id<2> at) {
    const add_item a = all[at[0]];
    for (std::size_t i = at[1]; i < a.n; i += width) a.z[i] = a.x[i] + a.y[i];
  });
}

void chain_sycl(const launch& where, const chain_item* items, unsigned n) {
  const chain_item* all = staged(where, items, n);
  if (all == nullptr) return;
  queue_of(where).single_task([=] {
    for (unsigned i = 0; i < n; ++i) *all[i].word = *all[i].word * 31 + all[i].value;
  });
}

void spin_sycl(const launch& where, const spin_item* items, unsigned n) {
  const spin_item* all = staged(where, items, n);
  if (all == nullptr) return;
  queue_of(where).parallel_for(::sycl::range<1>(n), [=](::sycl::id<1> at) {
    const spin_item s = all[at];
    // The standard has no clock of the device: some operations instead, a few per nanosecond.
    volatile std::uint64_t work = 0;
    for (std::uint64_t i = 0; i < s.nanoseconds; ++i) work = work + 1;
    if (s.done != nullptr)
      ::sycl::atomic_ref<std::uint32_t, ::sycl::memory_order::relaxed, ::sycl::memory_scope::system>(*s.done).store(
          s.value);
  });
}

void empty_sycl(const launch& where, const empty_item*, unsigned n) {
  queue_of(where).parallel_for(::sycl::range<1>(n), [](::sycl::id<1>) {});
}

void crash_sycl(const launch& where, const crash_item*, unsigned) {
  queue_of(where).single_task([] { *reinterpret_cast<volatile std::uint32_t*>(16) = 1; });
}

}  // namespace plx::gpu::testing
