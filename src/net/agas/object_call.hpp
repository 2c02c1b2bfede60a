// Remote calls of objects: a call is sent to the last known place of the object and forwarded from there. See
// net/component.hpp for the semantics, net/agas/agas.hpp for the protocol.
//
// Thread safety: everything. Cost: docs/net.md. Example: net/agas/test/component_test.cpp
#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "base/assert.hpp"
#include "net/action.hpp"
#include "net/agas/agas.hpp"

namespace plx::net::detail {

/// The header of a call, sent before the arguments.
struct call_target {
  gid id;
  locality_id caller = no_locality;     ///< the locality that made the call
  locality_id directory = no_locality;  ///< of the object, by the losses that the caller knew then
  std::uint32_t posted = 0;             ///< a post: replied to when the object has accepted it
  std::uint32_t hops = 0;               ///< how often it was forwarded
};

/// Tells the caller that this locality forwards its call to `to`, or that it has arrived here; see reply_table.
void note_forwarded(const request& q, const call_target& t, locality_id to);
void note_reached(const request& q, const call_target& t);

/// Keeps an object on its locality.
class pinned {
 public:
  pinned() noexcept = default;
  pinned(agas& a, object_record& r) noexcept : home_(&a), record_(&r) {}
  pinned(pinned&& o) noexcept : home_(o.home_), record_(std::exchange(o.record_, nullptr)) {}
  pinned& operator=(pinned&& o) noexcept {
    pinned taken(std::move(o));
    std::swap(home_, taken.home_), std::swap(record_, taken.record_);
    return *this;
  }
  ~pinned() {
    if (record_ != nullptr) home_->unpin(*record_);
  }

 private:
  agas* home_ = nullptr;
  object_record* record_ = nullptr;
};

/// A call in flight: counts as a handle, and as work that the end of the job waits for.
class call_ticket {
 public:
  call_ticket(node& n, reference* r) noexcept : node_(&n), ref_(keep(r)) { n.note_sent(n.here()); }
  call_ticket(call_ticket&& o) noexcept
      : node_(std::exchange(o.node_, nullptr)), ref_(std::exchange(o.ref_, nullptr)) {}
  call_ticket& operator=(call_ticket&&) = delete;
  ~call_ticket() {
    if (ref_ != nullptr) drop(ref_);
    if (node_ != nullptr) node_->note_done(node_->here());
  }

