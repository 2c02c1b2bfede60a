// Parcels to one locality that are sent together, and the memory of their messages. Internal to parcel_port.cpp.
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

// Coalescing settings (net/coalescing.hpp) as text.
//
// Thread safety: everything. Errors: one line. Example: net/parcels/test/coalescing_test.cpp

/// The setting of one action, or of all actions without one of their own ("").
struct coalescing_setting {
  std::string action;  ///< its name, or the last part of it
  coalescing how;
};
/// Parses settings. Errors: one line that names the invalid part.
result<std::vector<coalescing_setting>> parse_coalescing(std::string_view text);
/// The text of a setting: "self", "off", "adaptive", "128,1000".
std::string describe(const coalescing& c);

namespace net {
class node;
struct action_entry;

/// The action with that full name, or with that last part of its name ("f" is "mine::f"). Errors: one line if there is
/// none or more than one.
result<const action_entry*> find_action(std::string_view name);
/// Applies settings to a node. Errors: one line; the settings before the invalid one have been applied.
result<void> coalesce_as(node& n, std::string_view text);

}  // namespace net
}  // namespace plx

namespace plx::net {

class parcel_port;
struct port_peer;

/// A message being assembled or sent: a frame that grows until it is sent.
struct frame_message : outgoing {
  parcel_port* port = nullptr;
  port_peer* to = nullptr;
  std::size_t used = 0, capacity = 0;
  std::uint32_t parcels = 0;
  std::unique_ptr<std::byte[]> bytes;
};

/// Reuses messages. Memory grows in powers of two from `least_bytes` on.
class message_store {
 public:
  static constexpr std::size_t least_bytes = 256;  // of a message with one small parcel

  /// A message with room for at least `wanted` bytes, empty except for the frame header, from those that were put here;
  /// null if there is none.
  frame_message* reuse(std::size_t wanted) noexcept;
  /// A new one.
  static frame_message* create(std::size_t wanted);
  void put(frame_message* m) noexcept;
  /// Enlarges its memory and keeps its contents.
  static void grow(frame_message& m, std::size_t wanted);
  ~message_store();

 private:
  static constexpr unsigned n_sizes = 15;                               // 256 B to 4 MiB; larger ones are not kept
  static constexpr std::size_t most_kept_bytes = std::size_t{4} << 20;  // of each size

  static unsigned size_class(std::size_t bytes) noexcept;

  plx::detail::spinlock lock_;
  std::array<std::vector<frame_message*>, n_sizes> free_;
};

/// Counts of one action's parcels in a collector.
struct action_tally {
  std::uint64_t parcels = 0, messages = 0;
  std::uint64_t last_message = 0;  // number of the last message with one of them
  ticks first = 0, last = 0;       // times of the first and the last one
};

/// Gaps between consecutive parcels: element i counts gaps of 2^(i-1) to 2^i - 1 ticks.
using gap_counts = std::array<std::uint64_t, 48>;

struct alignas(64) collector {
  plx::detail::spinlock lock;
  coalescing_way way = coalescing_way::self_clocking;
  bool in_ready = false, in_timed = false;  // whether it is in the port's lists of nonempty collectors
  bool of_one_action = false;
  bool leaves_idle = false;   // fixed: sends also when the last sender idles
  std::uint32_t parcels = 0;  // the limits
  std::size_t bytes = 0;
  ticks interval = 0;

  port_peer* to = nullptr;
  frame_message* open = nullptr;                // holds at least one parcel, or is null
  std::uint64_t number = 0;                     // of the open or the last message
  ticks first = 0;                              // time of the first parcel of `open`
  ticks last = 0;                               // time of the last parcel
  ticks due = plx::detail::timer_queue::never;  // deadline for sending `open` (fixed)
  const void* worker = nullptr;                 // that added the last parcel

  std::unique_ptr<action_tally[]> tallies;    // by action; a single one in a collector of one action
  std::uint64_t n_parcels = 0;                // parcels added
  std::uint64_t n_large = 0;                  // of these, sent in messages of their own
  std::uint64_t n_messages = 0, n_bytes = 0;  // sent
  ticks begun = 0;                            // time of the very first parcel
  std::size_t usual_bytes = 0;                // recent message size
  std::unique_ptr<gap_counts> gaps;           // null if not measured

  action_tally& tally(std::uint16_t action) noexcept { return tallies[of_one_action ? 0 : action]; }
};

}  // namespace plx::net
