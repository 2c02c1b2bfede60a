#include "library/contest.hpp"
#include "metg/graph.hpp"

namespace {

const plx::bench::entry<void(metg::run&)> me("serial", [](metg::run& r) {
  for (metg::step t = 0; t < r.steps(); ++t)
    for (metg::point p = 0; p < r.shape().active(t); ++p) r.execute(t, p);
});

}  // namespace
