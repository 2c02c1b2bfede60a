// Parcels that arrive at a node: their decoding, their part of the receive budget, and the credits of their senders.
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "base/log.hpp"
#include "net/action.hpp"
#include "net/core/failure.hpp"
#include "net/core/node.hpp"
#include "net/error.hpp"
#include "net/group/call.hpp"
#include "net/parcels/message_log.hpp"
#include "net/parcels/parcel_port.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/measure/origin.hpp"

namespace plx::net {

struct node::arrived_parcel {
  parcel_header header;
  std::uint64_t caller = 0;  // of a forwarded call

  [[nodiscard]] bool is_forwarded() const noexcept { return (header.flags & forwarded) != 0; }
};

// A parcel whose pieces have not all arrived: a task that will run, or an expected answer. If the whole payload comes
// as a piece, which of the two it is becomes known when that piece has arrived.
struct node::arriving {
  parcel_task* task = nullptr;
  reply_target* answer = nullptr;
  arrived_parcel parcel;
  std::unique_ptr<std::byte[]> payload;
  std::uint64_t size_bytes = 0;
  std::uint64_t number = 0;
  std::uint32_t held = 0;  // of the receive budget
  bool informed = false;   // the waiting caller knows that the answer will not come
};

namespace {

void credits_returned(sender s, std::uint64_t returned) {
  node& n = node_here();
  if (!n.port().return_credits(s.who, returned)) n.refuse(s.who, "it returns more credits than it was given");
}

}  // namespace

template <>
inline constexpr bool is_control<&credits_returned> = true;
template <>
inline constexpr bool is_direct<&credits_returned> = true;

namespace {

/// During its lifetime, tasks that become ready are recorded as caused by a numbered parcel.
class caused_by_parcel {
 public:
  caused_by_parcel(message_log& log, std::uint64_t number, locality_id from, std::uint64_t bytes) noexcept {
    if (number == 0) [[likely]]
      return;
    const probe::task_id join = log.received(number, from, bytes);
    if (join == 0) return;
    cause_.emplace();
    cause_->id = join;
    by_.emplace(&*cause_);
  }

 private:
  std::optional<plx::detail::origin> cause_;
  std::optional<plx::detail::made_ready_by> by_;
};

/// Lifetime: the handling of one message, whose sender was not lost when that began.
class taking_one {
 public:
  // seq_cst, as in close_peer() and parcels_without(): either this thread sees that the sender is lost, or they see
  // this increment.
  explicit taking_one(std::atomic<unsigned>& n) noexcept : n_(n) { n_.fetch_add(1, std::memory_order_seq_cst); }
  ~taking_one() { n_.fetch_sub(1, std::memory_order_release); }
  taking_one(const taking_one&) = delete;
  taking_one& operator=(const taking_one&) = delete;

 private:
  std::atomic<unsigned>& n_;
};

std::exception_ptr remote_failure(const node& n, locality_id from, wire_reader& r) {
  detail::failure f;
  read(r, f);
  if (r.failed() || (f.kind != detail::failure::thrown && (f.who >= n.size() || f.first >= n.size())))
    f = {detail::failure::thrown, no_locality, no_locality, "(the exception cannot be read)"};
  return detail::exception_of(f, from);
}

// Limit for one message: memory is allocated for announced bytes before they arrive.
std::uint64_t most_bytes() noexcept {
  static const std::uint64_t bytes = [] {
    const long pages = sysconf(_SC_PHYS_PAGES), each = sysconf(_SC_PAGESIZE);
    return pages > 0 && each > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(each)
                                 : std::uint64_t{1} << 40;
  }();
  return bytes;
}

}  // namespace

void node::refuse(locality_id from, const char* why) noexcept {
  port_.note_refused();
  log_warning("a message from locality {} was refused: {}", from, why);
}

void node::start(parcel_task* t, const action_entry& action, locality_id from) noexcept {
  if (!action.control) note_started(from);
  if (action.direct)
    t->run(t, plx::detail::run_mode::run_inline);
  else
    runtime_.get_scheduler().submit(t);
}

// The credits of a call that becomes a task; the sender computes the same (send_values()).
std::uint32_t node::credits_of(const action_entry* e, const parcel_header& h, std::uint64_t bytes) const noexcept {
  if (e == nullptr || e->direct || e->control) return 0;
  if ((h.flags & forwarded) != 0) bytes += caller_bytes;
  return static_cast<std::uint32_t>(port_.credits_for(bytes));
}

void node::share_memory(unsigned localities) noexcept { bound_received(most_bytes() / 8 / std::max(localities, 1u)); }

locality_id node::caller_of(const arrived_parcel& p) const noexcept {
  return p.is_forwarded() && p.caller < size_ ? static_cast<locality_id>(p.caller) : no_locality;
}

// A call's part of the receive budget. The data of replies and of direct actions do not count: waiting callers bound
// the former, and the latter are not queued.
std::uint32_t node::held_by(const parcel_header& h, std::uint64_t bytes) const noexcept {
  if (credits_of(action_of(h), h, 0) == 0) return 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(pages_of(bytes), ~std::uint32_t{0}));
}

