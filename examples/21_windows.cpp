// Each locality writes its border to its neighbours' memory and waits for theirs, without a call on the other side.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "net/collectives.hpp"
#include "net/job.hpp"
#include "net/window.hpp"

constexpr std::size_t cells = 100;

// Heat on a ring: cells 1 to `cells` are this rank's, cells 0 and cells + 1 copies of the neighbours'.
double heat_after(unsigned steps) {
  const plx::communicator all;
  const unsigned left = (all.rank() + all.size() - 1) % all.size(), right = (all.rank() + 1) % all.size();
  const plx::window<double> ghosts(all, 4, 2);  // collective; cells: two for even steps, two for odd ones
  std::vector<double> u(cells + 2, all.rank() == 0 ? 1.0 : 0.0), next(u);
  for (unsigned step = 1; step <= steps; ++step) {
    const unsigned from_left = step % 2 * 2, from_right = from_left + 1;
    auto to_left = ghosts.put_signal(left, from_right, std::span<const double>(&u[1], 1), 1);
    auto to_right = ghosts.put_signal(right, from_left, std::span<const double>(&u[cells], 1), 0);
    ghosts.wait_signal(0, step).get();  // the left neighbour has written
    ghosts.wait_signal(1, step).get();  // and the right one
    u[0] = ghosts.local()[from_left];
    u[cells + 1] = ghosts.local()[from_right];
    for (std::size_t i = 1; i <= cells; ++i) next[i] = u[i] + 0.25 * (u[i - 1] - 2 * u[i] + u[i + 1]);
    to_left.get();
    to_right.get();
    std::swap(u, next);
  }
  double sum = 0;
  for (std::size_t i = 1; i <= cells; ++i) sum += u[i];
  return all.all_reduce(sum, std::plus<>()).get();
}

// Every number of tasks that the ranks share is drawn once.
unsigned tasks_of_all() {
  const plx::communicator all;
  const plx::window<std::uint32_t> next(all, all.rank() == 0 ? 1 : 0);
  unsigned mine = 0;
  while (next.fetch_add(0, 0, 1).get() < 1000) ++mine;
  return all.all_reduce(mine, std::plus<>()).get();
}

int main(int argc, char** argv) {
  try {
    plx::job job(argc, argv);
    double heat = 0;
    unsigned tasks = 0;
    job.run([&] { heat = heat_after(50), tasks = tasks_of_all(); });
    if (job.here() == 0) std::printf("heat %g, tasks %u\n", heat, tasks);
  } catch (const plx::job_error& e) {
    return e.report("windows");
  }
}

// Processes: 3
// Output:
//   heat 100, tasks 1000
