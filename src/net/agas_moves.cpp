// How an object goes from one locality to another. See net/agas.hpp, "Migration".
#include <mutex>
#include <stdexcept>
#include <string>

#include "net/action.hpp"
#include "net/detail/agas_actions.hpp"
#include "net/detail/agas_tables.hpp"
#include "net/detail/object_call.hpp"
#include "net/locality_lost.hpp"

namespace plx::net {

using detail::access;
using detail::object_record;
using plx::detail::spin_guard;

detail::parking::parking() {
  run = [](plx::detail::task* t, plx::detail::run_mode) {
    promise<void> p = std::move(static_cast<parking*>(t)->over);  // the waiter's frame may go at once
    p.set_value();
  };
}

access detail::find_object(agas& a, const gid& id, const object_type& type, bool to_move) {
  for (;;) {
    parking place;
    future<void> over = place.over.get_future();
    const access got = a.pin(id, type, &place, to_move, a.home().here());
    if (got.what != access::parked) return got;
    over.get();
  }
}

future<void> agas::ask_move(object_record& r, locality_id to, detail::send_object send) {
  detail::parked_tasks others;
  std::exception_ptr refused;
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
      r.moved.emplace();
      return r.moved->get_future();  // it begins when nobody has it pinned any more
    }
    r.move_asked = false;
    others.take(r.parked);
  }
  submit(others.first);
  return refused == nullptr ? make_ready_future() : make_exceptional_future<void>(std::move(refused));
}

// Its state is `moving`: nobody else changes it until finish_move().
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
    } catch (...) {  // it cannot be written
      arrived = make_exceptional_future<void>(std::current_exception());
    }
    static_cast<void>(arrived.then(launch::sync, finish));
  });
}

void agas::ask_back(const gid& id, std::uint32_t moves, const std::exception_ptr& failure) {
  const locality_id directory = directory_of(id);
  if (directory == node_.here()) return move_failed(id, take_back(id, directory, moves), failure);
  if (node_.stopped() || node_.is_lost(directory)) return move_failed(id, false, failure);
  static_cast<void>(async<&detail::agas_take_back>(directory, sender{node_.here()}, id, moves)
                        .then(launch::sync, [this, id, failure](future<bool> agreed) {
                          bool ours = false;
                          try {
                            ours = agreed.get();
                          } catch (const locality_lost&) {  // the directory, and the object with it
                          }
                          move_failed(id, ours, failure);
                        }));
}

void agas::finish_move(const gid& id, locality_id to, std::uint32_t moves, const std::exception_ptr& failure) {
  if (failure != nullptr) return ask_back(id, moves - 1, failure);
  std::unique_ptr<object_record> r;
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    r = s.take_object(id);
    ++s.counts.migrations;
    s.tell_place(id, {to, moves});
  }
  submit(r->parked.first);  // after it
  r->moved->set_value();
}

void agas::move_failed(const gid& id, bool ours, const std::exception_ptr& failure) {
  std::unique_ptr<object_record> ended;
  detail::parked_tasks waiting;
  std::optional<promise<void>> moved;
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    object_record& r = *s.objects.at(id);
    moved.swap(r.moved);
    waiting.take(r.parked);
    r.move_asked = false;
    r.send = nullptr;
    r.state = object_record::here;
    r.moves += 2;
    if (!ours || r.doomed)
      ended = s.end_object(id);
    else
      s.tell_place(id, {node_.here(), r.moves});
  }
  if (ended != nullptr) end(std::move(ended));
  submit(waiting.first);
  moved->set_exception(failure);
}

future<void> agas::install(const gid& id, const object_type& type, std::uint32_t moves, std::shared_ptr<void> object) {
  auto r = std::make_unique<object_record>();
  r->id = id;
  r->type = &type;
  r->object = std::move(object);
  r->state = object_record::arriving;
  r->moves = moves;
  insert_arriving(std::move(r));
  const auto finish = [this, id](future<bool> agreed) {
    bool accepted = false;
    std::exception_ptr failure;
    try {
      accepted = agreed.get();
      if (!accepted) failure = std::make_exception_ptr(std::runtime_error("the object may not move here any more"));
    } catch (...) {
      failure = std::current_exception();
    }
    finish_install(id, accepted);
    if (failure != nullptr) std::rethrow_exception(failure);
  };
  const locality_id directory = directory_of(id);
  future<bool> agreed = directory == node_.here()
                            ? make_ready_future(note_moved(id, directory, moves))
                            : async<&detail::agas_moved>(directory, sender{node_.here()}, id, moves);
  return agreed.then(launch::sync, finish);
}

// Waits, as a task, while it left here for where it comes from now, and has not heard that it arrived there.
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

void agas::finish_install(const gid& id, bool accepted) {
  std::unique_ptr<object_record> ended;
  detail::parked_tasks waiting;
  {
    detail::shard& s = tables_->of(id);
    const spin_guard guard(s.lock);
    object_record& r = *s.objects.at(id);
    waiting.take(r.parked);
    r.state = object_record::here;
    if (!accepted)
      ended = s.take_object(id);  // the object itself is, or was, where it came from: it ends there
    else if (r.doomed)
      ended = s.end_object(id);
    else
      s.tell_place(id, {node_.here(), r.moves});
  }
  if (ended != nullptr) end(std::move(ended));
  submit(waiting.first);
}

}  // namespace plx::net
