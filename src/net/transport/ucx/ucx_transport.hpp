// Messages by UCX's active messages: shared memory within a host, TCP or InfiniBand between hosts, as UCX chooses.
//
// A message without pieces, or with one piece and a small head, is one active message; otherwise an announcement with
// the head is followed by one active message per piece. UCX sends pieces from the memory where they are; large ones
// (its rendezvous) arrive directly in the memory that the receiver provides. Each active message begins with a
// signature: a message without that of its sender is refused before its contents are read.
//
// Endpoints to other hosts use UCX's error handling; those within the host do not, because with it UCX 1.13 does not
// use shared memory (a message of 8 bytes takes 3.5 us instead of 0.3).
//
// A process that is killed while it writes to the shared memory of another may leave UCX's queue there in a state in
// which no message arrives any more, from any sender (seen in one of 24 such losses under the densest traffic). So
// after a death on this host, neighbours are requested to send a message (ucx_transport.cpp); a locality that does not
// receive them although they were sent leaves the job, and is lost as well within some seconds, instead of hanging.
//
// Thread safety and cost: as in net/transport/transport.hpp. All members except the atomic counts belong to the thread
// that holds the lock. Example: net/transport/ucx/test/ucx_transport_test.cpp
#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "net/transport/process_transport.hpp"
#include "net/transport/ucx/ucx_memory.hpp"

// UCX's functions, looked up when a multi-process job starts. UCX is never linked: single-process programs neither need
// it nor pay for its start, and its signal handlers, which would run before the flight recorder's, are not installed.
// The first load sets an environment variable: it happens while few threads run.

// X(name): ucp_NAME of UCX 1.13 and newer.
#define PLX_UCP_FUNCTIONS(X) \
  X(am_data_release)         \
  X(am_recv_data_nbx)        \
  X(am_send_nbx)             \
  X(atomic_op_nbx)           \
  X(cleanup)                 \
  X(config_modify)           \
  X(config_read)             \
  X(config_release)          \
  X(ep_close_nbx)            \
  X(ep_create)               \
  X(ep_flush_nbx)            \
  X(ep_print_info)           \
  X(ep_rkey_unpack)          \
  X(get_nbx)                 \
  X(init_version)            \
  X(mem_map)                 \
  X(mem_query)               \
  X(mem_unmap)               \
  X(put_nbx)                 \
  X(request_check_status)    \
  X(request_free)            \
  X(rkey_buffer_release)     \
  X(rkey_destroy)            \
  X(rkey_pack)               \
  X(rkey_ptr)                \
  X(worker_arm)              \
  X(worker_create)           \
  X(worker_destroy)          \
  X(worker_get_address)      \
  X(worker_get_efd)          \
  X(worker_progress)         \
  X(worker_query)            \
  X(worker_release_address)  \
  X(worker_set_am_recv_handler)

