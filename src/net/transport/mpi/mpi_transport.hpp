// Messages by MPI's point-to-point calls, for machines whose network MPI supports best.
//
// A short message within a host goes through shared memory (net/transport/near_rings.hpp), any other one without pieces
// is one MPI message. Otherwise an announcement with the head and the pieces' sizes is sent first; the pieces are sent
// from the memory where they are into the memory that the receiver provides. Each message with pieces has a tag of its
// own, so the pieces of a refused one can be received, and discarded, one after the other. MPI does not report dead
// peers and has no way to sleep: the failure detector detects the former, and the runtime has to poll. After the death
// of a process MPI may fail between survivors as well. Which messages MPI accepts is not checked here.
//
// Thread safety and cost: as in net/transport/transport.hpp; MPI is called by the thread that holds the lock. Example:
// tests/net/test_transports.py
#pragma once

#include <mpi.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/transport/mpi/mpi_bootstrap.hpp"
#include "net/transport/process_transport.hpp"

namespace plx::net::detail {

/// Called by all localities of the job together: see find_transport(). Errors: one line. Requires: `b` is an
/// mpi_bootstrap.
result<std::unique_ptr<transport>> make_mpi_transport(bootstrap& b, job_info job, double deadline_s);

class mpi_transport final : public process_transport {
 public:
  explicit mpi_transport(mpi_bootstrap& b);
  ~mpi_transport() override;
  /// Called before any other function.
  result<void> open(job_info job, double deadline_s);

  [[nodiscard]] std::string_view name() const noexcept override { return "mpi"; }
  [[nodiscard]] std::size_t max_head_bytes() const noexcept override { return std::size_t{64} << 10; }
  void start(receiver& r) override;

 private:
  // A message that MPI has not finished with, in either direction.
  struct under_way {
    locality_id peer = no_locality;
    outgoing* message = nullptr;  // of a send
    void* announced = nullptr;    // of a receive; null if the receiver refused it
    bool ok = true;
    bool given_up = false;             // its peer is lost; MPI may still use its memory
    unsigned open = 0;                 // requests
    std::size_t at = 0;                // its index in under_way_
    int tag = 0;                       // of its pieces
    std::vector<std::byte> bytes;      // of the announcement, or for pieces that are discarded
    std::vector<std::size_t> discard;  // sizes of pieces that will be received into `bytes`, the next one last
  };

  void issue(outgoing& m) noexcept override;
  bool advance() noexcept override;
  void handle_losses() noexcept override;
  void give_up_peer(locality_id who, std::string why) noexcept override { detector_->report_lost(who, std::move(why)); }
  void give_up_all() noexcept override;
  void issue_pieces(outgoing& m) noexcept;
  bool send_bytes(locality_id to, std::span<const std::byte> bytes, int tag, MPI_Comm where,
                  MPI_Request& request) noexcept;
  void send_part(under_way& u, std::span<const std::byte> bytes, int tag, MPI_Comm where) noexcept;
  void receive_bytes(under_way& u, void* to, std::size_t bytes) noexcept;
  void receive_next(under_way& u) noexcept;

  void listen(std::size_t i) noexcept;
  bool complete_some() noexcept;
  void take_head(std::size_t i, const MPI_Status& status) noexcept;
  void take_announcement(locality_id from, std::span<const std::byte> bytes) noexcept;
  bool keep_announcement(locality_id from, std::span<const std::byte> whole, std::span<const std::byte> head,
                         std::span<const place> places) noexcept;
  void take_waiting() noexcept;
  void refuse(locality_id from, const char* why) noexcept;
  under_way& begin(locality_id peer) noexcept;
  void add(under_way& u, MPI_Request request) noexcept;
  void end(under_way& u) noexcept;
  void lose(const loss& l) noexcept;
  void give_up(locality_id who) noexcept;

  mpi_bootstrap& bootstrap_;
  const mpi_library& mpi_;
  std::vector<char> lost_;
  bool ending_ = false;  // heads are no longer received
  std::uint64_t messages_ = 0;
  std::vector<std::vector<std::byte>> heads_;  // memory of the receives of heads, which are the first of requests_
  // All requests that MPI has not completed, so that one call checks them; with the message each belongs to, null for
  // heads. During complete_some() entries are only appended.
  std::vector<MPI_Request> requests_;
  std::vector<under_way*> of_;
  std::vector<int> completed_;  // of one call of MPI_Testsome
  std::vector<MPI_Status> statuses_;
  std::vector<std::unique_ptr<under_way>> under_way_;
  struct waiting {
    locality_id from;
    std::vector<std::byte> bytes;
  };
  std::deque<waiting> waiting_;  // announcements that the receiver has no room for yet
  bool takes_waiting_ = false;   // the announcement that is being taken is the first of these
};

}  // namespace plx::net::detail
