// The objects of this locality: creation, lookup, migration and destruction. See net/agas/agas.hpp.

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>

#include "net/action.hpp"
#include "net/agas/agas_tables.hpp"
#include "net/agas/object_call.hpp"
#include "net/error.hpp"

namespace plx::net {

using detail::access;
using detail::object_record;
using plx::detail::spin_guard;

gid agas::enter(const object_type& type, std::shared_ptr<void> object, locality_id holder, std::uint64_t stamp) {
  const gid id{node_.here(), type.tag, 1 + numbers_.fetch_add(1, std::memory_order_relaxed)};
  auto record = std::make_unique<object_record>();
  record->id = id;
  record->type = &type;
  record->object = std::move(object);
  record->directory = node_.here();
  detail::shard& s = tables_->of(id);
  const spin_guard guard(s.lock);
  // Under the lock: either this sees the loss, or lose_entries() sees the entry.
  if (node_.is_lost(holder)) throw std::runtime_error("the locality that requested a new object is lost");
  detail::directory_entry& e = s.entries[id];
  e.owner = node_.here();
  e.add(holder, stamp);
  s.objects.emplace(id, std::move(record));
  ++s.counts.created;
  return id;
}

access agas::pin(const gid& id, const object_type& type, plx::detail::task* waits, bool to_move,
                 const detail::call_origin& from) {
  access a;
  detail::object_place place;
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    if (object_record* r = s.object(id)) {
      if (r->type != &type) return {access::other_type};
      if (r->doomed) return {access::gone};
      if (r->state == object_record::here && !r->holds_calls && !(to_move && r->move_requested)) {
        ++r->pins;
        r->move_requested |= to_move;
        return {access::here, node_.here(), r, r->object.get()};
      }
      if (waits == nullptr) return {access::gone};
      r->parked.add(waits);
      return {access::parked};
    }
    a = next_of(s, id, place, waits, from);
  }
  if (a.what == access::elsewhere) forwards_.fetch_add(1, std::memory_order_relaxed);
  if (place.where != no_locality && from.caller != node_.here() && from.caller < node_.size())
    tables_->out.put(from.caller, [&](detail::reference_updates& l) { l.places.push_back({id, place}); });
  return a;
}

// Whether a call must wait for peer_lost(): the next directory is not known yet, or the caller knows that this one,
// which comes before the caller's in the order of candidates, is lost. A caller that is lost itself may have known
// losses that no locality here will ever see.
bool agas::awaits_loss(const gid& id, locality_id directory, const detail::call_origin& from) const noexcept {
  if (node_.is_lost(directory)) return !node_.stopped();
  const locality_id n = node_.size(), first = static_cast<locality_id>(hash_of(id) % n);
  const auto position = [&](locality_id l) { return l == id.origin ? 0 : 1 + (l + n - first) % n; };
  return position(directory) < position(from.directory) && !node_.is_lost(from.caller);
}

// After peer_lost(): the calls that wait for it look up their objects again.
void agas::resume_calls() noexcept {
  for (detail::shard& s : tables_->shards) {
    detail::parked_tasks waiting;
    {
      const spin_guard guard(s.lock);
      waiting.take(s.await_loss);
    }
    submit(waiting.first);
  }
}

// The next locality to look up an object that is not here; the directory knows its place. The shard's lock is held.
// `waits`: the task to submit again when a loss has been handled, or when the directory, which has just moved here,
// knows the place.
access agas::next_of(detail::shard& s, const gid& id, detail::object_place& place, plx::detail::task* waits,
                     const detail::call_origin& from) {
  const bool sound = id && id.origin < node_.size() && from.caller < node_.size() && from.directory < node_.size();
  if (!sound) return {access::gone};
  const locality_id directory = directory_of(id);
  if (directory != node_.here()) {
    // Under the lock: either directory_of() sees the loss, or resume_calls() sees the task.
    if (!awaits_loss(id, directory, from))
      return {node_.is_lost(directory) ? access::lost : access::elsewhere, directory};
    if (waits != nullptr) s.await_loss.add(waits);
    return {access::parked};
  }
  detail::directory_entry* e = entry_for(s, id, 0);
  if (e == nullptr || e->owner == node_.here()) return {access::gone};
  if (e->owner == no_locality) {
    if (waits == nullptr) return {access::parked};
    e->parked.add(waits);
    return {access::parked};
  }
  if (e->lost || node_.is_lost(e->owner)) return {access::lost, e->owner};
  place = {e->owner, e->moves};
  return {access::elsewhere, e->owner};
}

