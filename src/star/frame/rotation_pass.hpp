// The rotation of momenta in a rotating frame, for workers and devices: a pass after each stage.
//
// In an inertial frame a stage computes m_next = (1 - w) m_start + w (m_now + dt F). The components of each term are
// those along the axes of the mesh at its own time; before the terms are added, they are rotated to the axes at the
// time of m_next. So is the angular momentum x cross m + l of a cell, l its spin (star/hydro/kernel/kernel_spin.hpp),
// but x stays that of the mesh: l becomes R l + (R x - x) cross R m.
//
// Thread safety: pure. Cost: 12 operations per cell. Example: star/test/frame_test.cpp
#pragma once

#include <cstdint>

#include "star/step/portable_pass.hpp"

namespace plx::gpu {
struct launch;
}

namespace plx::star {

struct rotation_pass {
  static constexpr const char* name = "star.frame";
  static constexpr int threads = 128;
  double omega;
  int spin;  ///< the first of the variables of the spin, or -1

  /// A rotation in the x-y plane.
  struct rotation {
    double c, s;
    PLX_DEVICE double x(double x, double y) const { return c * x + s * y; }
    PLX_DEVICE double y(double x, double y) const { return c * y - s * x; }
  };
  /// By Taylor series, which give the same bits on all processors.
  PLX_DEVICE static rotation by(double angle) {
    int halvings = 0;
    for (; angle > 0.5 || angle < -0.5; ++halvings) angle = 0.5 * angle;
    const double square = angle * angle;
    double c = 1.0, s = 1.0;
    for (int k = 16; k > 0; k -= 2) {
      c = 1.0 - square / (k * (k - 1)) * c;
      s = 1.0 - square / (k * (k + 1)) * s;
    }
    s = angle * s;
    for (; halvings > 0; --halvings) {
      const double twice = 2.0 * s * c;
      c = (c - s) * (c + s), s = twice;
    }
    return {c, s};
  }

  /// Adds the spin of a cell at (x, y) with momentum m and spin l of that many per unit of angular momentum, rotated.
  PLX_DEVICE static void add(const rotation& by, double x, double y, double per_unit, const double (&m)[3],
                             const double (&l)[3], double (&sum)[3]) {
    const double dx = per_unit * (by.x(x, y) - x), dy = per_unit * (by.y(x, y) - y);
    const double mx = by.x(m[0], m[1]), my = by.y(m[0], m[1]);
    sum[0] += by.x(l[0], l[1]) + dy * m[2];
    sum[1] += by.y(l[0], l[1]) - dx * m[2];
    sum[2] += l[2] + (dx * my - dy * mx);
  }

  /// Requires: the momenta of `next` are not yet rotated.
  PLX_DEVICE void rotate_spin(const pass_view& v, std::int32_t node, int c, const rotation& since_start,
                              const rotation& in_stage) const {
    const int cells = v.cells();
    const double *start = v.block(v.start, node) + c, rest = 1.0 - v.weight, width = v.nodes.width[node];
    double *u = v.block(v.next, node) + c, of_start[2][3], of_stage[2][3], sum[3] = {};
    for (int a = 0; a < 3; ++a) {
      const int at[2] = {(i_momentum + a) * cells, (spin + a) * cells};
      for (int k = 0; k < 2; ++k) of_start[k][a] = rest * start[at[k]], of_stage[k][a] = u[at[k]] - of_start[k][a];
    }
    const double x = v.centre(node, 0, c % v.n), y = v.centre(node, 1, c / v.n % v.n),
                 per_unit = 12.0 / (width * width);
    add(since_start, x, y, per_unit, of_start[0], of_start[1], sum);
    add(in_stage, x, y, per_unit, of_stage[0], of_stage[1], sum);
    for (int a = 0; a < 3; ++a) u[(spin + a) * cells] = sum[a];
  }

  PLX_DEVICE void operator()(const pass_view& v, std::int32_t node, int thread) const {
    const int cells = v.cells(), x = i_momentum * cells, y = x + cells;
    const double now = v.time_share, next = v.weight * (now + 1.0), dt = *v.dt, rest = 1.0 - v.weight;
    const rotation since_start = by(omega * (next * dt)), in_stage = by(omega * ((next - now) * dt));
    const double* start = v.block(v.start, node);
    double* u = v.block(v.next, node);
    for (int c = thread; c < cells; c += threads) {
      if (spin >= 0) rotate_spin(v, node, c, since_start, in_stage);
      const double of_start[2] = {rest * start[x + c], rest * start[y + c]};
      const double of_stage[2] = {u[x + c] - of_start[0], u[y + c] - of_start[1]};
      u[x + c] = since_start.x(of_start[0], of_start[1]) + in_stage.x(of_stage[0], of_stage[1]);
      u[y + c] = since_start.y(of_start[0], of_start[1]) + in_stage.y(of_stage[0], of_stage[1]);
    }
  }

  static void launch_cuda(const gpu::launch& where, const void* items, unsigned count);
  static void launch_hip(const gpu::launch& where, const void* items, unsigned count);
};

}  // namespace plx::star
