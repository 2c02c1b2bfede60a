// Formats the report of look_at_waits() as text, and prints it on a signal.
#include <fmt/format.h>
#include <semaphore.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>

#include "base/log.hpp"
#include "base/process.hpp"
#include "base/symbols.hpp"
#include "base/text.hpp"
#include "rt/explain/explain.hpp"

namespace plx::detail {
namespace {

constexpr std::size_t most_groups = 40, most_cycles = 5, most_in_cycle = 20, most_lines = 12, most_name = 160;

std::string shortened(std::string_view text) {
  return text.size() <= most_name ? std::string(text) : std::string(text.substr(0, most_name - 3)) + "...";
}

std::string described(const waiting_task& t) {
  std::string text = fmt::format("task \"{}\"", shortened(probe::name_of(t.name)));
  if (t.key != probe::no_key) text += fmt::format(" (key {})", t.key);
  return text;
}

std::string awaited(const waiting_task& t) {
  std::string text = t.ready ? "is ready and waits for a worker, after " : "waits on ";
  text += t.what;
  if (t.object_name != probe::unnamed) text += fmt::format(" \"{}\"", shortened(probe::name_of(t.object_name)));
  if (t.object != nullptr) text += fmt::format(" {}", t.object);
  if (t.timed) text += ", with a deadline";
  return text;
}

std::string who_ends_it(const wait_report& r, const waiting_task& t) {
  if (t.ready) return {};
  if (!t.waits_for.empty()) {
    std::string text = t.held ? ", which is held by " : ", which is to be ended by ";
    text += described(r.tasks[t.waits_for.front()]);
    if (t.waits_for.size() > 1) text += fmt::format(" and {} more", t.waits_for.size() - 1);
    return text;
  }
  return t.held ? ", which is held by a running task or an external thread" : "";
}

// ------------------------------------------------------------------------------------------------------------- frames

bool in_namespace(std::string_view function, std::string_view name) {
  const std::string_view before = function.substr(0, function.find_first_of("(<"));
  const auto at = before.rfind(name);
  return at == 0 || (at != before.npos && before[at - 1] == ' ');
}

// Frames of the runtime and of the standard library add nothing to "waits on".
bool is_users(const code_location& l, std::string_view own_folder) {
  if (l.line != 0) {
    const std::string_view file = l.file;
    if (file.find("/include/c++/") != file.npos) return false;
    const bool ours = (!own_folder.empty() && file.starts_with(own_folder)) || in_namespace(l.function, "plx::") ||
                      (file.find("/rt/") != file.npos && file.ends_with(".hpp"));
    return !ours || file.ends_with("_test.cpp");
  }
  return !l.function.empty() && !in_namespace(l.function, "plx::") && !in_namespace(l.function, "std::") &&
         !in_namespace(l.function, "boost::") && l.function.find("plx::detail::") == l.function.npos &&
         l.function.find("std::__") == l.function.npos && !l.function.ends_with("_fcontext");
}

std::string line_of(const code_location& l) {
  std::string text = "      ";
  if (l.line != 0)
    text += fmt::format("{}:{}  {}", l.file, l.line, l.function == "operator()" ? "a lambda" : shortened(l.function));
  else if (!l.function.empty())
    text += fmt::format("{}  ({})", shortened(l.function), l.module);
  else
    text += l.module.empty() ? "?" : l.module;
  return text + "\n";
}

// The lines of all printed stacks, from one call of the symbolizer.
class printed_stacks {
 public:
  explicit printed_stacks(const std::vector<const waiting_task*>& tasks) {
    std::vector<const void*> all;
    for (const auto* t : tasks)
      for (const void* f : t->frames)
        if (index_.try_emplace(f, all.size()).second) all.push_back(static_cast<const char*>(f) - 1);
    if (all.empty()) return;
    all.push_back(reinterpret_cast<const void*>(&frames_of));  // where the runtime's own sources are
    places_ = locate(all);
    for (auto& here : places_)
      for (code_location& l : here)
        if (l.line != 0) l.file = std::filesystem::path(l.file).lexically_normal().string();
    const std::string& own = places_.back().back().file;
    own_folder_ = own.substr(0, own.rfind("explain/") == own.npos ? 0 : own.rfind("explain/"));
  }

