// A recorded run in order of time: what files and analyses are made of. Plain data; recorder::collect_trace() gives it.
//
// Thread safety: none, it belongs to whoever asked. Example: probe/trace_data_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "probe/names.hpp"

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

}  // namespace plx::probe
