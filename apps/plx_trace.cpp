// plx-trace: what the trace files of a run contain, as files for other programs and as tables (docs/probe.md).
//
// Exit codes: 0 success; 2 invalid input or a file that cannot be written, with one line on stderr. A trace that is
// incomplete or damaged is read as far as it goes, with a line on stderr for each deficiency.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/text.hpp"
#include "console.hpp"
#include "probe/record/text_sink.hpp"
#include "trace/critical_path.hpp"
#include "trace/file/trace_reader.hpp"
#include "trace/file/trace_stats.hpp"
#include "trace/task_plots.hpp"
#include "trace/trace_export.hpp"
#include "trace/trace_graph.hpp"

namespace {

using namespace plx;
using namespace plx::probe;
using app::complain;

struct command_line {
  std::string run, other, out, pattern;
  double share = 1;
  std::size_t rows = 40;
};

void warn(const std::vector<std::string>& warnings) {
  for (const std::string& line : warnings)
    std::fprintf(stderr, "%s: warning: %s\n", app::name_of_program(), printable(line).c_str());
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

result<run_trace> load_run(const std::string& run) {
  const auto files = trace_files(run);
  if (!files) return files.error();
  if (auto r = use_clock_of(*files); !r) return r.error();
  auto loaded = load_trace(*files);
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
  const auto run = load_run(c.run);
  if (!run) return complain(run.error().message);
  const std::string path = path_of(c, name);
  if (auto r = write(*run, path); !r) return complain(r.error().message);
  return app::print_answer(path + "\n");
}

result<void> all_of(std::initializer_list<result<void>> several) {
  for (const result<void>& r : several)
    if (!r) return r;
  return {};
}

int write_critical(const command_line& c) {
  const auto run = load_run(c.run);
  if (!run) return complain(run.error().message);
  const critical_path_report r = report_critical_path(run->graph, run->data());
  const std::string path = path_of(c, "critical_path");
  if (auto done = all_of({write_critical_path_csv(r, path + ".csv"), write_critical_path_json(r, path + ".json")});
      !done)
    return complain(done.error().message);
  return app::print_answer(critical_path_text(r));
}

int write_tree(const command_line& c) {
  const auto run = load_run(c.run);
  if (!run) return complain(run.error().message);
  const auto tree = call_tree(run->graph);
  const std::string path = path_of(c, "tree"), text = call_tree_text(tree);
  if (auto done = all_of({write_file(path + ".txt", text), write_call_tree_csv(tree, path + ".csv")}); !done)
    return complain(done.error().message);
  return app::print_answer(text);
}

int write_timeline(const command_line& c) {
  const auto run = load_run(c.run);
  if (!run) return complain(run.error().message);
  if (run->job() == nullptr)
    return complain(fmt::format("'{}': expected the trace of a job of several processes", c.run));
  const std::filesystem::path folder = path_of(c, "");
  if (auto r = write_job_tables(run->loaded.trace, folder); !r) return complain(r.error().message);
  return app::print_answer(
      fmt::format("{}\n{}\n", (folder / "job_timeline.csv").string(), (folder / "job_parcels.csv").string()));
}

result<trace_statistics> statistics_of(const std::string& run) {
  const auto files = trace_files(run);
  if (!files) return files.error();
  auto s = statistics_of_trace(*files);
  if (s) warn(s->warnings);
  return s;
}

int print_statistics(const command_line& c) {
  const auto s = statistics_of(c.run);
  return s ? app::print_answer(statistics_text(*s, c.rows)) : complain(s.error().message);
}

int print_histogram(const command_line& c) {
  const auto s = statistics_of(c.run);
  if (!s) return complain(s.error().message);
  const std::string text = histogram_text(*s, c.pattern);
  if (text.empty() && !s->types.empty())
    return complain(
        fmt::format("--type '{}': expected a part of the name of a task type, such as '{}'; stats prints all",
                    c.pattern, s->types.front().name));
  return app::print_answer(text);
}

int print_difference(const command_line& c) {
  const auto a = statistics_of(c.run), b = statistics_of(c.other);
  if (!a || !b) return complain((a ? b : a).error().message);
  return app::print_answer(difference_text(*a, *b, c.rows));
}

}  // namespace

int main(int argc, char** argv) {
  app::start_console("plx-trace");
  CLI::App options(
      "Reads the trace of a run (PLX_TRACE=1): RUN is the folder with trace.plxt and those of the job's localities, or "
      "one file. Also while the program runs, and after a crash.",
      "plx-trace");
  options.require_subcommand(1);
  command_line c;
  std::function<int()> wanted;
  const auto command = [&](const char* name, const char* help, std::function<int()> action) {
    CLI::App* const sub = options.add_subcommand(name, help);
    sub->add_option("RUN", c.run, "folder of a run with trace.plxt, or that file")->required();
    sub->callback([&wanted, action = std::move(action)] { wanted = action; });
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
  file("concurrency", "concurrency.csv", "running tasks by type over time",
       [](const run_trace& t, const std::string& path) { return write_concurrency_csv(t.data(), path); });
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
  try {
    options.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app::exit_of_parse(options, e);
  }
  try {
    return wanted();
  } catch (const std::bad_alloc&) {
    return complain(fmt::format(
        "out of memory: '{}' takes some 170 bytes of memory per record; stats, histogram and diff do not", c.run));
  }
}