// Calls that have arrived begin, whatever other tasks wait for, so there is room again.
bool node::has_room(std::span<const std::byte> head, std::uint64_t bytes, bool others_wait) noexcept {
  frame_reader f(head);
  if (!f.next()) return true;  // announced() refuses it
  const std::uint64_t pages = held_by(f.header(), bytes);
  if (pages == 0) return true;
  const std::uint64_t held = held_pages_.load(std::memory_order_relaxed);
  return !others_wait && (held == 0 || held + pages <= most_held_pages_.load(std::memory_order_relaxed));
}

// Invariant: when no thread is inside, less than a quarter of the credits has not been reported. So a sender without
// credits gets a report when all its calls have begun.
void node::report_credits(locality_id to, std::uint64_t begun) noexcept {
  traffic& t = traffic_[to];
  const std::uint64_t least = port_.credits_per_report();
  std::uint64_t reported = t.reported.load(std::memory_order_relaxed);
  do {
    if (begun < reported + least) return;  // or another thread has reported these as well
  } while (!t.reported.compare_exchange_weak(reported, begun, std::memory_order_relaxed));
  if (!is_lost(to)) detail::send_call<&credits_returned>(*this, to, 0, sender{here_}, begun);
}

// `later`: the parcel has pieces, which arrive later; null: the parcel is complete.
bool node::take(locality_id from, const arrived_parcel& p, wire_reader& r, arriving* later,
                std::uint32_t held) noexcept {
  const parcel_header& h = p.header;
  if (h.action == 0) {
    reply_target* answer = replies_.take(h.reply, from);
    if (answer == nullptr) return true;  // its caller no longer waits, or it is a duplicate
    if ((h.flags & failed_call) != 0) return answer->fail(remote_failure(*this, from, r)), true;
    if (!answer->read(r)) {
      answer->fail(std::make_exception_ptr(remote_error(from, "(the result does not have the expected type)")));
      return false;
    }
    if (later != nullptr)
      later->answer = answer;
    else
      answer->complete();
    return true;
  }
  const action_entry* e = action_of(h);
  const bool known = e != nullptr && (!p.is_forwarded() || p.caller < size_);
  const request q{this, from, credits_of(e, h, r.left_with_pieces()), h.reply, h.action, caller_of(p), held};
  parcel_task* t = known ? e->decode(r, q) : nullptr;
  if (t == nullptr) {
    if (!known) note_begun(q);  // decode() has done so
    if (h.reply != 0)
      detail::answer_with_error(
          {this, from, 0, h.reply, 0, q.caller, 0},
          std::make_exception_ptr(std::runtime_error("the arguments do not match the action's parameters")));
    return false;
  }
  if (later != nullptr)
    later->task = t;
  else
    start(t, *e, from);
  return true;
}

void node::arrived(locality_id from, std::span<const std::byte> head) noexcept {
  const taking_one taking(being_taken_);
  if (is_lost(from)) return;  // given up, although it still sends
  frame_reader f(head);
  while (f.next()) {
    wire_reader r(f.payload());
    const caused_by_parcel by(port_.messages(), f.number(), from, sizeof(parcel_header) + f.header().size);
    if (!take(from, {f.header(), f.caller()}, r, nullptr, 0))
      refuse(from, "a parcel's contents do not match its action");
  }
  if (!f.valid()) return refuse(from, f.problem());
  port_.note_received(f.parcels(), head.size());
}

// Also from a locality that was given up in the meantime: its calls have failed, or await what had arrived before.
void node::raw_arrived(locality_id from, std::span<const std::byte> message) noexcept {
  collective::deliver_raw(*this, from, message);
  note_raw_done(from);
}

// A parcel that arrived in part and will never be decoded: it counts as handled, and the waiting caller gets an error.
void node::drop_parcel(locality_id from, const arrived_parcel& p, std::uint64_t bytes, std::uint32_t held,
                       const char* why) noexcept {
  const parcel_header& h = p.header;
  if (h.action == 0) {
    if (reply_target* answer = replies_.take(h.reply, from))
      answer->fail(std::make_exception_ptr(remote_error(from, std::string("(the result was dropped: ") + why + ")")));
    return;
  }
  const action_entry* e = action_of(h);
  const request q{this,         from, credits_of(e, h, bytes), h.reply, e != nullptr ? h.action : std::uint16_t{0},
                  caller_of(p), held};
  note_begun(q);
  if (e != nullptr && !e->control) note_started(from), note_done(from);
  if (h.reply != 0 && !is_lost(q.answered()))
    detail::answer_with_error(q,
                              std::make_exception_ptr(std::runtime_error(std::string("the call was dropped: ") + why)));
}

