// plx-what-if: predicts from the trace of a run what a change would bring (docs/why-slow.md).
//
// Exit codes: 0 success; 1 the replay is too far off for predictions; 2 invalid input, with one line on stderr.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "console.hpp"
#include "trace/file/trace_memory.hpp"
#include "trace/file/trace_reader.hpp"
#include "trace/tools/what_if.hpp"

namespace {

using namespace plx;
using namespace plx::probe;
using app::complain;

struct command_line {
  std::string run;
  what_if_request asked;
  std::vector<std::string> scales, priorities;
  bool no_locks = false, all = false, json = false;
};

void declare(CLI::App& app, command_line& c) {
  app.add_option("RUN", c.run, "folder of a run with trace.plxt (recorded with PLX_TRACE=1), or that file")->required();
  app.add_option("--workers", c.asked.workers, "another number of workers (in a job: of each locality)")
      ->check(CLI::Range(1u, 1u << 14));
  app.add_option("--scale", c.scales,
                 "TYPE=FACTOR: tasks of a type (* matches any text) take that multiple of their time; repeatable")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--without-locks", c.no_locks, "no task waits for a mutex");
  app.add_option("--without-lock", c.asked.locks, "NAME: no task waits for the mutex of that name; repeatable")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--priority", c.priorities, "TYPE=high, normal or low: priority of tasks of a type; repeatable")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--without-messages", c.asked.no_messages, "messages between localities take no time");
  app.add_flag("--all", c.all,
               "a table of half the time for the largest task types, twice the workers, and no waits for locks; the "
               "default without questions");
  app.add_flag("--json", c.json, "print the answers as JSON");
}

result<std::pair<std::string, std::string>> split(const std::string& option, const std::string& text) {
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    return error{fmt::format("{} {}: expected TYPE={}", option, text, option == "--scale" ? "FACTOR" : "PRIORITY")};
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

result<void> read_questions(command_line& c) {
  for (const std::string& s : c.scales) {
    const auto parts = split("--scale", s);
    if (!parts) return parts.error();
    char* end = nullptr;
    const double factor = std::strtod(parts->second.c_str(), &end);
    if (*end != '\0' || !(factor > 0))
      return error{fmt::format("--scale {}: expected a factor above 0, found '{}'", s, parts->second)};
    c.asked.scales.emplace_back(parts->first, factor);
  }
  for (const std::string& p : c.priorities) {
    const auto parts = split("--priority", p);
    if (!parts) return parts.error();
    c.asked.priorities.push_back(*parts);
  }
  if (c.no_locks) c.asked.locks.emplace_back("*");
  if (c.all && !c.asked.empty()) return error{"--all has its own questions: expected no others with it"};
  return {};
}

result<loaded_trace> read_run(const std::string& run) {
  const auto files = trace_files(run);
  if (!files) return files.error();
  if (auto r = use_clock_of(*files); !r) return r.error();
  if (auto fits = check_trace_fits(*files, {}, trace_advice::none); !fits) return fits.error();
  return load_trace(*files);
}

}  // namespace

int main(int argc, char** argv) {
  app::start_console("plx what-if");
  CLI::App options(
      "Predicts from the trace of a run what a change would bring, by replaying its tasks on simulated workers. Prints "
      "first how far the replay is off without a change: above 15 % it makes no predictions (docs/why-slow.md).",
      "plx what-if");
  command_line c;
  declare(options, c);
  try {
    options.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app::exit_of_parse(options, e);
  }
  if (auto r = read_questions(c); !r) return complain(r.error().message);
  const auto run = read_run(c.run);
  if (!run) return complain(run.error().message);
  const auto report = predict_changes(*run, c.asked);
  if (!report) return complain(report.error().message);
  return app::print_answer(c.json ? what_if_json(*report) : what_if_text(*report),
                           report->refusal.empty() ? app::finished : app::failed);
}
