// Tiled factorization of a matrix, a task per operation on a tile, with futures (plx), a flow graph (oneTBB), depend
// clauses (OpenMP). cholesky/LIBRARY: ms of wall time, with tiles of 32 x 32 (about 10 us of work per task); /t64: the
// same matrix in tiles of 64 x 64.
#include <string>

#include "cholesky/tiles.hpp"
#include "library/contest.hpp"

namespace {

using cholesky::cholesky_run;
using plx::bench::entry;

void compete(plx::bench::contest& c, int edge, const std::string& suffix) {
  const int n_tiles = (c.quick ? 256 : 768) / edge;
  cholesky::matrix expected(n_tiles, edge);
  entry<cholesky_run>::all().back()->run(expected);  // serial
  const auto medians = plx::bench::in_turns<cholesky_run>(c, c.turns(7), [&](const entry<cholesky_run>& e) {
    cholesky::matrix warm(4, edge), m(n_tiles, edge);
    e.run(warm);
    const auto time = plx::bench::timed([&] { e.run(m); });
    plx::bench::expect_same(e.label, m, expected);
    return time;
  });
  for (const auto& [who, time] : medians)
    c.numbers.add(std::string("cholesky/") + who->label + suffix, time.calm_s(who->is("serial") ? 1 : c.threads) * 1e3,
                  "ms", plx::bench::lower);
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  compete(c, 32, "");
  compete(c, 64, "/t64");
  return c.finish();
}
