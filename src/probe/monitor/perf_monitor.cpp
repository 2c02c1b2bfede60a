#include "probe/monitor/monitors.hpp"

#if defined(__linux__)
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>

#include "base/text.hpp"
#include "probe/settings.hpp"

namespace plx::probe {

#if defined(__linux__)
namespace {

struct perf_event {
  const char* name;
  std::uint32_t type;
  std::uint64_t config;
  const char* unit;
  double scale;
  const char* help;
  int group = 0;  // events of one group above 0 are counted over the same intervals
};

constexpr std::uint64_t cache_misses_of(std::uint64_t cache) {
  return cache | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16;
}

constexpr perf_event known_events[] = {
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, "s", 1e-9, "Processor time of the thread"},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, "1", 1, "Page faults"},
    {"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, "1", 1,
     "Page faults without reading from disk"},
    {"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, "1", 1, "Page faults that read from disk"},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, "1", 1, "Context switches"},
    {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, "1", 1, "Migrations to another core"},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "1", 1, "Cycles of the core", 1},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, "1", 1, "Completed instructions", 1},
    {"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, "1", 1, "Cycles at the nominal frequency"},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "1", 1, "Completed branches", 2},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, "1", 1, "Mispredicted branches", 2},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, "1", 1, "Accesses to the last-level cache",
     3},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, "1", 1, "Misses of the last-level cache", 3},
    {"stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, "1", 1,
     "Cycles without instructions to issue"},
    {"stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, "1", 1,
     "Cycles in which instructions wait for data"},
    {"l1d-load-misses", PERF_TYPE_HW_CACHE, cache_misses_of(PERF_COUNT_HW_CACHE_L1D), "1", 1,
     "Loads that missed the first-level cache"},
    {"llc-load-misses", PERF_TYPE_HW_CACHE, cache_misses_of(PERF_COUNT_HW_CACHE_LL), "1", 1,
     "Loads that missed the last-level cache"},
    {"dtlb-load-misses", PERF_TYPE_HW_CACHE, cache_misses_of(PERF_COUNT_HW_CACHE_DTLB), "1", 1,
     "Loads that missed the data TLB"},
};

/// One event of one thread.
class open_event {
 public:
  explicit open_event(int descriptor) : descriptor_(descriptor) {}
  open_event(const open_event&) = delete;
  open_event& operator=(const open_event&) = delete;
  ~open_event() { ::close(descriptor_); }

  [[nodiscard]] int descriptor() const { return descriptor_; }
  double value() const {
    struct {
      std::uint64_t count, enabled, running;
    } now{};
    if (::read(descriptor_, &now, sizeof now) != sizeof now)
      throw std::runtime_error(fmt::format("cannot read the event: {}", std::strerror(errno)));
    if (now.running == 0) return 0;  // the thread has not run yet, or never had a hardware counter
    return static_cast<double>(now.count) * static_cast<double>(now.enabled) / static_cast<double>(now.running);
  }

 private:
  const int descriptor_;
};
using event_ptr = std::shared_ptr<open_event>;

/// Includes the kernel's work for the thread, if that is permitted; null and errno on failure. `leader`: the event of
/// the same group and thread, or null; if the processor cannot count both at once, the event is counted alone.
event_ptr open_one(const perf_event& e, int thread_id, bool children, const open_event* leader) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = e.type;
  attributes.config = e.config;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attributes.inherit = children;
  attributes.exclude_hv = 1;
  for (const bool user_only : {false, true}) {
    attributes.exclude_kernel = user_only;
    const long descriptor =
        ::syscall(SYS_perf_event_open, &attributes, thread_id, -1, leader == nullptr ? -1 : leader->descriptor(),
                  static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC));
    if (descriptor >= 0) return std::make_shared<open_event>(static_cast<int>(descriptor));
    if (errno != EACCES && errno != EPERM) break;
  }
  return leader != nullptr ? open_one(e, thread_id, children, nullptr) : nullptr;
}

rlim_t descriptor_limit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

/// Whether `n` more descriptors leave the upper half of the table to the program. The system assigns the lowest free
/// one.
bool room_for(std::size_t n) {
  const int lowest = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (lowest < 0) return false;
  ::close(lowest);
  return static_cast<rlim_t>(lowest) + n <= descriptor_limit() / 2;
}

