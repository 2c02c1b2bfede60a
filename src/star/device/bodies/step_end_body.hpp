// The ends of stages and steps as bodies: flux correction, outflow, the combined reports of all blocks with the next
// time step, and totals.
//
// Thread safety: as bodies. Cost: flux correction, some 300 operations per cell of such a face; the end of a step, 56
// bytes per block, read twice; totals, 4 operations per value.
// Example: star/device/test/device_gas_test.cpp
#pragma once

#include "star/device/bodies/body.hpp"
#include "star/device/bodies/cells.hpp"
#include "star/device/data/spin_rule.hpp"
#include "star/device/data/step_data.hpp"

namespace plx::star::PLX_HYDRO_ISA {

namespace {

// ---- flux correction: where a neighbour across a face is finer, its fluxes replace the block's own. A group handles
// one such block. It computes what mesh/field/face_fluxes.cpp and stepper::correct() compute.
//
// Phase 0 adds the differences to the cells along those faces, in one symmetric sum per cell. Phases 1 to 6 apply
// floors and the entropy tracer again to the cells along face 0, 1, ...

template <class Eos>
struct correction_body {
  using arguments = device::correction_arguments;
  static constexpr int threads = 128, phases = 7, groups_per_unit = 2;
  static std::size_t shared_bytes(const arguments&) { return 0; }
  static int groups(const arguments& a) { return a.n_items; }

  template <int phase>
  PLX_INLINE static void run(const arguments& a, int group, int thread, double*) {
    if (a.control->stopped != 0) return;
    const device::correction_item& item = a.items[group];
    if constexpr (phase == 0) {
      for (int f = 0; f < 6; ++f)
        if ((item.finer >> f & 1) != 0) apply(a, item, f, thread);
    } else {
      if ((item.finer >> (phase - 1) & 1) != 0) settle_face(a, item, phase - 1, group, thread);
    }
  }

  PLX_INLINE static int lower_tangent(int axis) { return axis == 0 ? 1 : 0; }
  PLX_INLINE static int upper_tangent(int axis) { return axis == 2 ? 1 : 2; }

  /// Own flux minus the finer ones' at upper faces, the opposite at lower ones.
  PLX_INLINE static double term(const arguments& a, const device::correction_item& item, int face, int v,
                                const int (&cell)[3]) {
    const int n = a.n, half = n / 2, axis = face / 2;
    const int s = cell[lower_tangent(axis)], t = cell[upper_tangent(axis)];
    const double own = a.fluxes[a.blocks[item.position].flux[face] + (static_cast<std::ptrdiff_t>(v) * n + t) * n + s];
    const int child = (s >= half ? 1 : 0) | (t >= half ? 2 : 0);
    const int fine_s = 2 * (s % half), fine_t = 2 * (t % half);
    const double* f = a.fluxes + item.fine[face][child] + (static_cast<std::ptrdiff_t>(v) * n + fine_t) * n + fine_s;
    const double fine = 0.25 * ((f[0] + f[n + 1]) + (f[1] + f[n]));
    return face % 2 != 0 ? own - fine : fine - own;
  }

  /// The corrected face along an axis at which the cell is, or -1.
  PLX_INLINE static int active_face(const arguments& a, const device::correction_item& item, int axis, int at) {
    if (at == 0 && (item.finer >> (2 * axis) & 1) != 0) return 2 * axis;
    if (at == a.n - 1 && (item.finer >> (2 * axis + 1) & 1) != 0) return 2 * axis + 1;
    return -1;
  }

  // A cell at an edge or corner may be at two or three such faces: the one along the lowest axis handles it.
  PLX_INLINE static void apply(const arguments& a, const device::correction_item& item, int face, int thread) {
    const device::block_item& block = a.blocks[item.position];
    const int n = a.n, axis = face / 2, ta = lower_tangent(axis), tb = upper_tangent(axis);
    const std::ptrdiff_t volume = static_cast<std::ptrdiff_t>(n) * n * n;
    const double weight = a.weight * a.control->dt / block.place.dx;
    for (int e = thread; e < n * n; e += threads) {
      const int s = e % n, t = e / n, end = face % 2 != 0 ? n - 1 : 0;
      const int cell[3] = {axis == 0 ? end : s, axis == 1 ? end : axis == 0 ? s : t, axis == 2 ? end : t};
      const int fa = active_face(a, item, ta, cell[ta]), fb = active_face(a, item, tb, cell[tb]);
      if ((fa >= 0 && ta < axis) || (fb >= 0 && tb < axis)) continue;
      double* u = a.target + block.values + (cell[2] * n + cell[1]) * n + cell[0];
      for (int v = 0; v < variable_count(a.hydro); ++v)
        u[v * volume] += weight * mesh::sum3(term(a, item, face, v, cell), fa >= 0 ? term(a, item, fa, v, cell) : 0.0,
                                             fb >= 0 ? term(a, item, fb, v, cell) : 0.0);
    }
  }

