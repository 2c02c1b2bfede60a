// uts/LIBRARY: ns of wall time per node of UTS's tree T1, a task for each node; /T3: of the deep and thin T3.
// The number of nodes must be the published one.
#include <string>

#include "library/contest.hpp"
#include "uts/tree.hpp"

namespace {

using plx::bench::entry;

void compete(plx::bench::contest& c, uts::shape s, const std::string& suffix) {
  if (c.quick) {
    s.nodes = 0;
    s.binomial ? s.children = 100 : s.levels = 7;
  }
  const long nodes = s.nodes != 0 ? s.nodes : entry<uts::uts_run>::all().back()->run(s);  // serial
  const auto medians = plx::bench::in_turns<uts::uts_run>(c, c.turns(5), [&](const entry<uts::uts_run>& e) {
    uts::shape warm = uts::t1;
    warm.levels = 3;
    e.run(warm);
    long found = 0;
    const auto time = plx::bench::timed([&] { found = e.run(s); });
    plx::bench::expect_same(e.label, found, nodes);
    return time;
  });
  for (const auto& [who, time] : medians)
    c.numbers.add(std::string("uts/") + who->label + suffix,
                  time.calm_s(who->is("serial") ? 1 : c.threads) / static_cast<double>(nodes) * 1e9, "ns",
                  plx::bench::lower);
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  compete(c, uts::t1, "");
  compete(c, uts::t3, "/T3");
  return c.finish();
}
