// The handles of this locality, and the entries of its directory. See net/agas/agas.hpp.

#include <mutex>

#include "net/action.hpp"
#include "net/agas/agas_tables.hpp"

namespace plx::net {

using detail::claim_state;
using detail::reference;
using plx::detail::spin_guard;

bool agas::note_entered(const gid& id, locality_id owner, locality_id holder, std::uint64_t stamp) {
  if (holder >= node_.size() || !is_directory(id) || !id)
    return node_.refuse(owner, "it registered an object with an invalid holder or id"), false;
  detail::shard& s = tables_->of(id);
  const spin_guard guard(s.lock);
  // Under the lock, here and below: either this sees the loss, or lose_entries() sees the entry.
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
  s.update_place(id, {to, moves});
  return true;
}

// Afterwards no move that began before is accepted, because `moves` has advanced by two.
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
  tables_->out.put(holder, [&](detail::reference_updates& l) {
    l.claim_results.push_back({c.id, c.stamp, known ? 1u : 0u});
  });
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

// The list of holders was empty just before.
void agas::destroy_if_settled(const gid& id, unsigned losses) {
  if (!tables_->losses.settled_or_defer(id, losses)) return;
  locality_id owner = no_locality;
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    const detail::directory_entry* e = s.entry(id);
    if (e == nullptr || !e->holders.empty()) return;
    if (!e->lost) owner = e->owner;
    s.entries.erase(id);
  }
  if (owner != no_locality) tables_->out.put(owner, [&id](detail::reference_updates& l) { l.destroys.push_back(id); });
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

void detail::drop(reference* r) noexcept {
  // release: pairs with the acquire of the thread that removes the last one, which is done under the table's lock.
  std::uint64_t n = r->handles.load(std::memory_order_acquire);
  while (n > 1)
    if (r->handles.compare_exchange_weak(n, n - 1, std::memory_order_acq_rel)) return;
  if (agas* home = r->home.load(std::memory_order_acquire))
    home->last_dropped(*r);
  else if (r->handles.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete r;
}

void detail::write_handle(wire_writer& w, reference* r) {
  const agas* home = r == nullptr ? nullptr : r->home.load(std::memory_order_acquire);
  if (held_handles* held = w.held(); held != nullptr) {
    if (home != nullptr) held->add(r);
    return net::write(w, std::uint64_t{home == nullptr ? 0 : held->size()});
  }
  if (home == nullptr) return net::write(w, gid{});
  net::write(w, r->id);
  net::write(w, home->home().here());
  net::write(w, r->place.load(std::memory_order_relaxed));
  w.departs({[](void* what, locality_id to) noexcept {
               auto& left = *static_cast<reference*>(what);
               left.home.load(std::memory_order_acquire)->leaves(left, to);
             },
             r});
}

reference* detail::read_handle(wire_reader& r, const std::uint32_t* type) {
  if (const held_handles* held = r.held(); held != nullptr) {
    std::uint64_t number = 0;  // from 1 on; 0: an empty handle
    net::read(r, number);
    if (number == 0) return nullptr;
    reference* known = number <= held->size() ? held->at(number - 1) : nullptr;
    if (known == nullptr || (type != nullptr && *type != known->id.type)) return r.fail(), nullptr;
    return keep(known);
  }
  gid id;
  net::read(r, id);
  if (!id) return nullptr;
  locality_id sender = no_locality;
  object_place place;
  net::read(r, sender);
  net::read(r, place.where), net::read(r, place.moves);
  node* n = find_node();
  const bool sound = n != nullptr && sender < n->size() && (type == nullptr || *type == id.type);
  if (!sound) r.fail();
  return r.failed() ? nullptr : n->get<agas>().arrived(id, sender, place);
}

reference* agas::arrived(const gid& id, locality_id sender, detail::object_place place) {
  const locality_id directory = directory_of(id);
  detail::shard& s = tables_->of(id);
  std::unique_lock guard(s.lock);
  if (reference* r = s.find(id)) {
    r->handles.fetch_add(1, std::memory_order_relaxed);
    r->see(place);
    if (r->state == claim_state::pending) return r->to_acknowledge.push_back(sender), r;
    guard.unlock();
    return acknowledge(sender, id), r;
  }
  auto* r = new reference(this, id);
  s.references.emplace(id, r);
  r->see(place);
  r->stamp = next_stamp();
  // A lost sender covers nothing: I2 does not hold for its handles.
  r->lost = node_.is_lost(directory) ? directory : sender;
  if (node_.is_lost(r->lost)) {
    r->state = claim_state::gone;
  } else if (directory == node_.here()) {
    detail::directory_entry* e = s.entry(id);
    r->state = e == nullptr ? claim_state::gone : claim_state::registered;
    r->lost = no_locality;
    if (e != nullptr) e->add(node_.here(), r->stamp);
  } else {
    r->epoch = tables_->losses.begin_claim();
    r->to_acknowledge.push_back(sender);
    const detail::claim c{id, r->stamp};
    guard.unlock();
    tables_->out.put(directory, [&c](detail::reference_updates& l) { l.claims.push_back(c); });
    return r;
  }
  s.counts.claims += r->state == claim_state::registered;
  guard.unlock();
  return acknowledge(sender, id), r;
}

reference* agas::adopt(const gid& id, std::uint64_t stamp, locality_id where) {
  detail::shard& s = tables_->of(id);
  const spin_guard guard(s.lock);
  reference* r = s.find(id);
  if (r == nullptr) {
    r = new reference(this, id);
    s.references.emplace(id, r);
    r->state = claim_state::registered;
    if (const locality_id directory = directory_of(id); node_.is_lost(directory))
      r->state = claim_state::gone, r->lost = directory;
    else
      ++s.counts.claims;
  } else {
    r->handles.fetch_add(1, std::memory_order_relaxed);
  }
  if (r->state == claim_state::registered) r->stamp = std::max(r->stamp, stamp);
  r->see({where, 0});
  return r;
}

void agas::leaves(reference& r, locality_id to) noexcept {
  detail::keep(&r);
  bool lost = false;
  {
    detail::transit_table& k = tables_->sent[to];
    const spin_guard guard(k.lock);
    // Either this sees that the receiver is lost, or peer_lost() sees the handle in transit.
    lost = node_.is_lost(to);
    if (!lost) {
      detail::transit_table::item& i = k.items[r.id];
      i.ref = &r;
      ++i.handles;
    }
  }
  if (lost) detail::drop(&r);
}

void agas::end_transit(locality_id receiver, const gid& id, std::uint64_t n) noexcept {
  reference* r = nullptr;
  {
    detail::transit_table& k = tables_->sent[receiver];
    const spin_guard guard(k.lock);
    const auto at = k.items.find(id);
    if (at == k.items.end()) return;
    n = std::min(n, at->second.handles);
    r = at->second.ref;
    if ((at->second.handles -= n) == 0) k.items.erase(at);
  }
  for (; n > 0; --n) detail::drop(r);
}

void agas::acknowledge(locality_id sender, const gid& id) {
  if (sender == node_.here()) return;
  tables_->out.put(sender, [&id](detail::reference_updates& l) {
    if (!l.acknowledged.empty() && l.acknowledged.back().id == id)
      ++l.acknowledged.back().handles;
    else
      l.acknowledged.push_back({id, 1});
  });
}

void agas::last_dropped(reference& r) noexcept {
  const gid id = r.id;
  const locality_id directory = directory_of(id);
  detail::claim c{id, 0};
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    // A handle that arrived meanwhile has been counted under this lock.
    if (r.handles.fetch_sub(1, std::memory_order_acq_rel) != 1 || r.state == claim_state::pending) return;
    s.references.erase(id);
    if (r.state == claim_state::registered) c.stamp = r.stamp, ++s.counts.releases;
    delete &r;
  }
  if (c.stamp == 0) return;
  if (directory == node_.here())
    released(directory, c, 0);
  else
    tables_->out.put(directory, [&c](detail::reference_updates& l) { l.releases.push_back(c); });
}

// Takes effect once per claim: for the first caller that finds it pending.
void agas::end_claim(const gid& id, std::uint64_t stamp, claim_state state, locality_id lost) {
  std::vector<locality_id> to_acknowledge;
  reference* r = nullptr;
  unsigned epoch = 0;
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    r = s.find(id);
    if (r == nullptr || r->state != claim_state::pending || r->stamp != stamp) return;
    epoch = r->epoch;
    to_acknowledge.swap(r->to_acknowledge);
    r->state = state;
    r->lost = lost;
    s.counts.claims += state == claim_state::registered;
    // A temporary handle, so that drop() below handles the case that it is the last one.
    r->handles.fetch_add(1, std::memory_order_relaxed);
  }
  for (const locality_id sender : to_acknowledge) acknowledge(sender, id);
  detail::drop(r);
  tables_->losses.end_claim(epoch);
}

void agas::lose_references(locality_id which) {
  for (detail::shard& s : tables_->shards) {
    std::vector<detail::claim> pending;
    {
      const spin_guard guard(s.lock);
      for (auto& [id, r] : s.references) {
        if (directory_of(id) != which) continue;
        if (r->state == claim_state::pending)
          pending.push_back({id, r->stamp});
        else
          r->state = claim_state::gone, r->lost = which;
      }
    }
    for (const detail::claim& c : pending) end_claim(c.id, c.stamp, claim_state::gone, which);
  }
}

}  // namespace plx::net
