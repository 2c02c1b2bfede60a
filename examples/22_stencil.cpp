// A stencil without barriers: each part of a bar waits for its own neighbours only, so parts may be at different steps.
// The tasks of all steps are made at once; sliding_semaphore lets only some steps be made ahead of those completed.
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "rt/dataflow.hpp"
#include "rt/patterns/sliding_semaphore.hpp"
#include "rt/runtime.hpp"

constexpr int parts = 10, cells = 1000, steps = 50, most_ahead = 8;
using part = std::shared_ptr<const std::vector<double>>;
using future_part = plx::shared_future<part>;

// One step of the heat equation on a ring, for the part in the middle.
part heat(const part& left, const part& middle, const part& right) {
  std::vector<double> next(cells);
  for (int i = 0; i < cells; ++i) {
    const double before = i > 0 ? (*middle)[i - 1] : left->back();
    const double after = i + 1 < cells ? (*middle)[i + 1] : right->front();
    next[i] = (*middle)[i] + 0.25 * (before - 2 * (*middle)[i] + after);
  }
  return std::make_shared<const std::vector<double>>(std::move(next));
}

int main() {
  plx::runtime rt;
  rt.run([] {
    std::vector<future_part> now, next(parts);
    for (int p = 0; p < parts; ++p)
      now.push_back(
          plx::make_ready_future(std::make_shared<const std::vector<double>>(cells, p == 0 ? 1.0 : 0.0)).share());

    auto ahead = std::make_shared<plx::sliding_semaphore>(most_ahead);  // shared: the last signal may come late
    plx::future<void> signalled;
    for (int step = 1; step <= steps; ++step) {
      for (int p = 0; p < parts; ++p) {
        const future_part &left = now[(p + parts - 1) % parts], &right = now[(p + 1) % parts];
        next[p] = plx::dataflow(plx::unwrapping(heat), left, now[p], right).share();
      }
      signalled = next[0].then([ahead, step](auto) { ahead->signal(step); });
      ahead->wait(step);  // continues when step - most_ahead of part 0 is complete
      std::swap(now, next);
    }

    double sum = 0;
    for (auto& p : now)
      for (const double u : *p.get()) sum += u;
    std::printf("%d tasks, heat %.6f, at the border %.3f\n", steps * parts, sum, now[0].get()->front());
  });
}

// Output:
//   500 tasks, heat 1000.000000, at the border 0.540
