// Moves messages between the localities of a job. One object per locality.
//
// A message is a head, which arrives in memory of the transport, and any number of pieces: large contiguous data that
// are sent from the sender's memory to the receiver's without an intermediate copy. Messages arrive once and complete;
// between two localities, in any order.
//
// Thread safety: send() from any thread. progress() by one thread at a time (a poller of the scheduler); the receiver
// and `sent` are called only from it and receive_of(), except for raw messages and sends that complete at once. Cost:
// send() of a small head is one copy. Implementations: net/sim/, net/transport/ucx/, net/transport/mpi/. Example:
// net/transport/ucx/test/ucx_transport_test.cpp; tests/net/ tests them between processes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "net/locality.hpp"

namespace plx::net {

class remote_memory;

/// Memory of the sender. Not owned.
struct piece {
  const void* data = nullptr;
  std::size_t size_bytes = 0;
};
/// Memory of the receiver for one piece. Not owned.
struct place {
  void* data = nullptr;
  std::size_t size_bytes = 0;
};

/// The maximum number of pieces in a message.
inline constexpr std::size_t most_pieces = std::size_t{1} << 14;

/// A request to a transport, linked by it while it waits.
struct transport_request {
  transport_request* next = nullptr;
  locality_id destination = no_locality;
  bool is_access = false;  ///< a remote_access (net/transport/remote_memory.hpp), otherwise a message
};

/// A message to be sent. It and all memory that it names stay valid until `sent` is called.
struct outgoing : transport_request {
  std::span<const std::byte> head;
  std::span<const piece> pieces{};
  /// The transport no longer needs the memory. `ok` is false if the peer is lost; the message may have arrived
  /// nevertheless. Called once: inside the send() of any message, by progress(), or, for a send to a lost peer that
  /// never completes, by stop(). Must not wait and must not call send().
  void (*sent)(outgoing*, bool ok) noexcept = nullptr;
};

/// The longest raw message: a short one between localities of one host that is not a frame of parcels.
inline constexpr std::size_t most_raw_bytes = 448;
using raw_message = std::array<std::byte, most_raw_bytes>;

/// Receives messages. Called only by progress() and receive_of(), except for raw messages; must not wait, and must not
/// call functions that receive.
class receiver {
 public:
  virtual ~receiver() = default;
  /// A message without pieces. `head` is valid during the call.
  virtual void arrived(locality_id from, std::span<const std::byte> head) noexcept = 0;
  /// A raw message, which is valid during the call. Also called by transport::receive_awaited(), by one thread at a
  /// time.
  virtual void raw_arrived(locality_id /*from*/, std::span<const std::byte> /*message*/) noexcept {}
  /// Whether a message with pieces of that many bytes may be announced now. If not, the transport asks again at later
  /// calls of progress(), in the order of arrival, and receives none of its pieces before. `others_wait`: messages that
  /// arrived earlier.
  virtual bool has_room(std::span<const std::byte> /*head*/, std::uint64_t /*bytes*/, bool /*others_wait*/) noexcept {
    return true;
  }
  /// A message with pieces. Its `head` is valid during the call, and the sizes in `places` are those of the pieces; the
  /// receiver sets their memory. The result is passed to pieces_arrived(), and the memory stays valid until then, even
  /// if a peer is lost. Null: the message is refused, and its pieces are discarded.
  virtual void* announced(locality_id from, std::span<const std::byte> head, std::span<place> places) noexcept = 0;
  /// All pieces of that message have arrived or, if not ok, never will. The transport no longer uses the memory.
  virtual void pieces_arrived(locality_id from, void* announced, bool ok) noexcept = 0;
  /// The pieces will not arrive because the peer is lost, but the underlying library may still write into their memory:
  /// callers that wait for them fail now, and the memory stays valid until pieces_arrived(), not ok, which is called by
  /// progress() or stop().
  virtual void pieces_lost(locality_id from, void* announced) noexcept = 0;
  /// A peer is lost: no more messages are exchanged with it. Called once per peer, before pieces_lost() for its
  /// messages.
  virtual void lost(locality_id peer, std::string_view why) noexcept = 0;
};

/// Messages between localities of one host through shared memory, not by the library of the transport.
struct near_counts {
  std::uint64_t sent = 0, received = 0;
  std::uint64_t sent_raw = 0;  ///< raw messages among those sent
  std::uint64_t full = 0;      ///< left to the library because the memory was full
  std::uint64_t wakeups = 0;   ///< messages of the library that woke a sleeping receiver
};

class transport {
 public:
  virtual ~transport() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Whether messages arrive without notice, so that progress() must be called from time to time even if nothing is
  /// pending().
  [[nodiscard]] virtual bool must_be_asked() const noexcept { return true; }
  /// A file descriptor that becomes readable when progress() has something to do, after arm() returned true; -1: none.
  [[nodiscard]] virtual int wake_fd() const noexcept { return -1; }
  /// Makes wake_fd() readable at the next event. False: an event has already happened, call progress(). Called by the
  /// thread that calls progress().
  virtual bool arm() noexcept { return false; }
  /// The longest head that send() accepts.
  [[nodiscard]] virtual std::size_t max_head_bytes() const noexcept = 0;

