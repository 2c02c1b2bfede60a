// oneTBB: a flow graph, a continue_node per task and an edge from the previous task that wrote a tile.
#include <tbb/flow_graph.h>

#include <deque>
#include <initializer_list>
#include <vector>

#include "cholesky/tiles.hpp"
#include "library/contest.hpp"
#include "library/tbb.hpp"

namespace {

using tbb::flow::continue_msg;
using node = tbb::flow::continue_node<continue_msg>;

void factor(cholesky::matrix& m) {
  const int n = m.n_tiles();
  tbb::flow::graph g;
  tbb::flow::broadcast_node<continue_msg> start(g);
  std::deque<node> nodes;
  std::vector<node*> writers(static_cast<std::size_t>(n * n), nullptr);
  const auto writer = [&](int i, int j) -> node*& { return writers[static_cast<std::size_t>(i * n + j)]; };
  const auto after = [&](std::initializer_list<node*> before, auto work) {
    node& made = nodes.emplace_back(g, [work](const continue_msg&) { work(); });
    bool any = false;
    for (node* b : before)
      if (b != nullptr) {
        tbb::flow::make_edge(*b, made);
        any = true;
      }
    if (!any) tbb::flow::make_edge(start, made);
    return &made;
  };
  for (int k = 0; k < n; ++k) {
    writer(k, k) = after({writer(k, k)}, [&m, k] { m.potrf(k); });
    for (int i = k + 1; i < n; ++i) writer(i, k) = after({writer(k, k), writer(i, k)}, [&m, k, i] { m.trsm(k, i); });
    for (int i = k + 1; i < n; ++i)
      for (int j = k + 1; j <= i; ++j) {
        node* const second = i == j ? nullptr : writer(j, k);
        writer(i, j) = after({writer(i, k), second, writer(i, j)}, [&m, k, i, j] { m.update(k, i, j); });
      }
  }
  start.try_put(continue_msg());
  g.wait_for_all();
}

const plx::bench::entry<cholesky::cholesky_run> me("tbb", [](cholesky::matrix& m) {
  plx::bench::tbb_arena().execute([&m] { factor(m); });
});

}  // namespace
