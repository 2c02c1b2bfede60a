// What NVIDIA's management library says of the machine's GPUs, when it is there: it is loaded while the program runs.
//
// Counters /gpu{gpu#0}/utilization, memory-utilization, memory/used, memory/free, memory/total, power, energy,
// temperature, clock/sm, clock/memory: of the whole GPU, whoever uses it. What a GPU does not tell is left out.
// Thread safety: as counter_registry; NVML itself is thread-safe. Cost: loading it takes 10 ms and more; a question
// some microseconds to a millisecond. Example: probe/monitor/nvml_test.cpp
#pragma once

#include <string>
#include <vector>

#include "probe/counter_registry.hpp"

namespace plx::probe {

/// `library`: the file to load, "" for the system's. Without it, or without a GPU, nothing is added and a note says
/// why.
[[nodiscard]] std::vector<registration> add_nvml_counters(counter_registry& registry,
                                                          std::vector<std::string>* notes = nullptr,
                                                          const std::string& library = "");

}  // namespace plx::probe