namespace plx::net::detail {

struct ucx_library {
#define PLX_MEMBER(name) decltype(&::ucp_##name) name = nullptr;
  PLX_UCP_FUNCTIONS(PLX_MEMBER)
#undef PLX_MEMBER
  decltype(&::ucs_status_string) status_string = nullptr;
};

/// Whether UCX uses its transports by shared memory, with this value of UCX_TLS. Null: all transports.
bool uses_shared_memory(const char* transports) noexcept;

/// The library, loaded by the first call; or a one-line error.
result<const ucx_library*> load_ucx();

// The formats of active messages, and the states of unfinished sends and receives.

class ucx_transport;

/// The ids of the active messages.
enum ucx_message : unsigned {
  ucx_head = 1,   ///< header: signature. Data: the head of a message without pieces
  ucx_single,     ///< header: signature, head. Data: the only piece
  ucx_announced,  ///< header: signature, piece_number. Data: the pieces' sizes (u64 each), the head
  ucx_piece,      ///< header: signature, piece_number. Data: the piece
  ucx_probe,      ///< header: signature. Data: ignored. Shows that messages arrive, or wakes the receiver
};

/// The start of each header: the sender, and a proof that only processes of the job can make.
struct ucx_signature {
  std::uint64_t proof;
  locality_id from;
  std::uint32_t zero;
};

/// Follows the signature if a message has several parts.
struct piece_number {
  std::uint64_t message;  ///< counted by the sender
  std::uint32_t index;    ///< of a piece; 0 in an announcement
  std::uint32_t pieces;   ///< how many the message has
};

struct numbered_header {
  ucx_signature signature;
  piece_number number;
};

/// A message whose send UCX has not completed.
struct ucx_sending {
  ucx_transport* owner = nullptr;
  outgoing* message = nullptr;
  locality_id to = no_locality;
  std::size_t parts = 0;  ///< active messages that have not completed
  bool ok = true;
  bool given_up = false;                 ///< the peer is lost; UCX may still access the memory
  std::vector<std::byte> data;           ///< header of a single, or data of an announcement: needed until completion
  std::vector<numbered_header> headers;  ///< of the announcement and of each piece
  ucx_sending *before = nullptr, *after = nullptr;
};

/// A message with pieces that is being received.
struct ucx_receiving {
  struct early_piece {
    std::uint32_t index;
    void* rendezvous;  ///< UCX's handle; null: the data are in `bytes`
    std::size_t size_bytes;
    std::vector<std::byte> bytes;  ///< empty with a rendezvous
  };
  ucx_transport* owner = nullptr;
  locality_id from = no_locality;
  std::uint64_t number = 0;
  void* announced = nullptr;  ///< the receiver's result; null if it refused the message
  bool known = false;         ///< the announcement has arrived, and the receiver knows it
  bool ok = true;
  bool given_up = false;    ///< the peer is lost
  std::size_t missing = 0;  ///< pieces that have not been received
  std::size_t open = 0;     ///< receives that UCX has not completed, and whose memory it may write to
  std::vector<bool> came;   ///< by piece, to detect duplicates
  std::vector<place> places;
  std::vector<early_piece> early;  ///< pieces that arrived before the receiver knew the announcement
  std::vector<std::byte> head;     ///< of an announcement that the receiver has no room for yet
};

/// Called by all localities of the job together: see find_transport(). Errors: one line.
result<std::unique_ptr<transport>> make_ucx_transport(bootstrap& b, job_info job, double deadline_s);

class ucx_transport final : public process_transport {
 public:
  ucx_transport(const ucx_library& ucx, unsigned localities);
  ~ucx_transport() override;
  /// Called before any other function.
  result<void> open(bootstrap& b, job_info job, double deadline_s);

  [[nodiscard]] std::string_view name() const noexcept override { return "ucx"; }
  [[nodiscard]] std::size_t max_head_bytes() const noexcept override { return std::size_t{256} << 10; }
  [[nodiscard]] int wake_fd() const noexcept override { return wakes_ ? detector_->fd() : -1; }
  bool arm() noexcept override;
  void start(receiver& r) override;
  [[nodiscard]] remote_memory* memory() noexcept override { return &memory_; }

 private:
  friend class ucx_memory;
  struct peer {
    ucx_transport* owner = nullptr;
    locality_id id = no_locality;
    std::string address;  // of its UCX worker
    std::uint64_t proof = 0;
    bool near = false;  // on this host
    bool lost = false;
    std::string failed;  // why it is about to be lost; otherwise ""
    ucp_ep_h endpoint = nullptr;
    ucx_sending* sending = nullptr;  // a list
    std::unordered_map<std::uint64_t, std::unique_ptr<ucx_receiving>> coming;
  };

  [[nodiscard]] error failed(std::string_view what, ucs_status_t s) const;
  result<void> open_context(std::uint64_t features, ucp_context_h& into);
  result<void> open_worker();
  result<std::string> address_of_worker();
  void set_handler(unsigned id, ucp_am_recv_callback_t f);

  void issue(outgoing& m) noexcept override;
  void issue_access(remote_access& a) noexcept override { memory_.issue(a); }
  bool advance() noexcept override;
  void handle_losses() noexcept override;
  void give_up_peer(locality_id who, std::string why) noexcept override { fail(peers_[who], std::move(why)); }
  bool flush(ticks end) noexcept override;
  void all_finished() noexcept override { stopping_ = true; }
  void give_up_all() noexcept override;
  ucp_ep_h endpoint_to(peer& p) noexcept;
  static void endpoint_failed(void* peer, ucp_ep_h endpoint, ucs_status_t status);
  void fail(peer& p, std::string why) noexcept;
  bool lose_failed() noexcept;
  void lose(peer& p) noexcept;

