#include "net/action.hpp"

#include "net/core/failure.hpp"

namespace plx::net::detail {

void send_bytes(node& n, locality_id to, std::uint16_t action, parcel_header h, std::span<const std::byte> payload) {
  h.size = static_cast<std::uint32_t>(payload.size());
  const open_parcel p = n.port().open(to, action, h);
  if (!payload.empty()) std::memcpy(p.payload, payload.data(), payload.size());
  n.port().close(p);
}

void send_large(node& n, locality_id to, std::uint16_t action, parcel_header h, large_message& m,
                void (*write)(wire_writer&, const large_message&), accounting how) {
  std::unique_ptr<large_message, void (*)(large_message*) noexcept> unsent(&m, m.destroy);
  std::vector<departure> departures;
  wire_writer counting({}, &m.parts, &departures);
  write(counting, m);
  const std::size_t before_piece = (h.flags & forwarded) != 0 ? caller_bytes : 0;  // the caller is always in the head
  const bool fits = counting.used() <= n.port().max_payload_bytes() && m.parts.size() <= most_pieces;
  m.parts.clear();
  if (fits) {
    h.size = static_cast<std::uint32_t>(counting.used());
  } else {
    h.flags |= in_piece;
    wire_writer whole({});
    write(whole, m);
    m.whole.resize(whole.used());
    wire_writer again(m.whole);
    write(again, m);
    m.parts = {{m.whole.data() + before_piece, m.whole.size() - before_piece}};
    h.size = static_cast<std::uint32_t>(before_piece);
  }
  const std::size_t payload_bytes = h.size;
  m.number = n.port().next_number();
  const std::size_t before_payload = m.number != 0 ? number_bytes : 0;
  if (m.number != 0) {
    h.flags |= numbered;
    h.size += static_cast<std::uint32_t>(number_bytes);
  }
  m.bytes.resize(sizeof(frame_header) + sizeof h + h.size);
  frame_header f;
  f.parcels = 1;
  std::memcpy(m.bytes.data(), &f, sizeof f);
  std::memcpy(m.bytes.data() + sizeof f, &h, sizeof h);
  if (m.number != 0) std::memcpy(m.bytes.data() + sizeof f + sizeof h, &m.number, number_bytes);
  if (fits) {
    wire_writer w({m.bytes.data() + sizeof f + sizeof h + before_payload, payload_bytes}, &m.parts);
    write(w, m);
  } else if (before_piece != 0) {
    std::memcpy(m.bytes.data() + sizeof f + sizeof h + before_payload, m.whole.data(), before_piece);
  }
  std::uint64_t bytes = payload_bytes;
  for (const piece& part : m.parts) bytes += part.size_bytes;
  note_leaving(n, to, how, bytes);
  for (const departure& d : departures) d.leaves(d.what, to);
  n.port().send(to, action, *unsent.release());
}

void answer(const request& q) {
  parcel_header h;
  h.reply = q.reply_to;
  if (q.caller == q.here->here()) return answer_here(*q.here, h);
  send_values(*q.here, q.answered(), q.action, h);
}

// Services that are destroyed with the node fail what they still hold; by then, its runtime has ended, and nothing is
// sent.
void answer_with_error(const request& q, std::exception_ptr e) noexcept {
  parcel_header h;
  h.reply = q.reply_to;
  h.flags = failed_call;
  if (q.caller == q.here->here()) return answer_here(*q.here, h, failure_of(e));
  if (q.here->stopped()) return;
  send_values(*q.here, q.answered(), q.action, h, failure_of(e));
}

}  // namespace plx::net::detail
