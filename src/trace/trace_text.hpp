// Which tasks a file names as those that a piece waited for.
//
// Thread safety: an object belongs to one thread. Cost: O(links looked at), of all pieces together at most four times
// the graph's and 16 per piece, joins on the way not counted. Example: trace/test/told_parents_test.cpp
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

// What the files made of a trace have in common: how names are quoted once, how times are told.
//
// Thread safety: trace_names belongs to one thread, the rest: everything. Cost: an allocation per text; names are
// quoted once each. Example: trace/test/json_trace_test.cpp

/// Nanoseconds from `origin` to `t`, 0 when it lies before. Never falls when t grows.
inline std::uint64_t nanoseconds_since(ticks origin, ticks t) {
  return t > origin ? static_cast<std::uint64_t>(seconds(t - origin) * 1e9 + 0.5) : 0;
}

/// What the row of a worker is called: its name, or "worker 3", of a job counted anew in each locality.
inline std::string row_name(const trace_data& data, unsigned worker, const trace_job* job = nullptr) {
  if (worker < data.worker_names.size() && !data.worker_names[worker].empty()) return data.worker_names[worker];
  return "worker " +
         std::to_string(job != nullptr ? worker - job->localities[job->locality_of(worker)].first_worker : worker);
}

/// The quoted texts of names, each made once.
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

/// The tasks whose doing a piece waited for, joins looked through: all of them, as long as that stays in proportion. A
/// join of n inputs that m tasks wait for is n + m links, and n * m parents: once four times as many links have been
/// followed as there are, a piece tells `always` at most; so it is the later ones that are cut. No piece tells more
/// than `most`.
class told_parents {
 public:
  static constexpr std::size_t always = 16;

  /// Requires: most >= always.
  told_parents(const trace_graph& graph, std::size_t most)
      : graph_(graph), most_(most), left_(4 * graph.link_count()) {}

  /// In order of number, each once. Valid until the next call.
  std::span<const task_id> of(trace_graph::index piece);
  /// Whether the piece asked last waited for more than were told.
  [[nodiscard]] bool cut() const noexcept { return cut_; }
  /// How many pieces did.
  [[nodiscard]] std::uint64_t pieces_cut() const noexcept { return n_cut_; }
  /// The longest answer so far.
  [[nodiscard]] std::size_t longest() const noexcept { return longest_; }

 private:
  const trace_graph& graph_;
  const std::size_t most_;
  std::size_t left_;  // links that may be followed beyond `always`
  std::vector<task_id> ids_;
  bool cut_ = false;
  std::uint64_t n_cut_ = 0;
  std::size_t longest_ = 0;
};

}  // namespace plx::probe
