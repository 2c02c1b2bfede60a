// All ways to place n queens on a board, a task for each queen, including the last: irregular and fine-grained.
// nqueens/LIBRARY: ns of wall time per task.
#include <cstdint>
#include <numeric>
#include <string>

#include "library/contest.hpp"
#include "library/libraries.hpp"
#include "rt/task_group.hpp"
#ifdef PLX_HAVE_TBB
#include <tbb/task_group.h>
#endif

namespace {

using plx::bench::entry;

// Queens on a board, one bit per column: the columns and diagonals that the rows so far attack.
struct board {
  std::uint32_t columns = 0, left = 0, right = 0;

  [[nodiscard]] std::uint32_t free(int n) const { return ((1u << n) - 1) & ~(columns | left | right); }
  [[nodiscard]] bool full(int n) const { return columns == (1u << n) - 1; }
  /// With one more row, whose queen is in the column of `bit`.
  [[nodiscard]] board with(std::uint32_t bit) const { return {columns | bit, (left | bit) << 1, (right | bit) >> 1}; }
};

/// Calls `visit(board, i)` for the i-th possible position of a queen in the next row.
template <class Visit>
void for_each_way(const board& b, int n, Visit&& visit) {
  int i = 0;
  for (std::uint32_t ways = b.free(n); ways != 0; ways &= ways - 1) visit(b.with(ways & -ways), i++);
}

inline constexpr int max_queens = 16;

/// The number of solutions on a board of n x n. Requires: n <= max_queens.
using nqueens_run = long(int n);

// ---- plx and oneTBB
template <class Group>
long count(board b, int n) {
  if (b.full(n)) return 1;
  long counts[max_queens] = {};
  Group children;
  for_each_way(b, n,
               [&](board next, int i) { children.run([&counts, next, n, i] { counts[i] = count<Group>(next, n); }); });
  children.wait();
  return std::accumulate(counts, counts + n, 0L);
}

const entry<nqueens_run> with_plx("plx", [](int n) {
  return plx::bench::plx_runtime().run([n] { return count<plx::task_group>({}, n); });
});
#ifdef PLX_HAVE_TBB
const entry<nqueens_run> with_tbb("tbb", [](int n) {
  return plx::bench::tbb_arena().execute([n] { return count<tbb::task_group>({}, n); });
});
#endif

#ifdef _OPENMP
namespace with_openmp {

long count(board b, int n) {
  if (b.full(n)) return 1;
  long counts[max_queens] = {};
  for_each_way(b, n, [&](board next, int i) {
    long* const result = &counts[i];
#pragma omp task firstprivate(result, next, n)
    *result = count(next, n);
  });
#pragma omp taskwait
  return std::accumulate(counts, counts + n, 0L);
}

const entry<nqueens_run> me("omp", [](int n) { return plx::bench::in_omp([n] { return count({}, n); }); });

}  // namespace with_openmp
#endif

namespace serial {

long count(board b, int n) {
  if (b.full(n)) return 1;
  long sum = 0;
  for_each_way(b, n, [&](board next, int) { sum += count(next, n); });
  return sum;
}

const entry<nqueens_run> me("serial", [](int n) { return count({}, n); });

}  // namespace serial

// ---- measurement
constexpr long solutions[] = {1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712};

long nodes(board b, int n) {
  long sum = 1;
  for_each_way(b, n, [&](board next, int) { sum += nodes(next, n); });
  return sum;
}

int size_for(const entry<nqueens_run>& e, bool quick) { return (e.is("omp") ? 10 : 12) - (quick ? 2 : 0); }

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  const auto medians = plx::bench::in_turns<nqueens_run>(c, c.turns(7), [&](const entry<nqueens_run>& e) {
    const int n = size_for(e, c.quick);
    e.run(6);
    long found = 0;
    const auto time = plx::bench::timed([&] { found = e.run(n); });
    plx::bench::expect_same(e.label, found, solutions[n]);
    return time;
  });
  for (const auto& [who, time] : medians)
    c.numbers.add(
        std::string("nqueens/") + who->label,
        time.calm_s(who->is("serial") ? 1 : c.threads) / static_cast<double>(nodes({}, size_for(*who, c.quick))) * 1e9,
        "ns", plx::bench::lower);
  return c.finish();
}
