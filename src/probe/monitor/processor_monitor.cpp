#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <system_error>

#include "base/file.hpp"
#include "probe/monitor/monitors.hpp"
#include "probe/monitor/proc_file.hpp"

namespace plx::probe {
namespace {

namespace fs = std::filesystem;

std::optional<double> value_at(const std::string& path) {
  const auto text = read_file(path);
  return text ? number_of(*text) : std::nullopt;
}

bool is_readable(const std::string& path) { return ::access(path.c_str(), R_OK) == 0; }

/// The processors that the process may run on; nothing if unknown.
std::optional<std::set<unsigned>> own_processors() {
  constexpr std::size_t most = 8192;
  std::vector<cpu_set_t> mask(most / CPU_SETSIZE);
  const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
  if (sched_getaffinity(getpid(), bytes, mask.data()) != 0) return std::nullopt;
  std::set<unsigned> found;
  for (unsigned i = 0; i < most; ++i)
    if (CPU_ISSET_S(i, bytes, mask.data())) found.insert(i);
  return found;
}

/// At most 16 of them, evenly spread: values of all processors are those of these.
std::vector<std::string> some_of(const std::vector<std::string>& paths) {
  constexpr std::size_t most = 16;
  const std::size_t n = std::min(paths.size(), most);
  std::vector<std::string> some;
  for (std::size_t i = 0; i < n; ++i) some.push_back(paths[i * paths.size() / n]);
  return some;
}

/// The paths in a folder whose names begin with a word and continue with a number, in order of the number.
std::vector<std::pair<unsigned, std::string>> numbered(const std::string& folder, std::string_view word) {
  std::vector<std::pair<unsigned, std::string>> found;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    const std::string name = it->path().filename();
    const std::string digits = name.starts_with(word) ? name.substr(word.size()) : "";
    if (!digits.empty() && digits.size() < 8 && digits.find_first_not_of("0123456789") == std::string::npos)
      found.emplace_back(static_cast<unsigned>(std::stoul(digits)), it->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Frequencies in Hz by processor, as in the lines "processor : 3" and "cpu MHz : 2100.000".
std::map<unsigned, double> frequencies_in(std::string_view cpuinfo) {
  std::map<unsigned, double> found;
  unsigned processor = 0;
  while (!cpuinfo.empty()) {
    const std::string_view line = cpuinfo.substr(0, cpuinfo.find('\n'));
    cpuinfo.remove_prefix(std::min(line.size() + 1, cpuinfo.size()));
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    const auto n = number_of(line.substr(colon + 2));
    if (n && line.starts_with("processor")) processor = static_cast<unsigned>(*n);
    if (n && *n > 0 && line.starts_with("cpu MHz")) found[processor] = 1e6 * *n;
  }
  return found;
}

/// Processor time that other programs used since this object was created.
class time_of_others {
 public:
  explicit time_of_others(std::string path) : path_(std::move(path)), first_s_(difference_s()) {}

  double seconds() {
    const std::lock_guard lock(mutex_);
    // The two clocks have different steps: the difference may decrease for a moment.
    return most_s_ = std::max(most_s_, difference_s() - first_s_);
  }

 private:
  double difference_s() const {
    static const double tick_s = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
    const auto text = read_file(path_);
    if (!text) throw std::runtime_error(text.error().message);
    const auto words = words_of_line(*text, "cpu");
    if (!words || words->size() < 7) throw std::runtime_error(fmt::format("expected 'cpu' in '{}', found none", path_));
    double busy_s = 0;
    for (const std::size_t i : {0u, 1u, 2u, 5u, 6u}) busy_s += number_of((*words)[i]).value_or(0) * tick_s;
    rusage own{};
    getrusage(RUSAGE_SELF, &own);
    const auto s = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return busy_s - s(own.ru_utime) - s(own.ru_stime);
  }

  const std::string path_;
  const double first_s_;
  double most_s_ = 0;
  std::mutex mutex_;
};

class processor_adder {
 public:
  processor_adder(counter_registry& r, std::string sys, std::string proc, std::optional<std::set<unsigned>> processors)
      : registry_(r),
        sys_(std::move(sys)),
        proc_(std::move(proc)),
        processors_(std::move(processors)),
        cpus_(numbered(sys_ + "/devices/system/cpu", "cpu")) {
    std::erase_if(cpus_, [this](const auto& cpu) { return !counts(cpu.first); });
  }

  void frequencies();
  void governors();
  void throttles();
  void temperature();
  void others();

  std::vector<registration> added;

 private:
  template <class F>
  void add(counter_info info, F f) {
    added.push_back(registry_.add(std::move(info), std::move(f)));
  }
  template <class F>
  void add_frequency(const std::string& instance, const char* help, F f) {
    add({fmt::format("/system{{{}}}/cpu/frequency", instance), "Hz", help}, std::move(f));
  }
  void frequencies_of_cpuinfo();
  [[nodiscard]] bool counts(unsigned processor) const { return !processors_ || processors_->contains(processor); }
  /// The files of that name that exist, one per processor that counts.
  [[nodiscard]] std::vector<std::pair<unsigned, std::string>> files_of(const char* name) const {
    std::vector<std::pair<unsigned, std::string>> found;
    for (const auto& [n, folder] : cpus_)
      if (std::string path = folder + name; is_readable(path)) found.emplace_back(n, std::move(path));
    return found;
  }

  counter_registry& registry_;
  const std::string sys_, proc_;
  const std::optional<std::set<unsigned>> processors_;  // that count; nothing: all
  std::vector<std::pair<unsigned, std::string>> cpus_;
};

constexpr const char* of_one = "Present frequency of the processor";
constexpr const char* of_all = "Present frequency, mean of at most 16 processors that the process may run on";

void processor_adder::frequencies() {
  const auto all = files_of("/cpufreq/scaling_cur_freq");
  if (all.empty() || !value_at(all.front().second)) return frequencies_of_cpuinfo();
  std::vector<std::string> paths;
  for (const auto& [n, path] : all) {
    paths.push_back(path);
    add_frequency(fmt::format("cpu#{}", n), of_one, [path = path] {
      const auto khz = value_at(path);
      if (!khz) throw std::runtime_error(fmt::format("expected a number in '{}', found none", path));
      return 1e3 * *khz;
    });
  }
  add_frequency("total", of_all, [files = some_of(paths)] {
    double sum = 0;
    unsigned n = 0;  // processors may be switched off
    for (const std::string& path : files)
      if (const auto khz = value_at(path)) sum += *khz, ++n;
    if (n == 0) throw std::runtime_error(fmt::format("expected a number in '{}', found none", files.front()));
    return 1e3 * sum / n;
  });
}

void processor_adder::frequencies_of_cpuinfo() {
  const auto file = std::make_shared<proc_file>(proc_ + "/cpuinfo");
  const auto read = [file, only = processors_] {
    auto found = frequencies_in(*file->text());
    std::erase_if(found, [&](const auto& cpu) { return only && !only->contains(cpu.first); });
    return found;
  };
  std::map<unsigned, double> now;
  try {
    now = read();
  } catch (const std::exception&) {  // no such file
    return;
  }
  if (now.empty()) return;
  for (const auto& [n, hz] : now)
    add_frequency(fmt::format("cpu#{}", n), of_one, [read, n = n] {
      const auto all = read();
      if (!all.contains(n)) throw std::runtime_error(fmt::format("the processor {} is switched off", n));
      return all.at(n);
    });
  add_frequency("total", of_all, [file, read] {
    double sum = 0;
    const auto all = read();
    for (const auto& [n, hz] : all) sum += hz;
    if (all.empty()) throw std::runtime_error(fmt::format("expected 'cpu MHz' in '{}', found none", file->path()));
    return sum / static_cast<double>(all.size());
  });
}

/// A counter for each governor that the processors have or may have: the number of those read that have it.
void processor_adder::governors() {
  std::vector<std::string> paths;
  for (auto& [n, path] : files_of("/cpufreq/scaling_governor")) paths.push_back(std::move(path));
  const std::vector<std::string> files = some_of(paths);
  std::set<std::string> names;
  for (const std::string& path : files) {
    if (std::string name = first_line_of(path); !name.empty()) names.insert(std::move(name));
    const std::string available = first_line_of(fs::path(path).replace_filename("scaling_available_governors"));
    for (const std::string_view other : split_words(available)) names.emplace(other);
  }
  for (const std::string& name : names)
    if (name != "total" && name.find_first_of("{}*") == std::string::npos)
      add({fmt::format("/system{{{}}}/cpu/governor", name), "1",
           "Processors, of at most 16, whose frequency this governor sets"},
          [files, name] {
            return std::count_if(files.begin(), files.end(), [&](auto& f) { return first_line_of(f) == name; });
          });
}

/// Threads of a core, and cores of a package, show the same counter.
void processor_adder::throttles() {
  struct kind {
    const char *name, *file, *part, *help;
  };
  constexpr kind kinds[] = {{"/system/throttles/core", "core_throttle_count", "thread_siblings_list",
                             "Times a core was slowed down because it was too hot, all cores"},
                            {"/system/throttles/package", "package_throttle_count", "physical_package_id",
                             "Times a package was slowed down because it was too hot, all packages"}};
  for (const kind& k : kinds) {
    std::map<std::string, std::string> files;  // one for each part
    for (const auto& [n, folder] : cpus_) {
      const std::string path = fmt::format("{}/thermal_throttle/{}", folder, k.file);
      std::string part = first_line_of(fmt::format("{}/topology/{}", folder, k.part));
      if (part.empty()) part = fmt::format("cpu {}", n);
      if (!files.contains(part) && is_readable(path)) files[part] = path;
    }
    if (!files.empty())
      add({k.name, "1", k.help, true}, [files] {
        double sum = 0;
        for (const auto& [part, path] : files) sum += value_at(path).value_or(0);
        return sum;
      });
  }
}

void processor_adder::temperature() {
  constexpr std::array chips{"coretemp", "k10temp", "zenpower", "cpu_thermal"};
  std::vector<std::string> files;  // in thousandths of a degree
  for (const auto& [n, folder] : numbered(sys_ + "/class/hwmon", "hwmon"))
    if (std::find(chips.begin(), chips.end(), first_line_of(folder + "/name")) != chips.end())
      for (int i = 1; i <= 256; ++i)
        if (const std::string path = fmt::format("{}/temp{}_input", folder, i); value_at(path)) files.push_back(path);
  if (files.empty())
    for (const auto& [n, folder] : numbered(sys_ + "/class/thermal", "thermal_zone"))
      if (const std::string type = first_line_of(folder + "/type");
          type.find("cpu") != std::string::npos || type.find("pkg") != std::string::npos)
        if (value_at(folder + "/temp")) files.push_back(folder + "/temp");
  if (files.empty()) return;
  add({"/system/temperature/processor", "degC", "Highest temperature of the processors"}, [files] {
    std::optional<double> highest;
    for (const std::string& path : files)
      if (const auto t = value_at(path)) highest = std::max(highest.value_or(*t), *t);
    if (!highest) throw std::runtime_error(fmt::format("expected a number in '{}', found none", files.front()));
    return 1e-3 * *highest;
  });
}

void processor_adder::others() {
  try {
    const auto measured = std::make_shared<time_of_others>(proc_ + "/stat");
    add({"/system/cpu/others", "s", "Processor time of other programs and the kernel, since the start", true},
        [measured] { return measured->seconds(); });
  } catch (const std::exception&) {  // no such file: add_proc_counters() reports it
  }
}

}  // namespace

std::vector<registration> add_processor_counters(counter_registry& registry, const std::string& sys,
                                                 const std::string& proc, const std::vector<unsigned>& processors) {
  processor_adder a(registry, sys, proc,
                    processors.empty() ? own_processors() : std::set<unsigned>(processors.begin(), processors.end()));
  a.frequencies();
  a.governors();
  a.throttles();
  a.temperature();
  a.others();
  return std::move(a.added);
}

}  // namespace plx::probe
