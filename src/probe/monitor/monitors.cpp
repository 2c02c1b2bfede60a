#include "probe/monitor/monitors.hpp"

#include <cstdio>
#include <iterator>

#include "base/log.hpp"
#include "base/text.hpp"

namespace plx::probe {

monitors add_monitors(counter_registry& registry, const settings& wanted, const std::vector<watched_thread>& threads,
                      const perf_groups* grouped) {
  monitors all;
  const auto keep = [&all](std::vector<registration> added) {
    all.counters.insert(all.counters.end(), std::make_move_iterator(added.begin()),
                        std::make_move_iterator(added.end()));
  };
  std::vector<std::string> unasked;  // notes on monitors that were not requested explicitly
  keep(add_proc_counters(registry, "/proc", &unasked));
  keep(add_processor_counters(registry));
  keep(add_energy_counters(registry, "/sys/class/powercap", wanted.energy ? &all.missing : &unasked));
  if (!wanted.perf.empty()) keep(add_perf_counters(registry, wanted.perf, threads, &all.missing, grouped));
  if (!wanted.papi.empty()) keep(add_papi_counters(registry, wanted.papi, threads, &all.missing, wanted.papi_library));
  if (wanted.nvml) keep(add_nvml_counters(registry, &all.missing, wanted.nvml_library));
  for (const std::string& line : unasked) log_debug("{}", line);
  return all;
}

void report(const std::vector<std::string>& missing) {
  for (const std::string& line : missing) {
    if (log_wants(log_level::warning))
      log_warning("{}", line);
    else
      std::fprintf(stderr, "%s\n", printable(line).c_str());
  }
}

}  // namespace plx::probe
