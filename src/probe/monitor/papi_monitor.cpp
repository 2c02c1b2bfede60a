#include "probe/monitor/monitors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>

#include "probe/monitor/shared_library.hpp"
#include "probe/settings.hpp"

namespace plx::probe {
namespace {

// PAPI's constants that are the same in its versions 5 to 7.
constexpr int papi_ok = 0;
constexpr int papi_null = -1;
constexpr int papi_lib_version = 21;

/// The functions of the library that are used here.
struct papi_library {
  explicit papi_library(shared_library l) : library(std::move(l)) {}
  papi_library(const papi_library&) = delete;
  papi_library& operator=(const papi_library&) = delete;
  ~papi_library() {
    if (begun) shutdown();
  }

  shared_library library;
  std::mutex mutex;  // held during every call
  bool begun = false;
  int (*get_opt)(int, void*) = nullptr;
  int (*library_init)(int) = nullptr;
  void (*shutdown)() = nullptr;
  char* (*strerror)(int) = nullptr;
  int (*event_name_to_code)(const char*, int*) = nullptr;
  int (*get_event_component)(int) = nullptr;
  int (*create_eventset)(int*) = nullptr;
  int (*assign_eventset_component)(int, int) = nullptr;
  int (*attach)(int, unsigned long) = nullptr;
  int (*add_event)(int, int) = nullptr;
  int (*start)(int) = nullptr;
  int (*stop)(int, long long*) = nullptr;
  int (*read)(int, long long*) = nullptr;
  int (*cleanup_eventset)(int) = nullptr;
  int (*destroy_eventset)(int*) = nullptr;

  bool find_all() {
    return library.find("PAPI_get_opt", get_opt) && library.find("PAPI_library_init", library_init) &&
           library.find("PAPI_shutdown", shutdown) && library.find("PAPI_strerror", strerror) &&
           library.find("PAPI_event_name_to_code", event_name_to_code) &&
           library.find("PAPI_get_event_component", get_event_component) &&
           library.find("PAPI_create_eventset", create_eventset) &&
           library.find("PAPI_assign_eventset_component", assign_eventset_component) &&
           library.find("PAPI_attach", attach) && library.find("PAPI_add_event", add_event) &&
           library.find("PAPI_start", start) && library.find("PAPI_stop", stop) && library.find("PAPI_read", read) &&
           library.find("PAPI_cleanup_eventset", cleanup_eventset) &&
           library.find("PAPI_destroy_eventset", destroy_eventset);
  }
  std::string message(int code) const {
    const char* text = strerror(code);
    return text != nullptr ? text : fmt::format("error {}", code);
  }
};
using papi_ptr = std::shared_ptr<papi_library>;

result<papi_ptr> load_papi(const std::string& file) {
  auto opened = shared_library::open(
      file.empty() ? std::vector<std::string>{"libpapi.so.7.1", "libpapi.so.7.0", "libpapi.so.6.0", "libpapi.so"}
                   : std::vector<std::string>{file});
  if (!opened) return error{"PAPI is omitted: " + opened.error().message};
  auto papi = std::make_shared<papi_library>(std::move(opened).value());
  if (!papi->find_all()) return error{"PAPI is omitted: its library lacks functions of PAPI 5 to 7"};
  // It must be called with its own version, without the last two of four numbers.
  const int version = papi->get_opt(papi_lib_version, nullptr);
  const int answer = papi->library_init(static_cast<int>(static_cast<unsigned>(version) & 0xffff0000u));
  if (answer < 0) return error{"PAPI is omitted: " + papi->message(answer)};
  papi->begun = true;
  return papi;
}

struct papi_event {
  std::string name;
  int code;
  int component;
};

/// Events of one component, counted together: those of one thread, or of the component's own scope.
class event_set {
 public:
  event_set(papi_ptr papi, int set) : papi_(std::move(papi)), set_(set) {}
  event_set(const event_set&) = delete;
  event_set& operator=(const event_set&) = delete;
  ~event_set() {
    const std::lock_guard lock(papi_->mutex);
    values_.resize(names_.size() + 1);
    if (started_) papi_->stop(set_, values_.data());
    papi_->cleanup_eventset(set_);
    papi_->destroy_eventset(&set_);
  }

  /// Adds an event. Returns "" or the reason of a failure.
  std::string add(const papi_event& e) {
    const std::lock_guard lock(papi_->mutex);
    if (const int r = papi_->add_event(set_, e.code); r != papi_ok) return papi_->message(r);
    names_.push_back(e.name);
    return "";
  }
  std::string start() {
    const std::lock_guard lock(papi_->mutex);
    if (const int r = papi_->start(set_); r != papi_ok) return papi_->message(r);
    started_ = true;
    return "";
  }
  double value(std::size_t i) {
    const std::lock_guard lock(papi_->mutex);
    values_.resize(names_.size() + 1);
    if (const int r = papi_->read(set_, values_.data()); r != papi_ok) throw std::runtime_error(papi_->message(r));
    return static_cast<double>(values_[i]);
  }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  const papi_ptr papi_;
  int set_;
  bool started_ = false;
  std::vector<std::string> names_;
  std::vector<long long> values_;
};
using set_ptr = std::shared_ptr<event_set>;

class papi_counters {
 public:
  papi_counters(counter_registry& r, papi_ptr p, std::vector<std::string>& notes)
      : registry_(r), papi_(std::move(p)), notes_(notes) {}

