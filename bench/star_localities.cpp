// Sedov's blast on an adaptive mesh on one process and on several, each with one worker: cell updates per second, and
// the speedup over one process. The program starts itself under mpirun, alternating; without mpirun nothing is
// measured.
//
//   bench_star_localities [--processes 1,2,4] [--turns 5] [--only CASE,...] [--quick] [--json FILE]
//   mpirun -n 2 bench_star_localities inside FIRST STEPS    # one measurement of the steps FIRST .. FIRST + STEPS
//
// The rows `star/localities/N/CASE` are medians over turns. Lines that begin with # report how the time was spent.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "net/core/node.hpp"
#include "net/job.hpp"
#include "probe/record/recorder.hpp"
#include "report.hpp"
#include "rt/runtime.hpp"
#include "star/driver/balancer.hpp"
#include "star/driver/simulation.hpp"

namespace {

using namespace plx;

/// The steps of the blast that are measured, and the number of blocks at their end.
struct bench_case {
  const char* name;
  int first, steps;
};
// The first case keeps its initial mesh; in the second it grows, from step 54 to 288 blocks, from step 158 on to 456.
constexpr bench_case cases[] = {{"120", 10, 40}, {"456", 10, 190}};
constexpr int check_interval = 4;  // of the mesh, in steps

std::unique_ptr<star::input> blast() {
  auto in = star::input::from_text(
      "[problem]\nname = \"sedov\"\n", "benchmark",
      {"mesh.root_blocks=[2,2,2]", "mesh.lower=[-0.5,-0.5,-0.5]", "mesh.upper=[0.5,0.5,0.5]", "mesh.max_level=2",
       "refinement.gradient_of=[\"press\"]", "refinement.interval=" + std::to_string(check_interval), "hydro.gamma=1.4",
       "run.t_end=0.08"});
  if (!in) {
    std::fprintf(stderr, "%s\n", in.error().message.c_str());
    std::exit(1);
  }
  return *std::move(in);
}

double processor_s() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Time in which threads of this process were ready but had no core.
double delayed_s() {
  double sum = 0.0;
  std::error_code code;
  for (const auto& e : std::filesystem::directory_iterator("/proc/self/task", code)) {
    unsigned long long on = 0, ready = 0;
    if (std::FILE* f = std::fopen((e.path() / "schedstat").c_str(), "r"); f != nullptr) {
      if (std::fscanf(f, "%llu %llu", &on, &ready) == 2) sum += 1e-9 * double(ready);
      std::fclose(f);
    }
  }
  return sum;
}

/// The resources used by a locality so far.
struct account {
  double processor = 0.0, exec = 0.0, overhead = 0.0, background = 0.0, idle = 0.0, messages = 0.0, bytes = 0.0;
  double faults = 0.0, delayed = 0.0, switches = 0.0, system = 0.0;

