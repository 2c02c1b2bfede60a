#include "io/run_facts.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <sstream>

#include "base/process.hpp"
#include "base/text.hpp"

namespace plx {
namespace {

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const std::size_t colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "unknown";
}

}  // namespace

machine_facts this_machine() {
  cpu_set_t set;
  const bool known = sched_getaffinity(0, sizeof set, &set) == 0;
  return {host_name(), cpu_name(), known ? static_cast<unsigned>(CPU_COUNT(&set)) : 0u};
}

// Field 22 of /proc/self/stat; the name in parentheses before it may contain any character.
process_facts this_process() {
  process_facts p{getpid(), 0, "", ""};
  std::string line;
  std::ifstream stat("/proc/self/stat");
  std::getline(stat, line);
  std::istringstream fields(line.substr(std::min(line.size(), line.rfind(')') + 1)));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  fields >> p.started_ticks;
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  std::getline(boot, p.boot);
  char name[64];
  if (const ssize_t n = readlink("/proc/self/ns/pid", name, sizeof name); n > 0)
    p.numbers.assign(name, static_cast<std::size_t>(n));
  return p;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

std::string json_of(const machine_facts& m) {
  return fmt::format("{{\"host\": {}, \"cpu\": {}, \"cores\": {}}}", json_text(m.host), json_text(m.cpu), m.cores);
}

std::string json_of(const process_facts& p) {
  return fmt::format("{{\"pid\": {}, \"started_ticks\": {}, \"boot\": {}, \"numbers\": {}}}", p.pid, p.started_ticks,
                     json_text(p.boot), json_text(p.numbers));
}

}  // namespace plx
