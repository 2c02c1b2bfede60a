// Events of PAPI (https://icl.utk.edu/papi), whose library is looked for while the program runs: nothing is linked, and
// no header of it is needed. PAPI knows many processors' events by name and has components beside the processor.
//
// Counters /papi{locality#0/worker-thread#N}/EVENT and /papi{locality#0/total}/EVENT. An event whose component cannot
// count single threads (energy, networks) is counted once, as /papi{process}/EVENT.
// What PAPI or the machine does not offer is left out, with a note that says why.
// Thread safety: as counter_registry; PAPI is called under one lock. Cost: a system call per thread when somebody asks.
// Example: probe/monitor/papi_test.cpp
#pragma once

#include <string>
#include <vector>

#include "probe/counter_registry.hpp"
#include "probe/monitor/watched_thread.hpp"

namespace plx::probe {

/// `events`: PAPI's names separated by commas, such as "PAPI_TOT_INS,perf::PAGE-FAULTS". Without threads, the calling
/// one is counted as /papi{process}/EVENT. `library`: the file to load, "" for the system's libpapi.
[[nodiscard]] std::vector<registration> add_papi_counters(counter_registry& registry, const std::string& events,
                                                          const std::vector<watched_thread>& threads,
                                                          std::vector<std::string>* notes = nullptr,
                                                          const std::string& library = "");

}  // namespace plx::probe