  static account of(job& j) {
    account a;
    a.processor = processor_s();
    probe::recorder& r = j.home().recorder();
    for (unsigned w = 0; w < r.worker_count(); ++w) {
      const probe::worker_times t = r.times(w);
      a.exec += t.exec_s, a.overhead += t.overhead_s, a.background += t.background_s, a.idle += t.idle_s;
    }
    const net::port_counts c = j.node().port().counts();
    a.messages = static_cast<double>(c.messages_sent), a.bytes = static_cast<double>(c.bytes_sent);
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    a.faults = static_cast<double>(used.ru_minflt);
    a.switches = static_cast<double>(used.ru_nvcsw + used.ru_nivcsw);
    a.system = double(used.ru_stime.tv_sec) + 1e-6 * double(used.ru_stime.tv_usec);
    a.delayed = delayed_s();
    return a;
  }
  std::vector<double> since(const account& b) const {
    return {processor - b.processor, exec - b.exec,         overhead - b.overhead, background - b.background,
            idle - b.idle,           messages - b.messages, bytes - b.bytes,       faults - b.faults,
            delayed - b.delayed,     switches - b.switches, system - b.system};
  }
};

// One process's part of a measurement. The root prints "step SECONDS UPDATES BLOCKS" for each.
int take_part(int first, int steps) {
  job_options options;
  options.runtime.workers = 1;
  job job(options);
  step::exchange net(job.node());
  const auto in = blast();
  const star::setup setup = in->prepare().value();
  star::simulation sim(*in, setup, job.home(), net);
  sim.start();
  for (int i = 0; i < first && !sim.finished(); ++i) static_cast<void>(sim.step());
  const account before = account::of(job);
  std::vector<double> seconds, updates, blocks;
  for (int i = 0; i < steps && !sim.finished(); ++i) {
    const double begin_s = monotonic_seconds(), begin_updates = double(sim.cell_updates());
    static_cast<void>(sim.step());
    seconds.push_back(monotonic_seconds() - begin_s);
    updates.push_back(double(sim.cell_updates()) - begin_updates);
    blocks.push_back(double(sim.state().mesh.block_count()));
  }
  std::vector<double> mine = account::of(job).since(before);
  mine.push_back(double(sim.state().own().size()));
  const auto all = job.home().run([&] { return net.all_gather(std::move(mine)); });
  if (job.here() == 0) {
    for (std::size_t i = 0; i < seconds.size(); ++i)
      std::printf("step %.9f %.0f %.0f\n", seconds[i], updates[i], blocks[i]);
    for (std::size_t p = 0; p < all.size(); ++p)
      std::printf(
          "# locality %zu: processor %.3f s, tasks %.3f, overhead %.3f, polling %.3f, idle %.3f, %.0f messages, "
          "%.2f MB, %.0f page faults, delayed %.3f s, %.0f switches, system %.3f, %.0f blocks in the end\n",
          p, all[p][0], all[p][1], all[p][2], all[p][3], all[p][4], all[p][5], 1e-6 * all[p][6], all[p][7], all[p][8],
          all[p][9], all[p][10], all[p][11]);
    std::printf("# imbalance %.3f, %lld times moved\n", sim.balance().imbalance(),
                static_cast<long long>(sim.balance().decisions()));
  }
  job.run([] {});
  return 0;
}

/// One measurement, as the root printed it.
struct measured {
  std::vector<double> seconds, updates, blocks;  // by step
  std::vector<std::string> comments;

  double wall_s() const {
    double sum = 0.0;
    for (const double s : seconds) sum += s;
    return sum;
  }
  double rate() const {
    double sum = 0.0;
    for (const double u : updates) sum += u;
    return 1e-6 * sum / wall_s();
  }
  // Time of the steps followed by a check of the mesh, or of all others.
  double part_s(int first, bool checks) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < seconds.size(); ++i)
      if (((first + static_cast<int>(i) + 1) % check_interval == 0) == checks) sum += seconds[i];
    return sum;
  }
};

// Empty if the processes cannot be started.
measured measure(const std::string& self, int processes, const bench_case& c, bool quick) {
  const std::string command = "mpirun --oversubscribe -n " + std::to_string(processes) + " '" + self + "' inside " +
                              std::to_string(c.first) + " " + std::to_string(quick ? 4 : c.steps) + " 2>/dev/null";
  measured m;
  std::FILE* out = popen(command.c_str(), "r");
  if (out == nullptr) return m;
  for (char line[512]; std::fgets(line, sizeof line, out) != nullptr;) {
    double seconds = 0.0, updates = 0.0, blocks = 0.0;
    if (std::sscanf(line, "step %lf %lf %lf", &seconds, &updates, &blocks) == 3) {
      m.seconds.push_back(seconds);
      m.updates.push_back(updates);
      m.blocks.push_back(blocks);
    } else if (line[0] == '#') {
      m.comments.emplace_back(line);
    }
  }
  if (pclose(out) != 0) m.seconds.clear();
  return m;
}

std::string path_of_self() {
  char path[4096] = {};
  return readlink("/proc/self/exe", path, sizeof path - 1) > 0 ? path : "";
}

