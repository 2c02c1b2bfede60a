#include "base/process.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace plx {

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 && name[0] != 0 ? name : "unknown";
}

unsigned usable_processors() noexcept {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 0;
}

result<void> write_stdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return {};
  if (errno == EPIPE) return {};
  return error{fmt::format("cannot write to stdout: {}", std::generic_category().message(errno))};
}

no_signals::no_signals() noexcept {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}

no_signals::~no_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace plx
