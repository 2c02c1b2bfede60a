// Test fixture: one block that is the whole domain [0, 1]^3, with ghost cells filled from itself.
//
// Thread safety: none. Cost: allocates.
// Example: star/hydro/test/evolution_test.cpp
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "star/hydro/options.hpp"
#include "star/hydro/stage.hpp"
#include "star/hydro/state.hpp"

namespace plx::star {

enum class side_kind { periodic, outflow, reflecting };

struct free_memory {
  void operator()(void* p) const { std::free(p); }
};
using scratch_memory = std::unique_ptr<void, free_memory>;

inline scratch_memory make_scratch(const hydro_parameters& p, int n) {
  return scratch_memory(std::aligned_alloc(64, (stage_scratch_bytes(p, n) + 63) / 64 * 64));
}

inline std::size_t cells_of(int n) { return static_cast<std::size_t>(n) * n * n; }

/// The result of one stage, with the fluxes through all faces.
struct stage_values {
  std::vector<double> u;
  std::vector<double> flux[6];
  stage_output out;
};

inline stage_values run_stage(const hydro_parameters& p, stage_input in, isa which = active_isa(),
                              const floor_sums& added = {}) {
  stage_values r;
  r.out.added = added;
  const std::size_t n_var = variable_count(p);
  r.u.assign(n_var * cells_of(in.n), 0.0);
  r.out.u_new = r.u.data();
  for (int side = 0; side < 6; ++side) {
    r.flux[side].assign(n_var * in.n * in.n, 0.0);
    r.out.face_flux[side] = r.flux[side].data();
  }
  const scratch_memory scratch = make_scratch(p, in.n);
  advance_block(p, in, r.out, scratch.get(), which);
  return r;
}

class test_block {
 public:
  test_block(hydro_parameters parameters, int n, side_kind kind = side_kind::periodic)
      : p_(parameters),
        n_(n),
        m_(n + 2 * ghost_layers),
        kind_{kind, kind, kind},
        scratch_(make_scratch(parameters, n)) {
    u_.assign(variables() * cells_of(n_), 0.0);
    tile_.assign(variables() * cells_of(m_), 0.0);
  }

  int n() const { return n_; }
  double dx() const { return 1.0 / n_; }
  double time() const { return time_; }
  std::size_t variables() const { return static_cast<std::size_t>(variable_count(p_)); }
  const hydro_parameters& parameters() const { return p_; }
  std::vector<double>& u() { return u_; }
  const stage_output& last() const { return last_; }
  std::int64_t floors() const { return floors_; }
  void side(int axis, side_kind kind) { kind_[axis] = kind; }

  double& at(std::size_t v, int i, int j, int k) { return u_[((v * n_ + k) * n_ + j) * n_ + i]; }
  double center(int i) const { return (i + 0.5) * dx(); }

  /// Sets each cell to initial(x, y, z), a primitive.
  template <class F>
  void fill(F initial) {
    for (int k = 0; k < n_; ++k)
      for (int j = 0; j < n_; ++j)
        for (int i = 0; i < n_; ++i)
          to_conserved(p_.eos, initial(center(i), center(j), center(k)), p_.n_species, &at(0, i, j, k),
                       static_cast<std::ptrdiff_t>(cells_of(n_)));
  }
  primitive cell(int i, int j, int k) {
    return to_primitive(p_.eos, &at(0, i, j, k), static_cast<std::ptrdiff_t>(cells_of(n_)), p_.n_species,
                        p_.dual_energy_switch);
  }

  /// The tile of state u.
  const std::vector<double>& gather(const std::vector<double>& u) {
    std::size_t to = 0;
    for (std::size_t v = 0; v < variables(); ++v)
      for (int k = 0; k < m_; ++k)
        for (int j = 0; j < m_; ++j)
          for (int i = 0; i < m_; ++i) {
            const int x[3] = {i - ghost_layers, j - ghost_layers, k - ghost_layers};
            double sign = 1.0;
            std::size_t from[3];
            for (int axis = 0; axis < 3; ++axis) from[axis] = source(axis, x[axis], v, sign);
            tile_[to++] = sign * u[((v * n_ + from[2]) * n_ + from[1]) * n_ + from[0]];
          }
    return tile_;
  }

