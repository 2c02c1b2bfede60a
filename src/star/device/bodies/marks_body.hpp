// The criteria of star/refine/refinement.cpp as a body: a group checks the cells of one block. It computes the same
// numbers to the last bit, and so makes the same decisions.
//
// Thread safety: as bodies. Cost: some 400 operations per cell, seven cells read.
// Example: star/runners/test/device_course_test.cpp
#pragma once

#include "star/device/bodies/block_cell.hpp"
#include "star/device/bodies/body.hpp"
#include "star/device/bodies/level_cell.hpp"
#include "star/device/data/step_data.hpp"
#include "star/hydro/eos.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

template <class Eos>
struct marks_body {
  using arguments = device::marks_arguments;
  static constexpr int threads = 128, phases = 1, groups_per_unit = 4;
  static constexpr int n_looked_at = 5, i_sound = 5;
  static std::size_t shared_bytes(const arguments&) { return 0; }
  static int groups(const arguments& a) { return a.n_blocks; }

  /// Density, velocities, positive pressure (star/hydro/eos.hpp), sound speed.
  struct values {
    double q[n_looked_at + 1];
  };

  template <int phase>
  PLX_INLINE static void run(const arguments& a, int group, int thread, double*) {
    const device::block_item& block = a.blocks[group];
    const int n = a.n;
    const double marked_above = limit(a, device::dense, block.level);
    const double before_above = limit(a, device::dense_before, block.level);
    const double kept_above = limit(a, device::dense_kept, block.level);
    const double marked_below = limit(a, device::jeans, block.level);
    const double before_below = limit(a, device::jeans_before, block.level);
    const double kept_below = limit(a, device::jeans_kept, block.level);
    const int axes = (a.gradient_of | a.curvature_of) != 0 ? 3 : 0;
    std::uint32_t all = 0, before = 0;
    for (int e = thread; e < n * n * n; e += threads) {
      const int x[3] = {e % n, e / n % n, e / (n * n)};
      double gradient = 0.0, curvature = 0.0;
      const values at = values_at(a, block, x[0], x[1], x[2], -1);
      PLX_NO_UNROLL
      for (int axis = 0; axis < axes; ++axis) {
        const int dx = axis == 0, dy = axis == 1, dz = axis == 2;
        const values lower = values_at(a, block, x[0] - dx, x[1] - dy, x[2] - dz, axis);
        const values upper = values_at(a, block, x[0] + dx, x[1] + dy, x[2] + dz, axis);
        PLX_UNROLL
        for (int v = 0; v < n_looked_at; ++v) {
          const int scale = v >= 1 && v <= 3 ? i_sound : v;
          if ((a.gradient_of >> v & 1) != 0)
            gradient = larger_of(gradient, larger_of(ratio(at.q[v], lower.q[v], at.q[scale], lower.q[scale]),
                                                     ratio(at.q[v], upper.q[v], at.q[scale], upper.q[scale])));
          if ((a.curvature_of >> v & 1) != 0) curvature = larger_of(curvature, second(lower.q[v], at.q[v], upper.q[v]));
        }
      }
      const double density = at.q[0], sound2 = at.q[i_sound] * at.q[i_sound];
      if (gradient > a.gradient_refine || curvature > a.curvature_refine || density > marked_above ||
          sound2 < marked_below * density || in_species_range(a, block, x, 1.0))
        all |= reached(a, x);
      if (density > before_above || sound2 < before_below * density) before |= reached(a, x);
      const bool quiet = (gradient < a.gradient_coarsen || a.gradient_of == 0) &&
                         (curvature < a.curvature_coarsen || a.curvature_of == 0) && !(density > kept_above) &&
                         !(sound2 < kept_below * density) && !in_species_range(a, block, x, device::species_kept);
      if (!quiet) all |= device::mark_busy;
    }
    if (all != 0) set_bits(&a.marks[2 * group], all);
    if (before != 0) set_bits(&a.marks[2 * group + 1], before);
  }

  PLX_INLINE static double limit(const arguments& a, device::level_limit which, int level) {
    return a.limits[which * a.n_levels + level];
  }

