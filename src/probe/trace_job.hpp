// What the trace of a whole job has beyond that of one process: its localities, and the parcels between them.
//
// In such a trace all times are in ticks of locality 0, and the workers of one locality follow those of the one before.
// net/trace_gather.hpp puts it together. Thread safety: none, it belongs to whoever asked.
// Example: net/job_trace_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probe/trace_data.hpp"

namespace plx::probe {

/// A parcel between two localities.
struct trace_message {
  ticks sent = 0;
  ticks received = 0;        // 0: nobody told that it came
  std::uint64_t number = 0;  // of its sender: with `from` it names the parcel
  std::uint64_t bytes = 0;   // with its header
  unsigned from = 0;
  unsigned to = 0;
  name_id name = unnamed;  // what was called, or of an answer, had been
};

/// One of the processes.
struct trace_locality {
  std::string host;
  unsigned first_worker = 0;    // its rows are workers [first_worker, first_worker + workers)
  unsigned workers = 0;         // with its devices' rows; 0 for one whose trace is missing
  double uncertainty_s = 0;     // of its times, against those of locality 0
  double offset_s = 0;          // how much its clock was behind that of locality 0, each since it began to count
  double drift = 0;             // and how much slower it is than it says: 1e-6 is a microsecond per second
  std::uint64_t unmatched = 0;  // parcels that it sent or received and of which the other side told nothing
  std::string missing;          // what is not there of it, and why; "": nothing
};

struct trace_job {
  std::vector<trace_locality> localities;
  std::vector<trace_message> messages;       // in order of the moment they were sent
  std::vector<unsigned> sample_at, mark_at;  // the localities of trace_data::samples and marks

  /// The locality that a worker belongs to. Requires: there is such a worker.
  [[nodiscard]] unsigned locality_of(unsigned worker) const noexcept {
    unsigned l = 0;
    while (worker - localities[l].first_worker >= localities[l].workers) ++l;
    return l;
  }
};

/// The trace of a job.
struct job_trace_data {
  trace_data data;
  trace_job job;
};

}  // namespace plx::probe
