#include "net/transport/near_rings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

namespace plx::net::detail {

using collective::shm_reader;
using collective::shm_segment;
using collective::shm_writer;

namespace {

constexpr std::size_t taken_at_once = 16;  // messages of one neighbour per poll: then the library is polled as well

/// Increments a counter that one thread writes at a time.
void count(std::atomic<std::uint64_t>& n) noexcept {
  n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

struct near_rings::neighbour {
  locality_id id = no_locality;
  shm_reader reader;
  bool ended = false;                         // nothing more is received
  std::atomic<bool> closed{false};            // nothing more is sent; relaxed: it guards no data
  alignas(64) plx::detail::spinlock writing;  // serializes the threads of this locality
  shm_writer writer;
  shm_segment memory;  // of the neighbour
  collective::shm_wake_ups wake_ups;
  std::atomic<std::uint64_t> sent{0}, full{0}, wakeups{0};
  alignas(64) std::atomic<std::uint64_t> received{0};
};

shm_segment make_segment(const job_info& job, std::size_t most_localities) {
  const std::size_t near = localities_of_host(job).size();
  const auto wanted = collective::shared_memory_wanted();
  if (!wanted || !*wanted || near < 2 || near > most_localities) return {};
  auto made = shm_segment::make(static_cast<unsigned>(near));
  if (made) return std::move(made).value();
  collective::warn_without_shm(made.error().message);
  return {};
}

near_rings::near_rings() = default;
near_rings::~near_rings() = default;

std::string near_rings::offer(const job_info& job) {
  mine_ = make_segment(job, most_neighbours);
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
  if (!why.empty()) collective::warn_without_shm(why);
  open(std::move(mine_), here, job.size, std::move(others));
}

void near_rings::open(shm_segment mine, unsigned here, unsigned localities, std::vector<owner> others) {
  mine_ = std::move(mine);
  of_.resize(localities);
  for (owner& o : others) {
    auto n = std::make_unique<neighbour>();
    n->id = o.id;
    n->reader = shm_reader(mine_.ring_of(o.number));
    if (o.reachable) {
      n->memory = std::move(o.memory);
      n->writer = shm_writer(n->memory.ring_of(here));
      of_[o.id] = n.get();
    }
    neighbours_.push_back(std::move(n));
  }
}

near_rings::sending near_rings::send(locality_id to, std::span<const std::byte> head) noexcept {
  if (of_.empty() || head.empty() || head.size() > collective::most_shm_bytes) return sending::left;
  neighbour* n = of_[to];
  if (n == nullptr || n->closed.load(std::memory_order_relaxed)) return sending::left;
  if (must_wake(*n)) return sending::left;
  if (!n->writing.try_lock()) return sending::left;
  const std::size_t first = std::min(head.size(), collective::shm_line::room);
  const bool written = n->writer.put(head.first(first), head.subspan(first));
  count(written ? n->sent : n->full);
  n->writing.unlock();
  if (!written) return sending::left;
  return must_wake(*n) ? sending::sent_asleep : sending::sent;
}

bool near_rings::must_wake(neighbour& n) noexcept {
  if (!n.wake_ups.due(n.memory.asleep())) [[likely]]
    return false;
  n.wakeups.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool near_rings::receive_from(neighbour& n, receiver& r, locality_id& invalid) noexcept {
  if (n.ended || !n.reader.any()) return false;
  std::array<std::byte, collective::most_shm_bytes> message;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < taken_at_once; ++i) {
    const auto found = n.reader.next(message, bytes);
    if (found == shm_reader::found::nothing) break;
    if (found == shm_reader::found::invalid) {
      n.ended = true;  // later messages cannot be found
      invalid = n.id;
      break;
    }
    count(n.received);
    r.arrived(n.id, std::span<const std::byte>(message).first(bytes));
  }
  return true;
}

bool near_rings::receive(receiver& r, locality_id& invalid, std::size_t most) noexcept {
  bool any = false;
  locality_id found = no_locality;
  const std::size_t n = std::min(neighbours_.size(), most);
  for (std::size_t i = 0; i < n && found == no_locality; ++i) {
    if (++next_ >= neighbours_.size()) next_ = 0;
    any |= receive_from(*neighbours_[next_], r, found);
  }
  if (found != no_locality) invalid = found;
  return any;
}

void near_rings::receive_last(receiver& r, locality_id from) noexcept {
  for (const auto& n : neighbours_)
    if (n->id == from) {
      locality_id invalid = no_locality;
      for (int i = 0; i < 1000 && receive_from(*n, r, invalid);) ++i;  // it may still send
      n->ended = true;
      n->closed.store(true, std::memory_order_relaxed);
    }
}

void near_rings::close() noexcept {
  for (const auto& n : neighbours_) {
    n->ended = true;
    n->closed.store(true, std::memory_order_relaxed);
  }
}

bool near_rings::sleep() noexcept {
  if (neighbours_.empty()) return true;
  sleep_.begin(mine_.asleep());
  return std::none_of(neighbours_.begin(), neighbours_.end(), [](auto& n) { return !n->ended && n->reader.any(); });
}

void near_rings::awake() noexcept {
  if (!neighbours_.empty()) sleep_.end(mine_.asleep());
}

near_counts near_rings::counted() const noexcept {
  near_counts all;
  for (const auto& n : neighbours_) {
    all.received += n->received.load(std::memory_order_relaxed);
    all.sent += n->sent.load(std::memory_order_relaxed);
    all.full += n->full.load(std::memory_order_relaxed);
    all.wakeups += n->wakeups.load(std::memory_order_relaxed);
  }
  return all;
}

}  // namespace plx::net::detail
