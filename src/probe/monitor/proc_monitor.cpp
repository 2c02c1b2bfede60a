#include "probe/monitor/monitors.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <stdexcept>

#include "base/file.hpp"
#include "probe/monitor/proc_file.hpp"

namespace plx::probe {
namespace {

using file_ptr = std::shared_ptr<proc_file>;

/// The position of a number: the `word`-th of the line that begins with `key`, times `scale`.
struct field {
  const char* name;
  const char* unit;
  const char* key;
  unsigned word;
  double scale;
  bool monotonic;
  const char* help;
};

constexpr double kib = 1024;

constexpr field of_meminfo[] = {
    {"/system/memory/total", "bytes", "MemTotal:", 0, kib, false, "Memory of the machine"},
    {"/system/memory/free", "bytes", "MemFree:", 0, kib, false, "Unused memory"},
    {"/system/memory/available", "bytes", "MemAvailable:", 0, kib, false, "Memory available to programs"},
    {"/system/memory/cached", "bytes", "Cached:", 0, kib, false, "Memory used by the page cache"},
    {"/system/memory/dirty", "bytes", "Dirty:", 0, kib, false, "Memory to be written back to files"},
    {"/system/swap/total", "bytes", "SwapTotal:", 0, kib, false, "Size of the swap space"},
    {"/system/swap/free", "bytes", "SwapFree:", 0, kib, false, "Unused swap space"},
};

constexpr field of_loadavg[] = {
    {"/system/load/1-minute", "1", "", 0, 1, false, "Mean number of threads that run, are ready, or wait for a disk"},
    {"/system/load/5-minutes", "1", "", 1, 1, false, "The same over 5 minutes"},
    {"/system/load/15-minutes", "1", "", 2, 1, false, "The same over 15 minutes"},
    {"/system/threads/runnable", "1", "", 3, 1, false, "Threads of the machine that run or are ready"},
};

constexpr field of_stat[] = {
    {"/system/context-switches", "1", "ctxt", 0, 1, true, "Context switches of the machine"},
    {"/system/interrupts", "1", "intr", 0, 1, true, "Interrupts of the machine"},
    {"/system/processes/created", "1", "processes", 0, 1, true, "Processes and threads created"},
    {"/system/processes/blocked", "1", "procs_blocked", 0, 1, false, "Processes waiting for a disk"},
};

constexpr field of_status[] = {
    {"/machine/memory/virtual", "bytes", "VmSize:", 0, kib, false, "Address space of this process"},
    {"/machine/memory/anonymous", "bytes", "RssAnon:", 0, kib, false, "Resident memory not backed by a file"},
    {"/machine/memory/of-files", "bytes", "RssFile:", 0, kib, false, "Resident memory backed by a file"},
    {"/machine/memory/shared", "bytes", "RssShmem:", 0, kib, false, "Resident memory shared with other processes"},
    {"/machine/memory/swapped", "bytes", "VmSwap:", 0, kib, false, "Memory of this process in the swap space"},
    {"/machine/threads", "1", "Threads:", 0, 1, false, "Threads of this process"},
};

constexpr field of_io[] = {
    {"/machine/io/read", "bytes", "rchar:", 0, 1, true, "Bytes read by this process, from files, pipes, sockets"},
    {"/machine/io/written", "bytes", "wchar:", 0, 1, true, "Bytes written by this process"},
    {"/machine/io/read-calls", "1", "syscr:", 0, 1, true, "Read system calls of this process"},
    {"/machine/io/write-calls", "1", "syscw:", 0, 1, true, "Write system calls of this process"},
    {"/machine/io/disk-read", "bytes", "read_bytes:", 0, 1, true, "Bytes read from disk for this process"},
    {"/machine/io/disk-written", "bytes", "write_bytes:", 0, 1, true, "Bytes to be written to disk for this process"},
};

std::optional<double> value_in(std::string_view text, const field& f) {
  const auto words = *f.key == '\0' ? split_words(text.substr(0, text.find('\n'))) : words_of_line(text, f.key);
  if (!words || words->size() <= f.word) return std::nullopt;
  const auto n = number_of((*words)[f.word]);
  return n ? std::optional(*n * f.scale) : std::nullopt;
}

double value_of(proc_file& file, const field& f) {
  const auto value = value_in(*file.text(), f);
  if (!value) throw std::runtime_error(fmt::format("expected '{}' in '{}', found none", f.key, file.path()));
  return *value;
}

// ---------------------------------------------------------------------------------------------------------- /proc/stat

struct cpu_state {
  const char* name;
  const char* help;
};
// In the order of the columns; "guest" times are already part of "user" and "nice".
constexpr cpu_state cpu_states[] = {
    {"user", "Processor time of all programs in their own code"},
    {"nice", "The same, of programs with a lower priority (nice)"},
    {"system", "Processor time in the kernel"},
    {"idle", "Idle processor time"},
    {"iowait", "Idle processor time while a disk access was pending"},
    {"irq", "Processor time of interrupt handlers"},
    {"softirq", "Processor time of deferred interrupt work"},
    {"steal", "Processor time taken by other virtual machines"},
};

std::vector<double> cpu_times(proc_file& stat, const std::string& cpu) {
  static const double tick_s = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto text = stat.text();
  const auto words = words_of_line(*text, cpu);
  if (!words) throw std::runtime_error(fmt::format("expected '{}' in '{}', found none", cpu, stat.path()));
  std::vector<double> times;
  for (const auto w : *words) times.push_back(number_of(w).value_or(0) * tick_s);
  times.resize(std::size(cpu_states));
  return times;
}

/// (busy, all) times of a processor, for the share.
std::pair<double, double> busy_and_all(proc_file& stat, const std::string& cpu) {
  const std::vector<double> times = cpu_times(stat, cpu);
  double all = 0;
  for (const double t : times) all += t;
  return {all - times[3] - times[4], all};
}

// ------------------------------------------------------------------------------------------------------------- net/dev

struct net_column {
  const char* name;
  const char* unit;
  unsigned column;
  const char* help;
};
constexpr net_column net_columns[] = {
    {"received", "bytes", 0, "Bytes received"},
    {"received-packets", "1", 1, "Packets received"},
    {"receive-errors", "1", 2, "Packets received with errors"},
    {"receive-drops", "1", 3, "Received packets dropped (buffer full)"},
    {"sent", "bytes", 8, "Bytes sent"},
    {"sent-packets", "1", 9, "Packets sent"},
    {"send-errors", "1", 10, "Packets that could not be sent"},
    {"send-drops", "1", 11, "Packets dropped before they were sent"},
};

std::vector<std::string> interfaces_in(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t colon = line.find(':');
    const std::size_t first = line.find_first_not_of(' ');
    if (colon != std::string_view::npos && first < colon) names.emplace_back(line.substr(first, colon - first));
  }
  return names;
}

double net_value(proc_file& dev, const std::string& interface, unsigned column) {
  const auto text = dev.text();
  double sum = 0;
  for (const std::string& name : interface.empty() ? interfaces_in(*text) : std::vector{interface}) {
    if (interface.empty() && name == "lo") continue;
    const auto words = words_of_line(*text, name + ":");
    if (!words && !interface.empty())
      throw std::runtime_error(fmt::format("the interface '{}' no longer exists", name));
    if (words && words->size() > column) sum += number_of((*words)[column]).value_or(0);
  }
  return sum;
}

// ----------------------------------------------------------------------------------------------------------- all of it

class adder {
 public:
  adder(counter_registry& r, std::string root, std::vector<std::string>* notes)
      : registry_(r), root_(std::move(root)), notes_(notes) {}