std::string why_not(int number) {
  switch (number) {
    case EACCES:
    case EPERM:
      return "not permitted (see /proc/sys/kernel/perf_event_paranoid, or the container's rules)";
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
      return "not supported by this processor or virtual machine";
    case ENOSYS:
      return "this kernel has no perf_event_open";
    case EMFILE:
      return fmt::format(
          "half of the {} file descriptors are kept for the program; raise ulimit -n or name fewer events",
          descriptor_limit());
    default:
      return std::strerror(number);
  }
}

/// The requested events; an unknown name becomes a note.
std::vector<const perf_event*> events_named(const std::string& events, std::vector<std::string>& notes) {
  std::vector<const perf_event*> wanted;
  if (events == "all" || events == "1") {
    for (const perf_event& e : known_events) wanted.push_back(&e);
    return wanted;
  }
  for (const std::string& word : words_of(events)) {
    const auto* e = std::find_if(std::begin(known_events), std::end(known_events),
                                 [&](const perf_event& k) { return word == k.name; });
    if (e == std::end(known_events))
      notes.push_back(fmt::format("unknown perf event '{}'{}; expected one or more of {}", word,
                                  did_you_mean(word, perf_event_names()), fmt::join(perf_event_names(), ", ")));
    else if (std::find(wanted.begin(), wanted.end(), e) == wanted.end())
      wanted.push_back(e);
  }
  return wanted;
}

/// "all" adds no notes, "1" one line for all events together, and events requested by name have a line each.
void add_notes(std::vector<std::string>& notes, const std::string& events,
               const std::map<std::string, std::vector<std::string>>& left_out) {
  std::string together;
  for (const auto& [why, names] : left_out) {
    together += fmt::format("{}{} ({})", together.empty() ? "" : "; ", fmt::join(names, ", "), why);
    if (events != "all" && events != "1")
      for (const std::string& name : names) notes.push_back(fmt::format("perf event '{}' is omitted: {}", name, why));
  }
  if (events == "1" && !together.empty()) notes.push_back("perf events are omitted: " + together);
}

double sum_of(const std::vector<event_ptr>& events) {
  double sum = 0;
  for (const event_ptr& e : events) sum += e->value();
  return sum;
}

}  // namespace

std::vector<std::string> perf_event_names() {
  std::vector<std::string> names;
  for (const perf_event& e : known_events) names.emplace_back(e.name);
  return names;
}

std::vector<registration> add_perf_counters(counter_registry& registry, const std::string& events,
                                            const std::vector<watched_thread>& threads,
                                            std::vector<std::string>* notes) {
  std::vector<std::string> messages;
  std::vector<registration> all;
  const auto add = [&](const std::string& instance, const perf_event& e, std::vector<event_ptr> counted) {
    all.push_back(registry.add({fmt::format("/perf{{{}}}/{}", instance, e.name), e.unit, e.help, true},
                               [counted, scale = e.scale] { return scale * sum_of(counted); }));
  };
  const std::vector<watched_thread> whole_process{{"process", 0}};
  const std::vector<watched_thread>& watched = threads.empty() ? whole_process : threads;
  std::map<std::string, std::vector<std::string>> left_out;  // by reason
  std::map<std::pair<int, int>, event_ptr> leaders;          // by group and thread
  for (const perf_event* e : events_named(events, messages)) {
    std::vector<event_ptr> counted;
    if (!room_for(watched.size())) {
      left_out[why_not(EMFILE)].emplace_back(e->name);
      continue;
    }
    for (const watched_thread& t : watched) {
      const auto leader = leaders.find({e->group, t.thread_id});
      event_ptr one =
          open_one(*e, t.thread_id, threads.empty(), leader == leaders.end() ? nullptr : leader->second.get());
      if (one == nullptr) {
        left_out[why_not(errno)].emplace_back(e->name);
        break;
      }
      if (e->group != 0) leaders.try_emplace({e->group, t.thread_id}, one);
      add(t.instance, *e, {one});
      counted.push_back(std::move(one));
    }
    if (!threads.empty() && counted.size() == threads.size()) add(registry.locality_name() + "/total", *e, counted);
  }
  add_notes(messages, events, left_out);
  if (notes != nullptr) notes->insert(notes->end(), messages.begin(), messages.end());
  return all;
}

#else

std::vector<std::string> perf_event_names() { return {}; }
std::vector<registration> add_perf_counters(counter_registry&, const std::string&, const std::vector<watched_thread>&,
                                            std::vector<std::string>* notes) {
  if (notes != nullptr) notes->push_back("perf events are omitted: this system has no perf_event_open");
  return {};
}

#endif

}  // namespace plx::probe
