// Termination of a program on several localities: every locality's part has returned, and no parcel of the program is
// in flight or being handled anywhere, so that no work is lost because one locality finished earlier.
//
// The root asks all localities for two numbers, parcels sent and parcels done, until two successive rounds give the
// same sums and both sums are equal: then nothing was in flight between the rounds (the four-counter method, Mattern
// 1987). Each locality counts its parcels per peer. The root names the lost localities, and the others exclude parcels
// from and to those; parcels from lost localities that have arrived must be done as well. So the detection is exact
// after losses, too.
//
// Thread safety: one caller per node. Cost: at least two round trips per locality. Example:
// net/start/test/termination_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "net/core/node.hpp"
#include "rt/mutex.hpp"

namespace plx::net {

class termination final : public service {
 public:
  explicit termination(node& n);
  /// Called by a task of every locality, equally often on each: waits until all have called it and the job is
  /// quiescent. Throws locality_lost on the others if the root is lost.
  void wait_for_all();
  /// Reports to all others that this locality has failed: they treat it as lost for this reason.
  void fail(std::string_view why) noexcept;

  void peer_lost(locality_id) override;

  /// Parcels sent, parcels done, and parcels of lost localities that are still being handled here.
  using counts = std::array<std::uint64_t, 3>;

  // Called by actions from other localities.
  void note_arrived(locality_id who, std::uint64_t turn);
  void note_finished(locality_id who, std::uint64_t turn);

 private:
  struct sums {
    std::uint64_t sent = 0, done = 0, of_lost = 0;
    std::size_t answers = 0;        ///< localities that have answered, including the root
    std::vector<locality_id> lost;  ///< the localities that were not asked
    friend bool operator==(const sums&, const sums&) = default;
  };
  std::uint64_t next_turn();
  void wait_for_arrivals();
  void wait_for_quiet();
  sums ask_all() const;

  node& node_;
  mutex lock_;
  condition_variable_any changed_;
  std::vector<std::uint64_t> arrived_;  // by locality: its last turn
  std::uint64_t turn_ = 0, finished_ = 0;
};

}  // namespace plx::net
