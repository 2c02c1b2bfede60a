#include "rt/detail/topology.hpp"

#include <hwloc.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace plx::detail {
namespace {

// The topology as loaded by hwloc without disallowed processors. Never destroyed: a worker may still bind itself.
hwloc_topology_t machine() {
  static hwloc_topology_t topology = [] {
    hwloc_topology_t t = nullptr;
    hwloc_topology_init(&t);
    hwloc_topology_load(t);
    return t;
  }();
  return topology;
}

std::vector<unsigned> find_allowed_cores() {
  hwloc_topology_t t = machine();
  hwloc_bitmap_t mine = hwloc_bitmap_alloc();
  // The process's own affinity (taskset, Slurm) is narrower than what the system allows.
  if (hwloc_get_cpubind(t, mine, HWLOC_CPUBIND_PROCESS) != 0)
    hwloc_bitmap_copy(mine, hwloc_topology_get_allowed_cpuset(t));
  std::vector<unsigned> processors;
  const int cores = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE);
  for (int i = 0; i < cores; ++i) {
    hwloc_obj_t core = hwloc_get_obj_by_type(t, HWLOC_OBJ_CORE, static_cast<unsigned>(i));
    hwloc_bitmap_t usable = hwloc_bitmap_alloc();
    hwloc_bitmap_and(usable, core->cpuset, mine);
    const int first = hwloc_bitmap_first(usable);
    if (first >= 0) processors.push_back(static_cast<unsigned>(first));
    hwloc_bitmap_free(usable);
  }
  if (processors.empty())  // a machine whose cores hwloc cannot see
    for (int p = hwloc_bitmap_first(mine); p >= 0; p = hwloc_bitmap_next(mine, p))
      processors.push_back(static_cast<unsigned>(p));
  hwloc_bitmap_free(mine);
  if (processors.empty()) processors.push_back(0);
  return processors;
}

// "max 100000" or "150000 100000" (cgroup 2); zero when there is no such file or no limit.
double quota_of(const char* path) {
  std::FILE* f = std::fopen(path, "r");
  if (f == nullptr) return 0;
  char quota[32] = "";
  double period = 0;
  const int read = std::fscanf(f, "%31s %lf", quota, &period);
  std::fclose(f);
  if (read != 2 || period <= 0 || std::strcmp(quota, "max") == 0) return 0;
  return std::atof(quota) / period;
}

// The quota of every group on the way from this process's own up to the root counts; the smallest one holds.
double smallest_quota() {
  std::FILE* f = std::fopen("/proc/self/cgroup", "r");
  if (f == nullptr) return 0;
  char line[4096] = "";
  double smallest = 0;
  while (std::fgets(line, sizeof line, f) != nullptr) {
    if (std::strncmp(line, "0::", 3) != 0) continue;
    line[std::strcspn(line, "\n")] = '\0';
    for (char* end = line + std::strlen(line);; end = std::strrchr(line + 3, '/')) {
      if (end == nullptr) break;
      *end = '\0';
      char path[4200];
      std::snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", line + 3);
      const double q = quota_of(path);
      if (q > 0 && (smallest == 0 || q < smallest)) smallest = q;
      if (line[3] == '\0') break;
    }
  }
  std::fclose(f);
  return smallest;
}

}  // namespace

const std::vector<unsigned>& allowed_cores() {
  static const std::vector<unsigned> cores = find_allowed_cores();
  return cores;
}

unsigned cgroup_processors() {
  static const double quota = smallest_quota();
  const auto cores = static_cast<unsigned>(allowed_cores().size());
  if (quota <= 0) return cores;
  return std::clamp(static_cast<unsigned>(quota + 0.999), 1u, std::max(cores, 1u));
}

unsigned default_worker_count() {
  if (const char* text = std::getenv("PLX_THREADS")) {
    unsigned n = 0;
    const char* end = text + std::strlen(text);
    const auto [parsed, error] = std::from_chars(text, end, n);
    if (error == std::errc() && parsed == end && n > 0) return n;
  }
  return std::min(static_cast<unsigned>(allowed_cores().size()), cgroup_processors());
}

bool bind_this_thread(unsigned processor) noexcept {
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  hwloc_bitmap_only(set, processor);
  const bool bound = hwloc_set_cpubind(machine(), set, HWLOC_CPUBIND_THREAD) == 0;
  hwloc_bitmap_free(set);
  return bound;
}

}  // namespace plx::detail
