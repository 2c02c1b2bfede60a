#include "net/transport/near_rings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "rt/core/worker.hpp"

namespace plx::net::detail {

namespace {

using plx::detail::spin_guard;

static_assert(most_raw_bytes == most_shm_bytes);
constexpr std::size_t taken_at_once = 16;  // messages of one neighbour per poll: then the library is polled as well
constexpr double longest_spin_s = 0.5e-6;  // of receive_awaited()

/// Increments a counter that one thread writes at a time.
void count(std::atomic<std::uint64_t>& n) noexcept {
  n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// During its lifetime the caller's work is not attributed to its task and must not wait: messages are delivered under
/// a lock, as by pollers, and may resume any task's call.
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

}  // namespace

/// The raw message that receive_awaited() looks for.
struct near_rings::awaited_message {
  std::span<const std::byte> beginning;
  raw_message& into;
  std::size_t bytes = 0;  // of the message, when it has come
};

struct near_rings::neighbour {
  locality_id id = no_locality;
  shm_reader reader;
  bool ended = false;                         // nothing more is received
  std::atomic<bool> closed{true};             // nothing more is sent; relaxed: it guards no data
  alignas(64) plx::detail::spinlock writing;  // serializes the threads of this locality
  shm_writer writer;
  shm_segment memory;  // of the neighbour
  shm_wake_ups wake_ups;
  std::atomic<std::uint64_t> sent{0}, sent_raw{0}, full{0}, wakeups{0};
  alignas(64) std::atomic<std::uint64_t> received{0};
};

near_rings::near_rings() = default;
near_rings::~near_rings() = default;

std::string near_rings::offer(const job_info& job) {
  const std::size_t near = localities_of_host(job).size();
  const auto wanted = shared_memory_wanted();
  if (!wanted || !*wanted || near < 2) return "";
  auto made = shm_segment::make(static_cast<unsigned>(near));
  if (!made) return warn_without_shm(made.error().message), "";
  mine_ = std::move(made).value();
  return mine_.description();
}

void near_rings::open(const job_info& job, std::span<const std::string> offers) {
  if (mine_.description().empty()) return;
  const std::vector<locality_id> near = localities_of_host(job);
  const auto here = static_cast<unsigned>(std::find(near.begin(), near.end(), job.here) - near.begin());
  std::vector<owner> others;
  std::string why;
  for (unsigned i = 0; i < near.size(); ++i) {
    if (i == here || offers[near[i]].empty()) continue;  // it logged the reason
    owner o{near[i], i, false, {}};
    auto theirs = shm_segment::open(offers[near[i]], static_cast<unsigned>(near.size()));
    if (theirs) o.memory = std::move(theirs).value(), o.reachable = true;
    if (!theirs && why.empty()) why = fmt::format("locality {}: {}", near[i], theirs.error().message);
    others.push_back(std::move(o));
  }
  if (!why.empty()) warn_without_shm(why);
  open(std::move(mine_), here, job.size, std::move(others));
}

void near_rings::open(shm_segment mine, unsigned here, unsigned localities, std::vector<owner> others) {
  mine_ = std::move(mine);
  of_.resize(localities);
  for (owner& o : others) {
    auto n = std::make_unique<neighbour>();
    n->id = o.id;
    n->reader = shm_reader(mine_.ring_of(o.number));
    of_[o.id] = n.get();
    if (o.number < here) after_ = neighbours_.size() + 1;
    if (o.reachable) {
      n->memory = std::move(o.memory);
      n->writer = shm_writer(n->memory.ring_of(here));
      n->closed.store(false, std::memory_order_relaxed);
    }
    neighbours_.push_back(std::move(n));
  }
}

near_rings::neighbour* near_rings::near(locality_id id) const noexcept { return of_.empty() ? nullptr : of_[id]; }

near_rings::sending near_rings::send(locality_id to, std::span<const std::byte> head) noexcept {
  if (head.empty() || head.size() > most_shm_bytes) return sending::left;
  neighbour* n = near(to);
  if (n == nullptr || n->closed.load(std::memory_order_relaxed) || neighbours_.size() >= most_for_heads)
    return sending::left;
  if (must_wake(*n)) return sending::left;
  const std::size_t first = std::min(head.size(), shm_line::room);
  return write(*n, head.first(first), head.subspan(first), false);
}

near_rings::sending near_rings::send_raw(locality_id to, std::span<const std::byte> first,
                                         std::span<const std::byte> rest) noexcept {
  PLX_ASSERT(!first.empty() && first.size() <= shm_line::room, first.size());
  neighbour* n = near(to);
  if (n == nullptr || n->closed.load(std::memory_order_relaxed) || first.size() + rest.size() > most_raw_bytes)
    return sending::left;
  return write(*n, first, rest, true);
}

near_rings::sending near_rings::write(neighbour& n, std::span<const std::byte> first, std::span<const std::byte> rest,
                                      bool raw) noexcept {
  if (!n.writing.try_lock()) return sending::left;
  const bool written = n.writer.put(first, rest, raw);
  count(written ? n.sent : n.full);
  if (written && raw) count(n.sent_raw);
  n.writing.unlock();
  if (!written) return sending::left;
  return must_wake(n) ? sending::sent_asleep : sending::sent;
}

bool near_rings::must_wake(neighbour& n) noexcept {
  if (!n.wake_ups.due(n.memory.asleep())) [[likely]]
    return false;
  n.wakeups.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// reading_ is held. True if messages have come. With `awaited` only raw ones are received, and none after that one.
bool near_rings::receive_from(neighbour& n, receiver& r, awaited_message* awaited) noexcept {
  if (n.ended || !n.reader.any()) return false;
  raw_message message;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < taken_at_once; ++i) {
    const auto found = n.reader.next(message, bytes, awaited != nullptr);
    if (found == shm_reader::found::nothing) break;
    if (found == shm_reader::found::invalid) {
      if (invalid_ != no_locality) return i != 0;  // of another neighbour; this one is found again after its report
      n.ended = true;                              // later messages cannot be found
      invalid_ = n.id;
      break;
    }
    count(n.received);
    const auto contents = std::span<const std::byte>(message).first(bytes);
    if (found == shm_reader::found::message) {
      r.arrived(n.id, contents);
    } else if (awaited != nullptr && bytes >= awaited->beginning.size() &&
               std::memcmp(message.data(), awaited->beginning.data(), awaited->beginning.size()) == 0) {
      std::memcpy(awaited->into.data(), message.data(), bytes);
      awaited->bytes = bytes;
      return true;
    } else {
      r.raw_arrived(n.id, contents);
    }
  }
  return true;
}

// reading_ is held, and released.
bool near_rings::receive(receiver& r, locality_id& invalid, std::size_t most) noexcept {
  bool any = false;
  const std::size_t n = std::min(neighbours_.size(), most);
  for (std::size_t i = 0; i < n && invalid_ == no_locality; ++i) {
    if (++next_ >= neighbours_.size()) next_ = 0;
    any |= receive_from(*neighbours_[next_], r);
  }
  if (invalid_ != no_locality) [[unlikely]]
    invalid = std::exchange(invalid_, no_locality), any = true;
  reading_.unlock();
  return any;
}

// reading_ is held.
bool near_rings::comes_soon(const neighbour& n) noexcept {
  if (n.reader.any()) return true;
  static const ticks most = ticks_from(longest_spin_s);
  ticks spin = spin_;
  if (spin < most / 16) {
    // Others are late, or several calls are in progress; retry from time to time.
    if (++calls_without_spin_ % 16 != 0) return false;
    spin = most / 2;
  }
  const ticks until = now_ticks() + spin;
  do
    for (int i = 0; i < 16; ++i)
      if (n.reader.any()) return spin_ = most, true;
  while (now_ticks() < until);
  spin_ = spin / 2;
  return false;
}

std::size_t near_rings::receive_awaited(receiver& r, locality_id from, std::span<const std::byte> awaited,
                                        raw_message& into) noexcept {
  neighbour* n = near(from);
  if (n == nullptr || !reading_.try_lock()) return 0;
  awaited_message m{awaited, into};
  if (invalid_ == no_locality && !n->ended && comes_soon(*n)) {
    const as_poller meanwhile;
    receive_from(*n, r, &m);
  }
  reading_.unlock();
  return m.bytes;
}

void near_rings::receive_of(receiver& r, locality_id from) noexcept {
  neighbour* n = near(from);
  if (n == nullptr) return;
  const spin_guard guard(reading_);
  const as_poller meanwhile;
  // At most what the ring holds at one time: it may still send.
  for (std::size_t i = 0; i < n->reader.most() && receive_from(*n, r);) i += taken_at_once;
}

void near_rings::receive_last(receiver& r, locality_id from) noexcept {
  neighbour* n = near(from);
  if (n == nullptr) return;
  const spin_guard guard(reading_);
  for (int i = 0; i < 1000 && receive_from(*n, r);) ++i;  // it may still send
  if (invalid_ == from) invalid_ = no_locality;
  n->ended = true;
  n->closed.store(true, std::memory_order_relaxed);
}

void near_rings::close() noexcept {
  const spin_guard guard(reading_);
  for (const auto& n : neighbours_) {
    n->ended = true;
    n->closed.store(true, std::memory_order_relaxed);
  }
}

bool near_rings::sleep() noexcept {
  if (neighbours_.empty()) return true;
  if (!reading_.try_lock()) return false;
  sleep_.begin(mine_.asleep());
  const bool nothing = invalid_ == no_locality && std::none_of(neighbours_.begin(), neighbours_.end(),
                                                               [](auto& n) { return !n->ended && n->reader.any(); });
  reading_.unlock();
  return nothing;
}

void near_rings::awake() noexcept {
  if (!neighbours_.empty()) sleep_.end(mine_.asleep());
}

std::vector<locality_id> near_rings::reachable(std::size_t most) const {
  std::vector<locality_id> all;
  for (std::size_t i = 0; i < neighbours_.size() && all.size() < most; ++i) {
    const neighbour& n = *neighbours_[(after_ + i) % neighbours_.size()];
    if (!n.closed.load(std::memory_order_relaxed)) all.push_back(n.id);
  }
  return all;
}

near_counts near_rings::counted() const noexcept {
  near_counts all;
  for (const auto& n : neighbours_) {
    all.received += n->received.load(std::memory_order_relaxed);
    all.sent += n->sent.load(std::memory_order_relaxed);
    all.sent_raw += n->sent_raw.load(std::memory_order_relaxed);
    all.full += n->full.load(std::memory_order_relaxed);
    all.wakeups += n->wakeups.load(std::memory_order_relaxed);
  }
  return all;
}

}  // namespace plx::net::detail
