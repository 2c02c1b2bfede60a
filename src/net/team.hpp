// The localities that solve a problem together: rank, size, and values gathered in the order of ranks.
//
// A team of one needs no job and sends nothing, so that a solver has one form for any number of localities. Thread
// safety: collective calls are made by one task per locality, by all in the same order. Cost: that of
// net/collectives.hpp. Errors: locality_lost. Example: parquet/distribution/test/distributed_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.hpp"

namespace plx {

class communicator;

class team {
 public:
  /// This process alone.
  team() = default;
  /// All members of a communicator.
  explicit team(plx::communicator all);

  unsigned rank() const noexcept;                         ///< 0 if alone
  unsigned size() const noexcept;                         ///< 1 if alone
  bool is_alone() const noexcept { return size() == 1; }  ///< whether there is no other rank
  /// The ranks that pass the same colour, as a team of their own, in their order here. Collective.
  [[nodiscard]] team split(std::uint64_t colour) const;

  /// Requires: not alone.
  const plx::communicator& communicator() const noexcept { return *all_; }

  /// The values of all ranks, one after the other; of double, std::complex<double> or std::uint64_t. Collective.
  template <class T>
  std::vector<T> gather(std::vector<T> own) const;
  /// The first rank on which it is true; size() if there is none. Collective.
  unsigned first_with(bool own) const;
  /// Whether it is true on any rank. Collective.
  bool any(bool own) const { return first_with(own) < size(); }
  /// An error if there is one on any rank: on the first with a message, that one; on the others, an empty one.
  /// Collective.
  result<void> agree(const result<void>& own) const;

 private:
  std::shared_ptr<const plx::communicator> all_;  // null: alone
};

}  // namespace plx
