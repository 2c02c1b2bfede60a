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
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "job_check.hpp"
#include "net/action.hpp"
#include "net/core/node.hpp"
#include "net/error.hpp"
#include "net/job.hpp"
#include "net/locality.hpp"
#include "net/start/bootstrap.hpp"
#include "net/start/job_info.hpp"
#include "net/start/job_start.hpp"
#include "net/transport/transport.hpp"
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
  const std::vector<locality_id> others = find_remote_localities();  // at the start: one may be lost meanwhile
  std::vector<future<std::uint64_t>> squares;
  for (const locality_id to : others)
    for (int i = 0; i < n; ++i) squares.push_back(async<&square>(to, i));
  std::uint64_t sum = 0, expected = 0;
  for (auto& s : squares) sum += s.get();
  for (int i = 0; i < n; ++i) expected += std::uint64_t(i) * std::uint64_t(i);
  if (sum != expected * others.size()) throw std::logic_error("the squares are wrong");
  for (const locality_id to : others)
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
  const std::string pid = std::to_string(getpid());
  const std::string stopped = "until grep -q 'State:.T' /proc/" + pid + "/status; do sleep 0.05; done";
  const std::string later = "(" + stopped + "; sleep " + std::to_string(s) + "; kill -CONT " + pid + ") &";
  if (std::system(later.c_str()) == 0) std::raise(SIGSTOP);
}
/// The victim dies while the job starts: at once, when it has been started by PMIx or MPI, between the two exchanges,
/// or when it has connected to all others.
void die_at_start(int victim, std::string_view when, double deadline_s) {
  const char* const rank = net::detail::launched_by();
  if (rank == nullptr || std::atoi(std::getenv(rank)) != victim) return;
  std::unique_ptr<net::bootstrap> start;
  const auto name = net::choose_transport().value();
  // The others may exceed their deadline first, on a busy machine; then this one fails too, and still dies.
  if (when != "at-once") {
    if (auto started = net::find_bootstrap(name, deadline_s)) start = std::move(*started);
  }
  if (start != nullptr && (when == "met" || when == "wrong")) {
    const std::string problem = when == "wrong" ? "an option is wrong" : "";
    static_cast<void>(net::detail::exchange_job_info(*start, net::properties_here("", problem).bytes(), deadline_s));
    std::this_thread::sleep_for(std::chrono::seconds(2));  // the others receive all data of the exchange
  }
  if (start != nullptr && when == "connected") {
    try {
      static_cast<void>(net::start_together(name, start, net::properties_here("", ""), deadline_s));
    } catch (const job_error&) {
    }
  }
  std::raise(SIGKILL);
}
/// Reports why the job did not start.
void fail_to_start(const job_options& options) try { job j(options); } catch (const job_error& e) {
  e.report("job_check");
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

/// The others call it, and one locality notices nothing for a second: the next one; of six or more, one that learns
/// of the failure from others only.
void call_with_pause_until_lost(locality_id who) {
  const unsigned n = locality_count();
  if (find_here() == (who + (n < 6 ? 1 : 3)) % n) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (std::chrono::steady_clock::now() < until) {
    }
  }
  call_until_lost(who);
}
/// One of the localities prints how the job has ended.
int report_end(job& j, void (*f)(locality_id), locality_id who) {
  try {
    j.run([f, who] { f(who); });
  } catch (const std::exception& e) {
    const auto* lost = dynamic_cast<const locality_lost*>(&e);
    if (j.home().run([error = std::current_exception()] { return reports_failure(error); }))
      std::fprintf(stderr, "job_check %u: %s\n", j.here(), lost != nullptr ? lost->first().what() : e.what());
    return 3;
  }
  return 0;
}
void die_and_call(locality_id who) {
  if (find_here() == who) {
    this_thread::sleep_for(std::chrono::milliseconds(300));
    std::raise(SIGKILL);
  }
  call_with_pause_until_lost(who);
}
void throw_and_call(locality_id who) {
  if (find_here() == who) throw std::runtime_error("no such file");
  call_with_pause_until_lost(who);
}
void throw_on_all(locality_id) { throw std::runtime_error("no such file"); }

