// The members of a job: the localities that are no spares, and the spares that have been taken; and how the living
// members agree on a new list after a loss.
//
// A spare is taken once, and for ever. It decides: when a request of the coordinator arrives, it becomes a member, and
// informs all others. The first living locality is the coordinator. Members that want a new list join its round, and
// wait for an answer:
//   1. The coordinator asks all living localities for their state: a spare, a member, or a member whose function of the
//      run has returned. The latter report that later as well, if they were asked.
//   2. When all living members have joined, it requests as many spares as are missing. These are members from then on,
//      so they join, too, before the round continues.
//   3. It sends the list of living members to all that have joined. If the function has returned on a member, which
//      therefore will not join, it reports that instead.
// If the coordinator is lost, members that have no answer join the round of the next one. The list of those that had an
// answer contains the lost one: their next collective call fails, and they join as well. For that reason the
// coordinator is always a member: a spare takes itself when all localities before it are lost. A spare that has
// answered a coordinator refuses requests of earlier ones, which may still be in flight. So all localities find the
// same spares taken, and no spare is taken for a round that others do not know.
//
// Thread safety: everything. Cost: two messages each way between each locality and the coordinator, and one from each
// taken spare to all. Example: net/group/test/membership_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "net/core/node.hpp"
#include "net/core/sender.hpp"
#include "rt/core/spinlock.hpp"
#include "rt/future.hpp"
#include "rt/mutex.hpp"

namespace plx::net {

/// The result of a round.
struct agreement {
  bool has_finished = false;  ///< the function of the run has returned on a member: there is no list
  locality_id coordinator = no_locality;
  std::uint64_t number = 0;  ///< of the answers of the coordinator
  std::vector<locality_id> members;

  /// The name of the communicator of these members.
  [[nodiscard]] std::string name() const;
};

template <>
struct wire_codec<agreement> {
  static void write(wire_writer& w, const agreement& a) {
    net::write(w, a.has_finished), net::write(w, a.coordinator), net::write(w, a.number), net::write(w, a.members);
  }
  static void read(wire_reader& r, agreement& a) {
    net::read(r, a.has_finished), net::read(r, a.coordinator), net::read(r, a.number), net::read(r, a.members);
  }
};

class membership final : public service {
 public:
  explicit membership(node& n);

  /// Whether it is a member, as far as this locality knows; also if it is lost.
  [[nodiscard]] bool is_member(locality_id l) const noexcept {
    // acquire: pairs with the release in set_taken().
    return l < node_.first_spare() || taken_[l - node_.first_spare()].load(std::memory_order_acquire);
  }

  /// The function that a spare calls, in a task, when it is taken.
  struct work {
    task_info info;
    void* context = nullptr;
    void (*call)(void*) = nullptr;  ///< does not throw
  };
  /// A run begins here, equally often on all localities. True on a member: it calls its function, then finish(). On a
  /// spare `w` is called if it is taken before end_run().
  bool begin_run(const work& w);
  /// The function of the run has returned here.
  void finish();
  /// The run has ended: `w` is not called any more. Waits until it has returned.
  void end_run();
  /// The same without waiting. False: `w` has been called, and waits.
  [[nodiscard]] bool end_run_at_once();
  /// On a spare that was not taken: the loss of the first member, if all members are lost; otherwise null.
  [[nodiscard]] std::exception_ptr loss_of_all_members() const;

  /// replace_lost(). Called in a task; waits for all living members. Throws std::logic_error on a spare that was not
  /// taken.
  agreement agree(unsigned size);
  /// The first call of a spare that has been taken: agree() of the others. False if a member has finished.
  bool join();
  /// The result of that in the present run; empty on a member of earlier ones.
  [[nodiscard]] std::optional<agreement> joined() const;

  void peer_lost(locality_id) override { decide(); }

  // Called by actions from other localities.
  future<agreement> take_join(locality_id from, std::uint64_t run, unsigned size);
  void take_question(locality_id from, std::uint64_t run);
  void take_state(locality_id from, std::uint64_t run, bool is_member, bool has_finished);
  void take_request(locality_id from, std::uint64_t run, unsigned size);
  void take_notice(locality_id from);

 private:
  /// The state of a locality, as the coordinator knows it; runs count from 1.
  struct peer {
    std::uint64_t answered = 0, finished = 0;  // in these runs
    bool joined = false;                       // this round
  };
  [[nodiscard]] bool is_spare(locality_id l) const noexcept { return l >= node_.first_spare(); }
  [[nodiscard]] locality_id coordinator() const noexcept;
  [[nodiscard]] bool is_sound(const agreement& a) const noexcept;
  [[nodiscard]] bool is_possible(std::uint64_t run) const noexcept;
  void set_taken(locality_id spare) noexcept;
  void decide();
  void start_work(const work& w);

  node& node_;
  std::vector<std::atomic<bool>> taken_;  // by spare
  mutable plx::detail::spinlock lock_;    // guards what follows, except returned_
  std::uint64_t run_ = 0, finished_ = 0;  // begun here; the last whose function has returned here
  std::vector<std::pair<locality_id, std::uint64_t>> asked_by_;  // coordinators, and their runs

  // of a spare
  locality_id last_coordinator_ = 0;  // requests of earlier ones are refused
  std::optional<work> work_;          // in a run, until it is called
  std::uint64_t requested_in_ = 0;    // the run in which it was taken, before that began here
  unsigned size_ = 0;                 // of the request
  bool works_ = false;                // it is being called
  condition_variable_any returned_;
  std::optional<agreement> joined_;

  // of the coordinator
  std::uint64_t round_run_ = 0, asked_run_ = 0, answers_ = 0;
  unsigned wanted_ = 0;
  std::vector<promise<agreement>> waiting_;
  std::vector<peer> peers_;  // by locality
};

}  // namespace plx::net
