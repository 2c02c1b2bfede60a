// Messages, standard streams and the signals that stop a run, for the programs.
//
// Thread safety: main alone, except stop_requested(). Cost: none. Example: apps/plx_dca.cpp
#pragma once

#include <atomic>
#include <string>
#include <string_view>

namespace plx::app {

/// Otherwise files of the run would get the descriptors of closed streams, and messages would be written into them.
void open_standard_streams();

/// A message may quote an input: control characters are shown as \x1b, and a long one is cut.
std::string printable(std::string_view text);

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
