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

loss_table::loss_table(locality_id here, unsigned localities)
    : here_(here), localities_(localities), known_(localities), pending_(1) {}

bool loss_table::is_lost(locality_id who) const noexcept {
  return std::any_of(losses_.begin(), losses_.end(), [who](const loss& l) { return l.who == who; });
}

std::optional<unsigned> loss_table::add(locality_id lost) {
  const spin_guard guard(lock_);
  if (is_lost(lost)) return {};
  losses_.push_back({lost, false, false, std::vector<bool>(localities_)});
  ++pending_.back();
  pending_.push_back(0);
  known_[lost].store(true, std::memory_order_release);
  return static_cast<unsigned>(pending_.size() - 2);
}

unsigned loss_table::seen() const noexcept {
  const spin_guard guard(lock_);
  return static_cast<unsigned>(losses_.size());
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

// Claims that began before the loss with this index was detected have an epoch of at most that index.
bool loss_table::settled_here(std::size_t index) const noexcept {
  return std::all_of(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(index) + 1,
                     [](std::uint64_t n) { return n == 0; });
}

void loss_table::ask(question q) {
  const spin_guard guard(lock_);
  if (std::find(questions_.begin(), questions_.end(), q) == questions_.end()) questions_.push_back(q);
}

std::vector<loss_table::question> loss_table::answerable() {
  const spin_guard guard(lock_);
  std::vector<question> now;
  std::erase_if(questions_, [&](const question& q) {
    const auto l = std::find_if(losses_.begin(), losses_.end(), [&q](const loss& x) { return x.who == q.lost; });
    if (l == losses_.end() || !settled_here(static_cast<std::size_t>(l - losses_.begin()))) return false;
    now.push_back(q);
    return true;
  });
  return now;
}

void loss_table::answer(locality_id lost, locality_id who) {
  const spin_guard guard(lock_);
  for (loss& l : losses_)
    if (l.who == lost && who < localities_) l.answers[who] = true;
}

bool loss_table::settled(unsigned needs) noexcept {
  if (losses_.size() < needs) return false;
  for (std::size_t k = 0; k < losses_.size(); ++k) {
    loss& l = losses_[k];
    if (l.settled) continue;
    if (!settled_here(k)) return false;
    for (locality_id i = 0; i < localities_; ++i)
      if (i != here_ && !l.answers[i] && !is_lost(i)) return false;
    l.settled = true;
  }
  return true;
}

bool loss_table::settled_or_defer(const gid& id, unsigned needs) {
  const spin_guard guard(lock_);
  if (settled(needs)) return true;
  deferred_.push_back(id);
  needs_ = std::max(needs_, needs);
  return false;
}

std::vector<locality_id> loss_table::unasked() {
  const spin_guard guard(lock_);
  std::vector<locality_id> all;
  if (!deferred_.empty())
    for (loss& l : losses_)
      if (!l.settled && !std::exchange(l.asked, true)) all.push_back(l.who);
  return all;
}

std::vector<gid> loss_table::ready() {
  const spin_guard guard(lock_);
  if (deferred_.empty() || !settled(needs_)) return {};
  return std::exchange(deferred_, {});
}

}  // namespace plx::net::detail
