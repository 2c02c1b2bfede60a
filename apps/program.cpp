#include "program.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "base/assert.hpp"
#include "base/build_info.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "net/error.hpp"
#include "net/job.hpp"
#include "net/start/bootstrap.hpp"
#include "probe/settings.hpp"
#include "rt/thread.hpp"

namespace plx::app {
namespace {

const char* advice_on_memory = "";
// For the end of a run that is out of memory: released before anything is reported.
std::unique_ptr<char[]> reserve;

// CLI11 would take the next argument as the value: "--out= --validate" would start a run in the folder "--validate".
result<void> check_values(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view a = argv[i];
    if (a.starts_with("--") && a.find('=') == a.size() - 1)
      return error{fmt::format("{}: expected a value after '='", printable(a))};
    if (a.empty())  // such as an unset variable of the shell
      return error{fmt::format("expected a value after '{}', found an empty text", printable(argv[i - 1]))};
  }
  return {};
}

using names = std::span<const std::string_view>;

bool contains(names all, std::string_view name) { return std::find(all.begin(), all.end(), name) != all.end(); }

// A program with the keys or sections of its inputs by which they are recognized.
struct recognized {
  std::string_view program;
  std::array<std::string_view, 3> marks;
};
constexpr recognized inputs_of[] = {{"plx-star", {"problem", "mesh", "hydro"}},
                                    {"plx-dca", {"solver", "pairing", "four_point"}},
                                    {"plx-parquet", {"grid.frequencies", "memory", "network"}}};

// Whether inputs of this program have a section of this name. Those of plx-star may have any: problems have their own.
bool has_section(std::string_view program, std::string_view section) {
  constexpr std::string_view dca[] = {"model", "cluster", "loop", "solver", "pairing", "four_point", "output"};
  constexpr std::string_view parquet[] = {"model", "cluster", "loop", "grid", "memory", "network", "output", "run"};
  constexpr std::string_view shared[] = {"grid", "output", "run"};
  if (program == "plx-dca") return contains(dca, section);
  if (program == "plx-parquet") return contains(parquet, section);
  return contains(shared, section) || !(contains(dca, section) || contains(parquet, section));
}

// The sections of a TOML file, and its keys with their section. By lines: the file may have errors.
std::vector<std::string> sections_and_keys(std::string_view text) {
  std::vector<std::string> found;
  std::string section;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with('[') && line.find(']') != line.npos) {
      const std::size_t first = line.find_first_not_of('[');
      section = std::string(trimmed(line.substr(first, line.find(']') - first)));
      found.push_back(section);
    }
    const std::size_t equals = line.find('=');
    if (line.starts_with('[') || line.starts_with('#') || equals == line.npos) continue;
    found.push_back((section.empty() ? "" : section + ".") + std::string(trimmed(line.substr(0, equals))));
  }
  return found;
}

// The other program that this is an input of; "" if it has no mark of one, or a section that only inputs of `own` have.
std::string_view other_program(std::string_view text, std::string_view own) {
  const std::vector<std::string> all = sections_and_keys(text);
  const auto section_of = [](std::string_view name) { return name.substr(0, name.find('.')); };
  for (const recognized& other : inputs_of) {
    if (other.program == own) continue;
    const bool marked = std::any_of(all.begin(), all.end(), [&](const std::string& name) {
      return contains(other.marks, name) || contains(other.marks, section_of(name));
    });
    const bool is_own = std::any_of(all.begin(), all.end(), [&](const std::string& name) {
      return has_section(own, section_of(name)) && !has_section(other.program, section_of(name));
    });
    if (marked && !is_own) return other.program;
  }
  return {};
}

// The message of the exception that is being handled, and the exit code.
std::pair<std::string, int> failure_of_exception() {
  try {
    throw;
  } catch (const std::invalid_argument& e) {  // from the runtime or the job: cores, workers, measurement
    return {e.what(), wrong_input};
  } catch (const std::system_error& e) {
    if (e.code() != std::errc::resource_unavailable_try_again) return {e.what(), failed};
    return {
        "cannot start another thread: the limit of threads (ulimit -u, pids.max) or of memory (ulimit -v, ulimit "
        "-d) is reached; raise it, or use fewer workers (--threads)",
        failed};
  } catch (const std::bad_alloc&) {
    rlimit limit{};
    const bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    const std::string raise = limited ? fmt::format("raise ulimit -v ({} MB), or ", limit.rlim_cur / 1000000) : "";
    return {fmt::format("out of memory: {}{}", raise, advice_on_memory), failed};
  } catch (const locality_lost& e) {
    return {e.first().what(), failed};
  } catch (const std::exception& e) {
    return {e.what(), failed};
  }
}

}  // namespace

