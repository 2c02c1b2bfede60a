#include "base/process.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/file.hpp"

namespace plx {

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 && name[0] != 0 ? name : "unknown";
}

unsigned usable_processors() noexcept {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 0;
}

// The value of the first line "key<blanks>: value".
static std::string_view value_in(std::string_view cpuinfo, std::string_view key) {
  for (std::size_t at = cpuinfo.find(key); at != cpuinfo.npos; at = cpuinfo.find(key, at + 1)) {
    if (at != 0 && cpuinfo[at - 1] != '\n') continue;
    const std::string_view line = cpuinfo.substr(at, cpuinfo.find('\n', at) - at);
    if (const std::size_t colon = line.find(": "); colon != line.npos) return line.substr(colon + 2);
  }
  return {};
}

std::string processor_model(std::string_view cpuinfo) {
  if (const auto name = value_in(cpuinfo, "model name"); !name.empty()) return std::string(name);
  const auto implementer = value_in(cpuinfo, "CPU implementer"), part = value_in(cpuinfo, "CPU part");
  if (implementer.empty() || part.empty()) return "unknown";
  return fmt::format("implementer {} part {}", implementer, part);
}

std::string processor_model() { return processor_model(read_file("/proc/cpuinfo").value_or("")); }

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