  /// The file if it is readable, otherwise null.
  file_ptr open(const char* path) {
    auto file = std::make_shared<proc_file>(root_ + path);
    try {
      (void)file->text();
      return file;
    } catch (const std::exception& x) {
      if (notes_ != nullptr) notes_->push_back(fmt::format("{}; its counters are omitted", x.what()));
      return nullptr;
    }
  }
  template <std::size_t N>
  void fields(const char* path, const field (&all)[N]) {
    if (const file_ptr file = open(path))
      for (const field& f : all)
        if (value_in(*file->text(), f))
          add({f.name, f.unit, f.help, f.monotonic}, [file, &f] { return value_of(*file, f); });
  }
  template <class F>
  void add(counter_info info, F f) {
    added.push_back(registry_.add(std::move(info), std::move(f)));
  }
  void processors();
  void interfaces();

  std::vector<registration> added;

 private:
  counter_registry& registry_;
  const std::string root_;
  std::vector<std::string>* notes_;
};

void adder::processors() {
  const file_ptr stat = open("/stat");
  if (stat == nullptr || !words_of_line(*stat->text(), "cpu")) return;
  for (std::size_t i = 0; i < std::size(cpu_states); ++i)
    add({fmt::format("/system/cpu/{}", cpu_states[i].name), "s", cpu_states[i].help, true},
        [stat, i] { return cpu_times(*stat, "cpu")[i]; });
  const auto add_busy = [&](const std::string& instance, const std::string& cpu) {
    added.push_back(registry_.add_ratio({fmt::format("/system{{{}}}/cpu/busy", instance), "1",
                                         "Share of processor time in use, since the start or the last reset"},
                                        [stat, cpu] { return busy_and_all(*stat, cpu); }));
  };
  add_busy("total", "cpu");
  const auto text = stat->text();
  for (std::size_t at = text->find("\ncpu"); at != std::string::npos; at = text->find("\ncpu", at + 1)) {
    const std::string name = text->substr(at + 1, text->find(' ', at) - at - 1);
    add_busy("cpu#" + name.substr(3), name);
  }
}

void adder::interfaces() {
  const file_ptr dev = open("/net/dev");
  if (dev == nullptr) return;
  std::vector<std::string> names{""};  // "": the sum
  for (std::string& name : interfaces_in(*dev->text())) names.push_back(std::move(name));
  for (const std::string& name : names) {
    if (name.find_first_of("{}*") != std::string::npos || name == "total") continue;  // no name for a counter
    for (const net_column& c : net_columns)
      add({fmt::format("/system{{{}}}/net/{}", name.empty() ? "total" : name, c.name), c.unit,
           fmt::format("{}{}", c.help, name.empty() ? ", all interfaces but lo" : ""), true},
          [dev, name, column = c.column] { return net_value(*dev, name, column); });
  }
}

}  // namespace

