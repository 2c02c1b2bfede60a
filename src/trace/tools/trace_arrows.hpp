// The dependencies of slices, found in a trace of any size in bounded memory: for writers that read a file several
// times instead of holding its graph.
//
// Thread safety: one thread. Memory: `most` edges and arrows (perfetto_trace.hpp has the bound). Cost: two binary
// searches per slice until the last dependency. Example: trace/tools/perfetto_trace.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "probe/record/trace_data.hpp"

namespace plx::probe {

/// Dependencies of the slices of one file, with joins resolved. Use, in this order: add() for all edges, resolve(),
/// place() for all slices, arrows_of() for each slice.
class trace_arrows {
 public:
  /// The first `most` edges are kept, and as many arrows; a slice has at most `most_of_slice`.
  static constexpr std::size_t most = std::size_t{1} << 18, most_of_slice = 8;

  /// Edges to and from joins included, in any order.
  void add(const trace_edge& e);
  /// Makes arrows from the edges.
  void resolve();
  /// Slices in any order.
  void place(const trace_slice& s);
  /// Calls f(number, enters) for each arrow that leaves or enters the slice; each number occurs once in both roles.
  template <class F>
  void arrows_of(const trace_slice& s, F&& f) const {
    if (s.begin > last_ || s.id == 0) return;
    for (std::size_t i = first_to(s.id); i < arrows_.size() && arrows_[i].to == s.id; ++i)
      if (arrows_[i].to_begin == s.begin && is_complete(arrows_[i])) f(i, true);
    for (std::size_t i = first_from(s.id); i < by_from_.size() && arrows_[by_from_[i]].from == s.id; ++i)
      if (const arrow& a = arrows_[by_from_[i]]; a.from_begin == s.begin && is_complete(a)) f(by_from_[i], false);
  }

  /// Edges that were added.
  [[nodiscard]] std::uint64_t edges() const noexcept { return edges_added_; }
  /// Whether some edges were not kept.
  [[nodiscard]] bool cut() const noexcept { return edges_added_ > most; }

 private:
  static constexpr ticks unknown = ~ticks{0};
  struct arrow {
    task_id from = 0, to = 0;
    ticks leave = 0, enter = 0;                      // `from` had to reach `leave`; `to` could not begin before `enter`
    ticks from_begin = unknown, to_begin = unknown;  // the slices at both ends
  };
  static bool is_complete(const arrow& a) noexcept { return a.from_begin < a.to_begin && a.to_begin != unknown; }
  [[nodiscard]] std::size_t first_to(task_id id) const;
  [[nodiscard]] std::size_t first_from(task_id id) const;
  void follow(const trace_edge& into, task_id to);

  std::vector<trace_edge> edges_;  // ordered by `to` after resolve()
  std::vector<arrow> arrows_;      // ordered by `to`
  std::vector<std::uint32_t> by_from_;
  std::uint64_t edges_added_ = 0;
  ticks last_ = 0;  // no arrow touches a slice that begins later
};

}  // namespace plx::probe
