// A process is killed, and a spare takes its place: the job continues from the checkpoint that two processes keep.
#include <csignal>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/archive.hpp"
#include "net/checkpoint.hpp"
#include "net/collectives.hpp"
#include "net/error.hpp"
#include "net/job.hpp"

struct cell {
  int step = 0;
  double value = 1;
  double get() const { return value; }
  int steps() const { return step; }
  void advance(double mean) { value += 0.5 * mean, ++step; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(step, value);
  }
};
using named_cells = std::vector<std::pair<std::string, plx::global<cell>>>;

void store(plx::memory_checkpoint& copies, const plx::communicator& all, const named_cells& mine) {
  plx::checkpoint_set set;
  for (const auto& [key, c] : mine) set.add(key, c);
  copies.store(all, set);
}

double sum_of(const plx::communicator& all, const named_cells& mine) {
  double sum = 0;
  for (const auto& [key, c] : mine) sum += plx::async<&cell::get>(c).get();
  return all.all_reduce(sum, std::plus<>()).get();
}

// Each of the three members has one cell. Any of them may be killed once all have stored theirs.
double value_after(int steps, plx::locality_id victim) {
  plx::memory_checkpoint copies("cells");
  std::optional<plx::communicator> all = plx::joined();  // only on a spare that was taken
  bool restores = all.has_value();
  if (!all) all = plx::replace_lost();
  named_cells mine;
  if (!restores) mine.emplace_back("cell " + std::to_string(all->rank()), plx::new_<cell>(plx::find_here()).get());
  double sum = 0;
  while (all) try {
      if (all->all_reduce(restores, std::logical_or<>()).get()) mine = copies.restore<cell>(*all).local<cell>();
      restores = false;
      store(copies, *all, mine);  // there are two copies again
      for (int step = plx::async<&cell::steps>(mine[0].second).get(); step < steps;) {
        const double mean = sum_of(*all, mine) / 3;
        for (const auto& [key, c] : mine) plx::async<&cell::advance>(c, mean).get();
        if (++step == steps / 2 && plx::find_here() == victim) std::raise(SIGKILL);
        if (step % 4 == 0) store(copies, *all, mine);
      }
      sum = sum_of(*all, mine);
      all->barrier().get();
      break;
    } catch (const plx::locality_lost&) {
      all = plx::replace_lost();  // empty: another member has passed the barrier
      restores = true;
    }
  return sum;
}

int main(int argc, char** argv) {
  try {
    plx::job job(argc, argv);
    const double calm = job.run([] { return value_after(20, plx::no_locality); });
    const double disturbed = job.run([] { return value_after(20, 1); });
    if (job.here() == 0) std::printf("%g, and %g after a loss\n", calm, disturbed);
  } catch (const plx::job_error& e) {
    return e.report("spares");
  }
}

// Processes: 4
// Launcher: --enable-recovery
// Arguments: --plx:spares=1
//
// Output:
//   9975.77, and 9975.77 after a loss
