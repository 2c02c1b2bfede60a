// How a program that runs on many localities ends: when every locality's part has returned, and no parcel of the
// program is under way or at work anywhere. Nothing is lost because somebody was faster.
//
// The root asks all for two numbers, parcels sent and parcels done, until in two rounds, one after the other, the sums
// are the same and equal: then, between the rounds, nothing was under way (the method of four counters, Mattern 1987).
// Each locality counts its parcels per peer. The root names the localities that are lost, and the others leave parcels
// from and to those out of the sums; parcels of the lost that arrived must have been done as well. So the end is exact
// after losses, too.
//
// Thread safety: one caller per node. Cost: two messages there and back per locality at least. Example:
// net/start/test/ending_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "net/core/node.hpp"
#include "rt/mutex.hpp"

namespace plx::net {

class ending final : public service {
 public:
  explicit ending(node& n);
  /// Called by a task of every locality, as often on each: waits until all have called it and all is quiet. Throws
  /// locality_lost on the others when the root dies.
  void wait_for_all();
  /// Tells everybody that this locality has failed and leaves: to them it is lost, for this reason.
  void fail(std::string_view why) noexcept;

  void peer_lost(locality_id) override;

  /// Parcels sent, parcels done, and those of lost localities that are still at work here.
  using counts = std::array<std::uint64_t, 3>;

  // What the twins call.
  void note_arrived(locality_id who, std::uint64_t turn);
  void note_finished(locality_id who, std::uint64_t turn);

 private:
  struct sums {
    std::uint64_t sent = 0, done = 0, of_lost = 0;
    std::size_t answers = 0;        ///< localities that have answered, the root among them
    std::vector<locality_id> lost;  ///< those that were not asked
    friend bool operator==(const sums&, const sums&) = default;
  };
  std::uint64_t next_turn();
  void wait_for_arrivals();
  void wait_for_quiet();
  sums ask_all() const;

  node& node_;
  mutex lock_;
  condition_variable_any changed_;
  std::vector<std::uint64_t> arrived_;  // by locality: how often it has
  std::uint64_t turn_ = 0, finished_ = 0;
};

}  // namespace plx::net
