// scan/LIBRARY: us of wall time for the prefix sums of four million integers; /10k: ten thousand.
#include <string>

#include "library/contest.hpp"
#include "scan/scan.hpp"

namespace {

using plx::bench::entry;

void compete(plx::bench::contest& c, std::size_t n, int repetitions, const std::string& suffix) {
  std::vector<long> values(n), expected(n);
  for (std::size_t i = 0; i < n; ++i) {
    values[i] = static_cast<long>(i % 17);
    expected[i] = values[i] + (i == 0 ? 0 : expected[i - 1]);
  }
  const auto medians = plx::bench::in_turns<scan_run>(c, c.turns(7), [&](const entry<scan_run>& e) {
    std::vector<long> sums(n);
    e.run(values, sums, 2);
    const auto time = plx::bench::timed([&] { e.run(values, sums, repetitions); });
    plx::bench::expect_same(e.label, sums, expected);
    return time;
  });
  for (const auto& [who, time] : medians)
    c.numbers.add(std::string("scan/") + who->label + suffix,
                  time.calm_s(who->is("serial") ? 1 : c.threads) / repetitions * 1e6, "us", plx::bench::lower);
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  compete(c, 4'000'000, c.quick ? 3 : 15, "");
  compete(c, 10'000, c.quick ? 200 : 1000, "/10k");
  return c.finish();
}