 private:
  node* node_;
  reference* ref_;
};

inline reference& reference_of(const handle& h) {
  reference* r = handle_access::reference_of(h);
  PLX_ASSERT(r != nullptr && "this global id is empty: there is no object to call");
  return *r;
}

template <class M>
struct member_signature;
template <class R, class C, class... A>
struct member_signature<R (C::*)(A...)> {
  using result = R;
  using arguments = std::tuple<std::decay_t<A>...>;
};
template <class R, class C, class... A>
struct member_signature<R (C::*)(A...) const> : member_signature<R (C::*)(A...)> {};
template <class R, class C, class... A>
struct member_signature<R (C::*)(A...) noexcept> : member_signature<R (C::*)(A...)> {};
template <class R, class C, class... A>
struct member_signature<R (C::*)(A...) const noexcept> : member_signature<R (C::*)(A...)> {};

/// The names of the object's type, the member function, and its type.
template <class T, class M, M F>
constexpr std::string_view member_text() {
  return __PRETTY_FUNCTION__;
}

// Call types: their arguments and result, and how they run on the object, which is pinned meanwhile.

template <auto M, class T>
struct member_call {
  using object = T;
  using raw = typename member_signature<decltype(M)>::result;
  using result = typename without_future<raw>::type;
  using arguments = typename member_signature<decltype(M)>::arguments;
  static constexpr bool moves = false;
  static constexpr std::string_view signature() { return member_text<T, decltype(M), M>(); }
  static raw invoke(agas&, const access& a, arguments&& args) {
    T& object = *static_cast<T*>(a.object);
    return std::apply([&object](auto&&... x) -> raw { return (object.*M)(std::forward<decltype(x)>(x)...); },
                      std::move(args));
  }
};

/// An object being moved; shared with the message from which it is sent.
template <class T>
struct moving {
  std::shared_ptr<T> object;
};

template <class T>
future<void> install_object(gid id, std::uint32_t moves, moving<T> m) {
  return node_here().get<agas>().install(id, object_type_of<T>, moves, std::move(m.object));
}

template <class T>
struct relocation {
  using object = T;
  using raw = future<void>;
  using result = void;
  using arguments = std::tuple<locality_id>;
  static constexpr bool moves = true;
  static future<void> send(locality_id to, const gid& id, std::uint32_t n_moves, std::shared_ptr<void> object) {
    return async<&install_object<T>>(to, id, n_moves, moving<T>{std::static_pointer_cast<T>(std::move(object))});
  }
  static constexpr std::string_view signature() { return signature_text<decltype(&send), &send>(); }
  static raw invoke(agas& a, const access& got, arguments&& to) {
    return a.request_move(*got.record, std::get<0>(to), send);
  }
};

template <class T>
struct whereabouts {
  using object = T;
  using raw = locality_id;
  using result = locality_id;
  using arguments = std::tuple<>;
  static constexpr bool moves = false;
  static raw invoke(agas& a, const access&, arguments&&) { return a.home().here(); }
  static constexpr std::string_view signature() { return signature_text<decltype(&invoke), &invoke>(); }
};

/// The type in which a constructor's argument is sent: literals as strings.
template <class A>
using as_argument = std::conditional_t<std::is_convertible_v<A, const char*>, std::string, std::decay_t<A>>;

template <class T, class... A>
gid create_object(sender holder, std::uint64_t stamp, A... args) {
  return node_here().get<agas>().enter(object_type_of<T>, std::make_shared<T>(std::move(args)...), holder.who, stamp);
}

/// Runs the call on the object that was found. The object stays pinned until the call ends, or until the call type
/// itself releases it.
template <class Call>
typename Call::raw run_on(agas& a, const access& got, typename Call::arguments&& args) {
  pinned stays(a, *got.record);
  if constexpr (requires { Call::run_and_release(a, got, std::move(args), std::move(stays)); }) {
    return Call::run_and_release(a, got, std::move(args), std::move(stays));
  } else if constexpr (!plx::detail::is_future<typename Call::raw> || Call::moves) {
    return Call::invoke(a, got, std::move(args));
  } else {
    return Call::invoke(a, got, std::move(args)).then(launch::sync, [stays = std::move(stays)](typename Call::raw f) {
      return f.get();
    });
  }
}

template <class Call>
const action_entry& entry_of_call();

/// Sends a call of the object; `r` is kept until the reply. Invalid if `to` is lost: then nothing has been sent, and
/// the arguments are unchanged.
template <class Call, class R>
future<R> send_object_call(agas& a, locality_id to, reference& r, bool posted, typename Call::arguments&& args) {
  node& n = a.home();
  const call_target t{r.id, n.here(), a.directory_for_call(r.id), posted ? 1u : 0u, 0};
  auto* call = plx::detail::make_state<waiting_call<R, call_ticket>>(call_ticket(n, &r));
  call->by_any = true;
  auto result = plx::detail::adopt_state<R>(call);
  parcel_header h;
  h.action = entry_of_call<Call>().index;
  h.reply = n.replies().add(*call, to);
  if (n.is_lost(to)) {
    if (reply_target* w = n.replies().take(h.reply, to)) w->fail(n.loss_of(to));
    return future<R>();
  }
  try {
    std::apply(
        [&](auto&&... x) { send_values<accounting::queued>(n, to, h.action, h, t, std::forward<decltype(x)>(x)...); },
        std::move(args));
  } catch (...) {  // an argument could not be serialized
    if (reply_target* w = n.replies().take(h.reply, to)) w->fail(std::current_exception());
  }
  return result;
}

/// Forwards a received call to `to`, which replies to the caller.
template <class Call>
void forward_object_call(agas& a, locality_id to, const request& q, call_target t,
                         typename Call::arguments&& args) noexcept {
  node& n = a.home();
  if (n.is_lost(to)) return answer_with_error(q, n.loss_of(to));
  ++t.hops;
  note_forwarded(q, t, to);
  parcel_header h;
  h.action = entry_of_call<Call>().index;
  h.reply = q.reply_to;
  h.flags = forwarded;
  try {
    std::apply(
        [&](auto&&... x) {
          send_values<accounting::queued>(n, to, h.action, h, std::uint64_t{q.answered()}, t,
                                          std::forward<decltype(x)>(x)...);
        },
        std::move(args));
  } catch (...) {  // an argument could not be serialized
    answer_with_error(q, std::current_exception());
  }
}

/// A received call, as a task: runs on the object, waits for it, or is forwarded.
template <class Call>
struct arrived_object_call final : parcel_task {
  arrived_object_call(const request& q, probe::name_id name) : from(q) {
    this->info.name = name;
    this->owner = this;
    this->run = [](plx::detail::task* t, plx::detail::run_mode) { static_cast<arrived_object_call*>(t)->call(); };
    this->drop = [](parcel_task* t) noexcept { static_cast<arrived_object_call*>(t)->dropped(); };
  }
  void call() noexcept {
    from.here->note_begun(from);
    from.credits = from.held = 0;  // the task may be submitted again
    if (from.caller != no_locality && !std::exchange(noted, true)) note_reached(from, target);
    agas& a = from.here->get<agas>();
    access got;
    const call_origin caller{target.caller, target.directory};
    do got = a.pin(target.id, object_type_of<typename Call::object>, this, Call::moves, caller);
    while (got.what == access::elsewhere && from.here->is_lost(got.where));  // lost meanwhile
    if (got.what == access::parked) return;                                  // submitted again later, or already
    if (got.what == access::here)
      run_here(a, got);
    else if (got.what == access::elsewhere)
      forward_object_call<Call>(a, got.where, from, target, std::move(arguments));
    else
      answer_with_error(from, error_of(*from.here, got, target.id));
    end();
  }
  void dropped() noexcept {
    from.here->note_begun(from);
    from.here->note_started(from.from);
    end();
  }
  void end() noexcept {
    node* n = from.here;
    const locality_id sender = from.from;
    plx::detail::forget_origin(*this);
    this->~arrived_object_call();
    plx::detail::pool_put(this, sizeof(arrived_object_call));
    n->note_done(sender);
  }

