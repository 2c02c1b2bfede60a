// The rotation of momenta in a rotating frame, for workers and devices: a pass after each stage.
//
// In an inertial frame a stage computes m_next = (1 - w) m_start + w (m_now + dt F). The components of each term are
// those along the axes of the mesh at its own time; before the terms are added, they are rotated to the axes at the
// time of m_next.
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

  PLX_DEVICE void operator()(const pass_view& v, std::int32_t node, int thread) const {
    const int cells = v.cells(), x = i_momentum * cells, y = x + cells;
    const double now = v.time_share, next = v.weight * (now + 1.0), dt = *v.dt, rest = 1.0 - v.weight;
    const rotation since_start = by(omega * (next * dt)), in_stage = by(omega * ((next - now) * dt));
    const double* start = v.block(v.start, node);
    double* u = v.block(v.next, node);
    for (int c = thread; c < cells; c += threads) {
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
