#include "probe/monitor/monitors.hpp"
#include "probe/monitor/perf_event.hpp"
#include "probe/monitor/perf_group.hpp"

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

/// Null and errno on failure. `leader`: the event of the same group and thread, or null; if the processor cannot count
/// both at once, the event is counted alone.
event_ptr open_one(const perf_event& e, int thread_id, bool children, const open_event* leader) {
  constexpr std::uint64_t times = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  const int descriptor = open_perf_event(e, thread_id, children, leader == nullptr ? -1 : leader->descriptor(), times);
  if (descriptor >= 0) return std::make_shared<open_event>(descriptor);
  return leader != nullptr ? open_one(e, thread_id, children, nullptr) : nullptr;
}

rlim_t descriptor_limit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

/// Counters of an event that is counted in groups.
void add_grouped(std::vector<registration>& to, counter_registry& registry, const perf_event& e,
                 const std::vector<watched_thread>& threads, const perf_groups& grouped, std::size_t at) {
  const auto add = [&](const std::string& instance, std::vector<std::shared_ptr<count_source>> counted) {
    to.push_back(registry.add({fmt::format("/perf{{{}}}/{}", instance, e.name), e.unit, e.help, true},
                              [counted = std::move(counted), at, scale = e.scale] {
                                std::uint64_t sum = 0;
                                for (const auto& c : counted) {
                                  event_counts now;
                                  double share = 1;
                                  if (!c->read_from_outside(now, share))
                                    throw std::runtime_error(
                                        fmt::format("cannot read the events: {}", std::strerror(errno)));
                                  sum += now[at];
                                }
                                return scale * static_cast<double>(sum);
                              }));
  };
  for (std::size_t i = 0; i < threads.size(); ++i) add(threads[i].instance, {grouped.threads[i]});
  add(registry.locality_name() + "/total", grouped.threads);
}

double sum_of(const std::vector<event_ptr>& events) {
  double sum = 0;
  for (const event_ptr& e : events) sum += e->value();
  return sum;
}

}  // namespace

int open_perf_event(const perf_event& e, int thread_id, bool children, int leader, std::uint64_t format) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = e.type;
  attributes.config = e.config;
  attributes.read_format = format;
  attributes.inherit = children;
  attributes.exclude_hv = 1;
  for (const bool user_only : {false, true}) {
    attributes.exclude_kernel = user_only;
    const long descriptor = ::syscall(SYS_perf_event_open, &attributes, thread_id, -1, leader,
                                      static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC));
    if (descriptor >= 0) return static_cast<int>(descriptor);
    if (errno != EACCES && errno != EPERM) break;
  }
  return -1;
}

/// The system assigns the lowest free one.
bool perf_room_for(std::size_t n) {
  const int lowest = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (lowest < 0) return false;
  ::close(lowest);
  return static_cast<rlim_t>(lowest) + n <= descriptor_limit() / 2;
}

std::string perf_why_not(int number) {
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

std::vector<const perf_event*> perf_events_named(const std::string& events, std::vector<std::string>& notes) {
  std::vector<const perf_event*> found;
  if (events == "all" || events == "1") {
    for (const perf_event& e : known_events) found.push_back(&e);
    return found;
  }
  for (const std::string& word : words_of(events)) {
    const auto* e = std::find_if(std::begin(known_events), std::end(known_events),
                                 [&](const perf_event& k) { return word == k.name; });
    if (e == std::end(known_events))
      notes.push_back(fmt::format("unknown perf event '{}'{}; expected one or more of {}", word,
                                  did_you_mean(word, perf_event_names()), fmt::join(perf_event_names(), ", ")));
    else if (std::find(found.begin(), found.end(), e) == found.end())
      found.push_back(e);
  }
  return found;
}

void add_perf_notes(std::vector<std::string>& notes, const std::string& events, const omitted_events& left_out,
                    const char* what) {
  std::string together;
  for (const auto& [why, names] : left_out) {
    together += fmt::format("{}{} ({})", together.empty() ? "" : "; ", fmt::join(names, ", "), why);
    if (events != "all" && events != "1")
      for (const std::string& name : names) notes.push_back(fmt::format("{} '{}' is omitted: {}", what, name, why));
  }
  if (events == "1" && !together.empty()) notes.push_back(fmt::format("{}s are omitted: {}", what, together));
}

std::vector<std::string> perf_event_names() {
  std::vector<std::string> names;
  for (const perf_event& e : known_events) names.emplace_back(e.name);
  return names;
}

std::vector<registration> add_perf_counters(counter_registry& registry, const std::string& events,
                                            const std::vector<watched_thread>& threads, std::vector<std::string>* notes,
                                            const perf_groups* grouped) {
  std::vector<std::string> messages;
  std::vector<registration> all;
  const auto add = [&](const std::string& instance, const perf_event& e, std::vector<event_ptr> counted) {
    all.push_back(registry.add({fmt::format("/perf{{{}}}/{}", instance, e.name), e.unit, e.help, true},
                               [counted, scale = e.scale] { return scale * sum_of(counted); }));
  };
  const std::vector<watched_thread> whole_process{{"process", 0}};
  const std::vector<watched_thread>& watched = threads.empty() ? whole_process : threads;
  omitted_events left_out;
  std::map<std::pair<int, int>, event_ptr> leaders;  // by group and thread
  for (const perf_event* e : perf_events_named(events, messages)) {
    if (const int at = grouped == nullptr ? -1 : grouped->index_of(e->name); at >= 0) {
      add_grouped(all, registry, *e, threads, *grouped, static_cast<std::size_t>(at));
      continue;
    }
    std::vector<event_ptr> counted;
    if (!perf_room_for(watched.size())) {
      left_out[perf_why_not(EMFILE)].emplace_back(e->name);
      continue;
    }
    for (const watched_thread& t : watched) {
      const auto leader = leaders.find({e->group, t.thread_id});
      event_ptr one =
          open_one(*e, t.thread_id, threads.empty(), leader == leaders.end() ? nullptr : leader->second.get());
      if (one == nullptr) {
        left_out[perf_why_not(errno)].emplace_back(e->name);
        break;
      }
      if (e->group != 0) leaders.try_emplace({e->group, t.thread_id}, one);
      add(t.instance, *e, {one});
      counted.push_back(std::move(one));
    }
    if (!threads.empty() && counted.size() == threads.size()) add(registry.locality_name() + "/total", *e, counted);
  }
  add_perf_notes(messages, events, left_out);
  if (notes != nullptr) notes->insert(notes->end(), messages.begin(), messages.end());
  return all;
}

#else

std::vector<std::string> perf_event_names() { return {}; }
std::vector<registration> add_perf_counters(counter_registry&, const std::string&, const std::vector<watched_thread>&,
                                            std::vector<std::string>* notes, const perf_groups*) {
  if (notes != nullptr) notes->push_back("perf events are omitted: this system has no perf_event_open");
  return {};
}

#endif

}  // namespace plx::probe
