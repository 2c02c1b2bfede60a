// plx-trace: what the trace files of a run contain, as files for other programs and as tables (docs/probe.md).
//
// Exit codes: 0 success; 2 invalid input or a file that cannot be written, with one line on stderr. A trace that is
// incomplete or damaged is read as far as it goes, with a line on stderr for each deficiency.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/text.hpp"
#include "console.hpp"
#include "probe/record/text_sink.hpp"
#include "trace/critical_path.hpp"
#include "trace/file/trace_memory.hpp"
#include "trace/file/trace_reader.hpp"
#include "trace/flame_graph.hpp"
#include "trace/task_plots.hpp"
#include "trace/tools/perfetto_trace.hpp"
#include "trace/tools/trace_concurrency.hpp"
#include "trace/tools/trace_export.hpp"
#include "trace/tools/trace_search.hpp"
#include "trace/tools/trace_stats.hpp"
#include "trace/trace_graph.hpp"

namespace {

using namespace plx;
using namespace plx::probe;
using app::complain;

struct command_line {
  std::string run, other, out, pattern;
  time_range range;
  slice_search search;
  std::string order = "longest";
  double share = 1;
  std::size_t rows = 40;
};

void warn(const std::vector<std::string>& warnings) {
  for (const std::string& line : warnings)
    std::fprintf(stderr, "%s: warning: %s\n", app::name_of_program(), printable(line).c_str());
}

/// Does this path name one of the files? A file written there would replace the trace that it is made of.
bool is_among(const std::string& path, const std::vector<std::string>& files) {
  std::error_code ignored;
  return std::any_of(files.begin(), files.end(),
                     [&](const std::string& f) { return std::filesystem::equivalent(path, f, ignored); });
}

/// The trace of a run with its graph.
struct run_trace {
  loaded_trace loaded;
  trace_graph graph;
  [[nodiscard]] const trace_data& data() const { return loaded.trace.data; }
  [[nodiscard]] const trace_job* job() const {
    return loaded.trace.job.localities.empty() ? nullptr : &loaded.trace.job;
  }
};

result<std::vector<std::string>> files_of(const std::string& run) {
  auto files = trace_files(run);
  if (!files) return files.error();
  if (auto r = use_clock_of(*files); !r) return r.error();
  return files;
}

result<run_trace> load_run(const command_line& c) {
  const auto files = files_of(c.run);
  if (!files) return files.error();
  if (auto fits = check_trace_fits(*files, c.range); !fits) return fits.error();
  auto loaded = load_trace(*files, ~std::uint64_t{0}, c.range);
  if (!loaded) return loaded.error();
  warn(loaded->warnings);
  trace_graph graph(loaded->trace.data);
  return run_trace{*std::move(loaded), std::move(graph)};
}

std::filesystem::path folder_of_run(const command_line& c) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::is_directory(c.run, ignored)) return c.run;
  const fs::path folder = fs::path(c.run).parent_path();
  return folder.empty() ? "." : folder;
}

/// Where a file goes: `out`, or `name` in the folder of the run.
std::string path_of(const command_line& c, const std::string& name) {
  return c.out.empty() ? folder_of_run(c) / name : std::filesystem::path(c.out);
}

using write_one = std::function<result<void>(const run_trace&, const std::string& path)>;

/// Writes one file; says which.
int write_file_of(const command_line& c, const std::string& name, const write_one& write) {
  const auto run = load_run(c);
  if (!run) return complain(run.error().message);
  const std::string path = path_of(c, name);
  if (auto r = write(*run, path); !r) return complain(r.error().message);
  return app::print_answer(path + "\n");
}

int write_critical(const command_line& c) {
  const auto run = load_run(c);
  if (!run) return complain(run.error().message);
  const critical_path_report r = report_critical_path(run->graph, run->data());
  const std::string path = path_of(c, "critical_path");
  if (auto done = write_critical_path_csv(r, path + ".csv"); !done) return complain(done.error().message);
  if (auto done = write_critical_path_json(r, path + ".json"); !done) return complain(done.error().message);
  return app::print_answer(critical_path_text(r));
}

int write_tree(const command_line& c) {
  const auto run = load_run(c);
  if (!run) return complain(run.error().message);
  const auto tree = call_tree(run->graph);
  const std::string path = path_of(c, "tree"), text = call_tree_text(tree);
  if (auto done = write_file(path + ".txt", text); !done) return complain(done.error().message);
  if (auto done = write_call_tree_csv(tree, path + ".csv"); !done) return complain(done.error().message);
  return app::print_answer(text);
}

int write_flame(const command_line& c) {
  const auto run = load_run(c);
  if (!run) return complain(run.error().message);
  const auto tree = call_tree(run->graph);
  const std::string path = path_of(c, "flame");
  if (auto done = write_file(path + ".svg", flame_svg(tree)); !done) return complain(done.error().message);
  if (auto done = write_file(path + ".txt", collapsed_stacks(tree)); !done) return complain(done.error().message);
  return app::print_answer(fmt::format("{0}.svg\n{0}.txt\n", path));
}

