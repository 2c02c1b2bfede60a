#include "net/core/node.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "net/action.hpp"
#include "net/core/failure.hpp"
#include "net/core/waker.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"
#include "net/parcels/collector.hpp"
#include "net/parcels/message_log.hpp"
#include "net/parcels/parcel_port.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/settings.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/measure/origin.hpp"
#include "trace/task_files.hpp"

namespace plx::net {

namespace detail {
unsigned next_service_slot() noexcept {
  static std::atomic<unsigned> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace detail

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

struct node::locks {
  std::mutex lost;
  std::recursive_mutex services;      // the constructor of a service may request another service
  std::vector<locality_id> reported;  // peers whose loss the services know; guarded by `services`
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

plx::detail::scheduler& scheduler_of(runtime& rt) { return rt.get_scheduler(); }

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
  if (r.failed() || (f.kind != detail::failure::thrown && f.who >= n.size()))
    f = {detail::failure::thrown, no_locality, "(the exception cannot be read)"};
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

node::node(runtime& rt, std::unique_ptr<transport> t, locality_id here, unsigned localities)
    : runtime_(rt),
      transport_(std::move(t)),
      here_(here),
      size_(localities),
      port_(scheduler_of(rt), *transport_, here, localities),
      traffic_(localities),
      most_held_pages_(pages_of(most_bytes() / 8)),
      locks_(std::make_unique<locks>()),
      why_lost_(localities) {
  if (auto set = coalesce_as(*this, rt.options().measure->coalesce); !set)
    throw std::invalid_argument(set.error().message);
  rt.when_counted(
      [](void* self, probe::counter_registry& r) {
        auto& n = *static_cast<node*>(self);
        auto added = add_port_counters(r, n.port_, n.runtime_.recorder());
        added.push_back(r.add({fmt::format("/calls{{{}/total}}/time/unanswered", r.locality_name()), "s",
                               "Time in which at least one call to another locality had no answer", true},
                              [&n] { return seconds(n.replies_.time_waited()); }));
        return added;
      },
      this);
  if (size_ > 1 && probe::wants_trace(*rt.options().measure)) port_.messages().start();  // before the first message
  scheduler_of(rt).attach(this);
  transport_->start(*this);
  if (const int fd = transport_->wake_fd(); fd >= 0) waker_ = std::make_unique<waker>(runtime_, fd);
  if (size_ > 1) poller_ = runtime_.add_poller(poll, this);
}

node::~node() {
  PLX_ASSERT(stopped_ && "call stop() on a node before its runtime ends");
  if (const std::uint64_t n = port_.counts().dropped; n != 0)
    log_warning("locality {} dropped {}: their localities were lost, or the job had ended", here_, plural(n, "post"));
  while (!owned_.empty()) owned_.pop_back();
}

bool node::stop(double deadline_s) noexcept {
  if (stopped_.exchange(true)) return true;
  expect_leaving();
  if (poller_ != 0) runtime_.remove_poller(poller_);
  waker_.reset();
  port_.end();
  const bool in_time = transport_->stop(deadline_s);
  for (locality_id i = 0; i < size_; ++i) {
    if (i == here_) continue;
    {
      const std::lock_guard guard(locks_->lost);
      if (why_lost_[i].empty()) why_lost_[i] = "the job has ended";
    }
    port_.close_peer(i);
    for (reply_target* t : replies_.take_all(i)) t->fail(loss_of(i));
  }
  return in_time;
}

poll_result node::poll(void* self) {
  node& n = *static_cast<node*>(self);
  const ticks begin = now_ticks();
  ticks waited = 0;
  bool happened = n.port_.flush(waited);
  happened |= n.transport_->progress();
  if (!happened) happened = n.port_.flush_idle();
  if (!happened) return n.nothing_came();
  n.port_.note_polled(now_ticks() - begin - waited);
  n.quiet_since_ = 0;
  return poll_result::progressed;
}

// Polling has a lower latency than being woken: workers may sleep only after 200 us without messages.
poll_result node::nothing_came() {
  static const ticks quiet = ticks_from(200e-6);
  if (transport_->pending() || port_.pending()) return poll_result::pending;
  if (!transport_->must_be_asked()) return poll_result::idle;
  if (waker_ == nullptr) return poll_result::pending;
  if (waker_->waiting()) return poll_result::idle;
  const ticks now = now_ticks();
  if (quiet_since_ == 0) quiet_since_ = now;
  if (now - quiet_since_ < quiet || !transport_->arm()) return poll_result::pending;
  waker_->armed();
  return poll_result::idle;
}

void node::refuse(locality_id from, const char* why) noexcept {
  port_.note_refused();
  log_warning("a message from locality {} was refused: {}", from, why);
}

void node::start(parcel_task* t, const action_entry& action, locality_id from) noexcept {
  if (!action.control) note_started(from);
  if (action.direct)
    t->run(t, plx::detail::run_mode::run_inline);
  else
    scheduler_of(runtime_).submit(t);
}

// The credits of a call that becomes a task; the sender computes the same (send_values()).
std::uint32_t node::credits_of(const parcel_header& h, std::uint64_t bytes) const noexcept {
  const auto actions = all_actions();
  if (h.action == 0 || h.action >= actions.size()) return 0;
  const action_entry& e = *actions[h.action];
  if ((h.flags & forwarded) != 0) bytes += caller_bytes;
  return e.direct || e.control ? 0 : static_cast<std::uint32_t>(port_.credits_for(bytes));
}

void node::share_memory(unsigned localities) noexcept { bound_received(most_bytes() / 8 / std::max(localities, 1u)); }

locality_id node::caller_of(const arrived_parcel& p) const noexcept {
  return p.is_forwarded() && p.caller < size_ ? static_cast<locality_id>(p.caller) : no_locality;
}

// A call's part of the receive budget. The data of replies and of direct actions do not count: waiting callers bound
// the former, and the latter are not queued.
std::uint32_t node::held_by(const parcel_header& h, std::uint64_t bytes) const noexcept {
  if (credits_of(h, 0) == 0) return 0;
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
void node::return_credits(locality_id to, std::uint64_t n) noexcept {
  traffic& t = traffic_[to];
  const std::uint64_t begun = t.begun.fetch_add(n, std::memory_order_relaxed) + n;
  const std::uint64_t least = std::max<std::uint64_t>(port_.credits() / 4, 1);
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
  const auto actions = all_actions();
  const bool known = h.action < actions.size() && (!p.is_forwarded() || p.caller < size_);
  const request q{this, from, credits_of(h, r.left_with_pieces()), h.reply, h.action, caller_of(p), held};
  parcel_task* t = known ? actions[h.action]->decode(r, q) : nullptr;
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
    start(t, *actions[h.action], from);
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

// A parcel that arrived in part and will never be decoded: it counts as handled, and the waiting caller gets an error.
void node::drop_parcel(locality_id from, const arrived_parcel& p, std::uint64_t bytes, std::uint32_t held,
                       const char* why) noexcept {
  const parcel_header& h = p.header;
  if (h.action == 0) {
    if (reply_target* answer = replies_.take(h.reply, from))
      answer->fail(std::make_exception_ptr(remote_error(from, std::string("(the result was dropped: ") + why + ")")));
    return;
  }
  const auto actions = all_actions();
  const bool known = h.action < actions.size();
  const request q{this, from, credits_of(h, bytes), h.reply, known ? h.action : std::uint16_t{0}, caller_of(p), held};
  note_begun(q);
  if (known && !actions[h.action]->control) note_started(from), note_done(from);
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
    if (ok) return start(a->task, *all_actions()[header.action], from);
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

void node::lost(locality_id peer, std::string_view why) noexcept {
  if (!leaving_.load(std::memory_order_relaxed)) give_up(peer, why);
}

void node::give_up(locality_id peer, std::string_view why) noexcept {
  {
    const std::lock_guard guard(locks_->lost);
    if (!why_lost_[peer].empty()) return;
    why_lost_[peer] = why.empty() ? "the reason is unknown" : why;
  }
  log_warning("locality {} is lost: {}", peer, why);
  port_.close_peer(peer);
  // As a task, because continuations and services may do anything. The job is not quiescent before it has ended.
  note_sent(here_);
  runtime_.post([this, peer] {
    for (reply_target* t : replies_.take_all(peer)) t->fail(loss_of(peer));
    std::vector<service*> services;
    {
      const std::lock_guard guard(locks_->services);
      for (const auto& s : owned_) services.push_back(s.get());
      locks_->reported.push_back(peer);
    }
    for (service* s : services) s->peer_lost(peer);
    note_done(here_);
  });
}

node::parcel_sums node::parcels_without(std::span<const locality_id> lost) const {
  const auto without = [lost](locality_id i) { return std::find(lost.begin(), lost.end(), i) != lost.end(); };
  parcel_sums s;
  // Once no message is being handled, every parcel that arrived before the loss of its sender has been started.
  if (!lost.empty()) s.of_lost = being_taken_.load(std::memory_order_seq_cst);
  // `done` is read before `sent`: a parcel that has been handled by now may have sent others.
  for (locality_id i = 0; i < size_; ++i) {
    const std::uint64_t done = traffic_[i].done.load(std::memory_order_acquire);
    if (without(i))
      s.of_lost += traffic_[i].started.load(std::memory_order_relaxed) - done;
    else
      s.done += done;
  }
  for (locality_id i = 0; i < size_; ++i)
    if (!without(i)) s.sent += traffic_[i].sent.load(std::memory_order_relaxed);
  return s;
}

std::string node::why_lost(locality_id peer) const {
  const std::lock_guard guard(locks_->lost);
  return why_lost_[peer];
}

std::exception_ptr node::loss_of(locality_id peer) const {
  return std::make_exception_ptr(locality_lost(peer, why_lost(peer)));
}

service& node::make(std::atomic<service*>& place, std::unique_ptr<service> (*maker)(node&)) {
  std::vector<locality_id> earlier;
  service* s = nullptr;
  {
    const std::lock_guard guard(locks_->services);
    if (service* made = place.load(std::memory_order_relaxed)) return *made;
    std::unique_ptr<service> made = maker(*this);
    s = made.get();
    owned_.push_back(std::move(made));
    place.store(s, std::memory_order_release);
    earlier = locks_->reported;
  }
  for (const locality_id peer : earlier) {
    note_sent(here_);
    runtime_.post([this, s, peer] {
      s->peer_lost(peer);
      note_done(here_);
    });
  }
  return *s;
}

node* find_node() noexcept {
  plx::detail::scheduler* s = plx::detail::find_current_scheduler();
  return s == nullptr ? nullptr : static_cast<node*>(s->attached());
}

node& node_here() {
  node* n = find_node();
  PLX_ASSERT(n != nullptr && "this function needs a plx::job: no runtime of this process belongs to one");
  return *n;
}

}  // namespace plx::net

namespace plx {
namespace {

std::vector<locality_id> living(bool with_here) {
  const net::node& n = net::node_here();
  std::vector<locality_id> all;
  for (locality_id i = 0; i < n.size(); ++i)
    if (!n.is_lost(i) && (with_here || i != n.here())) all.push_back(i);
  return all;
}

}  // namespace

locality_id find_here() { return net::node_here().here(); }
locality_id find_root_locality() { return 0; }
unsigned locality_count() { return net::node_here().size(); }
std::vector<locality_id> find_all_localities() { return living(true); }
std::vector<locality_id> find_remote_localities() { return living(false); }

}  // namespace plx
