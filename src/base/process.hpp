// The host of this process, its processors, its standard output, and the signals of its threads.
//
// Thread safety: functions are thread-safe; a no_signals belongs to its thread.
#pragma once

#include <csignal>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace plx {

/// As gethostname(); "unknown" if it fails.
std::string host_name();

/// Processors that the calling thread may run on (affinity); 0 if unknown.
unsigned usable_processors() noexcept;

/// The model of the first processor in `cpuinfo`, the text of /proc/cpuinfo: its "model name", or, as on aarch64, where
/// there is none, such as "implementer 0x41 part 0xd0c"; "unknown" if it states neither. Reads the file by default.
std::string processor_model(std::string_view cpuinfo);
std::string processor_model();

/// Writes to standard output and flushes it. A closed pipe is no error: the reader has seen enough. Error: one line
/// with the system's reason, such as a full disk.
result<void> write_stdout(std::string_view text);

/// Blocks all signals in the calling thread, and in the threads that it starts, while the object exists: they are for
/// the program's own threads.
class no_signals {
 public:
  no_signals() noexcept;
  ~no_signals();
  no_signals(const no_signals&) = delete;
  no_signals& operator=(const no_signals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace plx
