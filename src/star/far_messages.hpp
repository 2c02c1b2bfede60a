// What the parts of a locality's blocks (shared_course.hpp) exchange with other localities: per stage one message of
// ghosts and one of fluxes for each pair of localities, whoever has the blocks there.
//
// Both sides know the order of a message from the mesh and the localities' parts alone (mesh/halo.hpp). What a part
// packs for a locality is a piece of it; of what comes, each part gets what it reads, laid out as its own borders say,
// in pinned memory. So parts need not know which of their neighbours are far.
//
// Thread safety: one task at a time; messages are taken by tasks of the network. Cost: two copies in the memory of the
// host per message, one on each side. Errors: locality_lost, thrown. Example: star/shared_course_test.cpp
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "star/device/part_borders.hpp"
#include "star/exchange.hpp"
#include "star/gas.hpp"
#include "star/pinned_numbers.hpp"
#include "star/round_end.hpp"

namespace plx::star {

/// How a locality numbers parts of the curve: its own `count` ones, and each other locality as one, along the curve.
class parts_view {
 public:
  parts_view() = default;
  parts_view(int here, int localities, int count) : here_(here), localities_(localities), count_(count) {}

  int count() const { return localities_ - 1 + count_; }
  int own(int part) const { return here_ + part; }  ///< number of an own part
  int far(int locality) const { return locality < here_ ? locality : locality - 1 + count_; }
  bool is_own(int number) const { return number >= here_ && number < here_ + count_; }
  int part_of(int number) const { return number - here_; }  ///< requires: is_own
  int locality_of(int number) const { return number < here_ ? number : number + 1 - count_; }

 private:
  int here_ = 0, localities_ = 1, count_ = 1;
};

enum class far_message : std::uint16_t { ghosts, fluxes, failure };

class far_messages final : private message_handler {
 public:
  using kind = far_message;
  static constexpr int most_stages = 3;

  /// Requires: the exchange outlives it.
  explicit far_messages(exchange& net) : net_(net) {}

  /// For another mesh, or parts that were cut anew. Shapes: parts: borders of the own parts, with peers as `view`
  /// numbers them. Requires: all of it stays until the next call; between rounds.
  void adopt(const gas& g, const parts_view& view, std::vector<const device::part_borders*> parts, device::machine& on);
  /// Has any locality something for or from this one?
  bool has(kind what) const;

  /// A step: a round of the exchange, which ends with it, whatever has come or is thrown.
  class round {
   public:
    round(far_messages& all, int stages) : all_(all) { all.open(stages); }
    ~round() { all_.net_.close(); }
    round(const round&) = delete;
    round& operator=(const round&) = delete;

   private:
    far_messages& all_;
  };
  /// Sends what own parts have packed. Shapes: from: by part, as its borders say.
  void send(kind what, int stage, const std::vector<const double*>& from);
  /// Waits for what all others send. False: the device of another locality has failed.
  bool wait(kind what, int stage);
  /// What has come for a part from a group of its receives(). It stays until the same stage of the next step.
  const double* in(kind what, int stage, int part, int group) const;
  /// Tells all others that nothing more comes from here in this step.
  void tell_failure();

 private:
  // Numbers of a message that go to a part.
  struct piece {
    int part = 0;
    std::size_t from = 0, to = 0, count = 0;
  };
  // One kind's messages.
  struct lane {
    std::vector<int> peers;                    // who sends
    std::vector<std::size_t> sizes;            // of what they send
    std::vector<std::vector<piece>> pieces;    // by peer
    std::vector<std::vector<std::size_t>> at;  // [part][group]: where a far group lies in the part's memory
    std::vector<std::size_t> room;             // by part
  };
  const lane& of(kind what) const { return what == kind::ghosts ? ghosts_ : fluxes_; }
  static std::size_t place(kind what, int stage) {
    return static_cast<std::size_t>((what == kind::ghosts ? 0 : most_stages) + stage);
  }
  void open(int stages);
  void list_ghosts(int variables);
  void list_fluxes();
  void arrived(const message& m) override;
  void lost(int peer, const std::string& why) override;
  void end_all(int peer, const std::string& why);

  exchange& net_;
  parts_view view_;
  device::part_borders whole_;  // of the locality
  std::vector<const device::part_borders*> parts_;
  lane ghosts_, fluxes_;
  // By part, and [kind][stage]: what comes for a stage may come while a device still reads that of the one before.
  std::vector<std::array<pinned_numbers, 2 * most_stages>> memory_;
  std::array<std::unique_ptr<round_end>, 2 * most_stages> ends_;
  std::atomic<bool> ended_{false}, peer_failed_{false};
};

}  // namespace plx::star
