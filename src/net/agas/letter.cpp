#include "net/agas/letter.hpp"

#include <utility>

namespace plx::net::detail {

outbox::outbox(node& n, void (*deliver)(agas&, locality_id, letter&&), agas& owner)
    : node_(n), deliver_(deliver), owner_(owner), letters_(n.size()) {}

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
  std::vector<letter> all(letters_.size());
  {
    const plx::detail::spin_guard guard(lock_);
    scheduled_ = false;
    all.swap(letters_);
  }
  for (locality_id to = 0; to < all.size(); ++to)
    if (!all[to].empty() && !node_.is_lost(to)) deliver_(owner_, to, std::move(all[to]));
}

}  // namespace plx::net::detail