int write_perfetto(const command_line& c) {
  const auto files = files_of(c.run);
  if (!files) return complain(files.error().message);
  const std::string path = path_of(c, text_sink::compressed_name("trace.pftrace"));
  const auto written = write_perfetto_trace(*files, path, c.range);
  if (!written) return complain(written.error().message);
  warn(written->warnings);
  return app::print_answer(path + "\n");
}

int write_concurrency(const command_line& c) {
  const auto files = files_of(c.run);
  if (!files) return complain(files.error().message);
  std::vector<std::string> warnings;
  const auto found = concurrency_of_trace(*files, warnings, c.range);
  if (!found) return complain(found.error().message);
  warn(warnings);
  const std::string path = path_of(c, "concurrency.csv");
  if (auto r = write_concurrency_csv(*found, path); !r) return complain(r.error().message);
  return app::print_answer(path + "\n");
}

int write_timeline(const command_line& c) {
  const auto run = load_run(c);
  if (!run) return complain(run.error().message);
  if (run->job() == nullptr)
    return complain(fmt::format("'{}': expected the trace of a job of several processes", c.run));
  const std::filesystem::path folder = path_of(c, "");
  if (auto r = write_job_tables(run->loaded.trace, folder); !r) return complain(r.error().message);
  return app::print_answer(
      fmt::format("{}\n{}\n", (folder / "job_timeline.csv").string(), (folder / "job_parcels.csv").string()));
}

result<trace_statistics> statistics_of(const std::string& run, const time_range& range) {
  const auto files = trace_files(run);
  if (!files) return files.error();
  auto s = statistics_of_trace(*files, range);
  if (s) warn(s->warnings);
  return s;
}

std::string unknown_type(const std::string& pattern, const trace_statistics& of) {
  return fmt::format("--type '{}': expected a part of the name of a task type, such as '{}'; stats prints all", pattern,
                     of.types.front().name);
}

int print_statistics(const command_line& c) {
  const auto s = statistics_of(c.run, c.range);
  return s ? app::print_answer(statistics_text(*s, c.rows)) : complain(s.error().message);
}

int print_found(command_line& c) {
  if (!(c.search.at_least_s >= 0)) return complain("--at-least: expected seconds, found nan");
  const auto files = files_of(c.run);
  if (!files) return complain(files.error().message);
  c.search.range = c.range;
  c.search.by = c.order == "first"  ? slice_search::order::first
                : c.order == "wait" ? slice_search::order::longest_wait
                                    : slice_search::order::longest;
  const auto found = find_slices(*files, c.search);
  if (!found) return complain(found.error().message);
  warn(found->warnings);
  if (found->slices.empty() && !c.search.name.empty()) {
    const auto s = statistics_of(c.run, {});
    if (s && histogram_text(*s, c.search.name).empty() && !s->types.empty())
      return complain(unknown_type(c.search.name, *s));
  }
  return app::print_answer(search_text(*found));
}

int print_histogram(const command_line& c) {
  const auto s = statistics_of(c.run, c.range);
  if (!s) return complain(s.error().message);
  const std::string text = histogram_text(*s, c.pattern);
  if (text.empty() && !s->types.empty()) return complain(unknown_type(c.pattern, *s));
  return app::print_answer(text);
}

int print_difference(const command_line& c) {
  const auto a = statistics_of(c.run, c.range), b = statistics_of(c.other, c.range);
  if (!a || !b) return complain((a ? b : a).error().message);
  return app::print_answer(difference_text(*a, *b, c.rows));
}

/// Replaces this process by plx-what-if from the same folder, with the arguments after the command. Returns only if
/// that fails.
int become_what_if(char** argv) {
  std::error_code failed;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path() / "plx-what-if";
  if (!failed) ::execv(path.c_str(), argv + 1);
  return complain(fmt::format("cannot start '{}': {}; expected it in the folder of plx-trace", path.string(),
                              failed ? failed.message() : std::strerror(errno)));
}

}  // namespace