void start_program(const char* name, const char* less_memory) {
  start_console(name);
  advice_on_memory = less_memory;
  reserve = std::make_unique<char[]>(1 << 20);
}

std::string name_of_build() {
  return fmt::format("{} {} ({})", name_of_program(), this_build().version, this_build().git);
}

void declare_set_and_threads(CLI::App& app, common_options& c) {
  app.add_option("--set", c.sets, "set an option after reading the input; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--threads", c.threads, "workers (default: one per core that this process may use)")
      ->check(CLI::Range(1u, 1024u))
      ->option_text("N (1 to 1024)");
}

void declare_common(CLI::App& app, common_options& c, const std::string& inputs, const std::string& folder,
                    const std::string& validates) {
  app.set_version_flag("--version", name_of_build());
  app.footer("--plx:KEY=VALUE sets what is measured and shown, e.g. --plx:serve=127.0.0.1:0 (docs/probe.md)");
  app.add_option("input", c.input, inputs);
  declare_set_and_threads(app, c);
  app.add_option("--out", c.out, fmt::format("folder for everything the run writes (default: {})", folder))
      ->type_name("FOLDER");
  app.add_flag("--validate", c.validate, validates);
  app.add_flag("--print-config", c.print_config, "print every option's value and where it came from, and exit");
  app.add_option("--list-options", c.list_options, "print all options with type, default, range and meaning, and exit")
      ->expected(0, 1)
      ->check(CLI::IsMember({"markdown"}))
      ->type_name("[markdown]");
  app.add_flag("--quiet", c.quiet, "no progress");
}

result<void> read_command(CLI::App& app, runtime_options& options, int argc, char** argv) {
  try {
    auto read = read_options(argc, argv);  // removes --plx:...
    if (!read) return read.error();
    options = *std::move(read);
    if (auto complete = check_values(argc, argv); !complete) return complete;
    app.parse(argc, argv);
  } catch (const CLI::Success&) {
    throw;
  } catch (const CLI::ParseError& e) {
    return error{refusal_of(app, e)};
  } catch (const std::invalid_argument& e) {
    return error{e.what()};
  }
  return {};
}

error error_of_input(const std::string& path, std::string_view text, error found) {
  const bool of_dca_plus_plus = path.ends_with(".json");  // read by plx-dca alone
  const std::string_view other = of_dca_plus_plus ? "plx-dca" : other_program(text, name_of_program());
  if (other.empty() || other == name_of_program()) return error_of_set(std::move(found));
  return {fmt::format("{0} is an input of {1}, and this is {2}; run it with {1}, or give {2} an input of its own", path,
                      other, name_of_program())};
}

error error_of_set(error found) {
  constexpr std::string_view start = "--set ";
  const std::string_view text = found.message;
  if (!text.starts_with(start) || text.find(": unknown key") == text.npos) return found;
  const std::string_view key = text.substr(start.size(), text.find('=') - start.size());
  const std::string_view section = key.substr(0, key.find('.')), own = name_of_program();
  if (has_section(own, section) && own != "plx-star") return found;
  for (const recognized& other : inputs_of)
    if (other.program != own && (contains(other.marks, section) || contains(other.marks, key)))
      return {fmt::format("{}; it is an option of {}, and this is {}", text, other.program, own)};
  return found;
}

int answer(const std::string& text, int code) {
  return net::detail::is_first_launched() ? print_answer(text, code) : code;
}

int exit_of_exception(const CLI::App& app) {
  try {
    throw;
  } catch (const CLI::Success& s) {
    return net::detail::is_first_launched() ? exit_of_parse(app, s) : finished;
  } catch (const job_error& e) {
    return e.report(name_of_program());
  } catch (...) {
    const auto [message, code] = failure_of_exception();
    return complain(message, code);
  }
}

