#include "console.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/process.hpp"
#include "base/text.hpp"

namespace plx::app {

namespace {

const char* program_name = "";
std::atomic<bool> requested = false;
std::atomic<const char*> stop_message = nullptr;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<const char*>::is_always_lock_free);  // in handlers

// A second SIGINT or SIGTERM ends the program immediately, also if it arrives before the handler of the first has
// begun. A terminal that is closed may send SIGHUP more than once; only the first one counts.
extern "C" void on_stop(int signal) {
  const bool is_second = requested.exchange(true);
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGHUP, SIG_IGN);
  if (is_second && signal != SIGHUP) {
    std::raise(signal);  // takes effect at the end of this handler
    return;
  }
  const char* text = stop_message.load();
  if (text == nullptr) return;
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

struct known_option {
  std::string name, owner;  // owner: the program or its command
};

// The options of the program and of the commands that were given.
std::vector<known_option> options_in_use(const CLI::App& app) {
  std::vector<known_option> found;
  for (const CLI::Option* o : app.get_options()) {
    for (const std::string& n : o->get_lnames()) found.push_back({"--" + n, app.get_name()});
    for (const std::string& n : o->get_snames()) found.push_back({"-" + n, app.get_name()});
  }
  for (const CLI::App* command : app.get_subcommands())
    for (known_option& o : options_in_use(*command)) found.push_back(std::move(o));
  return found;
}

std::string advice_on(const std::string& unknown, const std::vector<known_option>& options) {
  std::vector<std::string> names;
  const bool is_short = unknown.size() == 2;  // every other short option is one letter away from it
  for (const auto& [name, owner] : options) {
    if (name == unknown) return fmt::format(" here; it is an option of '{}'", owner);
    if (!is_short || name.size() > 2) names.push_back(name);
  }
  const std::string near = did_you_mean(unknown, names);
  return near.empty() ? fmt::format("; {} --help lists the options", program_name) : near;
}

}  // namespace

void start_console(const char* name) {
  program_name = name;
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    while (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      if (open("/dev/null", O_RDWR) < 0) return;
}

const char* name_of_program() { return program_name; }

int complain(std::string_view message, int code) {
  std::fprintf(stderr, "%s: %s\n", program_name, printable(message).c_str());
  return code;
}

int print_answer(std::string_view text, int code) {
  const auto written = write_stdout(text);
  return written ? code : complain(written.error().message);
}

std::string refusal_of(const CLI::App& app, const CLI::ParseError& e) {
  for (const std::string& argument : app.remaining(true)) {
    if (argument == "--") break;  // what follows is no option
    if (argument.size() < 2 || argument[0] != '-') continue;
    const std::string name = argument.substr(0, argument.find('='));
    return fmt::format("unknown option '{}'{}", name, advice_on(name, options_in_use(app)));
  }
  return fmt::format("{}; {} --help lists the options", e.what(), program_name);
}

int exit_of_parse(const CLI::App& app, const CLI::ParseError& e) {
  if (e.get_exit_code() != 0) return complain(refusal_of(app, e));
  std::ostringstream text;
  return print_answer((app.exit(e, text, text), text.str()));
}

void handle_stop_signals(const char* message) {
  stop_message = message;
  std::signal(SIGINT, on_stop);
  std::signal(SIGTERM, on_stop);
  if (std::signal(SIGHUP, on_stop) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // as set by nohup
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size limit is then an error like a full disk
  std::signal(SIGPIPE, SIG_IGN);  // output that is no longer read does not end a run
}

void ignore_stop_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
}

void set_stop_message(const char* message) { stop_message = message; }

const std::atomic<bool>& stop_requested() { return requested; }

}  // namespace plx::app