  void events_named(const std::string& list);
  void count(const std::vector<watched_thread>& threads);

  std::vector<registration> added;

 private:
  /// Creates an empty set of a component; null if it cannot be attached to the thread. Thread 0: not attached.
  set_ptr make_set(int component, int thread_id);
  set_ptr begin(const std::vector<papi_event>& events, int thread_id);
  void add_counter(const std::string& instance, const std::string& event,
                   std::vector<std::pair<set_ptr, std::size_t>> of);
  void note(const std::string& event, const std::string& why) {
    const std::string line = fmt::format("PAPI event '{}' is omitted: {}", event, why);
    if (std::find(notes_.begin(), notes_.end(), line) == notes_.end()) notes_.push_back(line);
  }

  counter_registry& registry_;
  const papi_ptr papi_;
  std::vector<std::string>& notes_;
  std::map<int, std::vector<papi_event>> by_component_;
};

void papi_counters::events_named(const std::string& list) {
  std::set<std::string> seen;
  for (const std::string& name : words_of(list)) {
    if (!seen.insert(name).second) continue;
    papi_event e{name, 0, 0};
    int r = papi_->event_name_to_code(name.c_str(), &e.code);
    if (r == papi_ok) r = e.component = papi_->get_event_component(e.code);
    if (r < 0)
      note(name, papi_->message(r));
    else if (name.find_first_of("{}@*") != std::string::npos)
      note(name, "its name is not valid in a counter name");
    else
      by_component_[e.component].push_back(e);
  }
}

set_ptr papi_counters::make_set(int component, int thread_id) {
  const std::lock_guard lock(papi_->mutex);
  int set = papi_null;
  if (papi_->create_eventset(&set) != papi_ok) return nullptr;
  bool ok = papi_->assign_eventset_component(set, component) == papi_ok;
  if (thread_id != 0) ok = ok && papi_->attach(set, static_cast<unsigned long>(thread_id)) == papi_ok;
  if (ok) return std::make_shared<event_set>(papi_, set);
  papi_->destroy_eventset(&set);
  return nullptr;
}

set_ptr papi_counters::begin(const std::vector<papi_event>& events, int thread_id) {
  set_ptr set = make_set(events[0].component, thread_id);
  if (set == nullptr) return nullptr;
  for (const papi_event& e : events)
    if (const std::string why = set->add(e); !why.empty()) note(e.name, why);
  if (set->names().empty()) return set;
  if (const std::string why = set->start(); !why.empty()) {
    for (const std::string& name : set->names()) note(name, why);
    return make_set(events[0].component, 0);
  }
  return set;
}

void papi_counters::add_counter(const std::string& instance, const std::string& event,
                                std::vector<std::pair<set_ptr, std::size_t>> of) {
  added.push_back(
      registry_.add({fmt::format("/papi{{{}}}/{}", instance, event), "1", "See PAPI's description of the event", true},
                    [of = std::move(of)] {
                      double sum = 0;
                      for (const auto& [set, i] : of) sum += set->value(i);
                      return sum;
                    }));
}

void papi_counters::count(const std::vector<watched_thread>& threads) {
  for (const auto& [component, events] : by_component_) {
    std::map<std::string, std::vector<std::pair<set_ptr, std::size_t>>> totals;
    bool attached = !threads.empty();
    for (const watched_thread& t : threads) {
      const set_ptr set = begin(events, t.thread_id);
      if (set == nullptr) {
        attached = false;
        break;
      }
      for (std::size_t i = 0; i < set->names().size(); ++i) {
        add_counter(t.instance, set->names()[i], {{set, i}});
        totals[set->names()[i]].emplace_back(set, i);
      }
    }
    for (const auto& [event, of] : totals) add_counter(registry_.locality_name() + "/total", event, of);
    if (attached) continue;
    const set_ptr set = begin(events, 0);
    if (set == nullptr) {
      for (const papi_event& e : events) note(e.name, "PAPI cannot create an event set for its component");
      continue;
    }
    for (std::size_t i = 0; i < set->names().size(); ++i) add_counter("process", set->names()[i], {{set, i}});
  }
}

}  // namespace

std::vector<registration> add_papi_counters(counter_registry& registry, const std::string& events,
                                            const std::vector<watched_thread>& threads, std::vector<std::string>* notes,
                                            const std::string& library) {
  std::vector<std::string> messages;
  std::vector<registration> all;
  if (auto papi = load_papi(library)) {
    papi_counters counters(registry, std::move(*papi), messages);
    counters.events_named(events);
    counters.count(threads);
    all = std::move(counters.added);
  } else {
    messages.push_back(papi.error().message);
  }
  if (notes != nullptr) notes->insert(notes->end(), messages.begin(), messages.end());
  return all;
}

}  // namespace plx::probe
