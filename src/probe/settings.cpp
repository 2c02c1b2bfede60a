#include "probe/settings.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "base/text.hpp"
#include "probe/counters/counter_name.hpp"
#include "probe/live/http_server.hpp"
#include "probe/ranges/range_output.hpp"
#include "probe/sample/sampler.hpp"

namespace plx::probe {
namespace {

constexpr std::string_view section = "plx.";
constexpr std::string_view prefix = "--plx:";

/// The environment variable of a key: "plx.trace-records" becomes PLX_TRACE_RECORDS.
std::string variable_of(std::string_view key) {
  std::string name(key);
  for (char& c : name) c = c == '.' || c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

/// A flag accepts 0 and 1 as well as false and true. `source` is the option or variable: messages name it alone.
result<void> assign(config_table& t, const std::string& key, std::string_view value, std::string_view source) {
  const std::string assignment = fmt::format("{}={}", key, value);
  auto done = t.set(assignment, source);
  if (done) return done;
  if (value == "0" || value == "1")
    if (auto as_flag = t.set(fmt::format("{}={}", key, value == "1"), source)) return as_flag;
  const std::string& message = done.error().message;
  const std::string begin = fmt::format("{} {}: '{}'", source, assignment, key);
  if (!message.starts_with(begin)) return done;
  return error{fmt::format("{}{}", source, message.substr(begin.size()))};
}

/// The key as the user has written it: an option or a variable, or the key itself with its place in the file.
std::string written(const config_table& t, std::string_view key) {
  const std::string name = fmt::format("{}{}", section, key);
  const std::string& source = t.source(name);
  if (source.starts_with(prefix) || source == variable_of(name)) return source;
  return fmt::format("{}: {}", source, name);
}

result<void> check_words(const config_table& t, std::string_view key, std::string_view list,
                         std::vector<std::string> known) {
  for (const std::string& word : words_of(list)) {
    if (std::find(known.begin(), known.end(), word) == known.end())
      return error{fmt::format("{} expects a list of {}, found '{}'{}", written(t, key), fmt::join(known, ", "), word,
                               did_you_mean(word, known))};
  }
  return {};
}

/// Each element must be a counter's name or pattern; whether the counter exists is checked later.
result<void> check_counters(const config_table& t, std::string_view key, std::string_view list) {
  const auto patterns = split_counters(list);
  if (!patterns) return error{fmt::format("{}={}: its braces do not match", written(t, key), list)};
  for (const std::string& p : *patterns)
    if (!counter_name::parse(p))
      return error{fmt::format("{} expects /object{{instance}}/name@parameters, found '{}'", written(t, key), p)};
  return {};
}

/// Virtual speed-ups insert delays, which would be part of what others measure.
result<void> check_speedup(settings& s, const config_table& t) {
  if (s.speedup == "true") s.speedup = "1";
  if (s.speedup == "0" || s.speedup == "false") s.speedup.clear();
  if (s.speedup.empty()) return {};
  if (!split_counters(s.speedup))
    return error{fmt::format("{}={}: its braces do not match", written(t, "speedup"), s.speedup)};
  const std::pair<const char*, bool> others[] = {
      {"trace", s.trace}, {"diagnose", s.diagnose}, {"policies", !s.policies.empty()}};
  for (const auto& [key, on] : others)
    if (on)
      return error{fmt::format("{} expects no {}, which would measure the delays that it inserts",
                               written(t, "speedup"), written(t, key))};
  return {};
}

/// "1" and "true" mean the usual value, "0" and "false" an empty list.
void usual(std::string& list, const char* what) {
  if (list == "1" || list == "true") list = what;
  if (list == "0" || list == "false") list.clear();
}

result<void> completed(settings& s, const config_table& t) {
  usual(s.profile, "screen,csv");
  if ((s.perf_tasks || s.roofline) && s.profile.empty()) s.profile = "screen,csv";
  if (s.diagnose && !has_word(s.profile, "csv")) s.profile += s.profile.empty() ? "csv" : ",csv";
  usual(s.list_counters, "short");
  usual(s.perf, "all");
  if (s.perf_tasks && s.perf.empty())
    return error{
        fmt::format("{} counts the events of 'perf' by task type, and it names none; set perf to events, such "
                    "as page-faults",
                    written(t, "perf-tasks"))};
  for (const auto& [key, list] : {std::pair("print-counter", s.print_counter), {"sample-counter", s.sample_counter}})
    if (auto r = check_counters(t, key, list); !r) return r;
  if (auto r = check_words(t, "profile", s.profile, {"screen", "csv", "tau"}); !r) return r;
  if (auto r = check_words(t, "policies", s.policies, {"worker-cap", "loop-grain"}); !r) return r;
  if (auto r = check_words(t, "ranges", s.ranges, {"nvtx", "usdt"}); !r) return r;
  if (const std::string why = ranges_unavailable(s.ranges); !why.empty())
    return error{fmt::format("{}: {}", written(t, "ranges"), why)};
  if (auto r = check_speedup(s, t); !r) return r;
  usual(s.serve, "127.0.0.1:0");
  if (!s.serve.empty())
    if (auto r = parse_live_address(s.serve, s.serve_beyond_loopback); !r)
      return error{written(t, "serve") + ": " + r.error().message};
  return {};
}

/// Variables of Parallax that are not settings of this table.
constexpr std::string_view other_variables[] = {
    "PLX_ADDR2LINE", "PLX_BIN",           "PLX_BIND",           "PLX_CALLED_FROM", "PLX_CMAKE_ARGS",
    "PLX_CONFIG",    "PLX_DIRECT_ACCESS", "PLX_EXPLAIN_SIGNAL", "PLX_GPU_BACKEND", "PLX_ISA",
    "PLX_JOBS",      "PLX_NO_INSTALL",    "PLX_REPORT_HANG",    "PLX_SEEDS",       "PLX_SHARED_MEMORY",
    "PLX_STARTS",    "PLX_SUSPENDED",     "PLX_SYCL_DEVICES",   "PLX_TOKEN",       "PLX_TRANSPORT"};

void print_mistyped_variables() {
  static std::atomic<bool> printed{false};
  if (printed.exchange(true, std::memory_order_relaxed)) return;
  if (std::getenv("PLX_EXEC_PROCESS") != nullptr) return;  // plx-exec has printed them
  for (const std::string& line : mistyped_variables(environ))
    std::fprintf(stderr, "plx: %s\n", printable(line).c_str());
}

result<void> read_environment(config_table& t) {
  print_mistyped_variables();
  if (const char* file = std::getenv("PLX_CONFIG"); file != nullptr && *file != '\0')
    if (auto r = t.load_file(file); !r) return r;
  for (const std::string& key : t.keys()) {
    const std::string name = variable_of(key);
    if (const char* value = std::getenv(name.c_str()); value != nullptr && *value != '\0')
      if (auto r = assign(t, key, value, name); !r) return r;
  }
  return {};
}

result<void> read_arguments(config_table& t, int& argc, char** argv) {
  int kept = std::min(argc, 1);
  std::string printed;  // of the one key whose values add up
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with(prefix)) {
      argv[kept++] = argv[i];
      continue;
    }
    const std::string_view text = argument.substr(prefix.size());
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string key = std::string(section) + std::string(text.substr(0, equals));
    const std::vector<std::string> known = t.keys();
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      std::vector<std::string> options;
      for (const std::string& k : known) options.push_back(std::string(prefix) + k.substr(section.size()));
      const std::string found(argument.substr(0, prefix.size() + equals));
      // The name that others use, and that messages of the runtime use for what it sets.
      const std::string near =
          key == "plx.workers" ? fmt::format("; did you mean '{}threads'?", prefix) : did_you_mean(found, options);
      return error{fmt::format("unknown option '{}'{}", found, near)};
    }
    std::string value(equals == text.size() ? "1" : text.substr(equals + 1));
    if (key == "plx.print-counter") value = printed += (printed.empty() ? "" : ",") + value;
    if (auto r = assign(t, key, value, argument.substr(0, prefix.size() + equals)); !r) return r;
  }
  for (int i = kept; i < argc; ++i) argv[i] = nullptr;
  argc = kept;
  return {};
}

}  // namespace

