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
  void add_changed(int at);
  void drop_changed(int index);
  void apply_batch();
  void apply_to_columns(int sigma, int first, int count);
  double exp_now(int sigma, int s) const { return s == 0 ? 1 : expansion_.exp_v(sigma, s); }

  int batch_;
  std::vector<proposal> proposals_;
  std::vector<slot> slots_;
  std::vector<int> order_;    // slots of the present vertices, in the order that rank_one_walker keeps
  std::vector<int> changed_;  // the set S: slots
  int n_base_ = 0;
  std::vector<int> of_base_;  // members of S that are in the base: their indices in changed_
  // The candidates among S: their indices in changed_, sites and times.
  std::vector<int> inserted_, inserted_sites_;
  std::vector<double> inserted_taus_;
  std::vector<double> out_, back_;  // g0 from the candidate that is decided to those inserted, and back
  struct side {                     // of one spin
    std::vector<double> weights;    // [base]: e^V - 1
    real_matrix weighted;           // [base][candidate]: g0 (e^V - 1) of the candidate's row
    real_matrix columns;            // [base][candidate]: G
    real_matrix pairs;              // [candidate][candidate]: weighted^T columns
    // [base][changed]: columns of G. Elements of base vertices in their own column lack the unit matrix's part.
    real_matrix basis;
    real_matrix gamma_inverse;   // [changed][changed]
    std::vector<double> change;  // d of each member of S
    std::vector<double> column, row, left, right, dots;
    double ratio = 0, schur = 0, d_new = 0;
    // Products: columns of `weighted` as rows; of apply_batch(), [inserted][vertex], and [changed][vertex] twice.
    real_matrix left_factor, rows, y, z;
  };
  std::array<side, 2> sides_;
  std::vector<int> base_sites_;
  std::vector<double> base_taus_;
  real_matrix to_candidate_;            // [base][candidate]: g0
  std::vector<const double*> factors_;  // scratch: columns
  // Scratch of apply_batch(): rows of N by slot, places that another slot moves to, vertices.
  std::vector<int> place_, moved_;
  std::vector<vertex> present_;
};

}  // namespace plx::qmc
