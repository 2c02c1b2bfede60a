#include "rt/core/topology.hpp"

#include <hwloc.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace plx::detail {
namespace {

// The topology as loaded by hwloc without disallowed CPUs. Never destroyed: a worker may still bind itself.
hwloc_topology_t machine() {
  static hwloc_topology_t topology = [] {
    hwloc_topology_t t = nullptr;
    hwloc_topology_init(&t);
    hwloc_topology_load(t);
    return t;
  }();
  return topology;
}

// Never destroyed either. The process's own affinity (taskset, Slurm) is narrower than the operating system's limit.
hwloc_const_bitmap_t allowed_processors() {
  static const hwloc_bitmap_t allowed = [] {
    hwloc_bitmap_t mine = hwloc_bitmap_alloc();
    if (hwloc_get_cpubind(machine(), mine, HWLOC_CPUBIND_PROCESS) != 0)
      hwloc_bitmap_copy(mine, hwloc_topology_get_allowed_cpuset(machine()));
    return mine;
  }();
  return allowed;
}

std::string bitmap_text(hwloc_const_bitmap_t set) {
  char text[256] = "";
  hwloc_bitmap_list_snprintf(text, sizeof text, set);
  return text;
}

bool parse(std::string_view text, unsigned& n) {
  const auto [parsed, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && parsed == text.data() + text.size();
}

std::vector<unsigned> find_allowed_cores() {
  hwloc_topology_t t = machine();
  const hwloc_const_bitmap_t mine = allowed_processors();
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

// Every group from this process's own up to the root may have a quota; the smallest one applies.
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

bool processors_were_given() {
  return hwloc_bitmap_weight(allowed_processors()) < hwloc_bitmap_weight(hwloc_topology_get_complete_cpuset(machine()));
}

unsigned cgroup_processors() {
  static const double quota = smallest_quota();
  const auto cores = static_cast<unsigned>(allowed_cores().size());
  if (quota <= 0) return cores;
  return std::clamp(static_cast<unsigned>(quota + 0.999), 1u, std::max(cores, 1u));
}

unsigned default_worker_count(std::size_t cores) {
  if (const char* text = std::getenv("PLX_THREADS"); text != nullptr && *text != '\0') {
    unsigned n = 0;
    if (!parse(text, n) || n == 0 || n > most_workers)
      throw std::invalid_argument("PLX_THREADS=" + std::string(text) + ": expected a number of workers from 1 to " +
                                  std::to_string(most_workers));
    return n;
  }
  unsigned n = std::min(static_cast<unsigned>(cores), cgroup_processors());
  unsigned granted = 0;  // without a cgroup or affinity mask, the only source of Slurm's allocation
  if (const char* slurm = std::getenv("SLURM_CPUS_PER_TASK"); slurm != nullptr && parse(slurm, granted) && granted > 0)
    n = std::min(n, granted);
  return n;
}

namespace {

// Calls `add(i)` for each number of "3" or "0-7"; false when `range` is neither. Requires: `add` throws for a number
// that this machine does not have.
template <class Add>
bool for_each_of_range(std::string_view range, Add&& add) {
  const auto dash = range.find('-');
  unsigned first = 0, last = 0;
  if (!parse(range.substr(0, dash), first)) return false;
  last = first;
  if (dash != std::string_view::npos && !parse(range.substr(dash + 1), last)) return false;
  if (last < first) return false;
  for (unsigned i = first; i <= last; ++i) add(i);  // throws at the first one that does not exist
  return true;
}

[[noreturn]] void refuse(std::string_view text, std::string_view item, const std::string& why) {
  throw std::invalid_argument("cores '" + std::string(text) + "': '" + std::string(item) + "' " + why);
}

// Adds one CPU for each core of this process below the object.
void add_cores_of(hwloc_obj_t object, std::vector<unsigned>& to) {
  for (const unsigned p : allowed_cores())
    if (hwloc_bitmap_isset(object->cpuset, p)) to.push_back(p);
}

hwloc_obj_type_t object_type(std::string_view text, std::string_view item, std::string_view kind) {
  if (kind == "core") return HWLOC_OBJ_CORE;
  if (kind == "socket") return HWLOC_OBJ_PACKAGE;
  if (kind == "numa") return HWLOC_OBJ_NUMANODE;
  refuse(text, item, "is of an unknown kind: expected processors (3, 0-7), core:0-3, socket:0, numa:1, or all");
}

void add_item(std::string_view text, std::string_view item, std::vector<unsigned>& to) {
  const std::size_t before = to.size();
  const auto colon = item.find(':');
  bool understood = true;
  if (item == "all") {
    to.insert(to.end(), allowed_cores().begin(), allowed_cores().end());
  } else if (colon == std::string_view::npos) {
    understood = for_each_of_range(item, [&](unsigned p) {
      if (!hwloc_bitmap_isset(allowed_processors(), p))
        refuse(text, item,
               "names processor " + std::to_string(p) + ", which this process may not use: it may use " +
                   bitmap_text(allowed_processors()));
      to.push_back(p);
    });
  } else {
    const hwloc_obj_type_t type = object_type(text, item, item.substr(0, colon));
    understood = for_each_of_range(item.substr(colon + 1), [&](unsigned i) {
      hwloc_obj_t object = hwloc_get_obj_by_type(machine(), type, i);
      if (object == nullptr)
        refuse(text, item,
               "names number " + std::to_string(i) + ": this machine has " +
                   std::to_string(hwloc_get_nbobjs_by_type(machine(), type)) + ", counted from 0");
      add_cores_of(object, to);
    });
  }
  if (!understood)
    refuse(text, item, "is not understood: expected processors (3, 0-7), core:0-3, socket:0, numa:1, or all");
  if (to.size() == before) refuse(text, item, "names no core that this process may use");
}

}  // namespace

std::vector<unsigned> processors_named(std::string_view text) {
  std::vector<unsigned> named;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    add_item(text, text.substr(begin, end - begin), named);
    begin = end + 1;
  }
  std::vector<unsigned> once;  // in the order in which they were named
  for (const unsigned p : named)
    if (std::find(once.begin(), once.end(), p) == once.end()) once.push_back(p);
  return once;
}

unsigned processor_distance(unsigned a, unsigned b) noexcept {
  hwloc_topology_t t = machine();
  hwloc_obj_t x = hwloc_get_pu_obj_by_os_index(t, a), y = hwloc_get_pu_obj_by_os_index(t, b);
  if (x == nullptr || y == nullptr) return ~0u;
  hwloc_obj_t both = hwloc_get_common_ancestor_obj(t, x, y);
  hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(t, HWLOC_OBJ_CORE, x);
  const int nearest = core != nullptr ? core->depth : x->depth;
  return static_cast<unsigned>(std::max(0, nearest - both->depth));
}

std::string describe_processor(unsigned processor) {
  std::string text = "processor " + std::to_string(processor);
  hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(machine(), processor);
  if (pu == nullptr) return text;
  hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(machine(), HWLOC_OBJ_CORE, pu);
  if (core != nullptr) text += " (core " + std::to_string(core->logical_index);
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(machine(), HWLOC_OBJ_NUMANODE, node)) != nullptr)
    if (hwloc_bitmap_isset(node->cpuset, processor))
      text += (core != nullptr ? ", NUMA node " : " (NUMA node ") + std::to_string(node->logical_index), core = pu;
  return core != nullptr ? text + ")" : text;
}

bool bind_this_thread(const std::vector<unsigned>& processors) noexcept {
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  for (const unsigned p : processors) hwloc_bitmap_set(set, p);
  const bool bound = hwloc_set_cpubind(machine(), set, HWLOC_CPUBIND_THREAD) == 0;
  hwloc_bitmap_free(set);
  return bound;
}

}  // namespace plx::detail
