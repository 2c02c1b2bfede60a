// The handles of this locality, and the entries of its directory. See net/agas/agas.hpp.

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "net/action.hpp"
#include "net/agas/agas_tables.hpp"

namespace plx::net {

using detail::claim_state;
using detail::reference;
using plx::detail::spin_guard;

// Whether the lists of holders are complete, and all owners are registered; if not, resolve() is called once they are.
// `losses`: the number of losses that the list must take into account. An id whose directory this locality is not, as
// far as it knows, has moved here by a loss that it does not know yet.
bool agas::is_settled(const gid& id, unsigned losses) {
  const unsigned needs = is_directory(id) ? losses : std::max(losses, this->losses() + 1);
  if (tables_->losses.settled_or_defer(id, needs)) return true;
  request_settlement_if_needed();
  return false;
}

// The entry of an object; null if there is no such object. The shard's lock is held.
detail::directory_entry* agas::entry_for(detail::shard& s, const gid& id, unsigned losses) {
  if (detail::directory_entry* e = s.entry(id)) return e;
  if (id.origin == node_.here() || is_settled(id, losses)) return nullptr;
  return &s.entries[id];  // the owner registers later
}

bool agas::note_moved(const gid& id, locality_id to, std::uint32_t moves) {
  if (!id || id.origin >= node_.size()) return false;
  detail::parked_tasks waiting;
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    // Under the lock, here and below: either this sees the loss, or lose_entries() sees the entry.
    if (node_.is_lost(to)) return false;
    detail::directory_entry* e = entry_for(s, id, 0);
    if (e == nullptr || e->lost) return false;
    // The same again: the new owner has already registered at this directory, after the loss of the one before.
    const bool again = e->owner == to && e->moves == moves;
    if (e->owner != no_locality && moves != e->moves + 1 && !again) return false;
    e->owner = to;
    e->moves = moves;
    waiting.take(e->parked);
    s.update_place(id, {to, moves});
  }
  submit(waiting.first);
  return true;
}

void agas::registered_again(locality_id owner, const detail::registration& r, unsigned losses) {
  const auto moves = static_cast<std::uint32_t>(r.moves);
  detail::parked_tasks waiting;
  {
    detail::shard& s = tables_->of(r.id);
    const spin_guard guard(s.lock);
    detail::directory_entry* e = node_.is_lost(owner) ? nullptr : entry_for(s, r.id, losses);
    if (e != nullptr && (e->owner == no_locality || e->moves < moves)) {
      e->owner = owner;
      e->moves = moves;
      e->lost = false;
      waiting.take(e->parked);
      s.update_place(r.id, {owner, moves});
    }
  }
  submit(waiting.first);
  tables_->out.put(owner, [&r](detail::reference_updates& l) { l.registered.push_back(r.id); });
  resolve(r.id, losses);  // it may have no holder
}

// Afterwards no move that began before is accepted, because `moves` has advanced by two.
bool agas::reclaim(const gid& id, locality_id owner, std::uint32_t moves) {
  if (!id || id.origin >= node_.size()) return false;
  detail::parked_tasks waiting;
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    if (node_.is_lost(owner)) return false;
    detail::directory_entry* e = entry_for(s, id, 0);
    if (e == nullptr || e->lost) return false;
    if (e->owner != no_locality && (e->owner != owner || e->moves != moves)) return false;
    e->owner = owner;
    e->moves = moves + 2;
    waiting.take(e->parked);
  }
  submit(waiting.first);
  return true;
}

void agas::claimed(locality_id holder, const detail::claim& c, unsigned losses) {
  bool known = false;
  {
    detail::shard& s = tables_->of(c.id);
    const spin_guard guard(s.lock);
    detail::directory_entry* e = node_.is_lost(holder) ? nullptr : entry_for(s, c.id, losses);
    known = e != nullptr;
    if (known) e->add(holder, c.stamp);
  }
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
  resolve(c.id, losses);
}

