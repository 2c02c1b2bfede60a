// Short messages between the localities of a host, through rings in shared memory (net/transport/shm_segment.hpp)
// instead of the library of a transport, whose messages take longer: heads, and raw messages, which are payloads of
// collective calls.
//
// Each locality has a ring for every other one of its host. A message that does not fit into its ring is left to the
// library, and so is the first head of each sender to a receiver that sleeps, which the library's message wakes
// (shm_sleep).
//
// A process that dies while it writes leaves a message that never arrives, and no other process is affected. Contents
// are checked by the receiver like those of every message.
//
// Thread safety: functions that send and receive_awaited() from any thread; the others by one thread at a time. Cost:
// two copies of the message and a transfer of a cache line; otherwise one load per neighbour and poll. Example:
// net/transport/test/near_rings_test.cpp
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "net/start/job_info.hpp"
#include "net/transport/shm_segment.hpp"
#include "net/transport/transport.hpp"
#include "rt/core/spinlock.hpp"

namespace plx::net::detail {

class near_rings {
 public:
  /// From this number of neighbours on, looking for messages in every ring takes longer than the library does: heads
  /// are left to it, and only raw messages are sent through the rings.
  static constexpr std::size_t most_for_heads = 64;

  near_rings();
  ~near_rings();
  near_rings(const near_rings&) = delete;
  near_rings& operator=(const near_rings&) = delete;

  /// Creates the rings in which this locality receives. Returns their description for the others; "" if there are none:
  /// no other locality on this host; PLX_SHARED_MEMORY=off; or the system denies the memory, which is logged.
  std::string offer(const job_info& job);
  /// Opens those of the others. `offers`: their descriptions, by locality. Logs which cannot be opened: the library
  /// sends their messages. Called once, before the functions below.
  void open(const job_info& job, std::span<const std::string> offers);
  /// Another locality of this host, which has rings.
  struct owner {
    locality_id id = no_locality;
    unsigned number = 0;     ///< among the localities of the host, in ascending order
    bool reachable = false;  ///< whether its segment could be opened
    shm_segment memory;      ///< its segment in that case
  };
  /// The same with open segments. `here`: the number of this locality; `localities`: of the job.
  void open(shm_segment mine, unsigned here, unsigned localities, std::vector<owner> others);

  enum class sending : std::uint8_t {
    left,         ///< the library must send the message
    sent,         ///< it is in the ring
    sent_asleep,  ///< the same, and the library must wake the receiver
  };
  /// Sends the head of a message without pieces. Never waits: a message is left to the library as well if another
  /// thread is writing to the same receiver, and an empty one always.
  sending send(locality_id to, std::span<const std::byte> head) noexcept;
  /// Sends a raw message, which begins with `first`: transport::send_raw(). Requires: `first` is not empty
  /// and fits in a line.
  sending send_raw(locality_id to, std::span<const std::byte> first, std::span<const std::byte> rest) noexcept;
  /// Passes messages that have arrived to `r`, of up to 16 neighbours, the next ones in the next call. True if there
  /// were any. A neighbour that wrote an invalid one is put into `invalid`, its ring is not read any more, and the
  /// function returns; otherwise `invalid` is unchanged. False as well if another thread is receiving.
  bool receive(receiver& r, locality_id& invalid) noexcept {
    return !neighbours_.empty() && reading_.try_lock() && receive(r, invalid, polled_at_once);
  }
  /// The same, of all neighbours: false if no message had arrived from any of them.
  bool receive_of_all(receiver& r, locality_id& invalid) noexcept {
    reading_.lock();
    return receive(r, invalid, neighbours_.size());
  }
  /// transport::receive_awaited(), from any thread.
  std::size_t receive_awaited(receiver& r, locality_id from, std::span<const std::byte> awaited,
                              raw_message& into) noexcept;
  /// Receives what has arrived from one neighbour.
  void receive_of(receiver& r, locality_id from) noexcept;
  /// Receives the last messages of a neighbour that is lost. From now on the library gets all messages to it.
  void receive_last(receiver& r, locality_id from) noexcept;
  /// The library gets all messages from now on, and nothing more is received.
  void close() noexcept;
  /// This locality is about to sleep: each sender wakes it once from now on. False if a message has arrived. Called
  /// again before the next sleep if anything has happened meanwhile: the senders may already have sent their wake-ups.
  bool sleep() noexcept;
  /// It does not sleep, and will call sleep() before it does: no wake-ups are needed.
  void awake() noexcept;
  [[nodiscard]] near_counts counted() const noexcept;
  /// Up to `most` neighbours that can be sent to: those with the next numbers after this locality's, cyclically.
  [[nodiscard]] std::vector<locality_id> reachable(std::size_t most) const;

 private:
  struct neighbour;
  struct awaited_message;
  static constexpr std::size_t polled_at_once = 16;  // neighbours per poll
  static sending write(neighbour& n, std::span<const std::byte> first, std::span<const std::byte> rest,
                       bool raw) noexcept;
  bool receive(receiver& r, locality_id& invalid, std::size_t most) noexcept;
  bool receive_from(neighbour& n, receiver& r, awaited_message* awaited = nullptr) noexcept;
  [[nodiscard]] neighbour* near(locality_id id) const noexcept;
  [[nodiscard]] bool comes_soon(const neighbour& n) noexcept;
  static bool must_wake(neighbour& n) noexcept;

  shm_segment mine_;
  std::vector<std::unique_ptr<neighbour>> neighbours_;
  std::vector<neighbour*> of_;         // by locality; null: no ring to it
  plx::detail::spinlock reading_;      // held while messages are received; guards all below and the readers
  std::size_t after_ = 0;              // the first neighbour with a higher number than this locality
  std::size_t next_ = 0;               // neighbour where the next round begins
  locality_id invalid_ = no_locality;  // wrote an invalid message, which no receive() has reported yet
  ticks spin_ = 0;                     // spin time of receive_awaited(), halved whenever spinning fails
  unsigned calls_without_spin_ = 0;    // of receive_awaited()
  shm_sleep sleep_;
};

}  // namespace plx::net::detail
