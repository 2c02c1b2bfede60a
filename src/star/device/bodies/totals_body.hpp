// Totals of the conserved variables as a body: sums as in star/state/totals.cpp, and exact, so that the bits equal
// those of the CPU for any order of the groups. A group sums one block.
//
// Phase 0 clears the group's own sums. Phase 1: a thread per variable and lane uses Kahan summation, as the lanes of
// totals.cpp, and adds its result to the group's sums. Phase 2 adds those to the global sums.
//
// Thread safety: as bodies. Cost: 4 operations per value; reads every value once, with spin the momenta again.
// Example: star/runners/test/device_course_test.cpp
#pragma once

#include "star/device/bodies/body.hpp"
#include "star/device/data/regrid_data.hpp"
#include "star/device/data/spin_rule.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

struct totals_body {
  using arguments = device::totals_arguments;
  static constexpr int threads = 64, phases = 3, groups_per_unit = 8, lanes_of_sum = 8;
  static std::size_t shared_bytes(const arguments& a) {
    return sizeof(device::exact_limbs) * static_cast<std::size_t>(a.n_var);
  }
  static int groups(const arguments& a) { return a.n_blocks; }

  template <int phase>
  PLX_INLINE static void run(const arguments& a, int group, int thread, double* shared) {
    const device::step_control& c = *a.control;
    const bool every_step = a.steps_kept == 0;
    const std::int64_t step = c.now.steps + 1;  // the one about to end
    if (!every_step && (c.stopped != 0 || step % a.every != 0)) return;
    auto* mine = reinterpret_cast<std::uint64_t*>(shared);
    const int limbs = a.n_var * device::exact_limbs::count;
    if constexpr (phase == 0) {
      for (int l = thread; l < limbs; l += threads) mine[l] = 0;
    } else if constexpr (phase == 1) {
      for (int e = thread; e < a.n_var * lanes_of_sum; e += threads) add_lane(a, group, e, mine);
    } else {
      auto* to = reinterpret_cast<std::uint64_t*>(a.sums + (every_step ? 0 : step % a.steps_kept) * a.n_var);
      for (int l = thread; l < limbs; l += threads)
        if (mine[l] != 0) add_to(&to[l], mine[l]);
    }
  }

  PLX_INLINE static void add_lane(const arguments& a, int group, int e, std::uint64_t* mine) {
    const int v = e / lanes_of_sum, lane = e % lanes_of_sum, cells = a.n * a.n * a.n;
    const double* block = a.source + a.blocks[group].values;
    const double* values = block + static_cast<std::ptrdiff_t>(v) * cells + lane;
    const bool of_spin = a.spin >= 0 && v >= a.spin;
    double sum = 0.0, lost = 0.0;
    for (int i = 0; i < cells; i += lanes_of_sum) {
      const double value =
          of_spin ? device::angular_momentum_of(a.blocks[group].place, a.n, block, a.spin, v - a.spin, i + lane)
                  : values[i];
      const double term = value - lost, next = sum + term;
      lost = (next - sum) - term;
      sum = next;
    }
    const double dx = a.blocks[group].place.dx, volume = dx * dx * dx;
    add_exactly((sum - lost) * volume, mine + static_cast<std::ptrdiff_t>(v) * device::exact_limbs::count);
  }

  // As exact_sum::add(); negative numbers in two's complement.
  PLX_INLINE static void add_exactly(double term, std::uint64_t* limbs) {
    constexpr std::uint64_t low32 = 0xffffffffu;
    const std::uint64_t bits = as_bits(term);
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
    std::uint64_t mantissa = bits & ((std::uint64_t{1} << 52) - 1);
    if (exponent != 0) mantissa |= std::uint64_t{1} << 52;
    if (mantissa == 0 || exponent == 0x7ff) return;  // a state that is not finite stops the run
    const int position = (exponent > 1 ? exponent : 1) - 1, limb = position / 32, shift = position % 32;
    const std::uint64_t low = (mantissa & low32) << shift, high = ((mantissa >> 32) << shift) + (low >> 32);
    const std::uint64_t part[3] = {low & low32, high & low32, high >> 32};
    for (int i = 0; i < 3; ++i)
      if (part[i] != 0) add_to(&limbs[limb + i], bits >> 63 != 0 ? std::uint64_t{0} - part[i] : part[i]);
  }
};

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
