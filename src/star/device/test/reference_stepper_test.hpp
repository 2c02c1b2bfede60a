// Test fixture, also for benchmarks: steps of a mesh by the CPU's kernels, block by block, in the order of the curve;
// without spin.
// It computes what the stepper computes, without tasks.
//
// Thread safety: none. Cost: that of the kernels. Example: star/device/test/device_gas_test.cpp
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "mesh/between/gather.hpp"
#include "mesh/field/arena.hpp"
#include "mesh/field/face_fluxes.hpp"
#include "star/device/device_gas.hpp"
#include "star/hydro/stage.hpp"
#include "star/hydro/state.hpp"

namespace plx::star::device {

class reference_stepper {
 public:
  reference_stepper(const mesh::block_mesh& mesh, const gas_options& o)
      : mesh_(mesh),
        o_(o),
        now(fields_of(o.hydro), mesh.block_size()),
        a_(fields_of(o.hydro), mesh.block_size()),
        b_(fields_of(o.hydro), mesh.block_size()),
        fluxes_(variable_count(o.hydro), mesh.block_size()),
        left(variable_count(o.hydro)),
        signal_rate(mesh.slot_count(), 0.0) {
    for (mesh::arena* a : {&now, &a_, &b_}) a->resize(mesh.slot_count());
    fluxes_.resize(mesh);
    left.resize(mesh);
    const std::size_t bytes = stage_scratch_bytes(o.hydro, mesh.block_size());
    scratch_.reset(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
    const std::size_t face = static_cast<std::size_t>(now.variable_count()) * mesh.block_size() * mesh.block_size();
    for (auto& f : face_) f.resize(face);
  }

  /// Returns true if there is no bad cell; then the state has advanced.
  bool step(double dt) {
    std::vector<double> rates(mesh_.slot_count(), 0.0);
    bool good = true;
    for (int stage = 0; stage < o_.scheme.stages; ++stage) {
      for (const mesh::slot_id slot : mesh_.blocks()) {
        const stage_output out = advance(slot, stage, dt);
        rates[slot] = out.max_signal_rate;
        good = good && out.first_bad_cell < 0;
        count(out);
      }
      for (const mesh::slot_id slot : mesh_.blocks()) good = correct(slot, stage, dt, rates) && good;
    }
    if (!good) return false;
    std::swap(now, target(o_.scheme.stages - 1));
    signal_rate = rates;
    left.fold();
    return true;
  }
  double largest_rate() const { return *std::max_element(signal_rate.begin(), signal_rate.end()); }

 private:
  mesh::arena& source(int stage) { return stage == 0 ? now : stage == 1 ? a_ : b_; }
  mesh::arena& target(int stage) { return stage == 1 ? b_ : a_; }

  stage_output advance(mesh::slot_id slot, int stage, double dt) {
    stage_input in;
    in.tile = mesh::gather_tile(mesh_, source(stage), slot, o_.sides, tile_,
                                o_.hydro.scheme == hydro_scheme::full3d ? mesh::reach::full : mesh::reach::faces);
    in.u_old = now.block(slot);
    in.n = mesh_.block_size();
    in.place = mesh_.cell_width(slot);
    in.dt = dt;
    in.weight = o_.scheme.weight[stage];
    stage_output out;
    out.u_new = target(stage).block(slot);
    for (int f = 0; f < mesh::face_count; ++f) out.face_flux[f] = face_[f].data();
    advance_block(o_.hydro, in, out, scratch_.get());
    const std::uint32_t kept = mesh::flux_register::wanted_faces(mesh_, slot);
    const std::uint32_t sides = mesh::side_totals::wanted_faces(mesh_, slot);
    for (int f = 0; f < mesh::face_count; ++f) {
      if ((kept >> f & 1) != 0) fluxes_.put(mesh_, slot, f, out.face_flux[f]);
      if ((sides >> f & 1) != 0) left.add(mesh_, slot, f, out.face_flux[f], dt * o_.scheme.flux_weight[stage]);
    }
    return out;
  }

  bool correct(mesh::slot_id slot, int stage, double dt, std::vector<double>& rates) {
    if (mesh_.finer_face_count(slot) == 0) return true;
    const int n = mesh_.block_size();
    const double dx = mesh_.cell_width(slot);
    double* u = target(stage).block(slot);
    fluxes_.apply(mesh_, slot, o_.scheme.weight[stage] * dt / dx, u);
    bool good = true;
    for (int f = 0; f < mesh::face_count; ++f) {
      if (mesh_.across(slot, f).kind != mesh::relation::finer) continue;
      cell_box box{{0, 0, 0}, {n, n, n}};
      const int axis = mesh::face_axis(f);
      (mesh::face_is_upper(f) ? box.lower[axis] = n - 1 : box.upper[axis] = 1);
      stage_output out;
      check_cells(o_.hydro, u, n, dx, box, out);
      rates[slot] = std::max(rates[slot], out.max_signal_rate);
      good = good && out.first_bad_cell < 0;
      count(out);
    }
    return good;
  }

  void count(const stage_output& out) {
    density_floors += out.density_floors, pressure_floors += out.pressure_floors, input_floors += out.input_floors;
  }

  struct free_memory {
    void operator()(void* p) const { std::free(p); }
  };
  mesh::block_mesh mesh_;
  gas_options o_;

 public:
  mesh::arena now;

 private:
  mesh::arena a_, b_;
  mesh::flux_register fluxes_;
  mesh::tile_scratch tile_;
  std::unique_ptr<void, free_memory> scratch_;
  std::vector<double> face_[mesh::face_count];

 public:
  mesh::side_totals left;  ///< cumulative outflow of all steps
  std::vector<double> signal_rate;
  std::int64_t density_floors = 0, pressure_floors = 0, input_floors = 0;  ///< including steps that failed
};

}  // namespace plx::star::device
