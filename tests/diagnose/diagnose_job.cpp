// A job of two processes whose root waits for answers, or has them in time; see diagnose_cases.cpp.
// Usage: mpirun -n 2 diagnose_job late|early, with PLX_DIAGNOSE=1.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "net/action.hpp"
#include "net/job.hpp"
#include "net/locality.hpp"
#include "rt/task_group.hpp"

namespace {

using namespace plx;

void hold(double s) { std::this_thread::sleep_for(std::chrono::duration<double>(s)); }
void answer() { hold(20e-3); }

/// One task per worker of this locality.
void work(double s) {
  task_group g;
  for (int i = 0; i < 2; ++i) g.run({probe::register_name("work")}, [s] { hold(s); });
  g.wait();
}

/// Each step calls, waits for the answer, and works with it.
void late(locality_id other) {
  for (int step = 0; step < 20; ++step) {
    async<&answer>(other).get();
    work(5e-3);
  }
}

/// Each step works while the answer for the next one is under way, which takes less time.
void early(locality_id other) {
  for (int step = 0; step < 20; ++step) {
    auto next = async<&answer>(other);
    work(40e-3);
    next.get();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "diagnose_job: expected late or early\n");
    return 2;
  }
  try {
    job j(job_options{.runtime = {.workers = 2}});
    j.run_root([&] { (std::strcmp(argv[1], "late") == 0 ? late : early)(find_remote_localities().front()); });
  } catch (const job_error& e) {
    return e.report("diagnose_job");
  }
}
