// A recorded run in order of time, the input of trace files and analyses. Plain data, returned by
// recorder::collect_trace().
//
// Thread safety: none; it belongs to the caller. Example: probe/record/test/trace_data_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "probe/record/names.hpp"

namespace plx::probe {

/// The id of a task of a process; 0 for none. The recorder's number << 56 | (worker + 1) << 40 | an increasing number;
/// join_bit marks a join, where several inputs meet (when_all, the end of a group), instead of a task.
using task_id = std::uint64_t;
/// Marks the id of a join.
inline constexpr task_id join_bit = 1ull << 63;
/// Marks the cause of a slice that had several inputs, of which it is the last one: for flight_link only.
inline constexpr task_id last_input_bit = 1ull << 62;
/// Whether both ids belong to the same recorder.
constexpr bool same_recorder(task_id a, task_id b) noexcept { return ((a ^ b) >> 56 & 0x3f) == 0; }
/// Whether the id is that of a join.
constexpr bool is_join(task_id id) noexcept { return (id & join_bit) != 0; }

/// A slice of a task, in the list of the worker that ran it.
struct trace_slice {
  ticks begin = 0;
  ticks end = 0;
  std::uint64_t key = no_key;
  task_id id = 0;   // the same for all slices of a task; 0: unknown
  ticks ready = 0;  // when the task became ready, before `begin`; 0: unknown
  name_id name = unnamed;
  bool finished = true;     // false: suspended at `end`
  bool resumed = false;     // not the first slice of its task
  std::uint16_t every = 1;  // one slice in this many of its name was traced when it was recorded
};

/// A dependency: `to` could not start or resume until `from`, its parent or the producer of an input, had reached
/// `when`. The edge leaves the slice of `from` that contains `when` (its end, if `from` ended at `when`) and enters the
/// first slice of `to` that begins at `when` or later. Edges may be repeated.
struct trace_edge {
  task_id from = 0;
  task_id to = 0;
  ticks when = 0;
};

/// A lock that a task held.
struct trace_lock {
  task_id task = 0;
  ticks taken = 0;
  ticks released = 0;
  std::uint64_t object = 0;  // identifies the lock
  name_id name = unnamed;
  std::uint32_t waits = 0;  // the last suspensions of the task before it took the lock were waits for it: their number
};

/// Where a task was placed, for tasks with a fixed worker or a priority.
struct trace_placement {
  task_id task = 0;
  std::uint32_t worker = 0;    // one more than the only worker that runs it; 0: any
  std::uint32_t priority = 0;  // as in plx::priority: 0 normal, 1 high, 2 low
};

/// A value at a moment: of a counter, or sampled by the program.
struct trace_sample {
  ticks when = 0;
  std::string name;
  double value = 0;
};

/// An event at a moment: a decision of a policy, or a mark of the program.
struct trace_mark {
  ticks when = 0;
  std::string category;  // "policy", "tuning", "mark", ...
  std::string text;
};

/// The recorded data of a run.
struct trace_data {
  ticks origin = 0;  // the start of the run, to which times are relative
  unsigned locality = 0;
  std::vector<std::vector<trace_slice>> workers;  // by worker, in order of time, never overlapping
  std::vector<std::string> worker_names;          // by worker; may be shorter, and "" is a worker without a name
  std::vector<std::uint32_t> devices;  // by worker; may be shorter. 0: a worker. n: a stream of device n - 1 instead;
                                       // its slices are operations, and keys are the bytes they moved
  std::vector<trace_edge> edges;       // unordered; joins are nodes of their own, see trace_graph.hpp
  std::vector<trace_lock> locks;       // unordered; those of mutexes
  std::vector<trace_placement> placements;  // unordered
  std::vector<trace_sample> samples;        // in order of time
  std::vector<trace_mark> marks;            // in order of time
  double share = 1;           // the smallest share of the slices that was recorded at any time; with a budget,
                              // earlier parts of the trace may have a larger share, and edges
  std::uint64_t records = 0;  // kept
  std::uint64_t lost = 0;     // dropped because a buffer was full: the graph has gaps

  /// Whether a worker's row is a stream of a device.
  [[nodiscard]] bool is_device(std::size_t worker) const noexcept {
    return worker < devices.size() && devices[worker] != 0;
  }
};

// Additional data of the trace of a job of several processes: its localities, and the parcels between them.
//
// In such a trace all times are in ticks of locality 0, and the workers of each locality follow those of the one
// before. It is assembled by trace/file/job_trace.hpp. Thread safety: none; it belongs to the caller.
// Example: trace/file/test/job_trace_test.cpp

/// A parcel or a message of MPI between two localities.
struct trace_message {
  ticks sent = 0;
  ticks received = 0;        // 0: arrival not recorded
  std::uint64_t number = 0;  // see trace_parcel
  std::uint64_t bytes = 0;   // of a parcel: including its header
  unsigned from = 0;
  unsigned to = 0;
  name_id name = unnamed;  // the called action; for an answer, the action that was called; for a message the function
  std::uint32_t channel = 0;  // 0: a parcel; otherwise the communicator of a message
  std::int32_t tag = 0;       // of a message
};

/// One process of the job.
struct trace_locality {
  std::string host;
  unsigned first_worker = 0;    // its rows are workers [first_worker, first_worker + workers)
  unsigned workers = 0;         // including rows of devices; 0 if its trace is missing
  double uncertainty_s = 0;     // of its times, against those of locality 0
  double offset_s = 0;          // its clock's lag behind that of locality 0, with each counted from its own start
  double drift = 0;             // its clock's relative rate error: 1e-6 means a microsecond per second too slow
  std::uint64_t unmatched = 0;  // parcels that it sent or received and that the other locality did not record
  std::string missing;          // which data is missing, and why; "" if none
};

/// The traces of all localities of a job, merged.
struct trace_job {
  std::vector<trace_locality> localities;
  std::vector<trace_message> messages;       // in order of the moment they were sent
  std::vector<unsigned> sample_at, mark_at;  // the localities of trace_data::samples and marks
  bool of_mpi = false;                       // some message is one of MPI

  /// The locality of a worker. Requires: the worker exists.
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
