// Parallel algorithms: those of the standard, with plx instead of std. The result depends on the elements alone, to the
// last bit, not on the number of workers. A policy with (task) returns a future instead of waiting.
#include <cmath>
#include <cstdio>
#include <vector>

#include "rt/algorithm.hpp"
#include "rt/runtime.hpp"

namespace ex = plx::execution;

// A mean, an order, a search.
void stars() {
  std::vector<double> magnitude(1'000'000);
  plx::for_loop(plx::par, std::size_t{0}, magnitude.size(), plx::induction(0.0, 1e-3),
                [&](std::size_t i, double x) { magnitude[i] = 12 + 5 * std::sin(x) + 2 * std::cos(7 * x); });
  const double sum = plx::reduce(plx::par, magnitude);
  std::printf("mean magnitude %.6f; seq gives the same bits: %s\n", sum / 1e6,
              sum == plx::reduce(plx::seq, magnitude) ? "yes" : "no");

  plx::future<void> sorted = plx::sort(plx::par(ex::task), magnitude);
  sorted.get();
  const auto visible = plx::find_if(plx::par, magnitude, [](double m) { return m > 6; });
  std::printf("%td of them are visible, the brightest has %.3f\n", visible - magnitude.begin(), magnitude[0]);
}

// One loop, several results.
void moments(const std::vector<double>& x) {
  double sum = 0, squares = 0, largest = x[0];
  plx::for_loop(plx::par, std::size_t{0}, x.size(), plx::reduction_plus(sum), plx::reduction_plus(squares),
                plx::reduction_max(largest), [&x](std::size_t i, double& s, double& q, double& m) {
                  s += x[i];
                  q += x[i] * x[i];
                  if (m < x[i]) m = x[i];
                });
  std::printf("sum %g, squares %g, largest %g\n", sum, squares, largest);
}

int main() {
  plx::runtime rt;
  rt.run([] {
    stars();
    moments({1, 2, 3, 4});

    std::vector<int> counts{3, 1, 4, 1, 5}, ends(5);
    plx::inclusive_scan(plx::par, counts, ends.begin());
    std::printf("the last of %d ends at %d\n", counts[4], ends[4]);

    auto failing = plx::for_each(plx::par(ex::task), counts, [](int n) {
      if (n == 4) throw n;
    });
    try {
      failing.get();
    } catch (int n) {
      std::printf("an exception came with the future: %d\n", n);
    }
  });
}

// Output:
//   mean magnitude 12.002331; seq gives the same bits: yes
//   43214 of them are visible, the brightest has 5.119
//   sum 10, squares 30, largest 4
//   the last of 5 ends at 14
//   an exception came with the future: 4
