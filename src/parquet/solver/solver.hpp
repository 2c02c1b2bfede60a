// The parquet approximation of a cluster, by iteration to self-consistency.
//
//   G from Sigma, its bubbles; Gamma by the parquet equations; Phi by the Bethe-Salpeter equation, one task per
//   transfer; Sigma by the Schwinger-Dyson equation; then all of them are mixed with earlier iterations.
//
// Thread safety: solve() is called by a task; observers are called by it. Results are the same bits for any number of
// workers and localities, on processors with the same instruction set. Cost per iteration: 4 products of 8 rows^3
// flops, and 8 reads per element, for each of the N * bosons transfers. Example: parquet/solver/test/solver_test.cpp
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "num/large_vector.hpp"
#include "parquet/distribution/rotation_form.hpp"
#include "parquet/green/propagator.hpp"
#include "parquet/vertex/vertex_grid.hpp"
#include "parquet/vertex/vertex_reader.hpp"

namespace plx {
class team;
namespace gpu {
class device;
}
}  // namespace plx

namespace plx::parquet {

struct solver_settings {
  double tolerance = 1e-8;  // of the largest change of a vertex, in units of U; of t if U is zero
  int iterations = 200;     // at most
  double damping = 0.3;     // weight of the new vertices
  int history = 8;          // earlier iterations in Anderson's mixing; 0: damping alone
  bool symmetrize = true;
  int sigma_frequencies = 128;
  rotation_form rotation = rotation_form::packed;  // between localities
  bool gather = false;                             // the vertices of all localities on each at the end
  bool full = false;                               // F of the own slabs at the end, if the solution converges
  gpu::device* device = nullptr;                   // device of this locality; null on all localities: CPU only
  bool resident = true;  // one locality: all vertices stay on the device if they fit; false: slabs stream through it
};

/// One iteration, as reported to observers.
struct iteration_report {
  int iteration = 0;     // from 0
  double residual = 0;   // the largest change of a vertex, in units of U; of t if U is zero
  double asymmetry = 0;  // the largest deviation from crossing symmetry before it is imposed, in the same units
  double density = 0;
  /// The largest real part of the eigenvalues of Gamma G G at w = 0: an instability is where it reaches 1.
  /// Shape: [channel][momentum].
  std::array<std::vector<double>, 4> eigenvalues;
  double seconds = 0;       // of this iteration
  rotation_work rotation;   // of all localities; zero without others
  double seconds_left = 0;  // an estimate from the decay of the residual; negative: none
};

/// The largest eigenvalue of all channels and momenta.
struct leading {
  channel of = channel::density;
  int momentum = 0;
  double eigenvalue = 0;
};
leading leading_of(const iteration_report& r) noexcept;

/// The state of solve() between two iterations: numbers, the same on all localities, and vectors of the own slabs, laid
/// out as by vertex_grid. Any number of localities can continue from it, with the same bits.
struct solver_state {
  std::vector<double> numbers;
  int first_slab = 0, last_slab = 0;
  std::vector<std::span<const std::complex<double>>> vectors;
};

class solver_observer {
 public:
  virtual ~solver_observer() = default;
  virtual void iterated(const iteration_report& now) = 0;
  /// Called after each iteration.
  virtual bool stop_requested() { return false; }
  /// A flag that stops the solver within an iteration, which is dropped.
  virtual const std::atomic<bool>* stop_flag() const { return nullptr; }
  /// Asked after each iteration. If it is true on any locality, or the solver stops, save() is called on all.
  virtual bool save_requested() { return false; }
  /// Collective. The state is valid during the call.
  virtual void save(const solver_state&) {}
};

/// A state that was saved.
class saved_solver_state {
 public:
  virtual ~saved_solver_state() = default;
  virtual const std::vector<double>& numbers() const = 0;
  /// Fills all vectors with the values of the slabs [first_slab, last_slab). Error: one line.
  virtual result<void> read(int first_slab, int last_slab,
                            const std::vector<std::span<std::complex<double>>>& vectors) const = 0;
};

/// The converged vertices and what follows from them. If the solver was stopped, nothing but `last` and `stopped`
/// is set.
struct parquet_solution {
  std::shared_ptr<const vertex_grid> grid;
  qmc::matsubara_function sigma;  // without the Hartree term U (n - 1) / 2
  std::shared_ptr<const propagator> green;
  large_vector<std::complex<double>> phi;  // of the slabs [first_slab, last_slab)
  int first_slab = 0, last_slab = 0;
  /// F of the own slabs, also with settings.gather, laid out as phi; empty unless settings.full and converged.
  large_vector<std::complex<double>> full;
  std::vector<std::complex<double>> limits;  // of each slab and channel at large nu and nu': K1; all slabs
  iteration_report last;
  bool converged = false, stopped = false;

  double hartree() const noexcept { return green->model().u * (green->density() - 1) / 2; }
  /// Requires: all slabs are here: one locality, or settings.gather.
  vertex_reader reader() const;
  /// Susceptibility of the charge (density) or of the spin (magnetic) at Q and w = 2 m pi T >= 0:
  /// int dtau exp(i w tau) <A(tau) A+(0)> / 2 with A = n_u +- n_d; singlet: of pairs, <D(tau) D+(0)> with D = c_u c_d
  /// on one site. Requires: m < bosons, not triplet.
  std::complex<double> susceptibility(channel c, transfer q) const;
};

/// Bytes that solve() allocates on the locality with most slabs, of that many: vertices, history, rotations, and the
/// workspace of the workers. Gathered vertices are not included.
double memory_bytes(const vertex_grid& grid, const solver_settings& s, unsigned workers, unsigned localities = 1);

/// Requires: U >= 0; settings in their ranges; sigma_frequencies at least 2 * frequencies + bosons.
/// Error: one line: the iteration diverges, or a device of a locality fails, and rank 0 has the message. If it fails
/// within an iteration, the state before it is saved, unless vertices stay on a device that is lost or refuses to copy
/// them; if it fails between iterations or at the end, nothing is saved. Ends without convergence after
/// settings.iterations. Collective: all members call it with the same arguments, and get the same result but for their
/// slabs. `from`: where to continue, with the same model, grid, and settings but for iterations and rotation; null: at
/// the beginning. Error: it cannot be read; the message is empty on localities that could read their part.
result<parquet_solution> solve(const hubbard_model& model, std::shared_ptr<const vertex_grid> grid,
                               const solver_settings& settings, solver_observer& observer, const team& members,
                               const saved_solver_state* from = nullptr);
/// On this process alone.
result<parquet_solution> solve(const hubbard_model& model, std::shared_ptr<const vertex_grid> grid,
                               const solver_settings& settings, solver_observer& observer);

}  // namespace plx::parquet
