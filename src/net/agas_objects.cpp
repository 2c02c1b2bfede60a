// The objects that live on this locality: how calls find them, how they come and go. See net/agas.hpp.
#include <mutex>
#include <stdexcept>

#include "net/action.hpp"
#include "net/detail/agas_actions.hpp"
#include "net/detail/agas_tables.hpp"
#include "net/locality_lost.hpp"

namespace plx::net {

using detail::access;
using detail::object_record;
using plx::detail::spin_guard;

future<gid> agas::enter(const object_type& type, std::shared_ptr<void> object, locality_id holder,
                        std::uint64_t stamp) {
  const gid id = fresh_id(type);
  {
    auto record = std::make_unique<object_record>();
    record->id = id;
    record->type = &type;
    record->object = std::move(object);
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    s.objects.emplace(id, std::move(record));
    ++s.counts.created;
  }
  const auto finish = [this, id](future<bool> known) {
    try {
      if (known.get()) return id;
    } catch (...) {
      remove(id);
      throw;
    }
    remove(id);
    throw std::runtime_error("who asked for a new object is lost");
  };
  const locality_id directory = directory_of(id);
  future<bool> known = directory == node_.here()
                           ? make_ready_future(note_entered(id, directory, holder, stamp))
                           : async<&detail::agas_entered>(directory, sender{node_.here()}, id, holder, stamp);
  return known.then(launch::sync, finish);
}

access agas::pin(const gid& id, const object_type& type, plx::detail::task* waits, bool to_move, locality_id caller) {
  access a;
  detail::object_place place;
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    if (object_record* r = s.object(id)) {
      if (r->type != &type) return {access::other_type};
      if (r->doomed) return missing(id);
      if (r->state == object_record::here && !(to_move && r->move_asked)) {
        ++r->pins;
        r->move_asked |= to_move;
        return {access::here, node_.here(), r, r->object.get()};
      }
      if (waits == nullptr) return {access::gone};
      r->parked.add(waits);
      return {access::parked};
    }
    a = next_of(s, id, place);
  }
  if (a.what == access::elsewhere) forwards_.fetch_add(1, std::memory_order_relaxed);
  if (place.where != no_locality && caller != node_.here() && caller < node_.size())
    tables_->out.put(caller, [&](detail::letter& l) { l.places.push_back({id, place}); });
  return a;
}

// Where what is not here is looked for; the directory knows the place. The shard's lock is held.
access agas::next_of(detail::shard& s, const gid& id, detail::object_place& place) {
  const locality_id directory = directory_of(id);
  if (directory != node_.here()) return {node_.is_lost(directory) ? access::lost : access::elsewhere, directory};
  const detail::directory_entry* e = s.entry(id);
  if (e == nullptr || e->owner == node_.here()) return {access::gone};
  if (e->lost || node_.is_lost(e->owner)) return {access::lost, e->owner};
  place = {e->owner, e->moves};
  return {access::elsewhere, e->owner};
}

// Of an object that was here and is no more.
access agas::missing(const gid& id) const {
  const locality_id directory = directory_of(id);
  if (node_.is_lost(directory)) return {access::lost, directory};
  return {access::gone};
}

access agas::route(detail::reference& r) {
  lookups_.fetch_add(1, std::memory_order_relaxed);
  const detail::object_place p = r.seen();
  const locality_id directory = directory_of(r.id);
  if (!node_.is_lost(directory) && p.where < node_.size() && p.where != node_.here() && !node_.is_lost(p.where)) {
    hits_.fetch_add(1, std::memory_order_relaxed);
    return {access::elsewhere, p.where};
  }
  detail::shard& s = tables_->of(r.id);
  const spin_guard guard(s.lock);
  if (s.object(r.id) != nullptr) {
    hits_.fetch_add(1, std::memory_order_relaxed);
    return {access::here, node_.here()};
  }
  misses_.fetch_add(1, std::memory_order_relaxed);
  if (r.state == detail::claim_state::gone)
    return r.lost == no_locality ? access{access::gone} : access{access::lost, r.lost};
  detail::object_place place;
  access a = next_of(s, r.id, place);
  if (place.where != no_locality) r.see(place);
  return a;
}

void agas::unpin(object_record& r) noexcept {
  std::unique_ptr<object_record> ended;
  {
    detail::shard& s = tables_->of(r.id);
    const spin_guard guard(s.lock);
    if (--r.pins != 0) return;
    if (r.doomed)
      ended = s.end_object(r.id);
    else if (r.send != nullptr)
      r.state = object_record::moving;
    else
      return;
  }
  if (ended != nullptr)
    end(std::move(ended));
  else
    begin_move(r);
}

void agas::end(std::unique_ptr<object_record> r) noexcept {
  submit(r->parked.first);  // they find that it is gone
  if (r->move_asked && r->send != nullptr) r->moved->set_exception(detail::error_of(node_, missing(r->id), r->id));
}

void agas::remove(const gid& id) {
  std::unique_ptr<object_record> r;
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    r = s.end_object(id);
  }
  if (r != nullptr) end(std::move(r));
}

// When the last call that has it pinned has ended; when it has arrived. Where it is on its way to another locality, the
// directory will refuse that one and then this one.
void agas::destroy(const gid& id) {
  std::unique_ptr<object_record> ended;
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    object_record* r = s.object(id);
    if (r == nullptr) return;
    if (r->state == object_record::here && r->pins == 0)
      ended = s.end_object(id);
    else
      r->doomed = true;
  }
  if (ended != nullptr) end(std::move(ended));
}

void agas::lose_objects(locality_id which) {
  for (detail::shard& s : tables_->shards) {
    std::vector<gid> lost;
    {
      const spin_guard guard(s.lock);
      for (const auto& [id, r] : s.objects)
        if (directory_of(id) == which) lost.push_back(id);
    }
    for (const gid& id : lost) destroy(id);
  }
}

}  // namespace plx::net
