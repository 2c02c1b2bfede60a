// The parquet approximation of a cluster, by iteration to self-consistency.
//
//   G from Sigma, its bubbles; Gamma by the parquet equations; Phi by the Bethe-Salpeter equation, one task per
//   transfer; Sigma by the Schwinger-Dyson equation; then all of them are mixed with earlier iterations.
//
// Thread safety: solve() is called by a task; observers are called by it. Results are the same bits for any number of
// workers, on processors with the same instruction set. Cost per iteration: 4 products of 8 rows^3 flops, and 8 reads
// per element, for each of the N * bosons transfers. Example: parquet/solver/test/solver_test.cpp
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "parquet/equations/propagator.hpp"
#include "parquet/vertex/vertex_grid.hpp"
#include "parquet/vertex/vertex_reader.hpp"

namespace plx::parquet {

struct solver_settings {
  double tolerance = 1e-8;  // of the largest change of a vertex, in units of U
  int iterations = 200;     // at most
  double damping = 0.3;     // weight of the new vertices
  int history = 8;          // earlier iterations in Anderson's mixing; 0: damping alone
  bool symmetrize = true;
  int sigma_frequencies = 128;
};

/// One iteration, as reported to observers.
struct iteration_report {
  int iteration = 0;     // from 0
  double residual = 0;   // the largest change of a vertex, in units of U
  double asymmetry = 0;  // the largest deviation from crossing symmetry before it is imposed, in units of U
  double density = 0;
  /// The largest real part of the eigenvalues of Gamma G G at w = 0: an instability is where it reaches 1.
  /// Shape: [channel][momentum].
  std::array<std::vector<double>, 4> eigenvalues;
  double seconds = 0;       // of this iteration
  double seconds_left = 0;  // an estimate from the decay of the residual; negative: none
};

/// The largest eigenvalue of all channels and momenta.
struct leading {
  channel of = channel::density;
  int momentum = 0;
  double eigenvalue = 0;
};
leading leading_of(const iteration_report& r) noexcept;

class solver_observer {
 public:
  virtual ~solver_observer() = default;
  virtual void iterated(const iteration_report& now) = 0;
  /// Asked after each iteration.
  virtual bool stop_requested() { return false; }
};

/// The converged vertices and what follows from them.
struct parquet_solution {
  std::shared_ptr<const vertex_grid> grid;
  qmc::matsubara_function sigma;  // without the Hartree term U (n - 1) / 2
  std::shared_ptr<const propagator> green;
  std::vector<std::complex<double>> phi;  // of all slabs
  iteration_report last;
  bool converged = false, stopped = false;

  double hartree() const noexcept { return green->model().u * (green->density() - 1) / 2; }
  vertex_reader reader() const noexcept { return {*grid, *green, phi.data()}; }
  /// Susceptibility of the charge (density) or of the spin (magnetic) at Q and w = 2 m pi T >= 0:
  /// int dtau exp(i w tau) <A(tau) A+(0)> / 2 with A = n_u +- n_d; singlet: of pairs, <D(tau) D+(0)> with D = c_u c_d
  /// on one site. Requires: U > 0, m < bosons, not triplet.
  std::complex<double> susceptibility(channel c, transfer q) const;
};

/// Bytes that solve() allocates for vertices, history and the workspace of that many workers.
double memory_bytes(const vertex_grid& grid, const solver_settings& s, unsigned workers);

/// Requires: U > 0; settings in their ranges; sigma_frequencies at least 2 * frequencies + bosons.
/// Error: one line: the iteration diverges. Ends without convergence after settings.iterations.
result<parquet_solution> solve(const hubbard_model& model, std::shared_ptr<const vertex_grid> grid,
                               const solver_settings& settings, solver_observer& observer);

}  // namespace plx::parquet
