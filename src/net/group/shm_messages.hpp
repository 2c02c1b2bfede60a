// Transfers small messages of collective calls between localities of one host through shared memory (shm_segment.hpp)
// instead of the network.
//
// A locality that has a segment of its own and has mapped another's may write there, whether or not the other one can
// reply in this way. Messages that do not fit, are too long, or have no segment are sent over the network. Every
// message carries its address, so that the order of arrival does not matter.
//
// A reader that has not seen a message for a while sleeps; each writer then sends a network message that wakes it
// (shm_sleep). No wake-up is lost: either the writer sees that the reader sleeps, or the reader, which checks once more
// after it has published that, sees the message. A wake-up ends the sleep also if its message has been read meanwhile:
// the next sleep has another number.
//
// Thread safety: everything, after open(). Cost: a message: two copies of its bytes and a cache-line transfer between
// two cores; if unused, one load per neighbour and poll.
// Example: net/group/test/shm_messages_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "net/core/node.hpp"
#include "net/group/call.hpp"
#include "net/group/shm_segment.hpp"

namespace plx::net::collective {

class shm_messages final : public service {
 public:
  explicit shm_messages(node& n);
  ~shm_messages() override;

  /// A neighbour: a locality of this host.
  struct neighbour {
    locality_id id = no_locality;
    shm_segment memory;      ///< its segment, if it could be opened
    bool reachable = false;  ///< whether it could be opened
  };
  /// `mine`: the segment of this locality. `all`: the localities of this host in ascending order, including this one;
  /// the index of each is the number of its ring in the segments of the others. Called once, before the first call.
  void open(shm_segment mine, std::vector<neighbour> all);

  /// False if the message must be sent over the network.
  bool send(locality_id to, const address& where, std::span<const std::byte> contents) noexcept;
  /// Checks for the message that a call awaits from that locality. True: it is in `contents`. Otherwise delivers what
  /// has arrived, unless another thread is doing so. Spins briefly if messages recently arrived within the time of a
  /// cache-line transfer or two, since suspending and resuming takes longer.
  bool look(locality_id from, const address& awaited, payload& contents) noexcept;
  /// Delivers all messages that have arrived from that locality; waits for a delivery in progress. Called before an
  /// event that follows them is handled. `last`: later messages are ignored.
  void take_rest(locality_id from, bool last) noexcept;
  /// A wake-up has arrived. Its sender sends no other one for this sleep.
  void wake() noexcept { woken_.store(true, std::memory_order_release); }

  /// Summed over all localities, `received` never exceeds `sent`, whatever the times of the queries.
  struct counts {
    std::uint64_t sent = 0, received = 0;  ///< received and delivered
    std::uint64_t refused_room = 0;        ///< messages that found the ring full
    std::uint64_t wakeups = 0;             ///< network messages that woke a locality
  };
  [[nodiscard]] counts counted() const noexcept { return counted_without({}); }
  /// The same without messages from and to the localities in `lost`.
  [[nodiscard]] counts counted_without(std::span<const locality_id> lost) const noexcept;

 private:
  struct channel;  // the state of one neighbour
  static poll_result poll(void* self);
  poll_result poll() noexcept;
  bool take_all() noexcept;
  bool take_from(channel& b, const address* awaited = nullptr, payload* contents = nullptr) noexcept;
  [[nodiscard]] bool may_sleep() noexcept;
  [[nodiscard]] bool comes_soon(const channel& b) noexcept;

  node& node_;
  shm_segment mine_;
  std::vector<std::unique_ptr<channel>> channels_;
  std::vector<channel*> channel_of_;  // by locality; null: on another host
  plx::detail::spinlock taking_;      // held while messages are taken
  std::size_t first_ = 0;             // neighbour where the next round of polling begins
  std::uint64_t quiet_polls_ = 0;
  ticks quiet_since_ = 0;
  shm_sleep sleep_;                              // used by poll()
  std::atomic<bool> woken_{false};               // a wake-up has arrived since the last poll()
  std::atomic<ticks> spin_{0};                   // spin time of look(), halved whenever spinning fails
  std::atomic<unsigned> calls_without_spin_{0};  // calls of look() that did not spin
};

/// The segments that the localities of a job have announced to each other.
struct shm_offers {
  shm_segment mine;                       ///< the segment of this locality, if it has one
  std::vector<std::string> descriptions;  ///< by locality; "": no segment
};
/// Maps the segments and starts to use them. Logs a warning for those that cannot be mapped; network messages are used
/// instead.
void open_shm(node& n, shm_offers offers, const std::vector<std::string>& hosts);

static_assert(std::has_unique_object_representations_v<address>, "addresses are compared as bytes");

/// Delivers a received message to its group. Called as from a poller. Defined in call.cpp.
void deliver_message(node& n, locality_id from, std::span<const std::byte> bytes) noexcept;

}  // namespace plx::net::collective
