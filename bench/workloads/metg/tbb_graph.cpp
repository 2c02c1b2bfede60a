// oneTBB's flow graph: a continue_node per task and an edge per input, rebuilt for each run.
#include <tbb/flow_graph.h>

#include <deque>

#include "library/contest.hpp"
#include "library/tbb.hpp"
#include "metg/graph.hpp"

namespace {

using tbb::flow::continue_msg;
using node = tbb::flow::continue_node<continue_msg>;

const plx::bench::entry<void(metg::run&)> me("tbb-graph", [](metg::run& r) {
  plx::bench::tbb_arena().execute([&r] {
    tbb::flow::graph g;
    std::deque<node> nodes;
    std::vector<node*> at(r.index(r.steps(), 0)), roots;
    for (metg::step t = 0; t < r.steps(); ++t)
      for (metg::point p = 0; p < r.shape().active(t); ++p) {
        node& made = nodes.emplace_back(g, [&r, t, p](const continue_msg&) { r.execute(t, p); });
        at[r.index(t, p)] = &made;
        const auto in = r.shape().inputs(t, p);
        for (const metg::point q : in) tbb::flow::make_edge(*at[r.index(t - 1, q)], made);
        if (in.empty()) roots.push_back(&made);
      }
    for (node* n : roots) n->try_put(continue_msg());
    g.wait_for_all();
  });
});

}  // namespace