// Decides, once the losses are settled: an object without holders is destroyed, one without owner is lost.
void agas::resolve(const gid& id, unsigned losses) {
  if (!is_settled(id, losses)) return;
  locality_id owner = no_locality;
  detail::parked_tasks waiting;
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    detail::directory_entry* e = s.entry(id);
    if (e == nullptr) return;
    if (e->owner == no_locality) e->owner = id.origin, e->lost = true;
    waiting.take(e->parked);
    if (e->holders.empty()) {
      if (!e->lost) owner = e->owner;
      s.entries.erase(id);
    }
  }
  submit(waiting.first);
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
    for (const gid& id : unheld) resolve(id, 0);
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
  const bool sound =
      n != nullptr && sender < n->size() && id.origin < n->size() && (type == nullptr || *type == id.type);
  if (!sound) r.fail();
  return r.failed() ? nullptr : n->get<agas>().arrived(id, sender, place);
}

reference* agas::arrived(const gid& id, locality_id sender, detail::object_place place) {
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
  // Under the lock: either this sees that a directory is lost, or claim_again() sees the reference.
  const locality_id directory = r->directory = directory_of(id);
  // A lost sender covers nothing: I2 does not hold for its handles.
  if (node_.is_lost(sender)) {
    r->state = claim_state::gone;
    r->lost = sender;
  } else if (directory == node_.here()) {
    detail::directory_entry* e = entry_for(s, id, 0);
    r->state = e == nullptr ? claim_state::gone : claim_state::registered;
    if (e != nullptr) e->add(node_.here(), r->stamp);
  } else {
    r->epoch = tables_->losses.begin_claim();
    r->to_acknowledge.push_back(sender);
    const detail::claim c{id, r->stamp};
    guard.unlock();
    tables_->out.put(directory, [&c](detail::reference_updates& l) { l.claims.push_back(c); });
    return r;
  }
  r->counted = r->state == claim_state::registered;
  s.counts.claims += r->counted;
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
    r->directory = id.origin;
    r->state = claim_state::registered;
    if (tables_->losses.knows(id.origin))
      r->state = claim_state::gone, r->lost = id.origin;
    else
      r->counted = true, ++s.counts.claims;
  } else {
    r->handles.fetch_add(1, std::memory_order_relaxed);
  }
  if (r->state == claim_state::registered && !tables_->losses.knows(id.origin)) r->stamp = std::max(r->stamp, stamp);
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
  locality_id directory = no_locality;
  detail::claim c{id, 0};
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    // A handle that arrived meanwhile has been counted under this lock.
    if (r.handles.fetch_sub(1, std::memory_order_acq_rel) != 1 || r.state == claim_state::pending) return;
    s.references.erase(id);
    directory = r.directory;
    if (r.state == claim_state::registered) c.stamp = r.stamp;
    s.counts.releases += r.counted;
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
    if (state == claim_state::registered && !std::exchange(r->counted, true)) ++s.counts.claims;
    // A temporary handle, so that drop() below handles the case that it is the last one.
    r->handles.fetch_add(1, std::memory_order_relaxed);
  }
  for (const locality_id sender : to_acknowledge) acknowledge(sender, id);
  detail::drop(r);
  tables_->losses.end_claim(epoch);
}

// The references that were claimed at the lost directory are claimed at the next one.
void agas::claim_again(locality_id lost, unsigned epoch) {
  for (detail::shard& s : tables_->shards) {
    std::vector<std::pair<locality_id, detail::claim>> again;
    {
      const spin_guard guard(s.lock);
      for (auto& [id, r] : s.references) {
        if (r->directory != lost) continue;
        r->directory = directory_of(id);
        if (r->state == claim_state::gone) continue;
        if (r->state == claim_state::registered) {
          r->state = claim_state::pending;
          r->epoch = epoch;
          tables_->losses.begin_claim(epoch);
        }
        again.push_back({r->directory, {id, r->stamp}});
      }
    }
    for (const auto& [to, c] : again)
      tables_->out.put(to, [&c](detail::reference_updates& l) { l.claims.push_back(c); });
  }
}

}  // namespace plx::net
