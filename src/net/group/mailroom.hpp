// Letters of collective calls between localities of one host, by shared memory (mail_ring.hpp) in place of messages.
//
// Who has memory of its own and has mapped another's may write there, whether that one can write back or not; what
// finds no room, is too long, or has no memory there goes by a message. Letters have addresses: in which order they
// come does not matter.
//
// Who has not seen a letter for a while says so in its memory and sleeps, and the first one to write then sends a
// message, whose arrival wakes it. Either the writer sees that the owner sleeps, or the owner, which looks once more
// after it has said so, sees the letter.
//
// Thread safety: everything, after open(). Cost: a letter, two copies of its bytes and a transfer of a cache line
// between two cores; of localities that never use it, a look per neighbour and poll.
// Example: net/group/test/mailroom_test.cpp
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
#include "net/group/mail_segment.hpp"
#include "net/start/bootstrap.hpp"

namespace plx::net::collective {

class mailroom final : public service {
 public:
  explicit mailroom(node& n);
  ~mailroom() override;

  /// A neighbour: a locality of this host.
  struct neighbour {
    locality_id id = no_locality;
    mail_segment memory;     ///< of it, where it could be opened
    bool reachable = false;  ///< it could
  };
  /// `mine`: the memory of this locality. `all`: the localities of this host in ascending order, this one among them;
  /// the place of each is the number of its ring in the memory of each other one. Once, before the first call.
  void open(mail_segment mine, std::vector<neighbour> all);

  /// False: send it by a message.
  bool send(locality_id to, const address& where, std::span<const std::byte> contents) noexcept;
  /// A call needs this letter from there next. True: here it is. Else delivers what has come, unless somebody is about
  /// it. Where letters lately came within a transfer or two of a line, it asks for them that long: sleeping and being
  /// resumed takes longer.
  bool look(locality_id from, const address& awaited, payload& contents) noexcept;
  /// Delivers what has come from there, whatever else is under way: it was written before what is known of `from` now.
  /// `last`: and nothing that comes later.
  void take_rest(locality_id from, bool last) noexcept;

  /// In a sum of these over all localities, no letter is received and not yet sent, whenever each is asked.
  struct counts {
    std::uint64_t sent = 0, received = 0;  ///< and delivered
    std::uint64_t refused_room = 0;        ///< letters for which there was none
    std::uint64_t knocks = 0;              ///< messages that woke somebody
  };
  [[nodiscard]] counts counted() const noexcept { return counted_without({}); }
  /// The same, without the letters from and to the localities in `lost`.
  [[nodiscard]] counts counted_without(std::span<const locality_id> lost) const noexcept;

 private:
  struct box;  // of one neighbour
  static poll_result poll(void* self);
  poll_result poll() noexcept;
  bool take_all() noexcept;
  bool take_from(box& b, const address* awaited = nullptr, payload* contents = nullptr) noexcept;
  [[nodiscard]] bool may_sleep() noexcept;
  [[nodiscard]] bool comes_soon(const box& b) noexcept;

  node& node_;
  mail_segment mine_;
  std::vector<std::unique_ptr<box>> boxes_;
  std::vector<box*> box_of_;      // by locality; null: not of this host
  plx::detail::spinlock taking_;  // who has it takes letters
  std::size_t first_ = 0;         // of the next round; of who polls
  std::uint64_t quiet_polls_ = 0;
  ticks quiet_since_ = 0;
  bool sleeps_ = false;
  std::atomic<ticks> patience_{0};      // of look(): halved whenever it was in vain
  std::atomic<unsigned> impatient_{0};  // times it was none
};

/// What PLX_SHARED_MEMORY says: on, which it is where nothing is set, or off. Else an error.
[[nodiscard]] result<bool> shared_memory_wanted();

/// What the localities of a job told each other of their memory.
struct mail_offers {
  mail_segment mine;              ///< where this locality has some
  std::vector<std::string> told;  ///< by locality; "": it has none. Empty: nobody was asked
};
/// The localities of one host make memory and tell the others where it is. All localities of the job must call it, with
/// the host of each, before there is a node: from then on its workers use the transport's library. Where the system, or
/// PLX_SHARED_MEMORY=off, denies the memory, there is none; for the system, a warning says so. Errors: the bootstrap's.
result<mail_offers> offer_mail(bootstrap& b, const std::vector<std::string>& hosts, double deadline_s);
/// They use it from here on: what can be mapped. For the rest a warning says why, and messages go on.
void open_mail(node& n, mail_offers offers, const std::vector<std::string>& hosts);

static_assert(std::has_unique_object_representations_v<address>, "addresses are compared as bytes");

/// A letter that came: to its group. Called like a poller. Defined in call.cpp.
void deliver_letter(node& n, locality_id from, std::span<const std::byte> bytes) noexcept;

}  // namespace plx::net::collective
