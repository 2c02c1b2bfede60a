// The passes of driving, for workers (driving_module.cpp) and devices (driving_pass.cu).
//
// Thread safety: pure functions of the view. Cost: some 2 ns per cell and stage for each of source and ledger.
// Example: star/test/driving_test.cpp
#pragma once

#include <cstdint>

#include "star/step/portable_pass.hpp"

namespace plx::gpu {
struct launch;
}

namespace plx::star {

/// Rates of driving, per code time, while it lasts.
struct driving_rates {
  double loss = 0.0;  ///< of tangential momentum
  double heat = 0.0;  ///< of thermal energy
  double gamma = 1.4;
  double begin = 0.0, end = 0.0;  ///< code time
  double least_density = 0.0;

  /// The source of one cell.
  struct source {
    double momentum_x = 0.0, momentum_y = 0.0, angular_momentum = 0.0, work = 0.0, heat = 0.0, tracer = 0.0;
  };

  PLX_DEVICE bool is_on(double time) const { return time >= begin && time < end; }
  /// u: of the cell, variables `cells` apart; x, y: its centre. The momentum about the z axis decays:
  /// d(l)/dt = -loss l, l = x m_y - y m_x, by a force along the tangent.
  PLX_DEVICE source at(const double* u, std::int64_t cells, double x, double y) const {
    source s;
    const double density = u[i_density], r2 = x * x + y * y;
    if (density < least_density || !(r2 > 0.0)) return s;
    const double mx = u[i_momentum * cells], my = u[(i_momentum + 1) * cells], mz = u[(i_momentum + 2) * cells];
    const double l = x * my - y * mx, pull = loss * l / r2;
    s.momentum_x = pull * y, s.momentum_y = -(pull * x);
    s.angular_momentum = -(loss * l);
    s.work = (s.momentum_x * mx + s.momentum_y * my) / density;
    const double thermal = u[i_energy * cells] - 0.5 * (mx * mx + my * my + mz * mz) / density;
    s.heat = thermal > 0.0 ? heat * thermal : 0.0;
    s.tracer = heat / gamma * u[i_tracer * cells];
    return s;
  }
};

struct driving_source {
  static constexpr const char* name = "star.driving";
  static constexpr int threads = 64;
  driving_rates rates;

  PLX_DEVICE void operator()(const pass_view& v, std::int32_t node, int thread) const {
    if (!rates.is_on(v.stage_time())) return;
    const double* u = v.block(v.now, node);
    double* next = v.block(v.next, node);
    const int cells = v.cells();
    const double dt = v.stage_dt();
    for (int c = thread; c < cells; c += threads) {
      const driving_rates::source s =
          rates.at(u + c, cells, v.centre(node, 0, c % v.n), v.centre(node, 1, c / v.n % v.n));
      next[i_momentum * cells + c] += dt * s.momentum_x;
      next[(i_momentum + 1) * cells + c] += dt * s.momentum_y;
      next[i_energy * cells + c] += dt * (s.work + s.heat);
      next[i_tracer * cells + c] += dt * s.tracer;
    }
  }
  static void launch_cuda(const gpu::launch& where, const void* items, unsigned count);
  static void launch_hip(const gpu::launch& where, const void* items, unsigned count);
};

/// Sums that the stages so far have added to a block: angular momentum, kinetic energy, heat. They enter the new state
/// with the weights of the scheme, as the source does: sum_{s+1} = w_s (sum_s + dt S(U_s)). A thread per number.
struct driving_ledger {
  static constexpr const char* name = "star.driving.ledger";
  static constexpr int threads = 3;
  driving_rates rates;
  int ledger;     ///< field: [3]
  bool is_first;  ///< stage

  PLX_DEVICE void operator()(const pass_view& v, std::int32_t node, int thread) const {
    double* total = v.field(ledger, node) + thread;
    const double before = is_first ? 0.0 : *total;
    double sum = 0.0, lost = 0.0;
    if (rates.is_on(v.stage_time())) {
      const double* u = v.block(v.now, node);
      const int cells = v.cells();
      for (int c = 0; c < cells; ++c) {
        const driving_rates::source s =
            rates.at(u + c, cells, v.centre(node, 0, c % v.n), v.centre(node, 1, c / v.n % v.n));
        const double term = (thread == 0 ? s.angular_momentum : thread == 1 ? s.work : s.heat) - lost;
        const double next = sum + term;
        lost = (next - sum) - term;
        sum = next;
      }
    }
    const double width = v.nodes.width[node], volume = width * width * width;
    *total = v.weight * before + v.stage_dt() * (sum * volume);
  }
  static void launch_cuda(const gpu::launch& where, const void* items, unsigned count);
  static void launch_hip(const gpu::launch& where, const void* items, unsigned count);
};

/// Copies the ledger to the sums of the module.
struct driving_sums {
  static constexpr const char* name = "star.driving.sums";
  static constexpr int threads = 3;
  int ledger, sums;

  PLX_DEVICE void operator()(const pass_view& v, std::int32_t node, int thread) const {
    v.field(sums, node)[thread] = v.field(ledger, node)[thread];
  }
  static void launch_cuda(const gpu::launch& where, const void* items, unsigned count);
  static void launch_hip(const gpu::launch& where, const void* items, unsigned count);
};

}  // namespace plx::star