/// Busy until the file exists: without polling, if this process has one worker.
void wait_for_file(const char* path) {
  while (access(path, F_OK) != 0) {
  }
}
void make_file(const char* path) {
  std::FILE* const file = std::fopen(path, "w");
  if (file == nullptr) throw std::runtime_error(std::string("cannot write ") + path);
  std::fclose(file);
}
/// The locality `late` throws after another one has reported its failure, of which it has not read a message before.
int throw_one_later(job& j, locality_id late) {
  try {
    j.run([late] {
      if (find_here() == late) wait_for_file("reported");
      throw_on_all(late);
    });
  } catch (const std::exception& e) {
    if (j.home().run([error = std::current_exception()] { return reports_failure(error); })) {
      std::fprintf(stderr, "job_check %u: %s\n", j.here(), e.what());
      make_file("reported");
    }
    if (j.here() == late) make_file("decided");
    wait_for_file("decided");  // no locality has left the job before
    return 3;
  }
  return 0;
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
  } else if (name == "end-late") {
    j.run([] { talk(300); });
    if (j.here() == who) stop_for(seconds);
    if (j.here() == 0)
      std::this_thread::sleep_for(std::chrono::seconds(1));  // the other one has probably stopped by then
  } else if (name == "calls") {
    j.run([] { check_calls(); });
    const auto by_memory = j.node().port().near().sent_raw;
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
  } else if (name == "checkpoint-die") {
    j.run([who, seconds] { store_until_killed(who, seconds); });
    std::printf("restored %u\n", j.here());
    std::fflush(stdout);
  } else if (name == "spares") {  // of which none is taken
    const int members = j.run([] { return value_with_spares(); });
    j.run([] {});
    std::printf("members %u %d\n", j.here(), members);
    std::fflush(stdout);
  } else if (name == "spares-throw") {
    j.run([who] { throw_on_spare(who); });
  } else if (name == "throw") {
    j.run([who] {
      if (find_here() == who) throw std::runtime_error("no such file");
      call_until_lost(who);
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
  } else if (name == "die-at-start") {  // the victim has died after it had connected
    j.run([who] { call_until_lost(who); });
  } else if (name == "flood") {
    j.run([] { talk(100); });  // memory that is allocated once
    const long before = peak_kib();
    j.run([] { flood(150'000); });
    std::printf("grew %u by %ld KiB\n", j.here(), peak_kib() - before);
    std::fflush(stdout);
  } else if (name == "report-death") {
    return report_end(j, die_and_call, who);
  } else if (name == "report-throw") {
    return report_end(j, throw_and_call, who);
  } else if (name == "report-all") {
    return report_end(j, throw_on_all, who);
  } else if (name == "report-late") {
    return throw_one_later(j, who);
  } else if (name == "survive") {
    j.run([who] { make_accounts(who); });
    j.run([who] {
      if (find_here() == who) std::raise(SIGKILL);
      try {
        async<&wait_for_ever>(who).get();
      } catch (const locality_lost&) {
      }
      use_accounts(who);
      talk(1000);  // among the survivors
    });
    j.run([who] { check_accounts(who), talk(1000); });  // a later run
    const long before = peak_kib();
    for (int i = 0; i < 5; ++i) j.run([] { talk(1000); });
    std::printf("grew %u by %ld KiB\n", j.here(), peak_kib() - before);
    std::printf("survived %u\n", j.here());
    std::fflush(stdout);
  } else {
    std::fprintf(stderr,
                 "job_check: expected talk, count, calls, calls-die, windows, windows-die, checkpoint-die, spares, "
                 "spares-die, spares-throw, throw, die, die-at-start, stop, end-late, leave, full, flood, "
                 "report-death, report-throw, report-all, report-late or survive, found '%s'\n",
                 name.c_str());
    return 2;
  }
  if (j.here() == 0) std::printf("fine with %u\n", j.size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (const char* const level = std::getenv("PLX_CHECK_LOG"))
      log_to_stderr(level == std::string_view("info") ? log_level::info : log_level::warning);
    job_options options;
    const char* const deadline_s = std::getenv("PLX_CHECK_START_DEADLINE");
    if (deadline_s != nullptr) options.start_deadline_s = std::atof(deadline_s);
    if (const char* const stop_s = std::getenv("PLX_CHECK_STOP_DEADLINE")) options.stop_deadline_s = std::atof(stop_s);
    if (argc > 3 && argv[1] == std::string_view("die-at-start"))
      die_at_start(std::atoi(argv[2]), argv[3], options.start_deadline_s);
    if (argc > 4 && argv[4] == std::string_view("twice")) fail_to_start(options);
    const bool reads = deadline_s == nullptr || std::getenv("PLX_CHECK_ARGUMENTS") != nullptr;
    job j = reads ? job(argc, argv, options) : job(options);
#ifdef PLX_CHECK_EXTRA_ACTION
    if (j.size() > 1000) return async<&only_here>(0, 1).get();
#endif
    try {
      if (argc > 3 && argv[1] == std::string_view("spares-die")) {
        j.run([argv] { replace_killed(argv[2], std::atoi(argv[3])); });
        j.run([] {});
        return 0;
      }
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
    if (const char* const late_s = std::getenv("PLX_CHECK_REPORT_AFTER"); late_s != nullptr && e.speaks())
      std::this_thread::sleep_for(std::chrono::duration<double>(std::atof(late_s)));
    return e.report("job_check");
  }
}
