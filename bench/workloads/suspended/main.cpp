// suspended/LIBRARY: bytes of resident memory per waiting task (std: per thread; neither counts the kernel's own
// tables). suspended/LIBRARY/time: ns of wall time to create, suspend, wake and end it.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "library/contest.hpp"
#include "suspended/suspended.hpp"

namespace {

using plx::bench::entry;

double resident_bytes() {
  long total = 0, resident = 0;
  std::FILE* f = std::fopen("/proc/self/statm", "r");
  if (f == nullptr || std::fscanf(f, "%ld %ld", &total, &resident) != 2)
    plx::bench::wrong_result("suspended", "needs /proc/self/statm");
  std::fclose(f);
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double while_waiting = 0;

long tasks_for(const entry<suspended_run>& e, bool quick) {
  const long n = e.is("std") ? 2'000 : 200'000;
  return quick ? n / 10 : n;
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  for (const auto* e : entry<suspended_run>::all()) {
    // Once: a second run would reuse the memory of the first.
    const long tasks = tasks_for(*e, c.quick);
    const auto& library = plx::bench::library::of(e->label);
    library.start(c.threads);
    e->run(10, [] {});
    const double before = resident_bytes();
    long ended = 0;
    const auto time = plx::bench::timed([&] { ended = e->run(tasks, [] { while_waiting = resident_bytes(); }); });
    plx::bench::expect_same(e->label, ended, tasks);
    library.stop();
    c.disturbed(time, c.threads);
    const double n = static_cast<double>(tasks);
    c.numbers.add(std::string("suspended/") + e->label, (while_waiting - before) / n, "bytes", plx::bench::lower);
    c.numbers.add(std::string("suspended/") + e->label + "/time", time.wall_s / n * 1e9, "ns", plx::bench::lower);
  }
  return c.finish();
}