  /// `axis`: that along which the cell may be outside.
  PLX_INLINE static values values_at(const arguments& a, const device::block_item& block, int i, int j, int k,
                                     int axis) {
    const cell_values from = cell_at(a, block, variable_count(a.hydro), i, j, k);
    const std::uint32_t wanted = a.gradient_of | a.curvature_of;
    values w{};
    const double density = from.first[0], inverse = 1.0 / density;
    w.q[0] = density;
    if (wanted < 2 && !a.of_sound) return w;  // density alone
    double m[3];
    PLX_UNROLL
    for (int c = 0; c < 3; ++c) {
      m[c] = from.first[(i_momentum + c) * from.variable];
      if (c == axis) m[c] = turned(m[c], from.normal);
      w.q[1 + c] = m[c] * inverse;
    }
    const double total = from.first[i_energy * from.variable];
    const Eos eos(a.hydro.eos);
    const typename Eos::cold cold = eos.at(density);
    double heat = eos.thermal_energy(total - 0.5 * sum_of_axes(m[0] * m[0], m[1] * m[1], m[2] * m[2]) * inverse, cold);
    if (!(heat > a.hydro.dual_energy_switch * total))
      heat = eos.thermal_energy_of_tracer(from.first[i_tracer * from.variable], cold);
    const double pressure = eos.pressure(heat, cold);
    w.q[4] = pressure;
    if ((wanted & 0b1110) != 0 || a.of_sound) w.q[i_sound] = sound_speed(eos, density, pressure, cold);
    return w;
  }

  /// As block_marker::in_species_range().
  PLX_INLINE static bool in_species_range(const arguments& a, const device::block_item& block, const int (&x)[3],
                                          double share) {
    for (int r = 0; r < a.n_ranges; ++r) {
      const double* range = a.ranges + std::ptrdiff_t{3} * r;
      const auto fraction = [&](int i, int j, int k) {
        const cell_values from = cell_at(a, block, variable_count(a.hydro), i, j, k);
        return from.first[(i_species + static_cast<int>(range[0])) * from.variable] * (1.0 / from.first[0]);
      };
      double least = fraction(x[0], x[1], x[2]), most = least;
      PLX_NO_UNROLL
      for (int side = 0; side < 6; ++side) {
        const int axis = side / 2, step = side % 2 == 0 ? -1 : 1;
        const double other =
            fraction(x[0] + (axis == 0 ? step : 0), x[1] + (axis == 1 ? step : 0), x[2] + (axis == 2 ? step : 0));
        least = smaller_of(least, other), most = larger_of(most, other);
      }
      if (most >= share * range[1] && (range[2] >= 1.0 || least <= 1.0 - share * (1.0 - range[2]))) return true;
    }
    return false;
  }

  PLX_INLINE static double ratio(double at, double other, double scale_at, double scale_other) {
    const double size = larger_of(vabs(scale_at), vabs(scale_other));
    return vabs(other - at) / larger_of(size, 1e-300);
  }
  PLX_INLINE static double second(double lower, double at, double upper) {
    const double up = upper - at, down = at - lower;
    const double small = 0.01 * ((vabs(upper) + vabs(lower)) + 2 * vabs(at));
    const double scale = (vabs(up) + vabs(down)) + small;
    return vabs(up - down) / larger_of(scale, 1e-300);
  }

  PLX_INLINE static std::uint32_t reached(const arguments& a, const int (&x)[3]) {
    std::uint32_t bits = 0;
    int from[3], to[3];
    for (int d = 0; d < 3; ++d) from[d] = x[d] < a.buffer ? -1 : 0, to[d] = x[d] >= a.n - a.buffer ? 1 : 0;
    for (int dz = from[2]; dz <= to[2]; ++dz)
      for (int dy = from[1]; dy <= to[1]; ++dy)
        for (int dx = from[0]; dx <= to[0]; ++dx) bits |= 1u << ((dz + 1) * 9 + (dy + 1) * 3 + dx + 1);
    return bits;
  }
};

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
