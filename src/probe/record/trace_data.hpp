// A recorded run in order of time: what files and analyses are made of. Plain data; recorder::collect_trace() gives it.
//
// Thread safety: none, it belongs to whoever asked. Example: probe/record/test/trace_data_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "probe/record/names.hpp"

namespace plx::probe {

/// Stands for one task of a process; 0 for none. The recorder's number << 56 | (worker + 1) << 40 | a number that
/// grows; join_bit marks what is no task but a place where several inputs meet (when_all, the end of a group).
using task_id = std::uint64_t;
/// Marks a join.
inline constexpr task_id join_bit = 1ull << 63;
/// Whether both were given by one recorder.
constexpr bool same_recorder(task_id a, task_id b) noexcept { return ((a ^ b) >> 56 & 0x3f) == 0; }
/// Whether it stands for a join.
constexpr bool is_join(task_id id) noexcept { return (id & join_bit) != 0; }

/// A piece of a task between two boundaries, on the worker whose list it stands in.
struct trace_slice {
  ticks begin = 0;
  ticks end = 0;
  std::uint64_t key = no_key;
  task_id id = 0;   // pieces of one task have the same; 0: not told
  ticks ready = 0;  // when the task could begin, before `begin`; 0: not told
  name_id name = unnamed;
  bool finished = true;     // false: suspended at `end`
  bool resumed = false;     // it had earlier pieces
  std::uint16_t every = 1;  // of the pieces of its name, one in so many was traced when it was recorded
};

/// `to` could not begin, or could not go on, before `from` had come so far: its parent, or the maker of an input. It
/// leaves the piece of `from` that holds `when` (from its end, if `from` ended then), and enters the first piece of
/// `to` that begins at `when` or later. The same pair may be told more than once.
struct trace_edge {
  task_id from = 0;
  task_id to = 0;
  ticks when = 0;
};

/// A value at a moment: a counter, or what a program sampled.
struct trace_sample {
  ticks when = 0;
  std::string name;
  double value = 0;
};

/// Something that happened at a moment: a policy's decision, a mark of the program.
struct trace_mark {
  ticks when = 0;
  std::string category;  // "policy", "tuning", "mark", ...
  std::string text;
};

/// All that was recorded.
struct trace_data {
  ticks origin = 0;  // the beginning of the run: times are told from here
  unsigned locality = 0;
  std::vector<std::vector<trace_slice>> workers;  // by worker, in order of time, never overlapping
  std::vector<std::string> worker_names;          // by worker; may be shorter, and "" is a worker without a name
  std::vector<std::uint32_t> devices;  // by worker; may be shorter. 0: a worker. n: no worker but a stream of
                                       // device n - 1; its pieces are operations, keys the bytes they moved
  std::vector<trace_edge> edges;       // in no order; joins are nodes of their own, see trace_graph.hpp
  std::vector<trace_sample> samples;   // in order of time
  std::vector<trace_mark> marks;       // in order of time
  double share = 1;                    // of the tasks that was recorded, the least of any time: a budget
                                       // may have stepped down, and what came before has edges
  std::uint64_t records = 0;           // that were kept
  std::uint64_t lost = 0;              // for which there was no room: then the graph has holes
  std::uint64_t over_limit = 0;        // of those: dropped because the trace held all it may hold (trace-limit); of
                                       // this process

  /// Whether the row of a worker is a stream of a device.
  [[nodiscard]] bool is_device(std::size_t worker) const noexcept {
    return worker < devices.size() && devices[worker] != 0;
  }
};

// What the trace of a whole job has beyond that of one process: its localities, and the parcels between them.
//
// In such a trace all times are in ticks of locality 0, and the workers of one locality follow those of the one before.
// net/observe/trace_gather.hpp puts it together. Thread safety: none, it belongs to whoever asked.
// Example: net/observe/test/job_trace_test.cpp

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

/// The traces of all localities of a job as one.
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