access agas::route(detail::reference& r) {
  lookups_.fetch_add(1, std::memory_order_relaxed);
  const detail::object_place p = r.seen();
  if (p.where < node_.size() && p.where != node_.here() && !node_.is_lost(p.where)) {
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
  const access a = next_of(s, r.id, place, nullptr, {node_.here(), r.id.origin});
  if (place.where != no_locality) r.see(place);
  return a;
}

void agas::unpin(object_record& r) noexcept {
  std::unique_ptr<object_record> ended;
  std::optional<promise<void>> unpinned;
  {
    detail::shard& s = tables_->of(r.id);
    const spin_guard guard(s.lock);
    if (--r.pins != 0) return;
    unpinned.swap(r.unpinned);
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
  if (unpinned) unpinned->set_value();
}

void agas::end(std::unique_ptr<object_record> r) noexcept {
  submit(r->parked.first);  // their lookup will fail
  if (r->move_requested && r->send != nullptr) r->moved->set_exception(detail::error_of(node_, {access::gone}, r->id));
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

// Destroys the object when the last call that pins it has ended, or when it has arrived. If it is being sent to another
// locality, the directory will refuse that one, and then this one.
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

// The objects whose directory was the lost locality are registered at the next one. Requests to the lost directory are
// repeated.
void agas::register_again(locality_id lost, unsigned epoch) {
  for (detail::shard& s : tables_->shards) {
    std::vector<std::pair<locality_id, detail::registration>> again;
    std::vector<gid> arriving, failed;
    std::vector<unsigned> ended;
    {
      const spin_guard guard(s.lock);
      std::erase_if(s.registrations, [&](const auto& each) {  // without a reply; made again below if the object is here
        if (each.second.directory == lost) ended.push_back(each.second.epoch);
        return each.second.directory == lost;
      });
      for (const auto& [id, r] : s.objects) {
        if (r->directory != lost) continue;
        r->directory = directory_of(id);
        tables_->losses.begin_claim(epoch);
        s.registrations[id] = {r->directory, epoch};
        again.push_back({r->directory, {id, r->moves}});
        if (r->state == object_record::arriving) arriving.push_back(id);
        if (r->failure != nullptr) failed.push_back(id);
      }
    }
    for (const auto& [to, registration] : again)
      tables_->out.put(to, [&](detail::reference_updates& l) { l.registrations.push_back(registration); });
    for (const unsigned e : ended) tables_->losses.end_claim(e);
    for (const gid& id : arriving) request_ownership(id);
    for (const gid& id : failed) request_return(id);
  }
}

void agas::end_registration(const gid& id, locality_id directory) {
  unsigned epoch = 0;
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    const auto at = s.registrations.find(id);
    if (at == s.registrations.end() || at->second.directory != directory) return;
    epoch = at->second.epoch;
    s.registrations.erase(at);
  }
  tables_->losses.end_claim(epoch);
}

detail::parking::parking() {
  run = [](plx::detail::task* t, plx::detail::run_mode) {
    promise<void> p = std::move(static_cast<parking*>(t)->over);  // the waiter's frame may be destroyed immediately
    p.set_value();
  };
}

access detail::find_object(agas& a, const gid& id, const object_type& type, bool to_move) {
  for (;;) {
    parking place;
    future<void> over = place.over.get_future();
    const access got = a.pin(id, type, &place, to_move, {a.home().here(), id.origin});
    if (got.what != access::parked) return got;
    over.get();
  }
}

future<void> agas::request_move(object_record& r, locality_id to, detail::send_object send) {
  detail::parked_tasks others;
  std::exception_ptr refused;
  future<void> moved, unpinned;
  {
    detail::shard& s = tables_->of(r.id);
    const spin_guard guard(s.lock);
    if (to >= node_.size())
      refused = std::make_exception_ptr(std::invalid_argument("there is no locality " + std::to_string(to)));
    else if (node_.is_lost(to))
      refused = node_.loss_of(to);
    if (refused == nullptr && to != node_.here()) {
      r.move_to = to;
      r.send = send;
      r.holds_calls = true;
      moved = r.moved.emplace().get_future();  // the move begins when the last pin is released
      if (r.pins > 1) unpinned = r.unpinned.emplace().get_future();
    } else {
      r.move_requested = false;
      others.take(r.parked);
    }
  }
  submit(others.first);
  if (unpinned.valid()) drain(r.id, r.moves, std::move(unpinned));
  if (moved.valid()) return moved;
  return refused == nullptr ? make_ready_future() : make_exceptional_future<void>(std::move(refused));
}

// Callers that overlap would keep an object pinned for ever: new calls wait until the running ones have ended. A
// running call may wait for one of these, directly or through other objects, so they are let in after a while, and then
// held again, longer each time, so that calls of any usual length end meanwhile.
void agas::drain(const gid& id, std::uint32_t moves, future<void> unpinned) {
  node_.note_sent(node_.here());
  node_.home().post([this, id, moves, unpinned = std::move(unpinned)] {
    auto span = std::chrono::milliseconds(1);
    for (bool hold = true; hold_calls(id, moves, hold); hold = !hold) {
      if (unpinned.wait_for(span) == future_status::ready) break;
      if (!hold) span = std::min(2 * span, std::chrono::milliseconds(1000));
    }
    node_.note_done(node_.here());
  });
}

// False if the object no longer waits for the move that follows its move number `moves`.
bool agas::hold_calls(const gid& id, std::uint32_t moves, bool hold) {
  detail::parked_tasks waiting;
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    object_record* r = s.object(id);
    if (r == nullptr || r->doomed || r->state != object_record::here || r->send == nullptr || r->moves != moves)
      return false;
    r->holds_calls = hold;
    if (!hold) waiting.take(r->parked);
  }
  submit(waiting.first);
  return true;
}

// Its state is `moving`: no other thread changes it until finish_move().
void agas::begin_move(const object_record& r) {
  node_.note_sent(node_.here());
  node_.home().post([this, id = r.id, to = r.move_to, moves = r.moves + 1, send = r.send, object = r.object] {
    const auto finish = [this, id, to, moves](future<void> arrived) {
      std::exception_ptr failure;
      try {
        arrived.get();
      } catch (...) {
        failure = std::current_exception();
      }
      finish_move(id, to, moves, failure);
      node_.note_done(node_.here());
    };
    future<void> arrived;
    try {
      arrived = send(to, id, moves, object);
    } catch (...) {  // the object could not be serialized
      arrived = make_exceptional_future<void>(std::current_exception());
    }
    static_cast<void>(arrived.then(launch::sync, finish));
  });
}

// If the directory is lost before it replies, register_again() sends the request to the next one.
void agas::request_return(const gid& id) {
  locality_id directory = no_locality;
  std::uint32_t moves = 0;
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    object_record* r = s.object(id);
    if (r == nullptr || r->failure == nullptr) return;
    directory = r->directory = directory_of(id);
    moves = r->moves;
  }
  if (directory == node_.here()) return move_failed(id, moves, reclaim(id, directory, moves));
  if (node_.stopped()) return move_failed(id, moves, false);
  static_cast<void>(async<&detail::agas_reclaim>(directory, sender{node_.here()}, id, moves)
                        .then(launch::sync, [this, id, moves](future<bool> agreed) {
                          bool ours = false;
                          try {
                            ours = agreed.get();
                          } catch (const locality_lost&) {
                            if (!node_.stopped()) return;
                          }
                          move_failed(id, moves, ours);
                        }));
}

