#include "net/group/shm_messages.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "net/action.hpp"
#include "net/start/termination.hpp"
#include "probe/counters/gauge.hpp"
#include "rt/core/scheduler.hpp"

namespace plx::net::collective {

using plx::detail::spin_guard;

namespace {

constexpr std::size_t polled_at_once = 16;     // neighbours per poll
constexpr std::size_t connected_at_once = 64;  // at the start
constexpr std::uint64_t polls_per_clock = 32;
constexpr double longest_spin_s = 0.5e-6;  // spin time of look()

// Increments a counter that is written under a lock.
void count(std::atomic<std::uint64_t>& n, std::uint64_t more = 1) noexcept {
  n.store(n.load(std::memory_order_relaxed) + more, std::memory_order_release);
}

/// While it lives, the caller's work is not attributed to its task and must not wait: messages are delivered under a
/// lock, as by pollers, and may resume any task's call.
class as_poller {
 public:
  as_poller() noexcept {
    if (worker_ == nullptr) return;
    in_task_ = std::exchange(worker_->in_task, false);
    polling_ = std::exchange(worker_->polling, true);
  }
  ~as_poller() {
    if (worker_ != nullptr) worker_->in_task = in_task_, worker_->polling = polling_;
  }
  as_poller(const as_poller&) = delete;
  as_poller& operator=(const as_poller&) = delete;

 private:
  plx::detail::worker* const worker_ = plx::detail::this_worker();
  bool in_task_ = false, polling_ = false;
};

// Its arrival wakes the receiver.
void wake_up() { node_here().get<shm_messages>().wake(); }
// The first message: long enough that UCX allocates the memory it uses for messages of that size.
void open_connection(const std::string&) {}
constexpr std::size_t first_message_bytes = 512;

}  // namespace
}  // namespace plx::net::collective

namespace plx::net {
template <>
inline constexpr bool is_direct<&collective::wake_up> = true;
template <>
inline constexpr bool is_control<&collective::wake_up> = true;
template <>
inline constexpr bool is_direct<&collective::open_connection> = true;
template <>
inline constexpr bool is_control<&collective::open_connection> = true;
}  // namespace plx::net

namespace plx::net::collective {

struct shm_messages::channel {
  channel(neighbour&& n, const shm_ring& in) noexcept : id(n.id), reader(in), memory(std::move(n.memory)) {}

