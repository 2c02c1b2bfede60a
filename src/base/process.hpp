// The host of this process, and the signals of its threads.
//
// Thread safety: host_name() is thread-safe; a no_signals belongs to its thread.
#pragma once

#include <csignal>
#include <string>

namespace plx {

/// As gethostname(); "unknown" if it fails.
std::string host_name();

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
