// The entries of the ids whose directory this locality is. See net/agas.hpp.
#include <mutex>

#include "net/detail/agas_actions.hpp"
#include "net/detail/agas_tables.hpp"

namespace plx::net {

using plx::detail::spin_guard;

bool agas::note_entered(const gid& id, locality_id owner, locality_id holder, std::uint64_t stamp) {
  if (holder >= node_.size() || !is_directory(id) || !id)
    return node_.refuse(owner, "it has made an object for a locality, or of an id, that there is not"), false;
  detail::shard& s = tables_->of(id);
  const spin_guard guard(s.lock);
  // Under the lock, as below: either this sees the loss, or lose_entries() sees the entry.
  if (node_.is_lost(owner) || node_.is_lost(holder)) return false;
  const auto [at, made] = s.entries.try_emplace(id);
  if (!made) return false;
  at->second.owner = owner;
  at->second.add(holder, stamp);
  return true;
}

bool agas::note_moved(const gid& id, locality_id to, std::uint32_t moves) {
  detail::shard& s = tables_->of(id);
  const spin_guard guard(s.lock);
  detail::directory_entry* e = s.entry(id);
  if (e == nullptr || e->lost || moves != e->moves + 1 || node_.is_lost(to)) return false;
  e->owner = to;
  e->moves = moves;
  s.tell_place(id, {to, moves});
  return true;
}

// After this no move that began before is accepted any more: `moves` has gone on by two.
bool agas::take_back(const gid& id, locality_id owner, std::uint32_t moves) {
  detail::shard& s = tables_->of(id);
  const spin_guard guard(s.lock);
  detail::directory_entry* e = s.entry(id);
  if (e == nullptr || e->lost || e->owner != owner || e->moves != moves) return false;
  e->moves += 2;
  return true;
}

bool agas::add_holder(const gid& id, locality_id holder, std::uint64_t stamp) {
  detail::shard& s = tables_->of(id);
  const spin_guard guard(s.lock);
  detail::directory_entry* e = s.entry(id);
  if (e == nullptr || node_.is_lost(holder)) return false;
  e->add(holder, stamp);
  return true;
}

void agas::claimed(locality_id holder, const detail::claim& c) {
  const bool known = add_holder(c.id, holder, c.stamp);
  tables_->out.put(holder, [&](detail::letter& l) { l.verdicts.push_back({c.id, c.stamp, known ? 1u : 0u}); });
}

void agas::released(locality_id holder, const detail::claim& c, unsigned losses) {
  {
    detail::shard& s = tables_->of(c.id);
    const spin_guard guard(s.lock);
    detail::directory_entry* e = s.entry(c.id);
    if (e == nullptr) return;
    std::erase_if(e->holders, [&](const auto& h) { return h.first == holder && h.second == c.stamp; });
    if (!e->holders.empty()) return;
  }
  destroy_if_settled(c.id, losses);
}

// Nobody was in the list just now.
void agas::destroy_if_settled(const gid& id, unsigned losses) {
  if (!tables_->ledger.settled_or_defer(id, losses)) return;
  locality_id owner = no_locality;
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    const detail::directory_entry* e = s.entry(id);
    if (e == nullptr || !e->holders.empty()) return;
    if (!e->lost) owner = e->owner;
    s.entries.erase(id);
  }
  if (owner != no_locality) tables_->out.put(owner, [&id](detail::letter& l) { l.destroys.push_back(id); });
}

void agas::lose_entries(locality_id which) {
  for (detail::shard& s : tables_->shards) {
    std::vector<gid> unheld;
    {
      const spin_guard guard(s.lock);
      for (auto& [id, e] : s.entries) {
        std::erase_if(e.holders, [which](const auto& h) { return h.first == which; });
        if (e.owner == which) e.lost = true;
        if (e.holders.empty()) unheld.push_back(id);
      }
    }
    for (const gid& id : unheld) destroy_if_settled(id, 0);
  }
}

}  // namespace plx::net
