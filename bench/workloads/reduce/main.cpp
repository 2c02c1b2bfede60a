// reduce/LIBRARY: us of wall time to add four million doubles; /10k: ten thousand.
#include <string>

#include "library/contest.hpp"
#include "reduce/reduce.hpp"

namespace {

using plx::bench::entry;

void compete(plx::bench::contest& c, std::size_t n, int repetitions, const std::string& suffix) {
  std::vector<double> values(n);
  double expected = 0;
  for (std::size_t i = 0; i < n; ++i) expected += values[i] = static_cast<double>(i % 17);  // exact in any order
  const auto medians = plx::bench::in_turns<reduce_run>(c, c.turns(7), [&](const entry<reduce_run>& e) {
    e.run(values, 2);
    double sum = 0;
    const auto time = plx::bench::timed([&] { sum = e.run(values, repetitions); });
    plx::bench::expect_same(e.label, sum, repetitions * expected);
    return time;
  });
  for (const auto& [who, time] : medians)
    c.numbers.add(std::string("reduce/") + who->label + suffix,
                  time.calm_s(who->is("serial") ? 1 : c.threads) / repetitions * 1e6, "us", plx::bench::lower);
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  compete(c, 4'000'000, c.quick ? 3 : 20, "");
  compete(c, 10'000, c.quick ? 200 : 1000, "/10k");
  return c.finish();
}
