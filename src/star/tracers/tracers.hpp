// Tracers: points that move with the gas, dx/dt = v(x, t), by Heun's scheme of second order in each step,
//   x* = x + dt v_n(x),   x_{n+1} = x + dt (v_n(x) + v_{n+1}(x*)) / 2
// with the velocity of the cell plus its slopes to the neighbours across faces, exact for linear velocities, also where
// levels meet. On a mesh that rotates, velocities are relative to it.
//
// Each locality knows all tracers and evaluates the velocity at those in its own blocks; the rest comes from the
// others. Results have the same bits on any number of workers and localities, with a device, and after a restart.
//
// Thread safety: one task at a time; loops over blocks on all workers. Functions marked *collective* are called by all
// localities. Cost: per step two gathers of each block that has tracers; with several localities two messages of four
// numbers per tracer to all. On a device the run copies all values to the host in each step. Errors: locality_lost,
// thrown. Example: star/tracers/test/tracers_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "star/driver/options.hpp"
#include "star/output/series/variables.hpp"
#include "star/problems/problem.hpp"

namespace plx::star {

struct gas;
struct hydro_parameters;
class worker_scratch;

struct tracer {
  vector place{};
  int star = 0;        ///< of its first cell, counted from 1; 0: none, or unknown
  int species = -1;    ///< with the largest mass fraction where it began, counted from 0; -1: no species
  bool inside = true;  ///< false: it has left the domain, and rests where it left
};

class tracers {
 public:
  tracers(const tracer_options& o, const hydro_parameters& p);

  bool present() const { return options_.number > 0; }
  const std::vector<tracer>& all() const { return all_; }

  /// Places them in the present state, each with the same mass (or volume) of gas, at a random point of its cell; the
  /// numbers follow from the place alone. The stars are those of `start`; without it none are known, in a state in
  /// which they have moved. Collective. Requires: g.now is the initial state of `start`; without it a placement other
  /// than "stars". Errors: one line, on all localities: a star without cells.
  /// Cost: on each locality below 1 us per tracer, and some 20 ns per local cell, shared by all workers.
  result<void> place(const gas& g, const problem* start);
  /// Takes the velocities at the start of a step. Collective, before the step.
  void begin_step(const gas& g, worker_scratch& scratch, double time);
  /// Moves them by a step of this length, which ended at `time`. Collective, after the step, on the same mesh.
  void end_step(const gas& g, worker_scratch& scratch, double time, double dt);

  /// For checkpoints: six numbers per tracer.
  std::vector<double> numbers() const;
  /// Errors: one line: another number of tracers.
  result<void> restore(const std::vector<double>& numbers);

  /// A table of the present state: step, time, tracer, star, species, position, velocity (inertial, along the axes of
  /// the mesh), and variables of the cell that it is in; `nan` after it has left the domain. `gravity` as in
  /// fill_variables(). Collective; complete on the root.
  std::string table(std::span<const output_variable> variables, const gas& g, const hydro_parameters& p,
                    worker_scratch& scratch, std::int64_t step, double time,
                    const gravity_field* gravity = nullptr) const;

 private:
  bool place_group(const gas& g, const std::vector<int>& star, int group, std::size_t begin);
  int species_at(const gas& g, mesh::slot_id b, std::size_t c) const;
  std::vector<vector> velocities(const gas& g, worker_scratch& scratch, double time,
                                 const std::vector<vector>& places) const;
  vector relative(const vector& velocity, const vector& place) const;
  std::vector<vector> places() const;
  void keep_inside(const gas& g, tracer& t) const;

  tracer_options options_;
  double omega_ = 0.0;
  int n_species_ = 0;
  std::vector<tracer> all_;
  std::vector<vector> before_;  // velocities at the start of the step
};

}  // namespace plx::star