/// The options of the command line.
struct arguments {
  std::vector<int> processes{1, 2};
  std::vector<bench_case> chosen{std::begin(cases), std::end(cases)};
  int turns = 5;
  bool quick = false;
};

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> all{""};
  for (const char c : list)
    if (c == ',')
      all.emplace_back();
    else
      all.back() += c;
  return all;
}

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr,
               "bench_star_localities: %s; expected [--processes 1,2,4] [--turns N] [--only 120,456] [--quick] "
               "[--json FILE]\n",
               what.c_str());
  std::exit(2);
}

int positive(const std::string& text) {
  char* end = nullptr;
  const long n = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || n < 1 || n > 1024) refuse("'" + text + "' is no number from 1 to 1024");
  return static_cast<int>(n);
}

arguments arguments_of(const std::vector<std::string>& words) {
  arguments w;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool has_value = i + 1 < words.size();
    if (words[i] == "--quick") {
      w.quick = true;
      w.turns = 1;
    } else if (words[i] == "--turns" && has_value) {
      w.turns = positive(words[++i]);
    } else if (words[i] == "--processes" && has_value) {
      w.processes.clear();
      for (const std::string& n : parts_of(words[++i])) w.processes.push_back(positive(n));
    } else if (words[i] == "--only" && has_value) {
      w.chosen.clear();
      for (const std::string& name : parts_of(words[++i])) {
        const auto* found = std::find_if(std::begin(cases), std::end(cases), [&](auto& c) { return name == c.name; });
        if (found == std::end(cases)) refuse("there is no case '" + name + "'");
        w.chosen.push_back(*found);
      }
    } else {
      refuse("what is '" + words[i] + "'?");
    }
  }
  if (w.processes.front() != 1) w.processes.insert(w.processes.begin(), 1);
  return w;
}

// How the steps' time was spent on one process and on several, in the last turn.
void explain(const bench_case& c, const std::vector<int>& processes, const std::vector<measured>& of) {
  for (std::size_t i = 0; i < of.size(); ++i) {
    const double plain = of[i].part_s(c.first, false), checked = of[i].part_s(c.first, true);
    std::printf("# %s, %d: plain steps %.1f ms (%.3f), with a check of the mesh %.1f ms (%.3f); blocks %.0f to %.0f\n",
                c.name, processes[i], 1e3 * plain, of[0].part_s(c.first, false) / plain, 1e3 * checked,
                of[0].part_s(c.first, true) / checked, of[i].blocks.front(), of[i].blocks.back());
    for (const std::string& line : of[i].comments) std::printf("%s", line.c_str());
  }
}

// False if the processes cannot be started.
bool compare(bench::report& report, const std::string& self, const bench_case& c, const arguments& w) {
  std::vector<std::vector<double>> rates(w.processes.size()), ratios(w.processes.size());
  std::vector<measured> last(w.processes.size());
  for (int turn = 0; turn < w.turns; ++turn)
    for (std::size_t i = 0; i < w.processes.size(); ++i) {
      last[i] = measure(self, w.processes[i], c, w.quick);
      if (last[i].seconds.empty()) return false;
      rates[i].push_back(last[i].rate());
      ratios[i].push_back(rates[i].back() / rates[0].back());
    }
  explain(c, w.processes, last);
  report.add(std::string("star/localities/rate/") + c.name, bench::median(rates[0]), "M cell updates/s", bench::higher);
  for (std::size_t i = 1; i < w.processes.size(); ++i)
    report.add("star/localities/" + std::to_string(w.processes[i]) + "/" + c.name, bench::median(ratios[i]),
               "of one process", bench::higher);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  bench::report report(argc, argv);
  const auto& rest = report.rest();
  if (rest.size() == 3 && rest[0] == "inside") return take_part(positive(rest[1]), positive(rest[2]));
  const arguments w = arguments_of(rest);
  if (geteuid() == 0) {  // mpirun requires both variables to run as root, as in containers
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  }
  const std::string self = path_of_self();
  for (const bench_case& c : w.chosen)
    if (!compare(report, self, c, w)) {
      std::printf("# a job did not start, or failed: not measured; see: mpirun -n %d '%s' inside %d 4\n",
                  w.processes.back(), self.c_str(), c.first);
      break;
    }
  return report.finish();
}