  const locality_id id;
  shm_reader reader;
  bool ended = false;                         // no further messages are taken
  std::atomic<std::uint64_t> received{0};     // written under `taking_`; release: their effects were sent before
  alignas(64) plx::detail::spinlock writing;  // serializes the threads of this locality
  shm_writer writer;
  bool reachable = false;
  shm_segment memory;
  shm_wake_ups wake_ups;
  std::atomic<std::uint64_t> sent{0}, refused{0}, wakeups{0};
};

namespace {

constexpr struct {
  const char* name;
  const char* help;
  std::uint64_t shm_messages::counts::*value;
} counters[] = {
    {"shm-messages-sent", "Messages of collective calls sent through shared memory", &shm_messages::counts::sent},
    {"shm-messages-received", "Messages of collective calls received through shared memory",
     &shm_messages::counts::received},
    {"shm-ring-full", "Messages of collective calls sent over the network because the shared memory was full",
     &shm_messages::counts::refused_room},
    {"shm-wakeups", "Network messages that woke a locality waiting for shared memory", &shm_messages::counts::wakeups},
};

std::vector<probe::registration> add_counters(const shm_messages& m, probe::counter_registry& r) {
  std::vector<probe::registration> added;
  for (const auto& c : counters)
    added.push_back(
        r.add({fmt::format("/collectives{{{}/total}}/count/{}", r.locality_name(), c.name), "1", c.help, true},
              [&m, value = c.value] { return static_cast<double>(m.counted().*value); }));
  return added;
}

}  // namespace

shm_messages::shm_messages(node& n) : node_(n) {}
shm_messages::~shm_messages() = default;

void shm_messages::open(shm_segment mine, std::vector<neighbour> all) {
  unsigned here = 0;
  for (unsigned i = 0; i < all.size(); ++i)
    if (all[i].id == node_.here()) here = i;
  mine_ = std::move(mine);
  channel_of_.resize(node_.size());
  for (unsigned i = 0; i < all.size(); ++i) {
    if (i == here) continue;
    const locality_id id = all[i].id;
    const bool reachable = all[i].reachable;
    channels_.push_back(std::make_unique<channel>(std::move(all[i]), mine_.ring_of(i)));
    channel& b = *channels_.back();
    b.reachable = reachable;
    if (reachable) b.writer = shm_writer(b.memory.ring_of(here));
    channel_of_[id] = &b;
  }
  if (channels_.empty()) return;
  // Both remain until the runtime ends, which is before this object is destroyed.
  node_.home().when_counted(
      [](void* self, probe::counter_registry& r) { return add_counters(*static_cast<shm_messages*>(self), r); }, this);
  using plx::detail::scheduler;
  node_.home().get_scheduler().add_poller(poll, this, scheduler::poll_clock_use::keeps);
  // The transport connects on first use. The connections for wake-up messages are made now: later, a locality would
  // sleep until they are made, or they would lead to a process that has just ended, which UCX reports as an error.
  for (std::size_t i = 0; i < std::min(channels_.size(), connected_at_once); ++i)
    net::detail::send_call<&open_connection>(node_, channels_[i]->id, 0, std::string(first_message_bytes, ' '));
}

bool shm_messages::send(locality_id to, const address& where, std::span<const std::byte> contents) noexcept {
  if (channel_of_.empty() || sizeof where + contents.size() > most_shm_bytes) return false;
  channel* b = channel_of_[to];
  if (b == nullptr || !b->reachable) return false;
  {
    const spin_guard guard(b->writing);
    // Counted before it can be read: the program may end once as many messages are received as were sent.
    const std::uint64_t sent = b->sent.load(std::memory_order_relaxed);
    b->sent.store(sent + 1, std::memory_order_relaxed);
    if (!b->writer.put(std::as_bytes(std::span(&where, 1)), contents)) {
      b->sent.store(sent, std::memory_order_relaxed);
      return count(b->refused), false;
    }
  }
  if (b->wake_ups.due(b->memory.asleep())) {
    b->wakeups.fetch_add(1, std::memory_order_relaxed);
    net::detail::send_call<&wake_up>(node_, to, 0);
  }
  return true;
}

bool shm_messages::look(locality_id from, const address& awaited, payload& contents) noexcept {
  if (channel_of_.empty()) return false;
  channel* b = channel_of_[from];
  if (b == nullptr || !taking_.try_lock()) return false;
  const bool here = comes_soon(*b) && take_from(*b, &awaited, &contents);
  taking_.unlock();
  return here;
}

void shm_messages::take_rest(locality_id from, bool last) noexcept {
  if (channel_of_.empty()) return;
  channel* b = channel_of_[from];
  if (b == nullptr) return;
  const spin_guard guard(taking_);
  take_from(*b);
  if (last) b->ended = true;
}

// `taking_` is held.
bool shm_messages::comes_soon(const channel& b) noexcept {
  if (b.reader.any()) return true;
  static const ticks most = ticks_from(longest_spin_s);
  ticks spin = spin_.load(std::memory_order_relaxed);
  if (spin < most / 16) {
    // Others are late, or several calls are in progress; retry from time to time.
    const unsigned n = calls_without_spin_.load(std::memory_order_relaxed) + 1;
    calls_without_spin_.store(n, std::memory_order_relaxed);
    if (n % 16 != 0) return false;
    spin = most / 2;
  }
  const ticks until = now_ticks() + spin;
  do
    for (int i = 0; i < 16; ++i)
      if (b.reader.any()) return spin_.store(most, std::memory_order_relaxed), true;
  while (now_ticks() < until);
  spin_.store(spin / 2, std::memory_order_relaxed);
  return false;
}

// `taking_` is held. Returns whether a message arrived, or, with `awaited`, whether the awaited one did: then the
// remaining messages are left in the ring.
bool shm_messages::take_from(channel& b, const address* awaited, payload* contents) noexcept {
  if (b.ended || !b.reader.any()) return false;
  const as_poller meanwhile;
  std::array<std::byte, most_shm_bytes> message;
  std::size_t bytes = 0, taken = 0;
  bool here = false;
  // At most what the ring holds at one time: a writer that does not stop keeps no reader here.
  for (const std::size_t most = b.reader.most(); !here && taken < most; ++taken) {
    const auto found = b.reader.next(message, bytes);
    if (found == shm_reader::found::nothing) break;
    if (found == shm_reader::found::invalid) {
      b.ended = true;  // later messages cannot be found: calls that wait for them must fail
      node_.refuse(b.id, "it wrote an invalid message to shared memory");
      node_.get<termination>().report_failed(b.id, {b.id, false, "it wrote an invalid message to shared memory"});
      break;
    }
    const auto contained = std::span<const std::byte>(message).first(bytes);
    if (awaited != nullptr && bytes >= sizeof *awaited && std::memcmp(message.data(), awaited, sizeof *awaited) == 0) {
      *contents = payload(contained.subspan(sizeof *awaited));
      here = true;
    } else {
      deliver_message(node_, b.id, contained);
    }
  }
  if (taken != 0) count(b.received, taken);
  return awaited != nullptr ? here : taken != 0;
}

bool shm_messages::take_all() noexcept {
  if (!taking_.try_lock()) return false;
  bool any = false;
  const std::size_t n = std::min(channels_.size(), polled_at_once);
  for (std::size_t i = 0; i < n; ++i) {
    if (++first_ >= channels_.size()) first_ = 0;
    any |= take_from(*channels_[first_]);
  }
  taking_.unlock();
  return any;
}

bool shm_messages::may_sleep() noexcept {
  if (!taking_.try_lock()) return false;
  sleep_.begin(mine_.asleep());
  const bool any =
      std::any_of(channels_.begin(), channels_.end(), [](auto& b) { return !b->ended && b->reader.any(); });
  if (any) sleep_.end(mine_.asleep());
  taking_.unlock();
  return !any;
}

poll_result shm_messages::poll(void* self) { return static_cast<shm_messages*>(self)->poll(); }

poll_result shm_messages::poll() noexcept {
  if (node_.stopped()) return poll_result::idle;
  const bool any = take_all();
  // Also if look() has taken the message of a wake-up, or a later poll will take it. A wake-up that arrives between the
  // load and the store is not lost: this sleep ends here, and the next one has another number, for which each sender
  // sends another wake-up.
  const bool woken = woken_.load(std::memory_order_acquire);
  if (woken) woken_.store(false, std::memory_order_relaxed);
  if (any || woken) sleep_.end(mine_.asleep()), quiet_polls_ = 0;
  if (any) {
    plx::detail::this_worker()->poll_clock = 0;
    return poll_result::progressed;
  }
  if (sleep_.begun()) return poll_result::idle;
  static const ticks quiet = ticks_from(200e-6);  // as the node's for network messages
  if (quiet_polls_++ % polls_per_clock != 0) return poll_result::pending;
  const ticks now = now_ticks();
  if (quiet_polls_ == 1) quiet_since_ = now;
  return now - quiet_since_ < quiet || !may_sleep() ? poll_result::pending : poll_result::idle;
}

shm_messages::counts shm_messages::counted_without(std::span<const locality_id> lost) const noexcept {
  const auto without = [lost](const channel& b) { return std::find(lost.begin(), lost.end(), b.id) != lost.end(); };
  counts c;
  // Before `sent`: the effects of a message were sent before it was counted.
  for (const auto& b : channels_)
    if (!without(*b)) c.received += b->received.load(std::memory_order_acquire);
  for (const auto& b : channels_) {
    if (without(*b)) continue;
    c.sent += b->sent.load(std::memory_order_relaxed);
    c.refused_room += b->refused.load(std::memory_order_relaxed);
    c.wakeups += b->wakeups.load(std::memory_order_relaxed);
  }
  return c;
}

// ------------------------------------------------------------------------------------------------------------ start-up

void open_shm(node& n, shm_offers offers, const std::vector<std::string>& hosts) {
  if (offers.mine.description().empty()) return;
  std::vector<shm_messages::neighbour> near;
  for (locality_id i = 0; i < hosts.size(); ++i)
    if (hosts[i] == hosts[n.here()]) near.push_back({i, {}, false});
  std::string why;
  for (auto& one : near) {
    if (one.id == n.here() || offers.descriptions[one.id].empty()) continue;  // it logged the reason
    auto theirs = shm_segment::open(offers.descriptions[one.id], static_cast<unsigned>(near.size()));
    if (theirs) one.memory = std::move(theirs).value(), one.reachable = true;
    if (!theirs && why.empty()) why = fmt::format("locality {}: {}", one.id, theirs.error().message);
  }
  if (!why.empty()) warn_without_shm(why);
  n.get<shm_messages>().open(std::move(offers.mine), std::move(near));
}

}  // namespace plx::net::collective
