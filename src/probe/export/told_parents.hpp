// Which tasks a file names as those that a piece waited for.
//
// Thread safety: an object belongs to one thread. Cost: O(links looked at), of all pieces together at most four times
// the graph's and 16 per piece, joins on the way not counted. Example: probe/export/told_parents_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probe/trace_graph.hpp"

namespace plx::probe {

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
