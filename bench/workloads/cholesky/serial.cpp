#include "cholesky/tiles.hpp"
#include "library/contest.hpp"

namespace {

const plx::bench::entry<cholesky::cholesky_run> me("serial", [](cholesky::matrix& m) {
  const int n = m.n_tiles();
  for (int k = 0; k < n; ++k) {
    m.potrf(k);
    for (int i = k + 1; i < n; ++i) m.trsm(k, i);
    for (int i = k + 1; i < n; ++i)
      for (int j = k + 1; j <= i; ++j) m.update(k, i, j);
  }
});

}  // namespace
