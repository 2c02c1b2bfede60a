// The localities that share a solution: rank, size, and the collective calls that the solver makes.
//
// A team of one needs no job and sends nothing. Thread safety: collective calls are made by one task per locality, by
// all in the same order. Example: parquet/distribution/test/distributed_test.cpp
#pragma once

#include <complex>
#include <optional>
#include <vector>

#include "net/collectives.hpp"

namespace plx::parquet {

class team {
 public:
  /// This process alone.
  team() = default;
  /// All members of a communicator.
  explicit team(communicator all) : all_(std::move(all)) {}

  unsigned rank() const noexcept { return all_ ? all_->rank() : 0; }
  unsigned size() const noexcept { return all_ ? all_->size() : 1; }
  bool is_alone() const noexcept { return size() == 1; }
  /// Requires: not alone.
  const communicator& members() const noexcept { return *all_; }

  /// The values of all ranks, one after the other. Collective.
  template <class T>
  std::vector<T> gather(std::vector<T> own) const {
    if (is_alone()) return own;
    std::vector<T> all;
    for (auto& part : all_->all_gather(std::move(own)).get()) all.insert(all.end(), part.begin(), part.end());
    return all;
  }
  /// The first rank on which it is true; size() if there is none. Collective.
  unsigned first_with(bool own) const {
    const auto all = gather(std::vector<double>{own ? 1.0 : 0.0});
    unsigned rank = 0;
    while (rank < all.size() && all[rank] == 0) ++rank;
    return rank;
  }
  /// Whether it is true on any rank. Collective.
  bool any(bool own) const { return first_with(own) < size(); }

 private:
  std::optional<communicator> all_;
};

}  // namespace plx::parquet
