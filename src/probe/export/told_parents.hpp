// Which tasks a file names as those that a piece waited for.
//
// Thread safety: an object belongs to one thread. Cost: O(links looked at) per piece. Example:
// probe/export/told_parents_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probe/trace_graph.hpp"

namespace plx::probe {

/// The tasks whose doing a piece waited for, joins looked through: all of them, as long as that stays in proportion. A
/// join of n inputs that m tasks wait for is n + m links, and n * m parents: once four times as many parents have been
/// told as there are links, a piece tells `always` at most. No piece tells more than `most`.
class told_parents {
 public:
  static constexpr std::size_t always = 16, most = 16384;

  explicit told_parents(const trace_graph& graph) : graph_(graph), left_(4 * graph.link_count()) {}

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
  std::size_t left_;  // parents that may be told beyond `always`
  std::vector<task_id> ids_;
  bool cut_ = false;
  std::uint64_t n_cut_ = 0;
  std::size_t longest_ = 0;
};

}  // namespace plx::probe