int main(int argc, char** argv) {
  app::start_console("plx-trace");
  if (argc > 1 && std::strcmp(argv[1], "what-if") == 0) return become_what_if(argv);
  CLI::App options(
      "Reads the trace of a run (PLX_TRACE=1): RUN is the folder with trace.plxt and those of the job's localities, or "
      "one file. Also while the program runs, and after a crash.",
      "plx-trace");
  options.require_subcommand(1);
  options.footer("plx-trace what-if RUN ...: what a change would bring, by plx-what-if");
  command_line c;
  std::function<int()> chosen;
  const auto command = [&](const char* name, const char* help, std::function<int()> action) {
    CLI::App* const sub = options.add_subcommand(name, help);
    sub->add_option("RUN", c.run, "folder of a run with trace.plxt, or that file")->required();
    sub->add_option("--from", c.range.from_s, "only what runs after this time, seconds since the start of the run")
        ->check(CLI::Range(0.0, 1e9));
    sub->add_option("--to", c.range.to_s, "only what runs before this time")->check(CLI::Range(0.0, 1e9));
    sub->callback([&chosen, action = std::move(action)] { chosen = action; });
    return sub;
  };
  const auto file = [&](const char* name, const std::string& path, const char* help, write_one write) {
    CLI::App* const sub =
        command(name, help, [&c, path, write = std::move(write)] { return write_file_of(c, path, write); });
    sub->add_option("-o,--out", c.out, fmt::format("default: {} in the folder of the run", path));
    return sub;
  };
  file("json", text_sink::compressed_name("trace.json"), "Trace Event JSON, for ui.perfetto.dev and chrome://tracing",
       [](const run_trace& t, const std::string& path) { return write_json_trace(t.data(), t.graph, path, t.job()); });
  file("otf2", "otf2", "an OTF2 archive, for Vampir and others",
       [](const run_trace& t, const std::string& path) { return write_otf2_trace(t.data(), t.graph, path, t.job()); });
  file("graph", "graph.dot", "the task graph, for Graphviz",
       [](const run_trace& t, const std::string& path) { return write_graph_dot(t.graph, path); });
  file(
      "scatter", "scatter.csv", "times of single tasks, and samples of counters",
      [&c](const run_trace& t, const std::string& path) { return write_scatter_csv(t.data(), t.graph, c.share, path); })
      ->add_option("--share", c.share, "share of the tasks")
      ->check(CLI::Range(0.0, 1.0));
  command("critical", "the critical path by task type; also critical_path.csv and .json", [&c] {
    return write_critical(c);
  })->add_option("-o,--out", c.out, "path of both files without .csv and .json");
  command("tree", "which task types caused which others; also tree.csv and .txt", [&c] {
    return write_tree(c);
  })->add_option("-o,--out", c.out, "path of both files without .csv and .txt");
  command("timeline", "job_timeline.csv and job_parcels.csv, for the report of a job", [&c] {
    return write_timeline(c);
  })->add_option("-o,--out", c.out, "their folder");
  command("flame", "flame.svg: the tree as a flame graph, for browsers; flame.txt: as collapsed stacks", [&c] {
    return write_flame(c);
  })->add_option("-o,--out", c.out, "path of both files without .svg and .txt");
  command("perfetto",
          "Perfetto's protobuf, for ui.perfetto.dev; in constant memory, arrows for the first 262144 dependencies",
          [&c] { return write_perfetto(c); })
      ->add_option("-o,--out", c.out,
                   fmt::format("default: {} in the folder of the run", text_sink::compressed_name("trace.pftrace")));
  command("concurrency", "running tasks by type over time; in constant memory", [&c] {
    return write_concurrency(c);
  })->add_option("-o,--out", c.out, "default: concurrency.csv in the folder of the run");
  CLI::App* const find = command("find", "single slices; in constant memory", [&c] { return print_found(c); });
  find->add_option("--type", c.search.name, "only types whose name contains this");
  find->add_option("--task", c.search.task, "only slices of the task of this number")->check(CLI::NonNegativeNumber);
  find->add_option("--key", c.search.key, "only slices with this key")->check(CLI::NonNegativeNumber);
  find->add_option("--at-least", c.search.at_least_s, "the shortest duration, seconds")->check(CLI::Range(0.0, 1e9));
  find->add_option("--order", c.order, "which slices: the longest (default), those with the longest wait, the first")
      ->check(CLI::IsMember({"longest", "wait", "first"}));
  find->add_option("--rows", c.search.rows, "most slices")->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20));
  command("stats", "slices, times and waits by task type; in constant memory", [&c] {
    return print_statistics(c);
  })->add_option("--rows", c.rows, "most task types");
  command("histogram", "durations of task types as bars; in constant memory", [&c] {
    return print_histogram(c);
  })->add_option("--type", c.pattern, "only types whose name contains this");
  CLI::App* const diff =
      command("diff", "what a second run has more or less; in constant memory", [&c] { return print_difference(c); });
  diff->add_option("OTHER", c.other, "the second run")->required();
  diff->add_option("--rows", c.rows, "most task types");
  if (argc > 1 && argv[1][0] != '-') {
    std::vector<std::string> known = {"what-if"};
    for (const CLI::App* a : options.get_subcommands([](const CLI::App*) { return true; }))
      known.push_back(a->get_name());
    if (std::find(known.begin(), known.end(), argv[1]) == known.end())
      return complain(fmt::format("expected plx-trace COMMAND RUN, found the command '{}'{}", printable(argv[1], 80),
                                  did_you_mean(argv[1], known)));
  }
  try {
    options.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app::exit_of_parse(options, e);
  }
  if (!(c.range.from_s <= c.range.to_s))  // also nan
    return complain(fmt::format("--from {} --to {}: expected an earlier --from", c.range.from_s, c.range.to_s));
  if (!c.out.empty()) {
    const auto files = trace_files(c.run);
    if (files && is_among(c.out, *files))
      return complain(fmt::format("--out '{}': expected another file than the trace that is read", c.out));
  }
  try {
    return chosen();
  } catch (const std::bad_alloc&) {
    return complain(
        fmt::format("out of memory: '{}' takes some {} bytes of memory per record; --from and --to select a part",
                    c.run, loaded_bytes_per_record));
  }
}