std::vector<registration> add_proc_counters(counter_registry& registry, const std::string& root,
                                            std::vector<std::string>* notes) {
  adder a(registry, root, notes);
  a.processors();
  a.fields("/stat", of_stat);
  a.fields("/meminfo", of_meminfo);
  a.fields("/loadavg", of_loadavg);
  a.fields("/self/status", of_status);
  a.fields("/self/io", of_io);
  a.interfaces();
  return std::move(a.added);
}

result<thread_usage> usage_of_thread(int thread_id, const std::string& root) {
  const std::string folder = fmt::format("{}/self/task/{}", root, thread_id);
  const auto status = read_file(folder + "/status");
  if (!status) return status.error();
  thread_usage u;
  const auto number = [&](const char* key) {
    const auto words = words_of_line(*status, key);
    return words && !words->empty() ? number_of(words->front()).value_or(0) : 0.0;
  };
  u.voluntary_switches = number("voluntary_ctxt_switches:");
  u.involuntary_switches = number("nonvoluntary_ctxt_switches:");
  if (const auto sched = read_file(folder + "/schedstat")) {
    const auto words = split_words(*sched);
    if (words.size() >= 2) {
      u.processor_s = 1e-9 * number_of(words[0]).value_or(0);
      u.waiting_s = 1e-9 * number_of(words[1]).value_or(0);
    }
  }
  return u;
}

// ------------------------------------------------------------------------------------------------------ files of /proc

std::shared_ptr<const std::string> proc_file::text() {
  const std::lock_guard lock(mutex_);
  const ticks now = now_ticks();
  if (text_ != nullptr && now - read_at_ < ticks_from(1e-3)) return text_;
  auto read = read_file(path_);
  if (!read) throw std::runtime_error(read.error().message);
  text_ = std::make_shared<const std::string>(std::move(*read));
  read_at_ = now_ticks();
  return text_;
}

std::string first_line_of(const std::string& path) {
  const auto text = read_file(path);
  return text ? text->substr(0, text->find('\n')) : "";
}

std::vector<std::string_view> split_words(std::string_view line) {
  constexpr std::string_view space = " \t";
  std::vector<std::string_view> words;
  for (;;) {
    line.remove_prefix(std::min(line.find_first_not_of(space), line.size()));
    if (line.empty()) return words;
    const std::size_t end = std::min(line.find_first_of(space), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

std::optional<std::vector<std::string_view>> words_of_line(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    if (key.ends_with(':') || line.empty() || line[0] == ' ' || line[0] == '\t') return split_words(line);
  }
  return std::nullopt;
}

std::optional<double> number_of(std::string_view word) {
  double value = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failed != std::errc()) return std::nullopt;
  return value;
}

}  // namespace plx::probe
