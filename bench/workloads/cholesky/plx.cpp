// plx: a future per tile, replaced by that of the next task that writes the tile.
#include <vector>

#include "cholesky/tiles.hpp"
#include "library/contest.hpp"
#include "library/plx.hpp"
#include "rt/dataflow.hpp"
#include "rt/when.hpp"

namespace {

using done = plx::shared_future<void>;

void factor(cholesky::matrix& m) {
  const int n = m.n_tiles();
  std::vector<done> tiles(static_cast<std::size_t>(n * n), plx::make_ready_future().share());
  const auto tile = [&](int i, int j) -> done& { return tiles[static_cast<std::size_t>(i * n + j)]; };
  for (int k = 0; k < n; ++k) {
    tile(k, k) = plx::dataflow([&m, k](const done&) { m.potrf(k); }, tile(k, k));
    for (int i = k + 1; i < n; ++i)
      tile(i, k) = plx::dataflow([&m, k, i](const done&, const done&) { m.trsm(k, i); }, tile(k, k), tile(i, k));
    for (int i = k + 1; i < n; ++i)
      for (int j = k + 1; j <= i; ++j)
        tile(i, j) = plx::dataflow([&m, k, i, j](const done&, const done&, const done&) { m.update(k, i, j); },
                                   tile(i, k), tile(j, k), tile(i, j));
  }
  for (const done& d : tiles) d.get();
}

const plx::bench::entry<cholesky::cholesky_run> me("plx", [](cholesky::matrix& m) {
  plx::bench::plx_runtime().run([&m] { factor(m); });
});

}  // namespace
