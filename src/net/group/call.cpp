#include "net/group/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "base/assert.hpp"
#include "net/action.hpp"
#include "net/core/failure.hpp"
#include "net/core/tree_round.hpp"
#include "net/error.hpp"
#include "net/group/groups.hpp"
#include "net/parcels/message_log.hpp"
#include "net/transport/shm_segment.hpp"
#include "rt/core/scheduler.hpp"

namespace plx::net::collective {

using plx::detail::spin_guard;

namespace {

constexpr std::size_t light_bytes = 4096;                     // larger payloads are processed in a task
constexpr std::uint64_t most_ahead = std::uint64_t{1} << 20;  // how many calls others may be ahead of this locality
static_assert(sizeof(address) <= net::detail::shm_line::room, "a raw message begins with an address");

early_payload* keep_early(const address& to, payload&& contents) {
  return ::new (plx::detail::pool_get(sizeof(early_payload)))
      early_payload{nullptr, to.rank, to.step, std::move(contents)};
}
void drop(early_payload* l) noexcept {
  l->~early_payload();
  plx::detail::pool_put(l, sizeof(early_payload));
}
void drop_all(early_payload*& first) noexcept {
  while (first != nullptr) drop(std::exchange(first, first->next));
}
early_payload* take(early_payload*& first, std::uint32_t rank, std::uint16_t step) noexcept {
  for (early_payload** at = &first; *at != nullptr; at = &(*at)->next)
    if ((*at)->rank == rank && (*at)->step == step) return std::exchange(*at, (*at)->next);
  return nullptr;
}
void append(early_payload*& first, early_payload* l) noexcept {
  early_payload** at = &first;
  while (*at != nullptr) at = &(*at)->next;
  *at = l;
}

/// Drops the payloads in its destructor, after the locks are released: a handle in one may be the last of its object.
class dropped_payloads {
 public:
  dropped_payloads() = default;
  ~dropped_payloads() { drop_all(first_); }
  dropped_payloads(const dropped_payloads&) = delete;
  dropped_payloads& operator=(const dropped_payloads&) = delete;
  void take(early_payload*& first) noexcept {
    if (first != nullptr) append(first, std::exchange(first_, nullptr)), first_ = std::exchange(first, nullptr);
  }

 private:
  early_payload* first_ = nullptr;
};

}  // namespace

namespace {

constexpr const char* too_many_unknown = "too many communicators that this locality has not created";

// Whether the operation exists; the group checks whether the sender is a member.
bool sound(const address& to) noexcept { return to.what > kind::none && to.what <= last_kind; }

void deliver_to(node& n, locality_id from, const address& to, payload&& contents) {
  const auto found = n.get<groups>().of_arrival(to.group);
  if (found.is_refused) return n.refuse(from, too_many_unknown);
  if (found.of != nullptr) found.of->deliver(from, to, std::move(contents));
}

void deliver(sender s, const address& to, const payload& contents) {
  node& n = node_here();
  if (!sound(to)) return n.refuse(s.who, "a payload of a nonexistent collective operation");
  deliver_to(n, s.who, to, payload(contents));
}
// The common case: a payload that fits into a bitwise parcel.
constexpr std::size_t few_bytes = 16;
struct small_parcel {
  address to;
  std::uint64_t size = 0;
  std::array<std::byte, few_bytes> bytes{};
};
void deliver_few(sender s, const small_parcel& p) {
  node& n = node_here();
  if (!sound(p.to) || p.size > few_bytes) return n.refuse(s.who, "a payload of a nonexistent collective operation");
  deliver_to(n, s.who, p.to, payload(std::span(p.bytes).first(p.size)));
}
// Another member reports that the group has ended, because of a loss or an exception.
void group_ended(sender s, std::uint64_t id, const origin_of_part& made_by, const net::detail::failure& why) {
  node& n = node_here();
  const bool lost = why.kind == net::detail::failure::lost;
  if (lost && (why.who >= n.size() || why.first >= n.size()))
    return n.refuse(s.who, "it reports the loss of a nonexistent locality");
  // Raw messages sent before this report count, as parcels that arrived before it do.
  n.carrier().receive_of(s.who);
  if (lost) n.carrier().receive_of(why.who);
  const auto e = lost ? exception_of(why, s.who) : std::make_exception_ptr(std::runtime_error(why.text));
  const auto found = n.get<groups>().of_ending(id, made_by);
  if (found.is_refused) return n.refuse(s.who, too_many_unknown);
  if (found.of != nullptr) found.of->fail(e);  // passes it on
}

/// The error for group_ended(): the other members do not wrap an exception that this one received from another.
net::detail::failure reason_of(const std::exception_ptr& e) {
  net::detail::failure f = net::detail::failure_of(e);
  if (f.kind == net::detail::failure::remote) f.text = remote_error(f.who, f.text).what();
  return f;
}

}  // namespace
}  // namespace plx::net::collective

