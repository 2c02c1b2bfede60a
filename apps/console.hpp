// Answers, messages, standard streams and the signals that stop a run, for the programs.
//
// Thread safety: main alone, except stop_requested(). Cost: none. Example: apps/plx_dca.cpp
#pragma once

#include <atomic>
#include <string>
#include <string_view>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace plx::app {

enum exit_code { finished = 0, failed = 1, wrong_input = 2, interrupted = 130 };

/// Sets the name in messages, and opens standard streams that are closed: otherwise files of the run would get their
/// descriptors, and messages would be written into them. The first call of main().
void start_console(const char* name);
const char* name_of_program();

/// Prints "NAME: message" to stderr, printable, and returns the code.
int complain(std::string_view message, int code = wrong_input);
/// Writes an answer to stdout; returns `code`, or wrong_input after a message if stdout cannot be written. A closed
/// pipe is no error.
int print_answer(std::string_view text, int code = finished);
/// The message of a command line that app.parse() refused; an unknown option with the nearest one.
std::string refusal_of(const CLI::App& app, const CLI::ParseError& e);
/// After an exception of CLI::App::parse: prints the answer (--help, --version), or complains.
int exit_of_parse(const CLI::App& app, const CLI::ParseError& e);

/// SIGINT, SIGTERM and SIGHUP request a stop and write `message` to stderr (nullptr: none). A second SIGINT or SIGTERM
/// ends the program immediately. A full file system or file size limit and a closed pipe become errors of the writes.
void handle_stop_signals(const char* message);
/// Ignores these signals from now on, for a process of a job that is about to exit.
void ignore_stop_signals();
/// Replaces the message.
void set_stop_message(const char* message);
/// Set by the first signal; from any thread.
const std::atomic<bool>& stop_requested();

}  // namespace plx::app
