// Termination of a program on several localities: every locality's part has returned, and no parcel of the program is
// in flight or being handled anywhere, so that no work is lost because one locality finished earlier.
//
// Each locality counts its parcels sent and done, per peer. In a round (net/core/tree_round.hpp) the sums over the
// living localities, of parcels between those, go up a tree to its root. A locality replies when its part has returned
// and its children in the tree have replied; so the first round of an end needs no request. The root begins rounds
// until the parcels done in one round are as many as those sent in the next: then nothing was in flight between the
// two (the four-counter method, Mattern 1987). It reports the end down the tree.
//
// The root names the lost localities in its requests, and all exclude parcels from and to those; parcels from lost
// localities that have arrived must be done as well. So the detection is exact after losses, too. A locality that
// still waits after a loss queries its parent in the tree of those that it knows to live, because the report of the end
// may have been lost with a locality in between; one that knows of the end replies at any time until it stops. The next
// root may request counts for an end that others know already: these then report that end to it.
//
// Thread safety: one caller per node. Cost without losses: two messages each way per locality and 4 log2(n) hops; at
// most 2 log2(n) messages are sent, and as many received, by one locality (log2(n) rounded up). Each further round
// takes half of that. Example: net/start/test/termination_test.cpp
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <vector>

#include "net/core/failure.hpp"
#include "net/core/node.hpp"
#include "net/core/tree_round.hpp"
#include "rt/core/spinlock.hpp"
#include "rt/mutex.hpp"

namespace plx::net {

class termination final : public service {
 public:
  explicit termination(node& n);
  /// Called by a task of every locality, equally often on each: waits until all have called it and the job is
  /// quiescent. Throws locality_lost if all others are lost, except on locality 0: they may have lost this one instead.
  void wait_for_all();
  /// Ends wait_for_all(), now or later: this locality has failed while it waits.
  void stop_waiting() noexcept;
  /// Reports to all others that this locality has failed because of `e`: they treat it as lost for this reason. The
  /// report is sent at once to the neighbours among the living localities, and each forwards it to its own once, in its
  /// poller: so it arrives before the notice that the process has ended. Only the first call has an effect.
  void fail(const std::exception_ptr& e) noexcept;
  /// The same; then whether this locality reports it: reports_failure() (net/error.hpp). Later calls give the same
  /// answer.
  bool fail_and_choose(const std::exception_ptr& e);
  /// Treats another locality as lost, and reports this to all others, as fail() does of this one.
  void report_failed(locality_id who, const loss_cause& why) noexcept;

  void peer_lost(locality_id) override;

  using counts = node::parcel_sums;
  /// A round, and the end that it is about: ends count from 1.
  struct round_of {
    round_number number;
    std::uint64_t turn = 0;
  };

  // Called by actions from other localities, in a poller.
  void take_request(locality_id from, const round_of& r, const named_losses& lost);
  void take_counts(locality_id from, const round_of& r, const counts& c);
  void take_end(locality_id from, std::uint64_t turn);
  void take_query(locality_id from, std::uint64_t turn);
  void take_failure(locality_id from, locality_id who, const loss_cause& why);

 private:
  [[nodiscard]] bool is_root() const noexcept;
  void begin_round(const std::vector<locality_id>& lost);
  [[nodiscard]] std::vector<locality_id> neighbours() const;
  std::vector<locality_id> end(std::uint64_t turn);
  void report_end(std::vector<locality_id> to, locality_id but, std::uint64_t turn);
  [[nodiscard]] loss_cause cause_of(const std::exception_ptr& e) const;
  void forward_failure(locality_id failed, const loss_cause& why) noexcept;

  node& node_;
  plx::detail::spinlock lock_;  // guards what follows, except changed_
  condition_variable_any changed_;
  std::uint64_t turn_ = 0, ended_ = 0;  // calls of wait_for_all(); ends. The round is about the end after those.
  tree_round round_;
  bool replied_ = false;                 // this locality, in this round
  counts sums_;                          // of the children, in this round
  std::vector<locality_id> requesters_;  // they wait for the next end
  std::vector<char> failed_;             // by locality: its failure was forwarded
  loss_cause failure_here_;              // `first` is no_locality before fail()
  std::optional<bool> reports_;
  bool stops_waiting_ = false;
};

}  // namespace plx::net

namespace plx {
template <>
inline constexpr bool is_bitwise<net::termination::counts> = true;
template <>
inline constexpr bool is_bitwise<net::termination::round_of> = true;
}  // namespace plx
