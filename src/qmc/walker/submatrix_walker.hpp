// The walker that collects moves and applies them in products of matrices.
//
// The moves of a batch change the diagonal matrix e^V of a fixed set of vertices: those present and those that the
// batch may insert, which begin with e^V = 1. With D = e^V' / e^V = 1 + d for the changed vertices S,
//
//   A' = A [D - G (D - 1)],  G = N g0,      det A' / det A = prod(-d) det Gamma,   Gamma = G_SS - diag((1 + d) / d),
//   N' = N + (1 - G)_:S Gamma^-1 N_S:.
//
// A move costs O(|S|^2) and elements of G; N changes at the end of a batch only, in products of matrices.
// Invariant: the decisions are those of rank_one_walker for the same random numbers, up to rounding of the ratios.
// Thread safety, example: as walker.hpp. Source: Gull et al. (2011), Phys. Rev. B 83, 075122.
#pragma once

#include "qmc/walker/walker.hpp"

namespace plx::qmc {

class submatrix_walker final : public walker {
 public:
  /// batch: how many proposals are collected at most.
  submatrix_walker(const free_propagator& g0, expansion e, random_stream stream, int batch = 64);
  void advance(int n) override;

 private:
  // Slots are numbers of vertices within a batch: 0 ... n_base_ - 1 are in N, the others are candidates for insertion.
  struct slot {
    vertex v;
    int s_now = 0;     // 0: absent
    int changed = -1;  // index in changed_, or -1: as in the reference N
  };
  enum class outcome { rejected, accepted, inaccurate };

  void begin_batch(int first, int end);
  outcome decide(const proposal& p, int candidate);
  outcome change(int at, int s_new, const proposal& p, int order);
  void apply_batch();
  double exp_now(int sigma, int s) const { return s == 0 ? 1 : expansion_.exp_v(sigma, s); }
  // G between two slots.
  double green(int sigma, int i, int j) const;
  void drop_changed(int index);

  int batch_;
  std::vector<proposal> proposals_;
  std::vector<slot> slots_;
  std::vector<int> order_;    // slots of the present vertices, in the order that rank_one_walker keeps
  std::vector<int> changed_;  // the set S: slots
  int n_base_ = 0;
  struct side {                  // of one spin
    real_matrix weighted;        // [candidate][base]: g0 (e^V - 1)
    real_matrix rows;            // [candidate][base]: N, of the candidates' rows
    real_matrix columns;         // [base][candidate]: G
    real_matrix corner;          // [candidate][candidate]: G
    real_matrix gamma_inverse;   // [changed][changed]
    std::vector<double> change;  // d of each member of S
    std::vector<double> column, row, left, right;
    double ratio = 0, schur = 0, d_new = 0;
    real_matrix x, y, xg, result;
  };
  real_matrix from_candidate_, to_candidate_,
      between_;  // g0: [candidate][base], [base][candidate], [candidate][candidate]
  std::array<side, 2> sides_;
  std::vector<vertex>
      present_;  // scratch of apply_batch(), with moved_: places of order_ with another slot than before
  std::vector<int> moved_;
};

}  // namespace plx::qmc
