#include "library/contest.hpp"

#include <dirent.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "rt/core/topology.hpp"
#include "timing.hpp"

namespace plx::bench {
namespace {

constexpr const char* order[] = {"plx", "tbb", "omp", "std", "serial"};

/// Seconds in which threads of this process were ready but not running.
double waited_for_processor_s() {
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return 0;
  double ns = 0;
  while (const dirent* e = readdir(tasks)) {
    if (e->d_name[0] == '.') continue;
    std::FILE* f = std::fopen((std::string("/proc/self/task/") + e->d_name + "/schedstat").c_str(), "r");
    if (f == nullptr) continue;
    unsigned long long ran = 0, waited = 0;
    if (std::fscanf(f, "%llu %llu", &ran, &waited) == 2) ns += static_cast<double>(waited);
    std::fclose(f);
  }
  closedir(tasks);
  return ns * 1e-9;
}

bool more_threads_than_processors = false;

double wall_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

[[noreturn]] void usage(const std::string& wrong) {
  std::fprintf(stderr, "%s\nusage: [--threads N] [--only PART,...] [--quick] [--json FILE]\n", wrong.c_str());
  std::exit(2);
}

unsigned parse_threads(const std::string& text) {
  unsigned n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n == 0 || n > 1024)
    usage("--threads is '" + text + "': expected a number from 1 to 1024");
  return n;
}

}  // namespace

library::library(const char* n, std::string (*v)(), void (*b)(unsigned), void (*e)())
    : name(n), version(v), start(b), stop(e) {
  all().push_back(this);
}

std::vector<const library*>& library::all() {
  static std::vector<const library*> l;
  return l;
}

const library& library::of(const char* label) {
  for (const library* l : all()) {
    const std::size_t n = std::strlen(l->name);
    if (std::strncmp(l->name, label, n) == 0 && (label[n] == 0 || label[n] == '-')) return *l;
  }
  std::fprintf(stderr, "no library for the entry %s\n", label);
  std::abort();
}

int library::rank(const char* label) {
  int r = 0;
  for (const char* name : order) {
    const std::size_t n = std::strlen(name);
    if (std::strncmp(label, name, n) == 0) return 2 * r + (label[n] != 0);
    ++r;
  }
  return 2 * r;
}

stopwatch::stopwatch() : begin_{0, 0, waited_for_processor_s()} {
  begin_.core_s = core_seconds();
  begin_.wall_s = plx::bench::wall_s();
}

interval stopwatch::read() const {
  interval i{plx::bench::wall_s() - begin_.wall_s, core_seconds() - begin_.core_s, 0};
  i.stolen_s = std::max(0.0, waited_for_processor_s() - begin_.stolen_s);
  if (more_threads_than_processors) i.stolen_s = 0;  // this program's own threads compete
  return i;
}

contest::contest(int argc, char** argv)
    : numbers(argc, argv), threads(detail::default_worker_count(detail::allowed_cores().size())) {
  const auto& rest = numbers.rest();
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == "--quick") {
      quick = true;
    } else if (rest[i] == "--only" && i + 1 < rest.size()) {
      only_ = "," + rest[++i] + ",";
    } else if (rest[i] == "--threads" && i + 1 < rest.size()) {
      threads = parse_threads(rest[++i]);
    } else {
      usage("'" + rest[i] + "' is not an option, or lacks its value");
    }
  }
  more_threads_than_processors = threads > detail::allowed_cores().size();
  std::string versions;
  for (const char* name : order)
    for (const library* l : library::all())
      if (std::strcmp(l->name, name) == 0 && l->version != nullptr)
        versions += (versions.empty() ? "" : ", ") + l->version();
  std::printf("# %s; %u thread%s each\n", versions.c_str(), threads, threads == 1 ? "" : "s");
}

bool contest::wants(const std::string& part) const {
  return only_.empty() || only_.find("," + part + ",") != std::string::npos;
}

int contest::finish() {
  if (stolen_s_ > 0.02 * offered_s_)
    std::printf("# disturbed: other processes took %.0f %% of the time of this program's threads\n",
                100 * stolen_s_ / offered_s_);
  return numbers.finish();
}

bool contest::disturbed(const interval& sample, unsigned workers) {
  const double offered = sample.wall_s * workers;
  stolen_s_ += sample.stolen_s;
  offered_s_ += offered;
  return sample.stolen_s > 0.05 * offered;
}

void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

void wrong_result(const std::string& who, const std::string& what) {
  std::fprintf(stderr, "%s %s\n", who.c_str(), what.c_str());
  std::exit(1);
}

}  // namespace plx::bench
