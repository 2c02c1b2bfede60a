// Messages of a step between the localities of a distributed_device: per stage and pair of localities one of ghost
// cells, and one of fluxes where levels meet.
//
// Sender and receiver derive the layout of a message from the mesh and the partition alone (device/part_borders.hpp).
// Data waits in pinned memory, from which the device reads all messages of a stage at once.
//
// Thread safety: one task at a time; incoming messages are handled by tasks of the network. Cost: two copies in host
// memory per message, one at each end. Errors: locality_lost and gpu::error, thrown. Example:
// star/runners/test/distributed_device_test.cpp
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "star/device/data/part_borders.hpp"
#include "step/exchange.hpp"
#include "step/round_end.hpp"

namespace plx::star::device {
class machine;
}

namespace plx::star {

enum class device_message : std::uint16_t { ghosts, fluxes, failure };

class device_messages final : private step::message_handler {
 public:
  using kind = device_message;
  static constexpr int most_stages = 3;

  /// Requires: both arguments outlive it; `net` has several localities.
  device_messages(step::exchange& net, device::machine& on) : net_(net), on_(on) {}

  /// Prepares for another mesh or another partition. Requires: `borders` stays valid until the next call; called
  /// between rounds.
  void adopt(const device::part_borders& borders);
  /// Does this locality exchange such messages with any other?
  bool has(kind what) const;

  /// A step: a round of the exchange that ends with this object, also when an exception is thrown.
  class round {
   public:
    round(device_messages& all, int stages) : all_(all) { all.open(stages); }
    ~round() { all_.net_.close(); }
    round(const round&) = delete;
    round& operator=(const round&) = delete;

   private:
    device_messages& all_;
  };
  /// Pinned memory for the data to send next, laid out as the borders say. It may be reused after send().
  double* out() { return out_.data; }
  /// Sends the data in out(). Requires: it is complete.
  void send(kind what, int stage);
  /// Waits for the messages of all other localities. False: a device of another locality has failed.
  [[nodiscard]] bool wait(kind what, int stage);
  /// The data that has arrived, laid out as the borders say. Valid until the same stage of the next step.
  const double* in(kind what, int stage) const { return in_[place(what, stage)].data; }
  /// Notifies all other localities that nothing more will be sent in this step.
  void notify_failure();

 private:
  /// An array in pinned host memory, which grows and never shrinks.
  struct pinned {
    pinned() = default;
    ~pinned() { free(); }
    pinned(const pinned&) = delete;
    pinned& operator=(const pinned&) = delete;
    void reserve(device::machine& machine, std::size_t count);
    void free() noexcept;

    device::machine* on = nullptr;
    double* data = nullptr;
    std::size_t room = 0;
  };
  static std::size_t place(kind what, int stage) {
    return static_cast<std::size_t>((what == kind::ghosts ? 0 : most_stages) + stage);
  }
  void open(int stages);
  void arrived(const step::message& m) override;
  void lost(int peer, const std::string& why) override;
  void end_all(int peer, const std::string& why);

  step::exchange& net_;
  device::machine& on_;
  const device::part_borders* borders_ = nullptr;
  pinned out_;
  // By kind and stage: a stage's messages may arrive while the device still reads those of the stage before.
  std::array<pinned, 2 * most_stages> in_;
  std::array<std::unique_ptr<step::round_end>, 2 * most_stages> ends_;
  std::atomic<bool> ended_{false}, peer_failed_{false};
};

}  // namespace plx::star