  PLX_INLINE static void settle_face(const arguments& a, const device::correction_item& item, int face, int group,
                                     int thread) {
    const device::block_item& block = a.blocks[item.position];
    const int n = a.n, axis = face / 2, end = face % 2 != 0 ? n - 1 : 0;
    const std::ptrdiff_t volume = static_cast<std::ptrdiff_t>(n) * n * n;
    tally sums;
    for (int e = thread; e < n * n; e += threads) {
      const int s = e % n, t = e / n;
      const int x = axis == 0 ? end : s, y = axis == 1 ? end : axis == 0 ? s : t, z = axis == 2 ? end : t;
      const int cell = (z * n + y) * n + x;
      settle_stored<Eos>(
          a.hydro, a.target + block.values + cell, volume, cell,
          [&](int along) {
            return block.place.centre(along, along == 0 ? x : along == 1 ? y : z);
          },
          [&] { return target_of_group(a.added, group, a.hydro, block.place.dx, potential_in(a, block, x, y, z)); },
          sums);
    }
    report_cells(a.reports[item.position], a.last, a.stage, 1 + face, sums);
  }
};

/// Outflow through the domain boundaries in a stage: a thread per face of a block and variable, which sums in the order
/// of side_totals::add().
struct side_body {
  using arguments = device::side_arguments;
  static constexpr int threads = 64, phases = 1, groups_per_unit = 8;
  static std::size_t shared_bytes(const arguments&) { return 0; }
  static int groups(const arguments& a) { return (a.n_items * a.n_var + threads - 1) / threads; }

  template <int phase>
  PLX_INLINE static void run(const arguments& a, int group, int thread, double*) {
    const int e = group * threads + thread;
    if (a.control->stopped != 0 || e >= a.n_items * a.n_var) return;
    const device::side_item& item = a.items[e / a.n_var];
    const int cells = a.n * a.n;
    const double* flux = a.fluxes + item.flux + static_cast<std::ptrdiff_t>(e % a.n_var) * cells;
    double sum = 0.0;
    for (int i = 0; i < cells; ++i) sum += flux[i];
    const double weight = a.control->dt * a.flux_weight;
    const double scale = (item.sign > 0.0 ? weight : -weight) * item.dx * item.dx;
    double* part = a.parts + (a.control->now.steps % a.steps_kept) * a.n_items * a.n_var + e;
    *part = (a.first ? 0.0 : *part) + scale * sum;
  }
};

// ---- the end of a step: one group combines the reports of all blocks into the state of the run, and the next time
// step

struct finish_body {
  using arguments = device::finish_arguments;
  static constexpr int threads = 512, phases = 4, groups_per_unit = 1;
  static constexpr int sums_of_threads = 32;  // second level
  struct part {
    double rate;
    std::uint64_t bad, where;  ///< stage and position of the first bad block; its key
    std::uint64_t density, pressure, input, added;

    PLX_INLINE void add(const part& o) {
      rate = vmax(o.rate, rate);
      if (o.bad < bad) bad = o.bad, where = o.where;
      density += o.density, pressure += o.pressure, input += o.input, added += o.added;
    }
  };
  static std::size_t shared_bytes(const arguments&) { return sizeof(part) * threads; }
  static int groups(const arguments&) { return 1; }

  template <int phase>
  PLX_INLINE static void run(const arguments& a, int, int thread, double* shared) {
    part* parts = reinterpret_cast<part*>(shared);
    if constexpr (phase == 0) {
      part sum{0.0, device::block_report::no_bad, 0, 0, 0, 0, 0};
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
      if (parts[0].added != 0) take_added(a, good, thread);
    }
  }

  PLX_INLINE static double rate_of(const device::block_report& r, const device::block_item& block) {
    return as_double(r.speed_bits) / block.place.dx;
  }

  PLX_INLINE static part part_of(const device::block_report& r, const device::block_item& block, int b) {
    const std::uint64_t none = device::block_report::no_bad;
    const std::uint64_t order = r.bad == none ? none : r.bad >> 40 << 32 | static_cast<std::uint32_t>(b);
    return {rate_of(r, block), order, r.bad, r.density_floors, r.pressure_floors, r.input_floors, r.added_terms};
  }

  /// Clears the copies of the sums of what floors have added, after a step that succeeded into its record.
  PLX_INLINE static void take_added(const arguments& a, bool good, int thread) {
    if (a.added == nullptr) return;
    const std::int64_t step = a.control->now.steps % a.steps_kept;
    const int limbs = a.n_var * device::exact_limbs::count;
    for (int l = thread; l < limbs; l += threads) {
      const int v = l / device::exact_limbs::count, at = l % device::exact_limbs::count;
      std::int64_t sum = 0;
      for (int copy = 0; copy < device::added_copies; ++copy) {
        std::int64_t& limb = a.added[copy * a.n_var + v].limb[at];
        sum += limb;
        limb = 0;
      }
      if (good) a.added_of_steps[step * a.n_var + v].limb[at] = sum;
    }
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
    a.records[now.steps % a.steps_kept] = {now.time,         c.dt,
                                           c.density_floors, c.pressure_floors,
                                           c.input_floors,   static_cast<std::int64_t>(all_blocks.added)};
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

// ---- totals of the conserved variables: sums as in star/state/gas.cpp, and exact, so that the bits equal
// those of the CPU for any order of the groups. A group sums one block.
//
// Phase 0 clears the group's own sums. Phase 1: a thread per variable and lane uses Kahan summation, as the lanes in
// star/state/gas.cpp, and adds its result to the group's sums. Phase 2 adds those to the global sums.

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
};

}  // namespace

}  // namespace plx::star::PLX_HYDRO_ISA
