// Communicators as all processes of an MPI program identify them, without communication of their own.
//
// MPI_COMM_WORLD is channel 1, MPI_COMM_SELF channel 2. A communicator made from another one is identified by that one,
// by the number of communicators that had been made from it, which is the same in all processes because making one is a
// collective call, and by the ranks of its processes in MPI_COMM_WORLD. The number is a hash of 32 bits.
// Thread safety: that of the MPI's attributes, which hold the channels; the lists of a channel are guarded by `guard`.
// Memory: a rank per process of a communicator that is not MPI_COMM_WORLD or in its order.
// Example: tests/exec/test_mpi_messages.py
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attach/preload/call_tables.hpp"

namespace plx_mpi {

/// A lock that the hooks of plx-exec do not see. Held for some memory accesses.
class spin_lock {
 public:
  void lock() noexcept;
  void unlock() noexcept { taken_.clear(std::memory_order_release); }

 private:
  std::atomic_flag taken_ = ATOMIC_FLAG_INIT;
};
extern spin_lock guard;

struct channel;

/// A receive that was posted, until the number of its message is known and the message has arrived.
struct posted_receive {
  std::shared_ptr<channel> in;
  int source = MPI_ANY_SOURCE, tag = MPI_ANY_TAG;  // those of the matched message from `matched` on
  bool matched = false;                            // the message is known
  bool listed = true;                              // in channel::posted
  std::uint64_t number = 0;                        // 0: not yet known
  plx::probe::mpi_moment arrival{};                // when == 0: not yet
  std::uint64_t bytes = 0;
  unsigned timer = 0;
};

/// A communicator: its number in all processes, and those of its messages. Peers are ranks of the remote group, or of
/// the only one.
struct channel {
  ~channel();
  std::uint32_t id = 0;
  bool shared_order = false;  // ranks are those of MPI_COMM_WORLD
  std::vector<int> ranks;     // otherwise: the ranks in MPI_COMM_WORLD; MPI_UNDEFINED: not there
  /// MPI_UNDEFINED if the process does not belong to MPI_COMM_WORLD.
  [[nodiscard]] int world_rank(int peer) const noexcept {
    if (shared_order) return peer;
    return peer >= 0 && static_cast<std::size_t>(peer) < ranks.size() ? ranks[static_cast<std::size_t>(peer)]
                                                                      : MPI_UNDEFINED;
  }

  // Guarded by `guard`.
  std::uint32_t made = 0;                                       // communicators made from it by collective calls
  std::map<std::uint64_t, std::uint32_t> made_by_group;         // those made by a part of it
  std::unordered_map<std::uint64_t, std::uint64_t> sent, came;  // numbers by peer and tag
  std::list<std::shared_ptr<posted_receive>> posted;            // without a number, in the order of their calls
  std::size_t matched = 0;                                      // of them
  bool cut = false;  // a receive was not listed: the numbers of later ones are not known
};

/// The channel of a communicator; null if it was made in a way that is not followed (MPI_Comm_idup, connections,
/// sessions). Requires: MPI is initialized, and not finalized.
std::shared_ptr<channel> channel_of(MPI_Comm c);

/// Follows a call that makes `child` from `parent` with all of its processes. Called in each of them, after the call.
void made_by_all(int done, MPI_Comm parent, MPI_Comm child);
/// Follows a call that the processes of the new communicator make.
void made_by_group(int done, MPI_Comm child, int tag);

}  // namespace plx_mpi
