// plx with futures: each task is a dataflow of the futures of its inputs.
#include <vector>

#include "library/contest.hpp"
#include "library/plx.hpp"
#include "metg/graph.hpp"
#include "rt/dataflow.hpp"
#include "rt/when.hpp"

namespace {

using done = plx::shared_future<void>;

done start(metg::run& r, metg::step t, metg::point p, const std::vector<done>& before) {
  const auto in = r.shape().inputs(t, p);
  switch (in.size()) {
    case 0:
      return plx::async([&r, t, p] { r.execute(t, p); });
    case 1:
      return plx::dataflow([&r, t, p](const done&) { r.execute(t, p); }, before[in[0]]);
    case 2:
      return plx::dataflow([&r, t, p](const done&, const done&) { r.execute(t, p); }, before[in[0]], before[in[1]]);
    case 3:
      return plx::dataflow([&r, t, p](const done&, const done&, const done&) { r.execute(t, p); }, before[in[0]],
                           before[in[1]], before[in[2]]);
    default: {
      std::vector<done> inputs;
      for (const metg::point q : in) inputs.push_back(before[q]);
      return plx::dataflow([&r, t, p](const std::vector<done>&) { r.execute(t, p); }, std::move(inputs));
    }
  }
}

const plx::bench::entry<void(metg::run&)> me("plx-graph", [](metg::run& r) {
  plx::bench::plx_runtime().run([&r] {
    std::vector<done> before, now, unread;
    for (metg::step t = 0; t < r.steps(); ++t) {
      now.clear();
      for (metg::point p = 0; p < r.shape().active(t); ++p) {
        now.push_back(start(r, t, p, before));
        if (t + 1 == r.steps() || r.shape().readers(t, p).empty()) unread.push_back(now.back());
      }
      std::swap(before, now);
    }
    for (const done& d : unread) d.get();
  });
});

}  // namespace
