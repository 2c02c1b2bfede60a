// What moves messages between the localities of a job. One object per locality.
//
// A message is a head, which arrives in memory of the transport, and any number of pieces: large contiguous data that
// go from the sender's memory to the receiver's without a copy between. Messages arrive once, whole, and, between two
// localities, in any order.
//
// Thread safety: send() from any thread. progress() by one thread at a time (a poller of the scheduler); it alone
// calls the receiver and `sent`, but for sends that end at once. Cost: send() of a small head is one copy.
// Implementations: net/sim/, net/ucx/, net/mpi/. Example: net/transport/ucx/test/ucx_transport_test.cpp; tests/net/
// checks them between processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "net/locality.hpp"

namespace plx::net {

/// Memory on the way out. Not owned.
struct piece {
  const void* data = nullptr;
  std::size_t size_bytes = 0;
};
/// Memory for a piece that comes in. Not owned.
struct place {
  void* data = nullptr;
  std::size_t size_bytes = 0;
};

/// A message has at most so many.
inline constexpr std::size_t most_pieces = std::size_t{1} << 14;

/// A message on its way out. It and all that it names stay valid until `sent` is called.
struct outgoing {
  std::span<const std::byte> head;
  std::span<const piece> pieces{};
  /// The memory may be used again: the transport needs it no more. `ok` is false when the peer is lost; the message may
  /// have arrived all the same. Called once: inside a send(), of any message, by progress(), or, of what is under way
  /// to a lost peer and never ends by itself, by stop(). Must not wait and must not call send().
  void (*sent)(outgoing*, bool ok) noexcept = nullptr;

  outgoing* next = nullptr;               ///< the transport's own, from send() to `sent`
  locality_id destination = no_locality;  ///< likewise
};

/// Where messages arrive. Called by progress() alone; must not wait, and must not call progress().
class receiver {
 public:
  virtual ~receiver() = default;
  /// A message without pieces. `head` is valid during the call.
  virtual void arrived(locality_id from, std::span<const std::byte> head) noexcept = 0;
  /// A message with pieces, of which `head` is here (valid during the call) and the sizes are known: gives memory for
  /// each of them in `places`, whose sizes are those that come. The result is given to pieces_arrived(), and the
  /// memory stays valid until then, whoever is lost. Null: the message is refused; its pieces go nowhere.
  virtual void* announced(locality_id from, std::span<const std::byte> head, std::span<place> places) noexcept = 0;
  /// All pieces of that message are there; or, not ok, never will be. The memory is the receiver's again.
  virtual void pieces_arrived(locality_id from, void* announced, bool ok) noexcept = 0;
  /// They never will be, for the peer is lost, but the library below may still write into their memory: whoever waits
  /// for them is told now, and the memory stays until pieces_arrived(), not ok, which comes by progress() or stop().
  virtual void pieces_lost(locality_id from, void* announced) noexcept = 0;
  /// A peer is gone for good: nothing comes from there any more, and nothing reaches it. Once per peer, before what was
  /// announced by it is said to be lost.
  virtual void lost(locality_id peer, std::string_view why) noexcept = 0;
};

class transport {
 public:
  virtual ~transport() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Messages come without notice: progress() must be called now and then even when nothing is pending().
  [[nodiscard]] virtual bool must_be_asked() const noexcept { return true; }
  /// A file descriptor that becomes readable when progress() has something to do, once arm() has said true; -1: there
  /// is none.
  [[nodiscard]] virtual int wake_fd() const noexcept { return -1; }
  /// Makes wake_fd() tell the next event. False: something is there already, call progress(). By who calls progress().
  virtual bool arm() noexcept { return false; }
  /// The longest head that send() takes.
  [[nodiscard]] virtual std::size_t max_head_bytes() const noexcept = 0;

  /// From here on messages arrive at `r`. Once, before the first progress().
  virtual void start(receiver& r) = 0;
  /// Hands a message over. To a lost peer: `sent` with false. Requires: `to` is another locality of the job.
  virtual void send(locality_id to, outgoing& m) noexcept = 0;
  /// Lets messages come and go. True when something happened.
  virtual bool progress() noexcept = 0;
  /// Sends, or pieces that come in, are not finished: ask again soon. Those of lost peers do not count.
  [[nodiscard]] virtual bool pending() const noexcept = 0;
  /// Ends it, when all others end it as well: what was handed over has left, or its peer is lost; or `deadline_s` have
  /// passed. All memory has been given back then, but for what a library below that goes on may still use, and
  /// nobody else can be reached any more. False when the deadline decided.
  virtual bool stop(double deadline_s) noexcept = 0;
  /// Messages and connections that were refused, since they did not come from the job.
  [[nodiscard]] virtual std::uint64_t refused() const noexcept { return 0; }
};

}  // namespace plx::net
