#include "probe/monitor/perf_group.hpp"

#if defined(__linux__)
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "probe/monitor/monitors.hpp"
#include "probe/monitor/perf_event.hpp"
#include "probe/monitor/perf_page.hpp"

namespace plx::probe {

int perf_groups::index_of(const std::string& event) const noexcept {
  for (std::size_t i = 0; i < events.size(); ++i)
    if (events[i].name == event) return static_cast<int>(i);
  return -1;
}

#if defined(__linux__)
namespace {

#if defined(__x86_64__)
constexpr bool reads_own_counters = true;
std::uint64_t read_processor_counter(std::uint32_t i) noexcept {
  std::uint32_t low = 0, high = 0;
  asm volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(i));
  return std::uint64_t{high} << 32 | low;
}
#else
constexpr bool reads_own_counters = false;
std::uint64_t read_processor_counter(std::uint32_t) noexcept { return 0; }
#endif

class thread_group final : public count_source {
 public:
  ~thread_group() override {
    for (const perf_event_mmap_page* p : pages_)
      if (p != nullptr) ::munmap(const_cast<perf_event_mmap_page*>(p), page_bytes());
    for (auto d = descriptors_.rbegin(); d != descriptors_.rend(); ++d) ::close(*d);
  }
  /// False and errno if the event cannot be counted beside those before.
  bool add(const perf_event& e, int thread_id) {
    constexpr std::uint64_t format =
        PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    const int leader = descriptors_.empty() ? -1 : descriptors_.front();
    const int descriptor = open_perf_event(e, thread_id, false, leader, format);
    if (descriptor < 0) return false;
    descriptors_.push_back(descriptor);
    void* page = MAP_FAILED;
    if (reads_own_counters && e.type != PERF_TYPE_SOFTWARE)
      page = ::mmap(nullptr, page_bytes(), PROT_READ, MAP_SHARED, descriptor, 0);
    pages_.push_back(page == MAP_FAILED ? nullptr : static_cast<const perf_event_mmap_page*>(page));
    own_ = own_ && pages_.back() != nullptr;
    return true;
  }
  void remove_last() {
    if (pages_.back() != nullptr) ::munmap(const_cast<perf_event_mmap_page*>(pages_.back()), page_bytes());
    ::close(descriptors_.back());
    pages_.pop_back();
    descriptors_.pop_back();
    own_ = std::none_of(pages_.begin(), pages_.end(), [](const void* p) { return p == nullptr; });
  }
  bool read(event_counts& into) noexcept override {
    if (own_ && read_own(into)) return true;
    double counted = 1;
    return read_from_outside(into, counted);
  }
  bool read_from_outside(event_counts& into, double& counted) const noexcept override {
    struct {
      std::uint64_t n, enabled, running;
      event_counts values;
    } now{};
    const std::size_t size = (3 + descriptors_.size()) * sizeof(std::uint64_t);
    const ssize_t got = ::read(descriptors_.front(), &now, size);
    if (got != static_cast<ssize_t>(size)) {
      if (got >= 0) errno = EIO;
      return false;
    }
    into = now.values;
    counted = now.enabled == 0 ? 1 : static_cast<double>(now.running) / static_cast<double>(now.enabled);
    return true;
  }

 private:
  static std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }
  bool read_own(event_counts& into) const noexcept {
    for (std::size_t i = 0; i < pages_.size(); ++i) {
      const auto count = detail::read_perf_page(*pages_[i], read_processor_counter);
      if (!count) return false;
      into[i] = *count;
    }
    return true;
  }

  std::vector<int> descriptors_;
  std::vector<const perf_event_mmap_page*> pages_;  // null: only read() gives the count
  bool own_ = true;                                 // none is null
};

}  // namespace

perf_groups open_perf_groups(const std::string& events, const std::vector<watched_thread>& threads,
                             std::vector<std::string>& notes) {
  perf_groups all;
  std::vector<std::shared_ptr<thread_group>> groups;
  for (std::size_t i = 0; i < threads.size(); ++i) groups.push_back(std::make_shared<thread_group>());
  omitted_events left_out;
  std::vector<std::string> unknown;  // add_perf_counters() reports them, and events that fail alone, too
  for (const perf_event* e : perf_events_named(events, unknown)) {
    if (all.events.size() == most_counted_events) {
      left_out[fmt::format("at most {} events are counted by task type", most_counted_events)].emplace_back(e->name);
      continue;
    }
    std::size_t n = 0;
    int why = EMFILE;
    if (perf_room_for(threads.size())) {
      while (n < groups.size() && groups[n]->add(*e, threads[n].thread_id)) ++n;
      why = errno;
    }
    if (n == groups.size()) {
      all.events.push_back({e->name, e->scale});
      continue;
    }
    constexpr int fails_alone[] = {ENOENT, ENODEV, EOPNOTSUPP, ENOSYS, EACCES, EPERM};
    if (why == EINVAL && !all.events.empty())
      left_out["the processor cannot count it together with the events before it"].emplace_back(e->name);
    else if (std::find(std::begin(fails_alone), std::end(fails_alone), why) == std::end(fails_alone))
      left_out[perf_why_not(why)].emplace_back(e->name);
    while (n > 0) groups[--n]->remove_last();
  }
  add_perf_notes(notes, events, left_out, "perf event by task type");
  if (!all.events.empty()) all.threads.assign(groups.begin(), groups.end());
  return all;
}

#else

perf_groups open_perf_groups(const std::string&, const std::vector<watched_thread>&, std::vector<std::string>& notes) {
  notes.push_back("perf events are omitted: this system has no perf_event_open");
  return {};
}

#endif

}  // namespace plx::probe
