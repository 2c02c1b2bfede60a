// Messages by MPI's point-to-point calls, for machines whose network MPI supports best.
//
// A message without pieces is one MPI message. Otherwise an announcement with the head and the pieces' sizes is sent
// first; the pieces are sent from the memory where they are into the memory that the receiver provides.
// MPI does not report dead peers and has no way to sleep: the lifelines detect the former, and the runtime has to poll.
// After the death of a process MPI may fail between survivors as well. Which messages MPI accepts is not checked here.
//
// Thread safety and cost: as in net/transport/transport.hpp; MPI is called by the thread that has the turn. Example:
// tests/net/test_transports.py
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "net/start/lifelines.hpp"
#include "net/start/meeting.hpp"
#include "net/transport/mpi/mpi_bootstrap.hpp"
#include "net/transport/transport.hpp"
#include "net/transport/turn.hpp"

namespace plx::net::detail {

/// Called by all localities of the job together. Errors: one line. Requires: `b` is an mpi_bootstrap.
result<std::unique_ptr<transport>> make_mpi_transport(bootstrap& b, double deadline_s);

class mpi_transport final : public transport {
 public:
  explicit mpi_transport(mpi_bootstrap& b);
  ~mpi_transport() override;
  /// Called before any other function.
  result<void> open(double deadline_s);

  [[nodiscard]] std::string_view name() const noexcept override { return "mpi"; }
  [[nodiscard]] std::size_t max_head_bytes() const noexcept override { return std::size_t{64} << 10; }
  void start(receiver& r) override;
  void send(locality_id to, outgoing& m) noexcept override;
  bool progress() noexcept override;
  [[nodiscard]] bool pending() const noexcept override {
    return unfinished_.load(std::memory_order_relaxed) != 0 || turn_.any();
  }
  bool stop(double deadline_s) noexcept override;
  [[nodiscard]] std::uint64_t refused() const noexcept override {
    return refused_.load(std::memory_order_relaxed) + lifelines_->refused();
  }

 private:
  // A message that MPI has not finished with, in either direction.
  struct under_way {
    locality_id peer = no_locality;
    outgoing* message = nullptr;  // of a send
    void* announced = nullptr;    // of a receive; null if the receiver refused it
    bool ok = true;
    std::vector<MPI_Request> requests;
    std::vector<std::byte> bytes;  // of the announcement, or for pieces that are discarded
  };
  struct place_for_head {
    std::vector<std::byte> bytes;
    MPI_Request request{};
  };

  void end_turn() noexcept;
  void issue(outgoing& m) noexcept;
  void issue_pieces(outgoing& m, under_way& u) noexcept;
  void send_bytes(under_way& u, std::span<const std::byte> bytes, int tag, MPI_Comm where) noexcept;
  void receive_bytes(under_way& u, void* to, std::size_t bytes) noexcept;

  void listen(place_for_head& p) noexcept;
  bool receive_heads() noexcept;
  void refuse(locality_id from, const char* why) noexcept;
  void take_announcement(locality_id from, std::span<const std::byte> bytes) noexcept;
  bool finish_some() noexcept;
  bool finished(under_way& u) noexcept;
  void hand_back(under_way& u, bool ok) noexcept;
  void finish_given_up() noexcept;
  bool look_at_lifelines() noexcept;
  void lose(const loss& l) noexcept;
  void give_up(locality_id who) noexcept;

  mpi_bootstrap& bootstrap_;
  const mpi_library& mpi_;
  meeting meeting_;
  std::unique_ptr<lifelines> lifelines_;
  ticks next_look_ = 0;  // when the lifelines are checked next
  receiver* receiver_ = nullptr;
  std::vector<char> lost_;
  std::deque<place_for_head> heads_;  // the first is the one that MPI fills next
  std::vector<std::unique_ptr<under_way>> under_way_;
  std::vector<std::unique_ptr<under_way>> given_up_;  // with lost peers; MPI may still use their memory
  std::atomic<std::uint64_t> unfinished_{0}, refused_{0};
  turn turn_;
};

}  // namespace plx::net::detail
