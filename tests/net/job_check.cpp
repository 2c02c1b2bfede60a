// Jobs that succeed and jobs that fail; test_job.py starts them and checks how they end.
//
// Exit codes: 0 as expected; 1 a result is wrong; 2 the job did not start; 3 a loss was reported.
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "job_check.hpp"
#include "net/action.hpp"
#include "net/core/node.hpp"
#include "net/error.hpp"
#include "net/group/shm_messages.hpp"
#include "net/job.hpp"
#include "net/locality.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;

std::uint64_t square(std::uint64_t x) { return x * x; }
void wait_for_ever() { this_thread::sleep_for(std::chrono::hours(1)); }
#ifdef PLX_CHECK_EXTRA_ACTION
int only_here(int x) { return x; }
#endif

/// Every locality calls every other one, with small and with large arguments.
double sum_of(const std::vector<double>& values) {
  double s = 0;
  for (const double v : values) s += v;
  return s;
}
void talk(int n) {
  std::vector<future<std::uint64_t>> squares;
  for (const locality_id to : find_remote_localities())
    for (int i = 0; i < n; ++i) squares.push_back(async<&square>(to, i));
  std::uint64_t sum = 0, expected = 0;
  for (auto& s : squares) sum += s.get();
  for (int i = 0; i < n; ++i) expected += std::uint64_t(i) * std::uint64_t(i);
  if (sum != expected * find_remote_localities().size()) throw std::logic_error("the squares are wrong");
  for (const locality_id to : find_remote_localities())
    if (async<&sum_of>(to, std::vector<double>(300'000, 1.0)).get() != 300'000.0)
      throw std::logic_error("the sum is wrong");
}

void take_4us() {
  for (const ticks begin = now_ticks(), span = ticks_from(4e-6); now_ticks() - begin < span;) {
  }
}
/// The largest memory of this process so far.
long peak_kib() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss;
}
/// The other localities send calls to the root faster than it can run them.
void flood(int n) {
  if (find_here() != 0)
    for (int i = 0; i < n; ++i) post<&take_4us>(0);
}

/// Stops this process for some seconds, as a debugger does.
void stop_for(int s) {
  const std::string later = "(sleep " + std::to_string(s) + "; kill -CONT " + std::to_string(getpid()) + ") &";
  if (std::system(later.c_str()) == 0) std::raise(SIGSTOP);
}
/// Ends with locality_lost.
void call_until_lost(locality_id who) {
  while (true) async<&square>(who, 1).get();
}
/// Writes to a disk without space.
void write_results() {
  std::FILE* const file = std::fopen("/dev/full", "w");
  const bool written = file != nullptr && std::fputs("results", file) >= 0 && std::fflush(file) == 0;
  const std::string why = std::strerror(errno);
  if (file != nullptr) std::fclose(file);
  if (!written) throw std::runtime_error("cannot write the results: " + why);
}

int run(job& j, const std::string& name, locality_id who, int seconds) {
  if (name == "talk") {
    j.run([] { talk(3000); });
    j.run([] { talk(10); });
  } else if (name == "count") {
    j.run([] { talk(300); });
    const net::port_counts c = j.node().port().counts();  // quiescent: the trace must have the same numbers
    std::printf("count %u %llu %llu\n", j.here(), static_cast<unsigned long long>(c.parcels_sent),
                static_cast<unsigned long long>(c.parcels_received));
    std::fflush(stdout);
  } else if (name == "calls") {
    j.run([] { check_calls(); });
    const auto by_memory = j.node().get<net::collective::shm_messages>().counted().sent;
    std::printf("collectives %u by %s\n", j.here(), by_memory != 0 ? "memory" : "messages");
    std::fflush(stdout);
  } else if (name == "calls-die") {
    j.run([who] { call_until_killed(who); });
  } else if (name == "windows") {
    const char* way = "";
    j.run([&way] { check_windows(), way = way_of_windows(); });
    std::printf("windows %u by %s\n", j.here(), way);
    std::fflush(stdout);
  } else if (name == "windows-die") {
    j.run([who] { access_until_killed(who); });
  } else if (name == "throw") {
    j.run([who] {
      if (find_here() == who) throw std::runtime_error("no such file");
      async<&wait_for_ever>(who).get();
    });
  } else if (name == "die") {
    j.run([who] {
      if (find_here() == who) {
        this_thread::sleep_for(std::chrono::milliseconds(300));
        std::raise(SIGKILL);
      }
      async<&wait_for_ever>(who).get();
    });
  } else if (name == "stop") {  // the others call it meanwhile, and each other
    j.run([] { talk(100); });
    const long before = peak_kib();
    j.run([who, seconds] {
      if (find_here() == who) return stop_for(seconds);
      for (int i = 0; i < 50'000; ++i) post<&take_4us>(who);
      talk(1000);
    });
    std::printf("grew %u by %ld KiB\n", j.here(), peak_kib() - before);
    std::fflush(stdout);
  } else if (name == "leave") {  // in good order, between two runs
    j.run([] { talk(100); });
    if (j.here() == who) return 0;
    j.run([who] { call_until_lost(who); });
  } else if (name == "full") {
    j.run([who] {
      talk(100);
      if (find_here() == who) write_results();
      call_until_lost(who);
    });
  } else if (name == "flood") {
    j.run([] { talk(100); });  // memory that is allocated once
    const long before = peak_kib();
    j.run([] { flood(150'000); });
    std::printf("grew %u by %ld KiB\n", j.here(), peak_kib() - before);
    std::fflush(stdout);
  } else if (name == "survive") {
    j.run([who] {
      if (find_here() == who) std::raise(SIGKILL);
      try {
        async<&wait_for_ever>(who).get();
      } catch (const locality_lost&) {
      }
      talk(1000);  // among the survivors
    });
  } else {
    std::fprintf(
        stderr,
        "job_check: expected talk, count, calls, calls-die, windows, windows-die, throw, die, stop, leave, full, "
        "flood or survive, found '%s'\n",
        name.c_str());
    return 2;
  }
  if (j.here() == 0) std::printf("fine with %u\n", j.size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (std::getenv("PLX_CHECK_LOG") != nullptr) log_to_stderr(log_level::warning);
    job_options options;
    options.runtime = options_from_arguments(argc, argv);
    if (const char* s = std::getenv("PLX_CHECK_START_DEADLINE")) options.start_deadline_s = std::atof(s);
    job j(options);
#ifdef PLX_CHECK_EXTRA_ACTION
    if (j.size() > 1000) return async<&only_here>(0, 1).get();
#endif
    try {
      return run(j, argc > 1 ? argv[1] : "", argc > 2 ? static_cast<locality_id>(std::atoi(argv[2])) : 0,
                 argc > 3 ? std::atoi(argv[3]) : 3);
    } catch (const locality_lost& e) {
      std::fprintf(stderr, "job_check %u: %s\n", j.here(), e.what());
      return 3;
    } catch (const std::exception& e) {
      std::fprintf(stderr, "job_check %u: %s\n", j.here(), e.what());
      return 1;
    }
  } catch (const job_error& e) {
    return e.report("job_check");
  }
}
