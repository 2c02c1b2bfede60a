// Energy that processors and memory used, from Linux' powercap (RAPL on Intel and AMD): counters /system{...}/energy.
//
// The hardware's counters wrap around, within minutes on a large machine. They are read every ten seconds by the
// registry's sampling thread, and whenever somebody asks; a step back is one wrap.
// Thread safety: as counter_registry. Cost: a file of sysfs per zone. Without powercap, or without the right to read it
// (since Linux 5.10 that is root's), the counters are not there and a note says why.
// Example: probe/monitor/energy_test.cpp
#pragma once

#include <string>
#include <vector>

#include "probe/counter_registry.hpp"

namespace plx::probe {

/// /system{package-0}/energy and, within it, {package-0/core}, {package-0/dram}, ...; {total}: all packages
/// and their dram. `root` is where powercap's zones are.
[[nodiscard]] std::vector<registration> add_energy_counters(counter_registry& registry,
                                                            const std::string& root = "/sys/class/powercap",
                                                            std::vector<std::string>* notes = nullptr);

}  // namespace plx::probe
