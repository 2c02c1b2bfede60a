// The formats of Parallax's active messages, and the states of unfinished sends and receives.
#pragma once

#include <cstdint>
#include <vector>

#include "net/transport/transport.hpp"

namespace plx::net::detail {

class ucx_transport;

/// The ids of the active messages.
enum ucx_message : unsigned {
  ucx_head = 1,   ///< header: signature. Data: the head of a message without pieces
  ucx_single,     ///< header: signature, head. Data: the only piece
  ucx_announced,  ///< header: signature, piece_number. Data: the pieces' sizes (u64 each), the head
  ucx_piece,      ///< header: signature, piece_number. Data: the piece
  ucx_probe,      ///< header: signature. No data: shows that messages arrive
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
  bool known = false;         ///< the announcement has arrived
  bool ok = true;
  bool given_up = false;    ///< the peer is lost
  std::size_t missing = 0;  ///< pieces that have not been received
  std::size_t open = 0;     ///< receives that UCX has not completed, and whose memory it may write to
  std::vector<bool> came;   ///< by piece, to detect duplicates
  std::vector<place> places;
  std::vector<early_piece> early;  ///< pieces that arrived before the announcement
};

}  // namespace plx::net::detail