  request from;
  call_target target;
  bool noted = false;  // the caller knows that it is here
  typename Call::arguments arguments{};

 private:
  void run_here(agas& a, const access& got) noexcept {
    if (target.posted != 0) {
      answer(from);
      static_cast<void>(run_on<Call>(a, got, std::move(arguments)));
      return;
    }
    try {
      if constexpr (std::is_void_v<typename Call::raw>)
        run_on<Call>(a, got, std::move(arguments)), answer(from);
      else
        answer(from, run_on<Call>(a, got, std::move(arguments)));
    } catch (...) {
      answer_with_error(from, std::current_exception());
    }
  }
};

template <class Call>
struct object_action {
  static constexpr auto layout =
      layout_of<typename Call::result>(static_cast<const typename Call::arguments*>(nullptr));
  static parcel_task* decode(wire_reader& r, const request& q) {
    check_travels<typename Call::result>();
    check_all_travel(static_cast<const typename Call::arguments*>(nullptr));
    using call = arrived_object_call<Call>;
    static_assert(alignof(call) <= plx::detail::pooled_alignment, "arguments may be aligned to at most 64 bytes");
    auto* c = ::new (plx::detail::pool_get(sizeof(call))) call(q, entry.name);
    try {
      net::read(r, c->target);
      net::read(r, c->arguments);
    } catch (...) {
      r.fail();
    }
    if (r.complete()) return c;
    c->dropped();
    return nullptr;
  }
  static inline action_entry entry{Call::signature(), layout.text, decode};
  static inline const bool registered = (add_action(entry), true);
};

template <class Call>
const action_entry& entry_of_call() {
  (void)object_action<Call>::registered;
  return object_action<Call>::entry;
}

/// Finds the object from a task of this locality; waits while it is being moved.
access find_object(agas& a, const gid& id, const object_type& type, bool to_move);

/// Runs in a task of this locality: calls the object here, or where it is by now.
template <class Call>
typename Call::raw call_here(reference& r, typename Call::arguments&& args) {
  agas& a = *r.home.load(std::memory_order_acquire);
  for (;;) {
    const access got = find_object(a, r.id, object_type_of<typename Call::object>, Call::moves);
    if (got.what == access::here) return run_on<Call>(a, got, std::move(args));
    if (got.what != access::elsewhere) std::rethrow_exception(error_of(a.home(), got, r.id));
    auto there = send_object_call<Call, typename Call::result>(a, got.where, r, false, std::move(args));
    if (!there.valid()) continue;
    if constexpr (plx::detail::is_future<typename Call::raw>)
      return there;
    else
      return there.get();
  }
}

template <class Call>
future<typename Call::result> call_object(const global<typename Call::object>& target,
                                          typename Call::arguments&& args) {
  reference& r = reference_of(target);
  agas& a = *r.home.load(std::memory_order_acquire);
  const access next = a.route(r);
  if (next.what == access::elsewhere) {
    auto there = send_object_call<Call, typename Call::result>(a, next.where, r, false, std::move(args));
    if (there.valid()) return there;
  } else if (next.what != access::here && next.what != access::parked) {
    return make_exceptional_future<typename Call::result>(error_of(a.home(), next, r.id));
  }
  return async(task_info(entry_of_call<Call>().name), [ticket = call_ticket(a.home(), &r), &r,
                                                       args = std::move(args)]() mutable {
    if constexpr (Call::moves)  // I4 of net/agas/agas.hpp: the object lives until it has arrived
      return call_here<Call>(r, std::move(args)).then(launch::sync, [ticket = std::move(ticket)](future<void> moved) {
        moved.get();
      });
    else
      return call_here<Call>(r, std::move(args));
  });
}

template <class Call>
void post_here(reference& r, typename Call::arguments&& args) {
  agas& a = *r.home.load(std::memory_order_acquire);
  for (;;) {
    const access got = find_object(a, r.id, object_type_of<typename Call::object>, false);
    if (got.what == access::here) return static_cast<void>(run_on<Call>(a, got, std::move(args)));
    if (got.what != access::elsewhere) return a.home().note_dropped();
    if (send_object_call<Call, void>(a, got.where, r, true, std::move(args)).valid()) return;
  }
}

template <class Call>
void post_object(const global<typename Call::object>& target, typename Call::arguments&& args) {
  reference& r = reference_of(target);
  agas& a = *r.home.load(std::memory_order_acquire);
  const access next = a.route(r);
  if (next.what == access::elsewhere) {
    if (send_object_call<Call, void>(a, next.where, r, true, std::move(args)).valid()) return;
  } else if (next.what != access::here && next.what != access::parked) {
    return a.home().note_dropped();
  }
  post(task_info(entry_of_call<Call>().name),
       [ticket = call_ticket(a.home(), &r), &r, args = std::move(args)]() mutable {
         post_here<Call>(r, std::move(args));
       });
}

}  // namespace plx::net::detail

namespace plx {
template <>
inline constexpr bool is_bitwise<net::detail::call_target> = true;

template <class T>
struct net::wire_codec<net::detail::moving<T>> {
  static void write(wire_writer& w, const detail::moving<T>& m) { net::write(w, *m.object); }
  static void read(wire_reader& r, detail::moving<T>& m) {
    m.object = std::make_shared<T>();
    net::read(r, *m.object);
  }
};
}  // namespace plx
