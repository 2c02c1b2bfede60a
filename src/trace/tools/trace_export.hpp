// Files of a recorded run for other programs: Trace Event JSON and OTF2 archives.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "probe/record/trace_data.hpp"
#include "trace/trace_graph.hpp"

namespace plx::probe {

// A recorded run as Trace Event JSON, for ui.perfetto.dev and chrome://tracing: a row per worker with its slices,
// arrows from the tasks that a slice waited for, counters as curves, and marks.
//
// Arguments of a slice: `task`, its number; `key`; `parents`, the tasks that it waited for, also through joins;
// `wait_us`, the time between ready and start; `ended`: "suspended"; `began`: "resumed".
// Thread safety: all functions, on different files. Cost: 1.7 us of a core per slice with three arrows, half of it
//   compression; memory: some lines.
// Errors: those of base/file.hpp; on an error no file remains. Example: trace/tools/test/json_trace_test.cpp

/// Compressed if the path ends in .gz. A slice lists all parents within the bounds of listed_parents
/// ("more_parents" indicates further ones), with at most 8 arrows, and 2^18 in total. `otherData` contains the numbers
/// of records, dropped records, arrows, and slices with further parents. With `job` the trace is that of a job: a
/// process per locality; each parcel is a short slice at its sender and another one at its receiver, joined by an
/// arrow. Requires: `graph` was made from `data`.
result<void> write_json_trace(const trace_data& data, const trace_graph& graph, const std::string& path,
                              const trace_job* job = nullptr);
/// As above, creating the graph.
result<void> write_json_trace(const trace_data& data, const std::string& path);

// A recorded run as an OTF2 archive, for Vampir, Scalasca's tools, Pipit, otf2-print: a location per worker, a region
// per task type, enter and leave of each slice, parents as attributes, counters as metrics, marks as markers.
//
// Attributes of "enter": `task`, its number; `key`; `wait`, the ticks between ready and start; `parents`, the number of
// tasks that it waited for (also through joins, within the bounds of listed_parents: `more parents`), and
// `parent 0` ..., their numbers. Attribute of "leave": `finished`. A slice with a number lies between a
// ThreadTaskSwitch and, when its task ends, a ThreadTaskComplete: generationNumber is the lower 32 bits of the task's
// number, creatingThread the worker that assigned it. Times are ticks of the clock since the machine's start;
// ClockProperties gives their rate.
// Thread safety: one archive at a time (a lock), because the library's error callback is process-wide. Cost: 0.35 us of
// a core per slice with few parents; memory: a few MiB. Errors: one line; on an error nothing remains.
// Example: trace/tools/test/otf2_trace_test.cpp

/// True if this library was built with OTF2.
bool has_otf2() noexcept;

/// Writes the folder `path` with traces.otf2; an existing one is replaced once the new one is complete. With `job` the
/// trace is that of a job: a location group per locality, with a location "parcels" that contains what was sent and
/// received, as a rank of the communicator "localities". Requires: `graph` was made from `data`.
result<void> write_otf2_trace(const trace_data& data, const trace_graph& graph, const std::string& path,
                              const trace_job* job = nullptr);

// Shared by the writers of traces: quoted names and time stamps.
//
// Thread safety: trace_names belongs to one thread; the functions are thread-safe. Cost: an allocation per text; each
// name is quoted once. Example: trace/tools/test/json_trace_test.cpp

/// Nanoseconds from `origin` to `t`, 0 if `t` is earlier. Monotonic in t.
inline std::uint64_t nanoseconds_since(ticks origin, ticks t) {
  return t > origin ? static_cast<std::uint64_t>(seconds(t - origin) * 1e9 + 0.5) : 0;
}

/// The label of a worker's row: its name, or "worker 3", numbered per locality in a job.
inline std::string row_name(const trace_data& data, unsigned worker, const trace_job* job = nullptr) {
  if (worker < data.worker_names.size() && !data.worker_names[worker].empty()) return data.worker_names[worker];
  return "worker " +
         std::to_string(job != nullptr ? worker - job->localities[job->locality_of(worker)].first_worker : worker);
}

/// Quoted names, each created once.
class trace_names {
 public:
  using quoting = std::string (*)(std::string_view);
  explicit trace_names(quoting q) : quote_(q) {}
  /// The name of `id`, quoted.
  const std::string& operator[](name_id id) {
    if (id >= texts_.size()) texts_.resize(id + 1);
    if (texts_[id].empty()) texts_[id] = quote_(name_of(id));
    return texts_[id];
  }

 private:
  quoting quote_;
  std::vector<std::string> texts_;
};

// The selection of parents that files list for a slice.
//
// Thread safety: an object belongs to one thread. Cost: O(links visited), in total at most four times those of the
// graph plus 16 per slice, not counting joins. Example: trace/tools/test/listed_parents_test.cpp

/// The tasks that a slice waited for, with joins resolved: all of them as long as the total stays proportional to the
/// graph. A join of n inputs that m tasks wait for has n + m links but gives n * m parents. Once the links visited
/// exceed four times the links of the graph, a slice lists `always` parents at most; so later slices are truncated. No
/// slice lists more than `most`.
class listed_parents {
 public:
  static constexpr std::size_t always = 16;

  /// Requires: most >= always.
  listed_parents(const trace_graph& graph, std::size_t most)
      : graph_(graph), most_(most), left_(4 * graph.link_count()) {}

  /// In order of number, without duplicates. Valid until the next call.
  std::span<const task_id> of(trace_graph::index piece) {
    const std::size_t limit = std::clamp(left_, always, most_);
    const std::vector<trace_graph::link> found = graph_.inputs(piece, limit + 1);
    cut_ = found.size() > limit;
    n_cut_ += cut_ ? 1 : 0;
    ids_.clear();
    for (const trace_graph::link& l : std::span(found).first(std::min(found.size(), limit)))
      ids_.push_back(graph_.tasks()[graph_.pieces()[l.from].task].id);
    std::sort(ids_.begin(), ids_.end());
    ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
    left_ -= std::min(left_, found.size());
    longest_ = std::max(longest_, ids_.size());
    return ids_;
  }
  /// True if the last slice had more parents than were returned.
  [[nodiscard]] bool cut() const noexcept { return cut_; }
  /// Number of such slices.
  [[nodiscard]] std::uint64_t pieces_cut() const noexcept { return n_cut_; }
  /// The largest number of parents returned so far.
  [[nodiscard]] std::size_t longest() const noexcept { return longest_; }

 private:
  const trace_graph& graph_;
  const std::size_t most_;
  std::size_t left_;  // links that may be visited beyond `always`
  std::vector<task_id> ids_;
  bool cut_ = false;
  std::uint64_t n_cut_ = 0;
  std::size_t longest_ = 0;
};

}  // namespace plx::probe
