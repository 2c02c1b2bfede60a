// The passes of the source terms, for workers (source_terms.cpp) and devices (source_passes.cu).
//
// Thread safety: pure functions of the view. Cost per cell and stage: the rotation 12 operations; the source and the
// ledger of driving some 2 ns each, a point mass 2 ns. Example: star/test/frame_test.cpp, star/test/driving_test.cpp,
// star/test/point_mass_test.cpp
#pragma once

#include <cstdint>

#include "star/gravity/options.hpp"
#include "star/step/portable_pass.hpp"

namespace plx::gpu {
struct launch;
}

namespace plx::star {

/// The rotation of momenta in a rotating frame, after each stage.
///
/// In an inertial frame a stage computes m_next = (1 - w) m_start + w (m_now + dt F). The components of each term are
/// those along the axes of the mesh at its own time; before the terms are added, they are rotated to the axes at the
/// time of m_next. So is the angular momentum x cross m + l of a cell, l its spin (star/hydro/kernel/kernel_spin.hpp),
/// but x stays that of the mesh: l becomes R l + (R x - x) cross R m.
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
