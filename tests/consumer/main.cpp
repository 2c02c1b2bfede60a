// A program outside the repository: it sees only what users of Parallax see.
#include <cstdio>
#include <cstring>

#include "base/build_info.hpp"
#include "num/exact_sum.hpp"
#include "probe/record/recorder.hpp"
#include "rt/runtime.hpp"
#include "rt/when.hpp"

int main() {
  plx::runtime rt;
  const double sum = rt.run([] {
    std::vector<plx::future<double>> terms;
    for (double x : {1e100, 1.0, -1e100}) terms.push_back(plx::async([x] { return x; }));
    plx::exact_sum total;
    for (auto& term : plx::when_all(std::move(terms)).get()) total.add(term.get());
    return total.value();
  });
  const bool measured = !rt.recorder().tasks().empty();
  const bool versioned = std::strlen(plx::this_build().version) > 0;
  std::printf("sum %g, measured %d, version %d\n", sum, measured, versioned);
  return sum == 1 && measured && versioned ? 0 : 1;
}