int end_program(int code) {
  PLX_ASSERT(std::current_exception() == nullptr, code);
  if (code == finished) return code;
  std::fflush(nullptr);
  std::_Exit(code);
}

unsigned workers_of_run(const common_options& c, const runtime_options& options) {
  const unsigned workers = c.threads != 0 ? c.threads : options.workers;
  return workers != 0 ? workers : thread::hardware_concurrency();
}

runtime_options options_of_run(const common_options& c, runtime_options options, const std::string& folder) {
  if (c.threads != 0) options.workers = c.threads;
  auto measure = std::make_shared<probe::settings>(*options.measure);
  if (measure->output == probe::settings().output) measure->output = folder;
  options.measure = std::move(measure);
  return options;
}

run_record::run_record(std::string folder, std::size_t workers, std::string changed_options)
    : folder_(std::move(folder)), changed_options_(std::move(changed_options)), workers_(workers) {}

result<void> run_record::write(const char* status, std::string_view message) const {
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin_;
  const build_info& b = this_build();
  return write_file(
      folder_ + "/run.json",
      fmt::format("{{\n  \"program\": {},\n  \"version\": {},\n  \"build\": {{\"compiler\": {}, \"type\": {}, "
                  "\"git\": {}}},\n  \"machine\": {},\n  \"process\": {},\n  \"workers\": {},\n  \"status\": {},\n"
                  "  \"message\": {},\n  \"started\": {},\n  \"wall_s\": {:.3f},\n"
                  "  \"changed_options\": {}\n}}\n",
                  json_text(name_of_program()), json_text(b.version), json_text(b.compiler), json_text(b.type),
                  json_text(b.git), json_of(this_machine()), json_of(this_process()), workers_, json_text(status),
                  json_text(std::string(message)), json_text(started_), wall.count(), changed_options_));
}

std::string run_record::running() const {
  const auto text = read_file(folder_ + "/run.json");
  if (!text || text->find("\"status\": \"running\"") == std::string::npos) return {};
  std::string run;
  for (const char* key : {"\"process\": ", "\"started\": "})
    if (const auto at = text->find(key); at != std::string::npos) run += text->substr(at, text->find('\n', at) - at);
  return run;
}

void run_record::write_failed(double wait_s, const std::string& message) const noexcept {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(wait_s);
  try {
    const std::string run = wait_s > 0 ? running() : std::string();
    for (bool over = wait_s <= 0; !over;) {
      over = std::chrono::steady_clock::now() >= end;  // before the last check: this thread may lose its core
      if (run.empty() || running() != run) return;
      if (!over) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    std::ignore = write("failed", message);
  } catch (...) {  // out of memory: another process writes it
  }
}

void leave_job(plx::job& job, const std::exception_ptr& e) noexcept {
  try {
    job.run([&e] { std::rethrow_exception(e); });
  } catch (...) {  // this exception
  }
}

int end_failed_run(plx::job& job, const run_record* record, const std::string& warnings, const std::string& advice) {
  reserve.reset();
  const auto [message, code] = failure_of_exception();
  const auto with = [](std::string text, const std::string& more) {
    return more.empty() ? text : fmt::format("{}; {}", text, more);
  };
  const std::string all = with(message, advice);
  if (job.size() > 1) {
    ignore_stop_signals();  // a launcher may signal the others when one process exits
    bool reports = true;    // also if there is no memory for the question
    try {
      reports = job.home().run([e = std::current_exception()] { return reports_failure(e); });
    } catch (...) {
    }
    if (!reports) {
      if (record != nullptr && job.here() < 2) record->write_failed(2.0 * (job.here() + 1), with(all, warnings));
      return code;
    }
  }
  if (record != nullptr) record->write_failed(0, with(all, warnings));
  return complain(all, code);
}

bool is_terminal(int fd) { return net::detail::launched_by() == nullptr && isatty(fd) == 1; }

int columns_of(int fd) {
  winsize w{};
  return ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 80;
}

std::string clock_text(double s, double most_s) {
  if (!std::isfinite(s) || s > most_s) return "-:--";
  const int n = static_cast<int>(std::lround(s));
  return n >= 3600 ? fmt::format("{}:{:02d}:{:02d}", n / 3600, n / 60 % 60, n % 60)
                   : fmt::format("{}:{:02d}", n / 60, n % 60);
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace plx::app
