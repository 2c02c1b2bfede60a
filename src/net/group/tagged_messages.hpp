// The tagged messages of a locality: those that wait for their recv(), and the reverse.
//
// Each message has a number: the n-th of its communicator, sender, receiver and tag. The n-th recv() takes message n,
// in whatever order they arrive. A message that arrives before its recv() is kept; the reply to its sender, which
// completes the future of send(), is sent when it has been taken.
//
// A poller files each message as it arrives, before it can learn that the sender is lost; a task passes it to a recv()
// that waits.
//
// Memory: a sender has at most most_waiting_bytes of messages to a receiver in a communicator, or one message of any
// size, that have not been taken; a send() beyond that suspends its task. Tasks that wait are admitted in order. A
// receiver keeps at most most_kept_bytes of a sender, or one message of any size, and refuses others.
//
// Thread safety: everything. Cost: a call with a reply, and lookups in tables under a lock. State: some 200 bytes for
// each communicator, peer and tag, until the job ends. Example: net/group/test/tagged_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "net/core/node.hpp"
#include "net/group/tagged.hpp"
#include "rt/core/spinlock.hpp"
#include "rt/sync/wait.hpp"

namespace plx::net::collective {

/// A message without its contents.
struct tagged_head {
  std::uint64_t group = 0, number = 0;
  value_type type;
  std::uint32_t tag = 0, unused = 0;
};

/// The most bytes of messages of one sender, over all communicators, that wait for their recv(), with bytes_of_head
/// each.
inline constexpr std::uint64_t most_kept_bytes = std::uint64_t{256} << 20;

/// The service of a node: messages that wait for their recv(), and the reverse.
class tagged_messages final : public service {
 public:
  explicit tagged_messages(node& n) : node_(n), kept_(n.size()) {}
  ~tagged_messages() override;

  future<void> send(const group& g, unsigned to, std::uint32_t tag, value_type type, payload contents);
  void receive(const group& g, unsigned from, std::uint32_t tag, std::unique_ptr<tagged_reception> r);
  /// A message has arrived. Ready when it has been taken. In a poller or a task.
  future<void> arrived(locality_id from, const tagged_head& h, payload&& contents);
  /// The message of this number does not come, because the receiver could not read or keep it: its recv() fails.
  void missing(locality_id from, const tagged_head& h);
  /// By default most_waiting_bytes.
  void bound_waiting(std::uint64_t bytes) noexcept { most_.store(bytes, std::memory_order_relaxed); }
  /// By default most_kept_bytes.
  void bound_kept(std::uint64_t bytes) noexcept { most_kept_.store(bytes, std::memory_order_relaxed); }
  /// The bytes of messages here that have not been taken, and how many there are.
  struct counts {
    std::uint64_t messages = 0, bytes = 0;
  };
  [[nodiscard]] counts waiting();
  void peer_lost(locality_id which) override;

 private:
  struct message {
    tagged_head head;
    payload contents;
    promise<void> taken;
    bool is_missing = false;
  };
  /// Messages of one communicator, sender and tag.
  struct box {
    std::uint64_t next = 0;  // number of the next recv()
    bool ended = false;      // a recv() has failed by the loss of the sender: all later ones do
    std::map<std::uint64_t, message> early;
    std::map<std::uint64_t, std::unique_ptr<tagged_reception>> waiting;
  };
  /// The messages of one communicator to one receiver that have not been taken.
  struct window {
    std::uint64_t bytes = 0;
    std::list<plx::detail::wait_list> turns;      // of the tasks that wait for room, each in a list of its own
    std::map<std::uint32_t, std::uint64_t> next;  // number of the next message, by tag
  };
  using box_key = std::tuple<std::uint64_t, locality_id, std::uint32_t>;

  using lock = std::unique_lock<plx::detail::spinlock>;
  std::map<std::uint64_t, message> end(box& b, locality_id from);
  static void match(message&& m, tagged_reception& r, locality_id from) noexcept;
  void match_in_task(message&& m, std::unique_ptr<tagged_reception> r, locality_id from);
  void wait_for_turn(window& w, std::uint64_t bytes, locality_id to, lock& guard);
  static plx::detail::waiter* first_waiting(window& w) noexcept;
  void give_back(window& w, std::uint64_t bytes) noexcept;
  void report_missing(locality_id to, const tagged_head& h) noexcept;
  bool is_refused(locality_id from, const tagged_head& h);
  [[nodiscard]] bool may_keep(locality_id from, std::uint64_t bytes, std::uint64_t most) const noexcept;
  void keep(box& b, locality_id from, message&& m);

  node& node_;
  std::atomic<std::uint64_t> most_{most_waiting_bytes}, most_kept_{most_kept_bytes};
  plx::detail::spinlock lock_;  // guards what follows
  std::map<box_key, box> boxes_;
  std::map<std::pair<std::uint64_t, locality_id>, window> windows_;  // entries stay
  std::vector<std::uint64_t> kept_;                                  // bytes in `early`, by sender
};

}  // namespace plx::net::collective

namespace plx {
template <>
inline constexpr bool is_bitwise<net::collective::tagged_head> = true;
}  // namespace plx
