#include "cholesky/tiles.hpp"
#include "library/contest.hpp"

namespace {

void factor(cholesky::matrix& m) {
  const int n = m.n_tiles();
  cholesky::matrix* const all = &m;
  for (int k = 0; k < n; ++k) {
    [[maybe_unused]] double* const diagonal = m.tile(k, k);
#pragma omp task firstprivate(all, k) depend(inout : diagonal[0])
    all->potrf(k);
    for (int i = k + 1; i < n; ++i) {
      [[maybe_unused]] double* const panel = m.tile(i, k);
#pragma omp task firstprivate(all, k, i) depend(in : diagonal[0]) depend(inout : panel[0])
      all->trsm(k, i);
    }
    for (int i = k + 1; i < n; ++i)
      for (int j = k + 1; j <= i; ++j) {
        [[maybe_unused]] double *const a = m.tile(i, k), *const b = m.tile(j, k), *const c = m.tile(i, j);
#pragma omp task firstprivate(all, k, i, j) depend(in : a[0], b[0]) depend(inout : c[0])
        all->update(k, i, j);
      }
  }
}

const plx::bench::entry<cholesky::cholesky_run> me("omp", [](cholesky::matrix& m) {
#pragma omp parallel
#pragma omp single
  factor(m);
});

}  // namespace
