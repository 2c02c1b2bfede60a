// Parcels to one locality that leave together, and the memory of the messages they leave in. For parcel_port.cpp.
//
// Thread safety: a collector's members are guarded by its lock; message_store: everything. Cost: see parcel_port.hpp.
// Example: net/parcels/test/parcel_port_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "net/coalescing.hpp"
#include "net/transport/transport.hpp"
#include "rt/core/spinlock.hpp"
#include "rt/core/timer_queue.hpp"

namespace plx {

// What a setting says of how parcels collect (net/coalescing.hpp), as text.
//
// Thread safety: everything. Errors: one line. Example: net/parcels/test/coalescing_test.cpp

/// Of one action, or of all for which nothing else was said (""): what a setting says.
struct coalescing_setting {
  std::string action;  ///< its name, or the last part of it
  coalescing how;
};
/// Reads a setting's text. An error of one line names what is wrong.
result<std::vector<coalescing_setting>> parse_coalescing(std::string_view text);
/// The same as text: "self", "off", "adaptive", "128,1000".
std::string describe(const coalescing& c);

namespace net {
class node;
struct action_entry;

/// The action of that name, or of which it is the last part ("f" is "mine::f"). An error of one line when there is
/// none, or several.
result<const action_entry*> find_action(std::string_view name);
/// Sets a node's parcels as a text says. An error of one line; what stands before the fault is set.
result<void> coalesce_as(node& n, std::string_view text);

}  // namespace net
}  // namespace plx

namespace plx::net {

class parcel_port;
struct port_peer;

/// A message on its way: a frame that grows until it leaves.
struct frame_message : outgoing {
  parcel_port* port = nullptr;
  port_peer* to = nullptr;
  std::size_t used = 0, capacity = 0;
  std::uint32_t parcels = 0;
  std::unique_ptr<std::byte[]> bytes;
};

/// Messages that were sent, for the next ones. Memory grows in steps of two from `least` bytes on.
class message_store {
 public:
  static constexpr std::size_t least_bytes = 256;  // of a parcel that goes alone

  /// With room for `wanted` bytes at least; empty but for its frame's header.
  frame_message* get(std::size_t wanted);
  void put(frame_message* m) noexcept;
  /// Gives it more memory; what it holds stays.
  static void grow(frame_message& m, std::size_t wanted);
  ~message_store();

 private:
  static constexpr unsigned n_sizes = 15;                               // 256 B to 4 MiB; larger ones are not kept
  static constexpr std::size_t most_kept_bytes = std::size_t{4} << 20;  // of each size

  static unsigned size_class(std::size_t bytes) noexcept;

  plx::detail::spinlock lock_;
  std::array<std::vector<frame_message*>, n_sizes> free_;
};

/// What went through a collector of one action.
struct action_tally {
  std::uint64_t parcels = 0, messages = 0;
  std::uint64_t last_message = 0;  // the number of the last message that one was put into
  ticks first = 0, last = 0;       // when the first and the last one came
};

/// How long after the one before parcels came: the i-th counts gaps of 2^(i-1) to 2^i - 1 ticks.
using gap_counts = std::array<std::uint64_t, 48>;

struct alignas(64) collector {
  plx::detail::spinlock lock;
  coalescing_way way = coalescing_way::self_clocking;
  bool in_ready = false, in_timed = false;  // in which of the port's lists of those that hold something
  bool of_one_action = false;
  bool leaves_idle = false;   // fixed: also when who sent last has nothing else to do
  std::uint32_t parcels = 0;  // the limits
  std::size_t bytes = 0;
  ticks interval = 0;

  port_peer* to = nullptr;
  frame_message* open = nullptr;                // holds one parcel at least, or is null
  std::uint64_t number = 0;                     // of the message that is open, or was last
  ticks first = 0;                              // when the first parcel of `open` came
  ticks last = 0;                               // when a parcel came last
  ticks due = plx::detail::timer_queue::never;  // when `open` leaves at the latest (fixed)
  const void* worker = nullptr;                 // who put the last one in

  std::unique_ptr<action_tally[]> tallies;    // by action; of a collector of one action: one
  std::uint64_t n_parcels = 0;                // that came
  std::uint64_t n_large = 0;                  // of them, those that are a message of their own
  std::uint64_t n_messages = 0, n_bytes = 0;  // that left
  ticks begun = 0;                            // when the very first parcel came
  std::size_t usual_bytes = 0;                // how long messages were lately
  std::unique_ptr<gap_counts> gaps;           // while somebody wants to know them

  action_tally& tally(std::uint16_t action) noexcept { return tallies[of_one_action ? 0 : action]; }
};

}  // namespace plx::net