void settings::describe(config_table& t) {
  t.section("plx", "Measurement");
  t.add("plx.output", output, {.help = "the folder for all files"});
  t.add("plx.profile", profile, {.help = "profiles at the end: screen, csv, tau, separated by commas"});
  t.add("plx.trace", trace, {.help = "write trace.plxt while the program runs, for plx-trace"});
  t.add("plx.trace-localities", trace_localities,
        {.unit = "1", .help = "of a job's localities, every k-th one records a trace", .min = 1, .max = 1u << 30});
  t.add("plx.trace-records", trace_records,
        {.unit = "1", .help = "capacity of the trace ring per worker, records of 32 bytes", .min = 2, .max = 1u << 30});
  t.add("plx.trace-budget", trace_budget,
        {.unit = "1",
         .help = "share of the workers' time that measurement may take before tracing is reduced; 0: no limit",
         .min = 0,
         .max = 1});
  t.add("plx.diagnose", diagnose, {.help = "write what `parallax diagnose` reads"});
  t.add("plx.print-counter", print_counter, {.help = "counters to print, patterns separated by commas"});
  t.add("plx.print-interval", print_interval_s,
        {.unit = "s", .help = "interval of printed counters; 0: at the end only", .min = 0});
  t.add("plx.print-format", print_format, {.help = "format of printed counters", .choices = {"text", "csv", "json"}});
  t.add("plx.print-to", print_to, {.help = "output of printed counters: stdout, stderr, or a path"});
  t.add("plx.print-reset", print_reset, {.help = "counters restart from the values printed"});
  t.add("plx.list-counters", list_counters, {.help = "print the list of counters at the start: 1 or full"});
  t.add("plx.sample-counter", sample_counter, {.help = "counters for counters.csv and the trace, separated by commas"});
  t.add("plx.sample-interval", sample_interval_s,
        {.unit = "s", .help = "interval of sampled counters; 0: none", .min = 0});
  t.add("plx.sample-stacks", sample_stacks_hz,
        {.unit = "1/s",
         .help = "stacks sampled per second of CPU time of each worker, such as 100; 0: none",
         .min = 0,
         .max = sampler::most_hz});
  t.add("plx.policies", policies, {.help = "policies: worker-cap, loop-grain, separated by commas"});
  t.add("plx.throughput", throughput, {.help = "the throughput counter of worker-cap; empty: tasks finished"});
  t.add("plx.speedup", speedup,
        {.help = "measure what virtual speed-ups of task types bring: patterns separated by commas; 1: the largest"});
  t.add("plx.progress", progress, {.help = "the progress point or task type by which speedup measures"});
  t.add("plx.tuning-cache", tuning_cache, {.help = "the folder for tuning results; none: not stored"});
  t.add("plx.serve", serve, {.help = "the live page at this address while the program runs; 1: 127.0.0.1:0"});
  t.add("plx.serve-beyond-loopback", serve_beyond_loopback, {.help = "allow an address that other machines can reach"});
  t.add("plx.flight", flight,
        {.unit = "1", .help = "records per worker of the flight recorder; 0: none", .min = 0, .max = 1u << 24});
  t.add("plx.flight-seconds", flight_seconds,
        {.unit = "s", .help = "the period that the flight recorder's file covers", .min = 0});
  t.add("plx.flight-signal", flight_signal,
        {.help = "the signal that writes the flight recorder's file, such as USR2"});
  t.add("plx.perf", perf, {.help = "kernel events to count per worker, such as instructions,page-faults; 1: all"});
  t.add("plx.perf-tasks", perf_tasks, {.help = "count the events of perf by task type, too"});
  t.add("plx.roofline", roofline,
        {.help = "count the work that the program states by task type, and measure the machine's limits at the end"});
  t.add("plx.papi", papi, {.help = "PAPI events to count per worker, separated by commas"});
  t.add("plx.gpu-timeline", gpu_timeline,
        {.help = "how device operations are timed in profiles and traces", .choices = {"events", "activity", "off"}});
  t.add("plx.nvml", nvml, {.help = "counters of NVIDIA GPUs"});
  t.add("plx.energy", energy, {.help = "report why energy is not measured"});
  t.add("plx.ranges", ranges, {.help = "tools that get slices of tasks as ranges: nvtx, usdt, separated by commas"});
  t.add("plx.attach", attach, {.help = "whether plx-exec --attach and `parallax top PID` may measure it later"});
  t.add("plx.papi-library", papi_library, {.help = "the file of PAPI's library"});
  t.add("plx.nvml-library", nvml_library, {.help = "the file of NVML's library"});
  t.add("plx.cupti-library", cupti_library, {.help = "the file of CUPTI, for gpu-timeline = activity"});
  t.add("plx.threads", threads, {.unit = "1", .help = "workers; 0: one per core", .min = 0});
  t.add("plx.cores", cores, {.help = "the cores for the workers, such as 0-3,8 or numa:1"});
  t.add("plx.coalesce", coalesce,
        {.help = "coalescing of parcels: self, off, adaptive, 128,1000 (us), or f=128,1000; g=self"});
  t.add("plx.spares", spares,
        {.unit = "1",
         .help = "how many of a job's processes, the last ones, are spares for lost ones",
         .min = 0,
         .max = 1u << 30});
}