namespace plx {
template <>
inline constexpr bool is_bitwise<net::collective::small_parcel> = true;
namespace net {
template <>
inline constexpr bool is_direct<&collective::deliver> = true;
template <>
inline constexpr bool is_direct<&collective::deliver_few> = true;
}  // namespace net
}  // namespace plx

namespace plx::net::collective {

void deliver_raw(node& n, locality_id from, std::span<const std::byte> message) noexcept {
  address to;
  if (message.size() >= sizeof to) std::memcpy(&to, message.data(), sizeof to);
  if (!sound(to)) return n.refuse(from, "a payload of a nonexistent collective operation");
  deliver_to(n, from, to, payload(message.subspan(sizeof to)));
}

const char* name_of(kind k) noexcept {
  switch (k) {
    case kind::none:
      return "nothing";
    case kind::barrier:
      return "barrier";
    case kind::broadcast:
      return "broadcast";
    case kind::reduce:
      return "reduce";
    case kind::all_reduce:
      return "all_reduce";
    case kind::gather:
      return "gather";
    case kind::all_gather:
      return "all_gather";
    case kind::scatter:
      return "scatter";
    case kind::all_to_all:
      return "all_to_all";
    case kind::inclusive_scan:
      return "inclusive_scan";
    case kind::exclusive_scan:
      return "exclusive_scan";
    case kind::all_reduce_halves:
      return "all_reduce of many elements, by halves";
    case kind::all_reduce_exchanged:
      return "all_reduce of many elements, by blocks";
    case kind::reduce_scatter:
      return "reduce_scatter";
    case kind::reduce_scatter_exchanged:
      return "reduce_scatter by blocks";
  }
  return "unknown";
}

group::~group() { end(std::make_exception_ptr(std::runtime_error("the job ended before this collective call did"))); }

bool group::has(locality_id l) const noexcept { return std::binary_search(members_.begin(), members_.end(), l); }

bool group::excludes(locality_id l) {
  const spin_guard guard(lock_);
  return !members_.empty() && !has(l);
}

void group::become(std::string name, std::vector<locality_id> members) {
  PLX_ASSERT(!members.empty() && std::is_sorted(members.begin(), members.end()) &&
             "members must be in ascending order");
  const auto here = std::lower_bound(members.begin(), members.end(), node_.here());
  PLX_ASSERT(here != members.end() && *here == node_.here() && "this locality is not a member of the communicator",
             name);
  PLX_ASSERT(members.back() < node_.size() && "no such locality", members.back());
  std::exception_ptr ended;
  {
    const spin_guard guard(lock_);
    if (!members_.empty()) return;
    rank_ = static_cast<unsigned>(here - members.begin());
    name_ = std::move(name);
    members_ = std::move(members);
    all_.give_back(std::exchange(unknown_bytes_, 0));
    ended = error_;
  }
  if (!all_.known())
    fail(std::make_exception_ptr(std::runtime_error(fmt::format(
        "payloads of the communicator \"{}\" may have been refused: more than {} communicators were in use that "
        "locality {} had not created; create communicators before others use them",
        name_now(), groups::most_unknown, node_.here()))));
  if (ended != nullptr) notify(ended);  // by an earlier error, when the members were unknown
  for (const locality_id m : members_)
    if (node_.is_lost(m)) end(node_.loss_of(m));
}

bool group::is_idle() {
  const spin_guard guard(lock_);
  return std::none_of(slots_.begin(), slots_.end(), [](const slot& s) { return s.here != nullptr; });
}

std::uint64_t group::calls() {
  const spin_guard guard(lock_);
  return next_;
}

std::string group::name_now() {
  const spin_guard guard(lock_);
  return name_;
}

// The lock is held.
group::slot& group::slot_of(std::uint64_t number) {
  while (number - first_ >= slots_.size()) slots_.emplace_back();
  return slots_[number - first_];
}

void group::enter(call& c) {
  kind there = kind::none;
  {
    const spin_guard guard(lock_);
    c.number_ = next_++;
    c.error_ = error_;
    slot& s = slot_of(c.number_);
    s.here = &c;
    if (s.what != kind::none && s.what != c.kind_) there = s.what;
    s.what = c.kind_;
  }
  if (there != kind::none) mismatch(c.number_, c.kind_, there), c.error_ = error_;
}

void group::leave(call& c) noexcept {
  dropped_payloads dropped;
  const spin_guard guard(lock_);
  slot& s = slots_[c.number_ - first_];
  s.here = nullptr;
  s.ended = true;
  dropped.take(s.first);
  while (!slots_.empty() && slots_.front().ended) slots_.pop_front(), ++first_;
}

void group::mismatch(std::uint64_t number, kind here, kind there) {
  fail(std::make_exception_ptr(std::logic_error(
      fmt::format("call {} of the communicator \"{}\" is {} on locality {}, {} on another one: all members make "
                  "the same calls in the same order",
                  number, name_now(), name_of(here), node_.here(), name_of(there)))));
}

// The lock is held. Whether there is room to keep a payload that arrives before become().
bool group::keep(std::size_t new_slots, std::size_t payload_bytes) {
  const std::size_t bytes = new_slots * sizeof(slot) + sizeof(early_payload) + payload_bytes;
  if (!all_.take(bytes)) return false;
  unknown_bytes_ += bytes;
  return true;
}

void group::too_much(locality_id from) {
  node_.refuse(from, "too many payloads for communicators that this locality has not created");
  end(std::make_exception_ptr(std::runtime_error(fmt::format(
      "expected at most {} MiB of payloads for communicators that locality {} has not created, found more: create "
      "communicators before other localities use them, or synchronize",
      groups::most_unknown_bytes >> 20, node_.here()))));
  const spin_guard guard(lock_);
  all_.give_back(std::exchange(unknown_bytes_, 0));
  if (members_.empty()) slots_.clear();  // otherwise calls may refer to them
}

void group::too_far(const address& to) {
  fail(std::make_exception_ptr(std::runtime_error(
      fmt::format("member {} of the communicator \"{}\" is {} calls ahead of locality {}: synchronize more often",
                  to.rank, name_now(), most_ahead, node_.here()))));
}

void group::deliver(locality_id from, const address& to, payload&& contents) {
  call* ready = nullptr;
  kind here = to.what;
  {
    std::unique_lock guard(lock_);
    // Before become() it is only kept, and later taken out by the rank of a member.
    if (!members_.empty() && (to.rank >= members_.size() || members_[to.rank] != from)) {
      guard.unlock();
      return node_.refuse(from, "a payload of a collective operation in the name of another member");
    }
    if (error_ != nullptr || to.call < first_) return;
    if (members_.empty()) {
      const std::size_t known = first_ + slots_.size();
      if (to.call >= most_ahead || !keep(to.call < known ? 0 : to.call + 1 - known, contents.size())) {
        guard.unlock();
        return too_much(from);
      }
    }
    slot* s = to.call < next_ + most_ahead ? &slot_of(to.call) : nullptr;
    if (s != nullptr && s->ended) return;
    if (s != nullptr && s->what == kind::none) s->what = to.what;
    here = s == nullptr ? kind::none : s->what;
    call* c = s == nullptr ? nullptr : s->here;
    if (here != to.what) {
    } else if (c != nullptr && c->waits_ && c->from_ == to.rank && c->step_ == to.step) {
      c->waits_ = false;
      c->contents_ = std::move(contents);
      ready = c;
    } else {
      append(s->first, keep_early(to, std::move(contents)));
    }
  }
  if (ready != nullptr) return ready->go_on();
  if (here == kind::none) return too_far(to);
  if (here != to.what) return mismatch(to.call, here, to.what);
}

bool group::end(const std::exception_ptr& error) {
  std::vector<call*> waiting;
  dropped_payloads dropped;
  {
    const spin_guard guard(lock_);
    if (error_ != nullptr) return false;
    error_ = error;
    for (slot& s : slots_) {
      dropped.take(s.first);
      if (s.here == nullptr || !s.here->waits_) continue;
      s.here->waits_ = false;
      s.here->error_ = error;
      waiting.push_back(s.here);
    }
  }
  for (call* c : waiting) c->go_on();
  return true;
}

void group::fail(const std::exception_ptr& error) {
  if (end(error)) notify(error);
}

// To the members whose ranks differ by powers of two; each passes it on once.
void group::notify(const std::exception_ptr& error) {
  std::vector<locality_id> members;
  {
    const spin_guard guard(lock_);
    for (const unsigned r : net::power_of_two_neighbours(rank_, static_cast<unsigned>(members_.size())))
      members.push_back(members_[r]);
  }
  const net::detail::failure why = reason_of(error);
  const bool lost = why.kind == net::detail::failure::lost;
  for (const locality_id m : members)
    if (!lost || m != why.who) post<&group_ended>(m, sender{node_.here()}, id_, made_by_, why);
}

// True if the coroutine need not wait.
bool reception::has_come(std::coroutine_handle<> waits) {
  call& c = call_;
  group& g = c.group_;
  early_payload* l = nullptr;
  {
    const spin_guard guard(g.lock_);
    l = take(g.slots_[c.number_ - g.first_].first, rank_, step_);
    if (l == nullptr) {
      c.error_ = g.error_;
      if (c.error_ != nullptr) return true;
      if (!waits) return false;
      c.from_ = rank_;
      c.step_ = step_;
      c.next_ = waits;
      c.waits_ = true;  // from here on another thread may resume it
      return false;
    }
  }
  c.contents_ = std::move(l->contents);
  drop(l);
  return true;
}

bool reception::await_suspend(std::coroutine_handle<> h) {
  call& c = call_;
  group& g = c.group_;
  if (has_come(nullptr)) return false;
  const address awaited{g.id_, c.number_, rank_, step_, c.kind_};
  const locality_id from = g.members_[rank_];
  raw_message message;
  if (const auto n = g.node_.carrier().receive_awaited(from, std::as_bytes(std::span(&awaited, 1)), message); n != 0) {
    c.contents_ = payload(std::span<const std::byte>(message).subspan(sizeof awaited, n - sizeof awaited));
    g.node_.note_raw_done(from);
    return false;
  }
  return !has_come(h);
}

payload reception::await_resume() {
  if (call_.error_ != nullptr) std::rethrow_exception(call_.error_);
  return std::move(call_.contents_);
}

call::call(group& g, kind k, bool heavy) noexcept : group_(g), kind_(k), heavy_(heavy) {
  task_.owner = this;
  task_.run = [](plx::detail::task* t, plx::detail::run_mode) {
    const std::coroutine_handle<> h = static_cast<const call*>(t->owner)->next_;
    h.resume();  // the call may be destroyed afterwards
  };
}

bool call::begin() {
  group_.enter(*this);
  if (error_ == nullptr) return true;
  group_.leave(*this);
  failed(error_);
  return false;
}

void call::go_on() {
  if (!heavy_ && contents_.size() <= light_bytes) return next_.resume();
  task_.info.name = probe::register_name("collective call");
  group_.node_.home().get_scheduler().submit(&task_);
}

void call::send(unsigned rank, std::uint16_t step, const payload& contents) {
  node& n = group_.node_;
  const locality_id to = group_.members_[rank];
  if (n.is_lost(to)) return;
  const address there{group_.id_, number_, group_.rank_, step, kind_};
  // Handles need parcels of the general form. While a trace is recorded, parcels are used throughout: it records those.
  const bool bytes_only = contents.handle_count() == 0;
  if (bytes_only && !n.port().messages().on() && n.send_raw(to, std::as_bytes(std::span(&there, 1)), contents.bytes()))
    return;
  if (bytes_only && contents.size() <= few_bytes) {
    small_parcel p{there, contents.size(), {}};
    std::memcpy(p.bytes.data(), contents.data(), contents.size());
    net::detail::send_call<&deliver_few>(n, to, 0, sender{n.here()}, p);
  } else {
    net::detail::send_call<&deliver>(n, to, 0, sender{n.here()}, there, contents);
  }
}

void call::combine(payload&, const payload&) { PLX_ASSERT(false && "this operation combines nothing", name_of(kind_)); }

void call::combine_elements(std::byte*, const std::byte*, std::size_t, bool) {
  PLX_ASSERT(false && "this operation combines no elements", name_of(kind_));
}

void call::finish(std::span<payload> results) {
  group_.leave(*this);
  finished(results);
}

void call::fail(std::exception_ptr e) noexcept {
  const auto kept = group_.shared_from_this();  // without this call, it may be dropped
  group_.leave(*this);
  group_.fail(e);
  failed(std::move(e));
}

}  // namespace plx::net::collective
