// The end of a step as a body: combines the reports of all blocks into the state of the run, and the next time step.
//
// Thread safety: one group. Cost: 48 bytes per block, read twice.
// Example: star/device/test/device_gas_test.cpp
#pragma once

#include "star/device/bodies/body.hpp"
#include "star/device/data/spin_rule.hpp"
#include "star/device/data/step_data.hpp"

namespace plx::star::PLX_HYDRO_ISA {

namespace {

struct finish_body {
  using arguments = device::finish_arguments;
  static constexpr int threads = 512, phases = 4, groups_per_unit = 1;
  static constexpr int sums_of_threads = 32;  // second level
  struct part {
    double rate;
    std::uint64_t bad, where;  ///< stage and position of the first bad block; its key
    std::uint64_t density, pressure, input;

    PLX_INLINE void add(const part& o) {
      rate = vmax(o.rate, rate);
      if (o.bad < bad) bad = o.bad, where = o.where;
      density += o.density, pressure += o.pressure, input += o.input;
    }
  };
  static std::size_t shared_bytes(const arguments&) { return sizeof(part) * threads; }
  static int groups(const arguments&) { return 1; }

  template <int phase>
  PLX_INLINE static void run(const arguments& a, int, int thread, double* shared) {
    part* parts = reinterpret_cast<part*>(shared);
    if constexpr (phase == 0) {
      part sum{0.0, device::block_report::no_bad, 0, 0, 0, 0};
      for (int b = thread; b < a.n_blocks; b += threads) sum.add(part_of(a.reports[b], a.blocks[b], b));
      parts[thread] = sum;
    }
    if constexpr (phase == 1) {
      if (thread >= sums_of_threads) return;
      for (int t = thread + sums_of_threads; t < threads; t += sums_of_threads) parts[thread].add(parts[t]);
    }
    if constexpr (phase == 2) {
      if (thread != 0) return;
      for (int t = 1; t < sums_of_threads; ++t) parts[0].add(parts[t]);
      if (!conclude(a, *a.control, parts[0])) parts[0].bad = 0;
    }
    if constexpr (phase == 3) {  // the rates are those of the last good step
      const bool good = parts[0].bad == device::block_report::no_bad;
      for (int b = thread; b < a.n_blocks; b += threads) {
        if (good) a.signal_rates[a.blocks[b].slot] = rate_of(a.reports[b], a.blocks[b]);
        a.reports[b] = device::block_report{};
      }
    }
  }

  PLX_INLINE static double rate_of(const device::block_report& r, const device::block_item& block) {
    return as_double(r.speed_bits) / block.place.dx;
  }

  PLX_INLINE static part part_of(const device::block_report& r, const device::block_item& block, int b) {
    const std::uint64_t none = device::block_report::no_bad;
    const std::uint64_t order = r.bad == none ? none : r.bad >> 40 << 32 | static_cast<std::uint32_t>(b);
    return {rate_of(r, block), order, r.bad, r.density_floors, r.pressure_floors, r.input_floors};
  }

  PLX_INLINE static double whole(double x) { return __builtin_floor(x); }

  // Returns true if the step was made and succeeded.
  PLX_INLINE static bool conclude(const arguments& a, device::step_control& c, const part& all_blocks) {
    if (c.stopped != 0) return false;
    c.carried = all_blocks.bad == device::block_report::no_bad ? 1 : 0;
    if (all_blocks.bad != device::block_report::no_bad) {
      c.stopped = device::bad_state;
      c.bad_stage = static_cast<std::int32_t>(all_blocks.bad >> 32);
      c.bad_position = static_cast<std::int32_t>(all_blocks.bad & 0xffffffffu);
      c.bad_cell = static_cast<std::int32_t>(all_blocks.where & 0xffffffffu);
      return false;
    }
    device::step_state& now = c.now;
    now.signal_rate = all_blocks.rate;
    c.density_floors += static_cast<std::int64_t>(all_blocks.density);
    c.pressure_floors += static_cast<std::int64_t>(all_blocks.pressure);
    c.input_floors += static_cast<std::int64_t>(all_blocks.input);
    const bool last = c.dt >= c.rule.t_end - now.time;
    const double before = now.time;
    now.time = last ? c.rule.t_end : now.time + c.dt;
    now.last_dt = c.dt;
    ++now.steps;
    a.records[now.steps % a.steps_kept] = {now.time, c.dt, c.density_floors, c.pressure_floors, c.input_floors};
    if (last) {
      c.stopped = device::at_end;
      return true;
    }
    if (c.wait_interval > 0.0 && whole(now.time / c.wait_interval) > whole(before / c.wait_interval)) {
      c.stopped = device::waiting;
      return true;
    }
    c.dt = device::next_dt(c.rule, now);
    if (c.dt == 0.0) c.stopped = device::no_progress;
    return true;
  }
};

// ---- Totals of the conserved variables as a body: sums as in star/state/gas.cpp, and exact, so that the bits equal
// those of the CPU for any order of the groups. A group sums one block.
//
// Phase 0 clears the group's own sums. Phase 1: a thread per variable and lane uses Kahan summation, as the lanes in
// star/state/gas.cpp, and adds its result to the group's sums. Phase 2 adds those to the global sums.
//
// Cost: 4 operations per value; reads every value once, with spin the momenta again.

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