  [[nodiscard]] std::string of(const waiting_task& t) const {
    std::vector<const code_location*> users, all;
    for (const void* f : t.frames)
      for (const code_location& l : places_[index_.at(f)]) {
        all.push_back(&l);
        if (is_users(l, own_folder_)) users.push_back(&l);
      }
    const auto& shown = users.empty() ? all : users;
    std::string text;
    for (std::size_t i = 0; i < std::min(shown.size(), most_lines); ++i) text += line_of(*shown[i]);
    if (shown.size() > most_lines) text += fmt::format("      and {} more\n", shown.size() - most_lines);
    return text;
  }

 private:
  std::map<const void*, std::size_t> index_;
  std::vector<std::vector<code_location>> places_;
  std::string own_folder_;
};

// ------------------------------------------------------------------------------------------------------------- groups

struct group {
  const waiting_task* first;  // the one that has waited longest
  std::size_t n = 0;
};

// Tasks of the same name that wait at the same place.
std::vector<group> grouped(const std::vector<waiting_task>& tasks) {
  using place = std::tuple<probe::name_id, std::string_view, bool, const std::vector<const void*>&>;
  std::map<place, group> groups;
  for (const waiting_task& t : tasks) {
    group& g = groups.try_emplace(place(t.name, t.what, t.ready, t.frames), group{&t}).first->second;
    ++g.n;
    if (t.since < g.first->since) g.first = &t;
  }
  std::vector<group> sorted;
  for (const auto& [key, g] : groups) sorted.push_back(g);
  std::stable_sort(sorted.begin(), sorted.end(), [](const group& a, const group& b) {
    return a.n != b.n ? a.n > b.n : a.first->since < b.first->since;
  });
  return sorted;
}

std::string text_of_cycle(const wait_report& r, const std::vector<std::size_t>& cycle) {
  std::string text = cycle.size() == 1
                         ? std::string("  DEADLOCK: a task waits for itself\n")
                         : fmt::format("  DEADLOCK: {} tasks wait for each other in a circle\n", cycle.size());
  for (std::size_t i = 0; i < std::min(cycle.size(), most_in_cycle); ++i) {
    const waiting_task& t = r.tasks[cycle[i]];
    const waiting_task& next = r.tasks[cycle[(i + 1) % cycle.size()]];
    text += fmt::format("    {} {}, which is {} {}\n", described(t), awaited(t), t.held ? "held by" : "to be ended by",
                        described(next));
  }
  if (cycle.size() > most_in_cycle) text += fmt::format("    and {} more\n", cycle.size() - most_in_cycle);
  return text;
}

}  // namespace

std::string text_of(const wait_report& r, bool with_ages) {
  std::string text;
  for (std::size_t i = 0; i < std::min(r.deadlocks.size(), most_cycles); ++i) text += text_of_cycle(r, r.deadlocks[i]);
  if (r.deadlocks.size() > most_cycles)
    text += fmt::format("  and {}\n", plural(r.deadlocks.size() - most_cycles, "more deadlock"));
  const std::vector<group> groups = grouped(r.tasks);
  std::vector<const waiting_task*> shown;
  for (std::size_t i = 0; i < std::min(groups.size(), most_groups); ++i) shown.push_back(groups[i].first);
  const printed_stacks stacks(shown);
  const ticks now = now_ticks();
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const waiting_task& t = *shown[i];
    text += fmt::format("  {} {}", described(t), awaited(t));
    if (with_ages && now > t.since) text += fmt::format(" for {:.3g} s", seconds(now - t.since));
    text += who_ends_it(r, t);
    if (groups[i].n > 1) text += fmt::format("  x {}", groups[i].n);
    text += '\n';
    text += stacks.of(t);
  }
  if (groups.size() > shown.size()) {
    std::size_t tasks = 0;
    for (std::size_t i = shown.size(); i < groups.size(); ++i) tasks += groups[i].n;
    text += fmt::format("  and {} at {}\n", plural(tasks, "more task"),
                        plural(groups.size() - shown.size(), "other place"));
  }
  if (r.unseen != 0) text += fmt::format("  and {}, not inspected\n", plural(r.unseen, "more task"));
  return text;
}