void node::answer_here(const parcel_header& h, std::span<const std::byte> payload) noexcept {
  wire_reader r(payload);
  (void)take(here_, {h, 0}, r, nullptr, 0);
}

void* node::announced(locality_id from, std::span<const std::byte> head, std::span<place> places) noexcept {
  if (is_lost(from)) return nullptr;
  frame_reader f(head);
  if (!f.next() || f.parcels() != 1) return refuse(from, "a message with pieces is not a single parcel"), nullptr;
  const arrived_parcel parcel{f.header(), f.caller()};
  const parcel_header& header = parcel.header;
  const std::uint64_t number = f.number();
  const std::span<const std::byte> payload = f.payload();
  if (f.next() || !f.valid()) return refuse(from, f.problem()), nullptr;
  auto a = std::make_unique<arriving>();
  a->parcel = parcel;
  a->number = number;
  a->size_bytes = head.size();
  const auto drop = [&](const char* why) -> void* {
    refuse(from, why);
    std::uint64_t bytes = payload.size();
    for (const place& p : places) bytes += p.size_bytes;
    drop_parcel(from, parcel, bytes, 0, why);
    return nullptr;
  };
  for (const place& p : places) {
    if (p.size_bytes > most_bytes() - std::min(most_bytes(), a->size_bytes))
      return drop("it announces more bytes than this machine has");
    a->size_bytes += p.size_bytes;
  }
  const auto hold = [&] {
    a->held = held_by(header, a->size_bytes);
    held_pages_.fetch_add(a->held, std::memory_order_relaxed);
  };
  if ((header.flags & in_piece) != 0) {
    if (places.size() != 1 || !payload.empty()) return drop("a parcel sent as a piece has other contents as well");
    a->payload.reset(new (std::nothrow) std::byte[places[0].size_bytes]);
    if (a->payload == nullptr) return drop("out of memory");
    places[0].data = a->payload.get();
    hold();
    return a.release();
  }
  wire_reader r(payload, places);
  hold();
  if (!take(from, parcel, r, a.get(), a->held))
    return refuse(from, "a parcel's contents do not match its action"), nullptr;
  if (a->task == nullptr && a->answer == nullptr) return nullptr;  // the caller no longer waits
  return a.release();
}

void node::pieces_arrived(locality_id from, void* announced, bool ok) noexcept {
  const std::unique_ptr<arriving> a(static_cast<arriving*>(announced));
  const parcel_header& header = a->parcel.header;
  const taking_one taking(being_taken_);
  // A call from a locality that was given up in the meantime is dropped, as in arrived().
  if (a->answer == nullptr && is_lost(from)) ok = false;
  if (ok) port_.note_received(1, a->size_bytes);
  const caused_by_parcel by(port_.messages(), ok ? a->number : 0, from, a->size_bytes);
  constexpr const char* incomplete = "its data could not be received";
  if (a->payload != nullptr) {
    const std::uint64_t bytes = a->size_bytes - sizeof(frame_header) - sizeof(parcel_header) - header.size;
    if (!ok && header.action != 0) return drop_parcel(from, a->parcel, bytes, a->held, incomplete);
    if (!ok) {
      if (reply_target* answer = replies_.take(header.reply, from))
        answer->fail(std::make_exception_ptr(locality_lost(from, incomplete)));
      return;
    }
    wire_reader r({a->payload.get(), bytes});
    if (!take(from, a->parcel, r, nullptr, a->held)) refuse(from, "a parcel's contents do not match its action");
  } else if (a->task != nullptr) {
    if (ok) return start(a->task, *actions_[header.action], from);
    a->task->drop(a->task);
    const request q{this, from, 0, header.reply, header.action, caller_of(a->parcel), 0};
    if (header.reply != 0 && !is_lost(q.answered()))
      detail::answer_with_error(q, std::make_exception_ptr(std::runtime_error(incomplete)));
  } else if (ok) {
    a->answer->complete();
  } else if (a->informed) {
    a->answer->let_go();
  } else {
    // Usually its loss is about to be reported.
    a->answer->fail(is_lost(from) ? loss_of(from) : std::make_exception_ptr(locality_lost(from, incomplete)));
  }
}

void node::pieces_lost(locality_id from, void* announced) noexcept {
  arriving& a = *static_cast<arriving*>(announced);
  if (a.answer == nullptr) return;  // a call: no local future depends on it
  a.informed = true;
  a.answer->lose(loss_of(from));
}

}  // namespace plx::net
