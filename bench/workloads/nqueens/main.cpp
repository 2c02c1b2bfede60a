// All ways to place n queens on a board, a task for each queen, including the last: irregular and fine-grained.
// nqueens/LIBRARY: ns of wall time per task.
#include <string>

#include "library/contest.hpp"
#include "nqueens/board.hpp"

namespace {

using plx::bench::entry;

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