bool settings::any() const {
  return writes_files() || !print_counter.empty() || !list_counters.empty() || !serve.empty() || !perf.empty() ||
         !papi.empty() || nvml || energy;
}

bool settings::writes_files() const {
  return sample_interval_s > 0 || sample_stacks_hz > 0 || !profile.empty() || trace || diagnose || !policies.empty() ||
         !speedup.empty();
}

result<settings> settings_from_environment() {
  int none = 0;
  return settings_from_arguments(none, nullptr);
}

result<settings> settings_from_arguments(int& argc, char** argv) {
  settings s;
  config_table t;
  s.describe(t);
  if (auto r = read_environment(t); !r) return r.error();
  if (auto r = read_arguments(t, argc, argv); !r) return r.error();
  if (auto r = completed(s, t); !r) return r.error();
  return s;
}

result<settings> settings_from_list(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{""};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  settings s;
  config_table t;
  s.describe(t);
  int argc = static_cast<int>(argv.size());
  if (auto r = read_arguments(t, argc, argv.data()); !r) return r.error();
  if (argc > 1) return error{fmt::format("expected --plx:KEY=VALUE, found '{}'", argv[1])};
  if (auto r = completed(s, t); !r) return r.error();
  return s;
}

std::vector<std::string> mistyped_variables(const char* const* environment) {
  settings s;
  config_table t;
  s.describe(t);
  std::vector<std::string> known(std::begin(other_variables), std::end(other_variables)), lines;
  for (const std::string& key : t.keys()) known.push_back(variable_of(key));
  for (const char* const* v = environment; v != nullptr && *v != nullptr; ++v) {
    const std::string_view text = *v;
    const std::string name(text.substr(0, text.find('=')));
    if (!name.starts_with("PLX_") || std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string near = name == "PLX_WORKERS" ? "PLX_THREADS" : nearest(name, known);
    // Programs may use the same prefix for their own variables: only a difference of a letter or two is reported.
    if (near.empty() || (name != "PLX_WORKERS" && edit_distance(name, near) > (name.size() < 12 ? 1u : 2u))) continue;
    lines.push_back(fmt::format("the environment variable {} is not known; did you mean {}?", name, near));
  }
  return lines;
}

std::vector<std::string> words_of(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (const std::string_view word = trimmed(list.substr(0, comma)); !word.empty()) words.emplace_back(word);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return words;
}

bool has_word(std::string_view list, std::string_view word) {
  const auto words = words_of(list);
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace plx::probe
