#include "library/contest.hpp"
#include "metg/graph.hpp"

namespace {

void spawn(metg::run& r, metg::step t, metg::point p) {
  const auto in = r.shape().inputs(t, p);
  [[maybe_unused]] metg::output* const out = r.at(t, p);
  metg::run* const all = &r;
  if (in.empty()) {
#pragma omp task firstprivate(all, t, p) depend(out : out[0])
    all->execute(t, p);
  } else {
    [[maybe_unused]] const metg::point* const points = in.data();
    [[maybe_unused]] const metg::output* const before = r.at(t - 1, 0);
    [[maybe_unused]] const std::size_t n = in.size();
#pragma omp task firstprivate(all, t, p) depend(iterator(std::size_t i = 0      \
                                                         : n),                  \
                                                in                              \
                                                : before[points[i]]) depend(out \
                                                                            : out[0])
    all->execute(t, p);
  }
}

const plx::bench::entry<void(metg::run&)> me("omp", [](metg::run& r) {
#pragma omp parallel
#pragma omp single
  for (metg::step t = 0; t < r.steps(); ++t)
    for (metg::point p = 0; p < r.shape().active(t); ++p) spawn(r, t, p);
});

}  // namespace
