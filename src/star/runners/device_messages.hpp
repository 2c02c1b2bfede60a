// Messages of a step between the localities of a distributed_device: per exchange (lane) at most one for each pair of
// localities. An exchange carries ghost cells of a stage, fluxes where levels meet, or values of nodes in a field of
// additional physics.
//
// Sender and receiver derive the layout of a message from the mesh and the partition alone (device_gas::lanes()). Data
// waits in pinned memory, from which the device reads all messages of a lane at once.
//
// Thread safety: one task at a time; incoming messages are handled by tasks of the network. Cost: two copies in host
// memory per message, one at each end. Errors: locality_lost and gpu::error, thrown. Example:
// star/runners/test/distributed_device_test.cpp
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "star/device/data/part_borders.hpp"
#include "step/exchange.hpp"
#include "step/round_end.hpp"

namespace plx::star::device {
class machine;
}

namespace plx::star {

class device_messages final : private step::message_handler {
 public:
  /// Requires: both arguments outlive it; `net` has several localities.
  device_messages(step::exchange& net, device::machine& on) : net_(net), on_(on) {}

  /// Prepares for another mesh or another partition. Requires: called between rounds; the lanes of all localities have
  /// the same meaning, by index.
  void adopt(std::vector<device::message_lane> lanes);
  /// Does this locality exchange messages of a lane with any other?
  bool has(int lane) const { return !lanes_[static_cast<std::size_t>(lane)].empty(); }

  /// A step: a round of the exchange that ends with this object, also when an exception is thrown.
  class round {
   public:
    explicit round(device_messages& all) : all_(all) { all.open(); }
    ~round() { all_.net_.close(); }
    round(const round&) = delete;
    round& operator=(const round&) = delete;

   private:
    device_messages& all_;
  };
  /// Pinned memory for the data to send next, laid out as the lane says. It may be reused after send().
  double* out() { return out_.data; }
  /// Sends the data in out(). Requires: it is complete.
  void send(int lane);
  /// Waits for the messages of all other localities. False: a device of another locality has failed.
  [[nodiscard]] bool wait(int lane);
  /// The data that has arrived, laid out as the lane says. Valid until the same lane of the next step.
  const double* in(int lane) const { return in_.data + in_begin_[static_cast<std::size_t>(lane)]; }
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
  void open();
  void arrived(const step::message& m) override;
  void lost(int peer, const std::string& why) override;
  void end_all(int peer, const std::string& why);

  step::exchange& net_;
  device::machine& on_;
  std::vector<device::message_lane> lanes_;
  pinned out_;
  // Each lane has its own memory: its messages may arrive while the device still reads those of the lane before.
  pinned in_;
  std::vector<std::size_t> in_begin_;                   // by lane
  std::vector<std::unique_ptr<step::round_end>> ends_;  // by lane
  std::atomic<bool> ended_{false}, peer_failed_{false};
};

}  // namespace plx::star