  /// From now on messages are delivered to `r`. Called once, before the first progress().
  virtual void start(receiver& r) = 0;
  /// Sends a message. If the peer is lost, `sent` is called with false. Requires: `to` is another locality of the job.
  virtual void send(locality_id to, outgoing& m) noexcept = 0;
  /// Sends the raw message `first`, `rest` at once, from any thread. False if that is not possible now or at all: `to`
  /// is on another host, the message is too long, or there is no room.
  virtual bool send_raw(locality_id /*to*/, std::span<const std::byte> /*first*/,
                        std::span<const std::byte> /*rest*/) noexcept {
    return false;
  }
  /// Receives raw messages of a locality of this host until one that begins with `awaited` has come: it is in `into`,
  /// and the result is its size. 0: it has not come, a head is in front of it, or another thread is receiving. From any
  /// thread. Spins briefly if that has recently succeeded, since suspending and resuming a task takes longer.
  virtual std::size_t receive_awaited(locality_id /*from*/, std::span<const std::byte> /*awaited*/,
                                      raw_message& /*into*/) noexcept {
    return 0;
  }
  /// Receives what a locality of this host has sent without the library, as progress() does; waits for other threads
  /// that are receiving. From a task.
  virtual void receive_of(locality_id /*from*/) noexcept {}
  /// Advances sends and receives. True if something happened.
  virtual bool progress() noexcept = 0;
  /// Sends, or receives of pieces, are unfinished: call progress() soon. Those of lost peers do not count.
  [[nodiscard]] virtual bool pending() const noexcept = 0;
  /// Ends the transport, together with all others: every message has been sent, or its peer is lost; or `deadline_s`
  /// have passed. All memory has then been returned, except what an underlying library may still use, and no other
  /// locality can be reached. False if the deadline passed.
  virtual bool stop(double deadline_s) noexcept = 0;
  /// Messages and connections that were refused because they did not come from the job.
  [[nodiscard]] virtual std::uint64_t refused() const noexcept { return 0; }
  /// All 0 if the transport does not use shared memory of its own. From any thread.
  [[nodiscard]] virtual near_counts near() const noexcept { return {}; }
  /// Direct access to memory of other localities; null: the transport only has messages.
  [[nodiscard]] virtual remote_memory* memory() noexcept { return nullptr; }
};

// Selection of the transport of this process, by one thread at start-up. PLX_TRANSPORT may name ucx, mpi or alone.
//
//   auto name = choose_transport();               // errors are one line, also in the following calls
//   auto start = find_bootstrap(*name);
//   auto carrier = find_transport(*name, **start, 60);

class bootstrap;
namespace detail {
struct job_info;
}

/// The value of PLX_TRANSPORT (ucx, mpi, alone), if set. Otherwise alone for a process that no launcher started; ucx if
/// it was built, can be loaded, and the launcher offers PMIx; else mpi. An error names what was expected and found.
result<std::string_view> choose_transport();

/// Creates the transport called `name`, together with all other localities of the job, which must all call this within
/// the deadline: the second of the two exchanges of a start. `job`: the result of the first one,
/// detail::exchange_job_info(). Requires: b.size() > 1; `b` outlives the transport.
result<std::unique_ptr<transport>> find_transport(std::string_view name, bootstrap& b, detail::job_info job,
                                                  double deadline_s);
/// Both exchanges, for programs without a job.
result<std::unique_ptr<transport>> find_transport(std::string_view name, bootstrap& b, double deadline_s);

}  // namespace plx::net