void agas::finish_move(const gid& id, locality_id to, std::uint32_t moves, const std::exception_ptr& failure) {
  std::unique_ptr<object_record> r;
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    if (failure != nullptr) s.objects.at(id)->failure = failure;
  }
  if (failure != nullptr) return request_return(id);
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    r = s.take_object(id);
    ++s.counts.migrations;
    s.update_place(id, {to, moves});
  }
  submit(r->parked.first);  // forwards the parked calls
  r->moved->set_value();
}

// No effect if an earlier reply has ended this move.
void agas::move_failed(const gid& id, std::uint32_t moves, bool ours) {
  std::unique_ptr<object_record> ended;
  std::exception_ptr failure;
  detail::parked_tasks waiting;
  std::optional<promise<void>> moved;
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    object_record* const found = s.object(id);
    if (found == nullptr || found->failure == nullptr || found->moves != moves) return;
    object_record& r = *found;
    failure.swap(r.failure);
    moved.swap(r.moved);
    waiting.take(r.parked);
    r.move_requested = false;
    r.send = nullptr;
    r.holds_calls = false;
    r.state = object_record::here;
    r.moves += 2;
    if (!ours || r.doomed)
      ended = s.end_object(id);
    else
      s.update_place(id, {node_.here(), r.moves});
  }
  if (ended != nullptr) end(std::move(ended));
  submit(waiting.first);
  moved->set_exception(failure);
}

