// The selection of parents that files list for a slice.
//
// Thread safety: an object belongs to one thread. Cost: O(links visited), in total at most four times those of the
// graph plus 16 per slice, not counting joins. Example: trace/test/told_parents_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "probe/record/trace_data.hpp"
#include "trace/trace_graph.hpp"

namespace plx::probe {

// Shared by the writers of traces: quoted names and time stamps.
//
// Thread safety: trace_names belongs to one thread; the functions are thread-safe. Cost: an allocation per text; each
// name is quoted once. Example: trace/test/json_trace_test.cpp

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

/// The tasks that a slice waited for, with joins resolved: all of them as long as the total stays proportional to the
/// graph. A join of n inputs that m tasks wait for has n + m links but gives n * m parents. Once the links visited
/// exceed four times the links of the graph, a slice lists `always` parents at most; so later slices are truncated. No
/// slice lists more than `most`.
class told_parents {
 public:
  static constexpr std::size_t always = 16;

  /// Requires: most >= always.
  told_parents(const trace_graph& graph, std::size_t most)
      : graph_(graph), most_(most), left_(4 * graph.link_count()) {}

  /// In order of number, without duplicates. Valid until the next call.
  std::span<const task_id> of(trace_graph::index piece);
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