  stage_input input(double dt, double weight) const {
    stage_input in;
    in.tile = tile_.data(), in.u_old = u_.data(), in.n = n_, in.place = dx(), in.dt = dt, in.weight = weight;
    return in;
  }

  void step(double dt, const integrator& scheme = ssp_rk3) {
    std::vector<double> stage = u_;
    for (int s = 0; s < scheme.stages; ++s) {
      gather(stage);
      stage_output out;
      out.u_new = stage.data();
      advance_block(p_, input(dt, scheme.weight[s]), out, scratch_.get());
      last_ = out;
      floors_ += out.density_floors + out.pressure_floors + out.input_floors;
    }
    u_ = std::move(stage);
    time_ += dt;
  }

  double signal_rate() {
    stage_output out;
    check_cells(p_, u_.data(), n_, dx(), {{0, 0, 0}, {n_, n_, n_}}, out);
    return out.max_signal_rate;
  }

  /// Steps to time t_end with Courant number cfl; returns false if a cell became invalid.
  bool run(double t_end, double cfl = 0.9, const integrator& scheme = ssp_rk3) {
    last_.max_signal_rate = signal_rate();
    while (time_ < t_end * (1.0 - 1e-12)) {
      const double dt = cfl / last_.max_signal_rate;
      step(time_ + dt > t_end ? t_end - time_ : dt, scheme);
      if (last_.first_bad_cell >= 0) return false;
    }
    return true;
  }

  double total(std::size_t v) const {
    double sum = 0.0;
    for (std::size_t c = 0; c < cells_of(n_); ++c) sum += u_[v * cells_of(n_) + c];
    return sum / static_cast<double>(cells_of(n_));
  }

 private:
  std::size_t source(int axis, int x, std::size_t v, double& sign) const {
    if (x >= 0 && x < n_) return x;
    if (kind_[axis] == side_kind::periodic) return (x + n_) % n_;
    if (kind_[axis] == side_kind::outflow) return x < 0 ? 0 : n_ - 1;
    if (v == static_cast<std::size_t>(i_momentum + axis)) sign = -sign;
    return x < 0 ? -1 - x : 2 * n_ - 1 - x;
  }

  hydro_parameters p_;
  int n_, m_;
  side_kind kind_[3];
  scratch_memory scratch_;
  std::vector<double> u_, tile_;
  stage_output last_;
  std::int64_t floors_ = 0;
  double time_ = 0.0;
};

/// A tile of random states: densities and pressures over a range of 1 to `contrast`, velocities up to a few sound
/// speeds.
inline std::vector<double> random_tile(const hydro_parameters& p, int n, unsigned seed, double contrast) {
  const int m = n + 2 * ghost_layers;
  std::vector<double> tile(variable_count(p) * cells_of(m));
  std::mt19937_64 bits(seed);
  auto uniform = [&bits] { return static_cast<double>(bits() >> 11) * 0x1p-53; };
  for (std::size_t c = 0; c < cells_of(m); ++c) {
    primitive w;
    w.density = 1.0 + (contrast - 1.0) * uniform();
    w.pressure = 1.0 + (contrast - 1.0) * uniform();
    for (double& v : w.velocity) v = 4.0 * uniform() - 2.0;
    double sum = 0.0;
    for (int s = 0; s < p.n_species; ++s) sum += w.fraction[s] = uniform();
    for (int s = 0; s < p.n_species; ++s) w.fraction[s] /= sum;
    to_conserved(p.eos, w, p.n_species, &tile[c], static_cast<std::ptrdiff_t>(cells_of(m)));
  }
  return tile;
}

/// The block inside a tile.
inline std::vector<double> interior(const std::vector<double>& tile, int n, int n_var) {
  const int m = n + 2 * ghost_layers;
  std::vector<double> u;
  u.reserve(n_var * cells_of(n));
  for (int v = 0; v < n_var; ++v)
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i)
          u.push_back(tile[((static_cast<std::size_t>(v) * m + k + ghost_layers) * m + j + ghost_layers) * m + i +
                           ghost_layers]);
  return u;
}

}  // namespace plx::star
