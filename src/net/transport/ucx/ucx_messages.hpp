// What the active messages of Parallax look like, and the states of those that are under way.
#pragma once

#include <cstdint>
#include <vector>

#include "net/transport/transport.hpp"

namespace plx::net::detail {

class ucx_transport;

/// The active messages' numbers.
enum ucx_message : unsigned {
  ucx_head = 1,   ///< header: signature. Data: the head; there are no pieces
  ucx_single,     ///< header: signature, head. Data: the only piece
  ucx_announced,  ///< header: signature, piece_number. Data: the pieces' sizes (u64 each), the head
  ucx_piece,      ///< header: signature, piece_number. Data: the piece
  ucx_probe,      ///< header: signature. No data: shows that messages arrive
};

/// Begins the header of each: who sends it, and what only the job's own processes know.
struct ucx_signature {
  std::uint64_t proof;
  locality_id from;
  std::uint32_t zero;
};

/// Follows it where a message has several parts.
struct piece_number {
  std::uint64_t message;  ///< counted by the sender
  std::uint32_t index;    ///< of a piece; 0 in an announcement
  std::uint32_t pieces;   ///< how many the message has
};

struct numbered_header {
  ucx_signature signature;
  piece_number number;
};

/// A message that UCX has not finished with.
struct ucx_sending {
  ucx_transport* owner = nullptr;
  outgoing* message = nullptr;
  locality_id to = no_locality;
  std::size_t parts = 0;  ///< active messages that are not finished
  bool ok = true;
  bool given_up = false;                 ///< the peer is lost; UCX may look at its memory all the same
  std::vector<std::byte> data;           ///< header of a single, or data of an announcement: UCX needs them to the end
  std::vector<numbered_header> headers;  ///< of the announcement and of each piece
  ucx_sending *before = nullptr, *after = nullptr;
};

/// A message with pieces that comes in.
struct ucx_receiving {
  struct early_piece {
    std::uint32_t index;
    void* rendezvous;  ///< UCX's handle, or null: it is here
    std::size_t size_bytes;
    std::vector<std::byte> bytes;  ///< then
  };
  ucx_transport* owner = nullptr;
  locality_id from = no_locality;
  std::uint64_t number = 0;
  void* announced = nullptr;  ///< what the receiver gave; null when it refused
  bool known = false;         ///< the announcement has come
  bool ok = true;
  bool given_up = false;    ///< the peer is lost
  std::size_t missing = 0;  ///< pieces
  std::size_t open = 0;     ///< of them, those that UCX was given a place for, and may write to
  std::vector<bool> came;   ///< by piece: so that none counts twice
  std::vector<place> places;
  std::vector<early_piece> early;  ///< came before the announcement
};

}  // namespace plx::net::detail