future<void> agas::install(const gid& id, const object_type& type, std::uint32_t moves, std::shared_ptr<void> object) {
  if (!id || id.origin >= node_.size())
    return make_exceptional_future<void>(std::make_exception_ptr(std::invalid_argument("there is no such object")));
  auto r = std::make_unique<object_record>();
  r->id = id;
  r->type = &type;
  r->object = std::move(object);
  r->state = object_record::arriving;
  r->moves = moves;
  future<void> accepted = r->accepted.emplace().get_future();
  insert_arriving(std::move(r));
  request_ownership(id);
  return accepted;
}

// If the directory is lost before it replies, register_again() sends the request to the next one.
void agas::request_ownership(const gid& id) {
  locality_id directory = no_locality;
  std::uint32_t moves = 0;
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    object_record* r = s.object(id);
    if (r == nullptr || r->state != object_record::arriving) return;
    directory = r->directory = directory_of(id);
    moves = r->moves;
  }
  const auto finish = [this, id, moves](future<bool> agreed) {
    std::exception_ptr failure;
    try {
      if (!agreed.get())
        failure = std::make_exception_ptr(std::runtime_error("the directory refused the move of the object"));
    } catch (const locality_lost&) {
      if (!node_.stopped()) return;
      failure = std::current_exception();
    } catch (...) {
      failure = std::current_exception();
    }
    finish_install(id, moves, failure);
  };
  if (directory == node_.here())
    finish(make_ready_future(note_moved(id, directory, moves)));
  else
    static_cast<void>(
        async<&detail::agas_moved>(directory, sender{node_.here()}, id, moves).then(launch::sync, finish));
}

// Waits, as a task, while the record of a move from here to the sender has not been removed yet.
void agas::insert_arriving(std::unique_ptr<object_record> r) {
  detail::shard& s = tables_->of(r->id);
  for (;;) {
    detail::parking place;
    future<void> over = place.over.get_future();
    {
      const spin_guard guard(s.lock);
      object_record* before = s.object(r->id);
      if (before == nullptr) return void(s.objects.emplace(r->id, std::move(r)));
      before->parked.add(&place);
    }
    over.get();
  }
}

// No effect if an earlier reply has ended this move.
void agas::finish_install(const gid& id, std::uint32_t moves, const std::exception_ptr& failure) {
  std::unique_ptr<object_record> ended;
  detail::parked_tasks waiting;
  std::optional<promise<void>> accepted;
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    object_record* const found = s.object(id);
    if (found == nullptr || found->state != object_record::arriving || found->moves != moves) return;
    object_record& r = *found;
    waiting.take(r.parked);
    accepted.swap(r.accepted);
    r.state = object_record::here;
    if (failure != nullptr)
      ended = s.take_object(id);  // the sender owns or destroys the object
    else if (r.doomed)
      ended = s.end_object(id);
    else
      s.update_place(id, {node_.here(), r.moves});
  }
  if (ended != nullptr) end(std::move(ended));
  submit(waiting.first);
  if (failure != nullptr)
    accepted->set_exception(failure);
  else
    accepted->set_value();
}

}  // namespace plx::net
