// Sending of reference updates, and the table of losses.
#include "net/agas/agas_tables.hpp"

#include <algorithm>
#include <utility>

namespace plx::net::detail {

using plx::detail::spin_guard;

outbox::outbox(node& n, void (*deliver)(agas&, locality_id, reference_updates&&), agas& owner)
    : node_(n), deliver_(deliver), owner_(owner), batches_(n.size()) {}

outbox::~outbox() = default;

// The lock is held on entry and released. The task counts as work in flight, so that the job does not end before it.
void outbox::filled() {
  const bool first = !std::exchange(scheduled_, true);
  lock_.unlock();
  if (!first || node_.stopped()) return;
  node_.note_sent(node_.here());
  node_.home().post([this] {
    flush();
    node_.note_done(node_.here());
  });
}

void outbox::flush() {
  std::vector<std::pair<locality_id, reference_updates>> all;
  {
    const spin_guard guard(lock_);
    scheduled_ = false;
    for (const locality_id to : std::exchange(used_, {})) all.emplace_back(to, std::exchange(batches_[to], {}));
  }
  for (auto& [to, updates] : all)
    if (!node_.is_lost(to)) deliver_(owner_, to, std::move(updates));
}

loss_table::loss_table(unsigned localities) : known_(localities), pending_(1) {}

std::optional<unsigned> loss_table::add(locality_id lost) {
  const spin_guard guard(lock_);
  if (knows(lost)) return {};
  losses_.push_back({lost});
  ++pending_.back();
  pending_.push_back(0);
  known_[lost].store(true, std::memory_order_release);
  seen_.store(static_cast<unsigned>(losses_.size()), std::memory_order_release);
  return static_cast<unsigned>(pending_.size() - 2);
}

unsigned loss_table::begin_claim() {
  const spin_guard guard(lock_);
  ++pending_.back();
  return static_cast<unsigned>(pending_.size() - 1);
}

void loss_table::begin_claim(unsigned epoch) noexcept {
  const spin_guard guard(lock_);
  ++pending_[epoch];
}

void loss_table::end_claim(unsigned epoch) noexcept {
  const spin_guard guard(lock_);
  --pending_[epoch];
}

// Claims that began before the loss with a certain index was detected have an epoch of at most that index.
bool loss_table::settled_here(std::span<const locality_id> lost) const noexcept {
  const spin_guard guard(lock_);
  std::size_t epochs = 0, found = 0;
  for (std::size_t k = 0; k < losses_.size(); ++k)
    if (std::find(lost.begin(), lost.end(), losses_[k].who) != lost.end()) epochs = k + 1, ++found;
  return found == lost.size() && std::all_of(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(epochs),
                                             [](std::uint64_t n) { return n == 0; });
}

void loss_table::settle(std::span<const locality_id> lost) noexcept {
  const spin_guard guard(lock_);
  for (loss& l : losses_) l.settled |= std::find(lost.begin(), lost.end(), l.who) != lost.end();
}

bool loss_table::settled(unsigned needs) const noexcept {
  return losses_.size() >= needs &&
         std::all_of(losses_.begin(), losses_.end(), [](const loss& l) { return l.settled; });
}

bool loss_table::settled_or_defer(const gid& id, unsigned needs) {
  const spin_guard guard(lock_);
  if (settled(needs)) return true;
  deferred_.push_back(id);
  needs_ = std::max(needs_, needs);
  return false;
}

bool loss_table::needs_settlement() {
  const spin_guard guard(lock_);
  bool any = false;
  if (!deferred_.empty())
    for (loss& l : losses_) any |= !l.settled && !std::exchange(l.requested, true);
  return any;
}

std::vector<gid> loss_table::ready() {
  const spin_guard guard(lock_);
  if (deferred_.empty() || !settled(needs_)) return {};
  return std::exchange(deferred_, {});
}

}  // namespace plx::net::detail
