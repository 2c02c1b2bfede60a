// A task has ten children, each of them ten, down to a million leaves, which return their index; each other task
// returns the sum. skynet/LIBRARY: ns of wall time per leaf.
#include <string>

#include "library/contest.hpp"

namespace {

using plx::bench::entry;

long leaves_for(const entry<long(long)>& e, bool quick) {
  const long n = e.is("omp") ? 100'000 : 1'000'000;
  return quick ? n / 10 : n;
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  const auto medians = plx::bench::in_turns<long(long)>(c, c.turns(7), [&](const entry<long(long)>& e) {
    const long leaves = leaves_for(e, c.quick);
    e.run(1000);
    long sum = 0;
    const auto time = plx::bench::timed([&] { sum = e.run(leaves); });
    plx::bench::expect_same(e.label, sum, leaves * (leaves - 1) / 2);
    return time;
  });
  for (const auto& [who, time] : medians)
    c.numbers.add(std::string("skynet/") + who->label,
                  time.calm_s(who->is("serial") ? 1 : c.threads) / static_cast<double>(leaves_for(*who, c.quick)) * 1e9,
                  "ns", plx::bench::lower);
  return c.finish();
}
