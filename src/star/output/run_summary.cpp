#include "star/output/run_summary.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <sstream>

#include "base/text.hpp"
#include "star/hydro/isa.hpp"

namespace plx::star {

namespace {

std::string number(double x) { return std::isfinite(x) ? fmt::format("{}", x) : "null"; }

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const std::size_t colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "unknown";
}

}  // namespace

machine_facts this_machine() {
  char host[256] = "unknown";
  gethostname(host, sizeof host - 1);
  cpu_set_t set;
  const bool known = sched_getaffinity(0, sizeof set, &set) == 0;
  return {host, cpu_name(), known ? static_cast<unsigned>(CPU_COUNT(&set)) : 0u};
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

std::string run_summary::json(const run_request& r) const {
  std::string known;
  for (const named_value& v : references)
    known += fmt::format("{}{}: {}", known.empty() ? "" : ", ", json_text(v.name), number(v.value));
  std::string sizes;
  if (code_units.known)
    sizes = fmt::format("\"length_cm\": {}, \"mass_g\": {}, \"time_s\": {}", number(code_units.length_cm),
                        number(code_units.mass_g), number(code_units.time_s));
  return fmt::format(
      "{{\n  \"program\": \"plx-star\",\n  \"version\": {},\n  \"problem\": {},\n"
      "  \"build\": {{\"compiler\": {}, \"type\": {}, \"git\": {}, \"isa\": {}}},\n"
      "  \"machine\": {{\"host\": {}, \"cpu\": {}, \"cores\": {}}},\n"
      "  \"process\": {{\"pid\": {}, \"started_ticks\": {}, \"boot\": {}, \"numbers\": {}}},\n"
      "  \"localities\": {},\n  \"workers\": {},\n  \"status\": {},\n  \"message\": {},\n  \"started\": {},\n"
      "  \"wall_s\": {},\n  \"simulation_s\": {},\n  \"steps\": {},\n  \"time\": {},\n  \"cells\": {},\n"
      "  \"blocks\": {},\n  \"cell_updates\": {},\n  \"resumed_at_step\": {},\n  \"measurement_cost_percent\": {},\n"
      "  \"units\": {{{}}},\n  \"references\": {{{}}}\n}}\n",
      json_text(r.version), json_text(problem), json_text(r.compiler), json_text(r.build_type), json_text(r.git),
      json_text(std::string(name_of(active_isa()))), json_text(machine.host), json_text(machine.cpu), machine.cores,
      process.pid, process.started_ticks, json_text(process.boot), json_text(process.numbers), localities, workers,
      json_text(status), json_text(message), json_text(started), number(wall_s), number(simulation_s), steps,
      number(time), cells, blocks, cell_updates,
      resumed_at_step < 0 ? std::string("null") : fmt::format("{}", resumed_at_step), number(measurement_cost_percent),
      sizes, known);
}

}  // namespace plx::star