void log_explanation(log_level level, std::string_view text) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    log(level, "{}", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void print_explanation(std::string_view text) {
  if (log_wants(log_level::warning)) return log_explanation(log_level::warning, text);
  while (!text.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

// ------------------------------------------------------------------- the report on a signal
namespace {

struct watch {
  sem_t asked;
  std::mutex lock;
  struct use {
    unsigned users = 0;
    struct sigaction before {};
  };
  std::map<int, use> signals;
  std::thread printer;
  std::atomic<bool> end{false};

  watch() { sem_init(&asked, 0, 0); }
};

// Never destroyed: a signal may arrive at any time.
watch& the_watch() {
  static auto* w = new watch;
  return *w;
}
sem_t* asked = nullptr;

void on_signal(int) {
  const int error = errno;
  sem_post(asked);
  errno = error;
}

void print_when_asked(watch& w) {
  for (;;) {
    while (sem_wait(&w.asked) != 0 && errno == EINTR) {
    }
    if (w.end.load(std::memory_order_acquire)) return;  // pairs with the release where the last user goes
    print_explanation(explain_all_waits());
  }
}

void start_printer(watch& w) {
  const no_signals of_the_printer;
  w.printer = std::thread([&w] { print_when_asked(w); });
}

}  // namespace

int signal_named(std::string_view name, std::string_view option) {
  constexpr std::pair<std::string_view, int> known[] = {{"QUIT", SIGQUIT}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
                                                        {"HUP", SIGHUP},   {"INT", SIGINT},   {"TERM", SIGTERM}};
  std::string_view bare = name;
  if (bare.starts_with("SIG")) bare.remove_prefix(3);
  for (const auto& [text, number] : known)
    if (text == bare) return number;
  int number = 0;
  const auto [end, error] = std::from_chars(bare.data(), bare.data() + bare.size(), number);
  if (error == std::errc() && end == bare.data() + bare.size() && number >= 0 && number < NSIG) return number;
  throw std::invalid_argument(std::string(option) + "=" + std::string(name) +
                              ": expected a signal: QUIT, USR1, USR2, HUP, INT, TERM or a number");
}

explain_signal::explain_signal(int signal) : signal_(signal) {
  if (signal_ == 0) return;
  watch& w = the_watch();
  const std::lock_guard guard(w.lock);
  asked = &w.asked;
  watch::use& u = w.signals[signal_];
  if (u.users == 0) {
    struct sigaction mine {};
    mine.sa_handler = on_signal;
    mine.sa_flags = SA_RESTART;
    sigemptyset(&mine.sa_mask);
    if (sigaction(signal_, &mine, &u.before) != 0) {
      w.signals.erase(signal_);
      throw std::system_error(errno, std::generic_category(), "explain_signal = " + std::to_string(signal_));
    }
  }
  ++u.users;
  if (!w.printer.joinable()) start_printer(w);
}

explain_signal::~explain_signal() {
  if (signal_ == 0) return;
  watch& w = the_watch();
  const std::lock_guard guard(w.lock);
  watch::use& u = w.signals[signal_];
  if (--u.users != 0) return;
  struct sigaction now {};
  if (sigaction(signal_, nullptr, &now) == 0 && now.sa_handler == on_signal) sigaction(signal_, &u.before, nullptr);
  w.signals.erase(signal_);
  if (!w.signals.empty()) return;
  w.end.store(true, std::memory_order_release);
  sem_post(&w.asked);
  w.printer.join();
  w.end.store(false, std::memory_order_relaxed);
}

}  // namespace plx::detail