  // Detects whether this locality still receives messages from others on this host.
  void begin_reception_check(locality_id dead) noexcept;
  void request_probes() noexcept;
  void check_reception() noexcept;
  void send_probe(peer& p) noexcept;

  // Sending: ucx_messages.cpp.
  void issue_head(peer& p, ucp_ep_h endpoint, outgoing& m) noexcept;
  void issue_single(peer& p, ucp_ep_h endpoint, outgoing& m) noexcept;
  void issue_parts(peer& p, ucp_ep_h endpoint, outgoing& m) noexcept;
  void issue_part(peer& p, ucp_ep_h endpoint, ucx_sending& s, unsigned id, std::span<const std::byte> header,
                  std::span<const std::byte> data, unsigned flags) noexcept;
  void link(peer& p, ucx_sending& s) noexcept;
  static void part_sent(void* request, ucs_status_t status, void* sending);
  void part_ended(ucx_sending& s, bool ok) noexcept;
  void give_up_sending(peer& p) noexcept;
  void fail_sent(peer& p) noexcept;

  // Receiving: ucx_messages.cpp.
  peer* signer(const void* header, std::size_t size_bytes) noexcept;
  static ucs_status_t on_head(void* self, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                              const ucp_am_recv_param_t* how);
  static ucs_status_t on_single(void* self, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                                const ucp_am_recv_param_t* how);
  static ucs_status_t on_announced(void* self, const void* header, std::size_t header_bytes, void* data,
                                   std::size_t bytes, const ucp_am_recv_param_t* how);
  static ucs_status_t on_probe(void* self, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                               const ucp_am_recv_param_t* how);
  static ucs_status_t on_piece(void* self, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                               const ucp_am_recv_param_t* how);
  ucx_receiving& coming(peer& p, std::uint64_t number, std::size_t pieces) noexcept;
  void announce(ucx_receiving& r, std::span<const std::byte> head) noexcept;
  bool announce_if_room(ucx_receiving& r, std::span<const std::byte> head) noexcept;
  void announce_waiting() noexcept;
  void take_early_pieces(ucx_receiving& r) noexcept;
  bool take_piece(ucx_receiving& r, std::size_t index, void* data, std::size_t bytes, bool rendezvous) noexcept;
  static void piece_received(void* request, ucs_status_t status, std::size_t bytes, void* receiving);
  void piece_ended(ucx_receiving& r, bool ok) noexcept;
  void give_up_receiving(peer& p) noexcept;
  void let_go_of(ucx_receiving& r) noexcept;
  void return_places() noexcept;
  ucs_status_t refuse() noexcept;

  const ucx_library& ucx_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  std::size_t max_header_bytes_ = 0;
  std::vector<peer> peers_;
  ucx_signature signature_{};
  std::uint64_t near_arrivals_ = 0;  // messages from peers on this host
  struct {
    locality_id dead = no_locality;  // whose death is the reason; none: no check is in progress
    std::uint64_t arrivals = 0;      // near_arrivals_ at that time
    unsigned rounds = 0;             // in which neighbours replied and nothing arrived
    ticks round_end = 0;             // end of the round; 0: no neighbour has replied yet
  } reception_check_;
  std::uint64_t messages_ = 0, singles_ = 0;  // numbers of sent messages with several parts, and of received singles
  bool wakes_ = false;                        // UCX has a file descriptor for its events
  bool any_failed_ = false;
  bool stopping_ = false;
  ucx_sending* spare_ = nullptr;
  ucx_memory memory_;
  struct waiting {
    locality_id from;
    std::uint64_t number;
  };
  std::deque<waiting> waiting_;                           // announcements that the receiver has no room for yet
  std::vector<std::unique_ptr<ucx_receiving>> given_up_;  // receives whose memory UCX may still write to
};

}  // namespace plx::net::detail
