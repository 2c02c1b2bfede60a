// Messages between the parts of a locality's blocks (shared_course.hpp) and other localities: per stage one message of
// ghost cells and one of fluxes for each pair of localities.
//
// Sender and receiver derive the layout of a message from the mesh and the partition alone (mesh/halo.hpp). The data
// that a part packs for a locality is a slice of that message; of an incoming message each part gets what it reads, in
// the layout of its own borders, in pinned memory. So a part need not know which of its neighbours are remote.
//
// Thread safety: one task at a time; incoming messages are handled by tasks of the network. Cost: two copies in host
// memory per message, one at each end. Errors: locality_lost, thrown. Example: star/shared_course_test.cpp
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "star/device/part_borders.hpp"
#include "star/gas.hpp"
#include "star/pinned_numbers.hpp"
#include "step/exchange.hpp"
#include "step/round_end.hpp"

namespace plx::star {

/// A locality's numbering of parts along the curve: its own `count` parts, and one for each other locality.
class parts_view {
 public:
  parts_view() = default;
  parts_view(int here, int localities, int count) : here_(here), localities_(localities), count_(count) {}

  int count() const { return localities_ - 1 + count_; }
  int own(int part) const { return here_ + part; }  ///< number of a local part
  int far(int locality) const { return locality < here_ ? locality : locality - 1 + count_; }
  bool is_own(int number) const { return number >= here_ && number < here_ + count_; }
  int part_of(int number) const { return number - here_; }  ///< requires: is_own
  int locality_of(int number) const { return number < here_ ? number : number + 1 - count_; }

 private:
  int here_ = 0, localities_ = 1, count_ = 1;
};

enum class far_message : std::uint16_t { ghosts, fluxes, failure };

class far_messages final : private step::message_handler {
 public:
  using kind = far_message;
  static constexpr int most_stages = 3;

  /// Requires: the exchange outlives it.
  explicit far_messages(step::exchange& net) : net_(net) {}

  /// Prepares for another mesh or another partition. Shapes: parts: borders of the local parts, with peers as `view`
  /// numbers them. Requires: all arguments stay valid until the next call; called between rounds.
  void adopt(const gas& g, const parts_view& view, std::vector<const device::part_borders*> parts, device::machine& on);
  /// Does any locality exchange such messages with this one?
  bool has(kind what) const;

  /// A step: a round of the exchange that ends with this object, also when an exception is thrown.
  class round {
   public:
    round(far_messages& all, int stages) : all_(all) { all.open(stages); }
    ~round() { all_.net_.close(); }
    round(const round&) = delete;
    round& operator=(const round&) = delete;

   private:
    far_messages& all_;
  };
  /// Sends what the local parts have packed. Shapes: from: by part, laid out as its borders say.
  void send(kind what, int stage, const std::vector<const double*>& from);
  /// Waits for the messages of all other localities. False: a device of another locality has failed.
  bool wait(kind what, int stage);
  /// The numbers that arrived for a part from a group of its receives(). Valid until the same stage of the next step.
  const double* in(kind what, int stage, int part, int group) const;
  /// Notifies all other localities that nothing more will be sent in this step.
  void tell_failure();

 private:
  // Numbers of a message that belong to a part.
  struct piece {
    int part = 0;
    std::size_t from = 0, to = 0, count = 0;
  };
  // The messages of one kind.
  struct lane {
    std::vector<int> peers;                    // senders
    std::vector<std::size_t> sizes;            // of their messages
    std::vector<std::vector<piece>> pieces;    // by peer
    std::vector<std::vector<std::size_t>> at;  // [part][group]: offset of a remote group in the part's memory
    std::vector<std::size_t> room;             // by part
  };
  const lane& of(kind what) const { return what == kind::ghosts ? ghosts_ : fluxes_; }
  static std::size_t place(kind what, int stage) {
    return static_cast<std::size_t>((what == kind::ghosts ? 0 : most_stages) + stage);
  }
  void open(int stages);
  void list_ghosts(int variables);
  void list_fluxes();
  void arrived(const step::message& m) override;
  void lost(int peer, const std::string& why) override;
  void end_all(int peer, const std::string& why);

  step::exchange& net_;
  parts_view view_;
  device::part_borders whole_;  // of the locality
  std::vector<const device::part_borders*> parts_;
  lane ghosts_, fluxes_;
  // By part, and [kind][stage]: a stage's messages may arrive while a device still reads those of the stage before.
  std::vector<std::array<pinned_numbers, 2 * most_stages>> memory_;
  std::array<std::unique_ptr<step::round_end>, 2 * most_stages> ends_;
  std::atomic<bool> ended_{false}, peer_failed_{false};
};

}  // namespace plx::star
