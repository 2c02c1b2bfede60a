// The passes of a point mass and of the angular momentum, for workers (point_mass_module.cpp) and devices
// (point_mass_module.cu).
//
// Thread safety: pure functions of the view. Cost: point_mass_module.hpp. Example: star/gravity/point_mass_module.cpp
#pragma once

#include <cstdint>

#include "star/gravity/point_mass.hpp"
#include "star/step/portable_pass.hpp"

namespace plx::gpu {
struct launch;
}

namespace plx::star::gravity {

/// A sum whose rounding error does not grow with the number of terms (Kahan 1965).
struct careful_sum {
  double sum = 0.0, lost = 0.0;
  PLX_DEVICE void add(double value) {
    const double term = value - lost, next = sum + term;
    lost = (next - sum) - term;
    sum = next;
  }
};

struct point_mass_source {
  static constexpr const char* name = "star.point_mass.source";
  static constexpr int threads = 64;
  point_mass field;

  PLX_DEVICE void operator()(const pass_view& v, std::int32_t node, int thread) const {
    const double* u = v.block(v.now, node);
    double* next = v.block(v.next, node);
    const int cells = v.cells();
    const double dt = v.stage_dt();
    for (int c = thread; c < cells; c += threads) {
      const double d[3] = {v.centre(node, 0, c % v.n) - field.position[0],
                           v.centre(node, 1, c / v.n % v.n) - field.position[1],
                           v.centre(node, 2, c / (v.n * v.n)) - field.position[2]};
      const double pull = field.pull(d[0], d[1], d[2]);
      double work = 0.0;
      for (int a = 0; a < 3; ++a) {
        const double g = pull * d[a];
        next[(i_momentum + a) * cells + c] += dt * u[c] * g;
        work += u[(i_momentum + a) * cells + c] * g;
      }
      next[i_energy * cells + c] += dt * work;
    }
  }
  static void launch_cuda(const gpu::launch& where, const void* items, unsigned count);
  static void launch_hip(const gpu::launch& where, const void* items, unsigned count);
};

struct point_mass_energy {
  static constexpr const char* name = "star.point_mass.energy";
  static constexpr int threads = 1;
  point_mass field;
  int sums;

  PLX_DEVICE void operator()(const pass_view& v, std::int32_t node, int) const {
    const double* u = v.block(v.now, node);
    const double width = v.nodes.width[node], volume = width * width * width;
    careful_sum energy;
    for (int c = 0; c < v.cells(); ++c)
      energy.add(u[c] * field.potential(v.centre(node, 0, c % v.n) - field.position[0],
                                        v.centre(node, 1, c / v.n % v.n) - field.position[1],
                                        v.centre(node, 2, c / (v.n * v.n)) - field.position[2]));
    v.field(sums, node)[0] = energy.sum * volume;
  }
  static void launch_cuda(const gpu::launch& where, const void* items, unsigned count);
  static void launch_hip(const gpu::launch& where, const void* items, unsigned count);
};

/// A thread per component.
struct angular_momentum {
  static constexpr const char* name = "star.angular_momentum";
  static constexpr int threads = 3;
  int sums;

  PLX_DEVICE void operator()(const pass_view& v, std::int32_t node, int thread) const {
    const int cells = v.cells(), b = (thread + 1) % 3, c = (thread + 2) % 3;
    const double* u = v.block(v.now, node);
    const double *in_b = u + (i_momentum + b) * cells, *in_c = u + (i_momentum + c) * cells;
    const double width = v.nodes.width[node], volume = width * width * width;
    careful_sum total;
    for (int i = 0; i < cells; ++i) {
      const int at[3] = {i % v.n, i / v.n % v.n, i / (v.n * v.n)};
      total.add(v.centre(node, b, at[b]) * in_c[i] - v.centre(node, c, at[c]) * in_b[i]);
    }
    v.field(sums, node)[thread] = total.sum * volume;
  }
  static void launch_cuda(const gpu::launch& where, const void* items, unsigned count);
  static void launch_hip(const gpu::launch& where, const void* items, unsigned count);
};

}  // namespace plx::star::gravity
