// Calls of functions on other localities, without macros:
//
//   double mean(std::vector<double> values);
//   plx::future<double> m = plx::async<&mean>(locality, values);  // there, as a task; the result comes back
//   plx::post<&log_line>(locality, "done");                       // no answer
//
// A function called in this way is an action. It is identified by its name and type, taken by the compiler; at
// start-up, all localities check that they have the same actions. net/core/wire.hpp describes how arguments and results
// are serialized. A function that returns a future replies when that future is ready.
//
// Thread safety: everything, from tasks and external threads. Cost: docs/net.md. Example: net/core/test/action_test.cpp
#pragma once

#include <array>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "net/core/action_entry.hpp"
#include "net/core/node.hpp"
#include "net/core/sender.hpp"
#include "net/error.hpp"
#include "rt/async.hpp"

/// Outside of plx, because compilers omit the scopes that a named function shares with the function that names it.
namespace plx_scope {
/// The full name of function F, with its scopes, as the compiler spells it.
template <class T, T F>
constexpr std::string_view name_of() {
  return __PRETTY_FUNCTION__;
}
}  // namespace plx_scope

namespace plx {
namespace net::detail {

template <class F>
struct signature_of;
template <class R, class... A>
struct signature_of<R (*)(A...)> {
  using result = R;
  using arguments = std::tuple<std::decay_t<A>...>;
};
template <class R, class... A>
struct signature_of<R (*)(A...) noexcept> : signature_of<R (*)(A...)> {};

template <class T>
struct without_future {
  using type = T;
};
template <class T>
struct without_future<future<T>> : without_future<T> {};

/// The value type of the caller's future.
template <auto F>
using result_of = typename without_future<typename signature_of<decltype(+F)>::result>::type;
template <auto F>
using arguments_of = typename signature_of<decltype(+F)>::arguments;

template <class T>
void check_travels() {
  static_assert(std::is_void_v<T> || !std::is_reference_v<T>, "the result of an action cannot be a reference");
  static_assert(!std::is_pointer_v<T>, "a pointer is meaningless on another locality");
  if constexpr (!std::is_void_v<T>) {
    static_assert(can_travel<T>,
                  "this type cannot be serialized: give it serialize() and include net/archive.hpp, or specialize "
                  "plx::is_bitwise<T> if its bytes are its value (net/bitwise.hpp)");
    static_assert(std::is_default_constructible_v<T>, "deserialization needs a default constructor");
  }
}
template <class... T>
void check_all_travel(const std::tuple<T...>*) {
  (check_travels<T>(), ...);
}

/// `value` as a T: itself, or converted.
template <class T, class V>
decltype(auto) as(V&& value) {
  if constexpr (std::is_same_v<std::decay_t<V>, T>)
    return std::forward<V>(value);
  else
    return T(std::forward<V>(value));
}

template <class T>
constexpr std::size_t bytes_of() {
  if constexpr (std::is_void_v<T>)
    return 0;
  else
    return sizeof(T);
}

/// Sizes of arguments and result as text, e.g. "4+24=8".
template <std::size_t n>
struct layout_text {
  char text[n * 8 + 16] = {};
};
template <class R, class... A>
constexpr auto layout_of(const std::tuple<A...>*) {
  layout_text<sizeof...(A)> l;
  char* at = l.text;
  const auto put = [&at](std::size_t v) {
    char digits[8];
    int n = 0;
    do digits[n++] = static_cast<char>('0' + v % 10);
    while ((v /= 10) != 0 && n < 7);
    while (n > 0) *at++ = digits[--n];
  };
  bool first = true;
  ((first ? void() : void(*at++ = '+'), first = false, put(sizeof(A))), ...);
  *at++ = '=';
  put(bytes_of<R>());
  return l;
}

template <class Tuple>
inline constexpr bool all_bitwise = false;
template <class... A>
inline constexpr bool all_bitwise<std::tuple<A...>> = (is_bitwise<A> && ...);

/// How a parcel is counted.
enum class accounting : std::uint8_t {
  none,    ///< a reply, or internal to net
  direct,  ///< a call of the program, which the end of the job waits for
  queued   ///< the same, and takes credits, because it becomes a task on its receiver
};

void send_bytes(node& n, locality_id to, std::uint16_t action, parcel_header h, std::span<const std::byte> payload);
template <class Values>
struct owning_message final : large_message {
  explicit owning_message(Values&& v) : values(std::move(v)) {
    destroy = [](large_message* m) noexcept { delete static_cast<owning_message*>(m); };
  }
  Values values;
};
/// Writes the head of `m` by `write`, and large arrays into its parts; a head that is too long becomes a part itself.
/// Takes ownership of `m`. Throws what `write` throws; then nothing was counted or sent.
void send_large(node& n, locality_id to, std::uint16_t action, parcel_header h, large_message& m,
                void (*write)(wire_writer&, const large_message&), accounting how);

/// The parcel is about to be sent. `bytes`: of its payload and pieces.
inline void note_leaving(node& n, locality_id to, accounting how, std::uint64_t bytes) noexcept {
  if (how != accounting::none) n.note_sent(to);
  if (how == accounting::queued) n.port().take_credits(to, n.port().credits_for(bytes));
}

/// Payloads up to this size are written on the caller's stack, not in memory shared between calls: a save() function of
/// the program may itself send parcels, suspend, and resume on another thread.
inline constexpr std::size_t stack_payload_bytes = 1024;

/// Sends a parcel with the values serialized by net::write: in the current aggregate if it is small, otherwise in a
/// message of its own, which takes ownership of `values` until they have been sent. `action`: the action that the
/// parcel belongs to, also for replies. Throws what a save() function of the program throws; then nothing was counted
/// or sent.
template <accounting how = accounting::none, class... V>
void send_values(node& n, locality_id to, std::uint16_t action, parcel_header h, V&&... values) {
  if (h.action != 0) {
    n.port().wait_for_room(to, how == accounting::queued);
    if (how != accounting::none && h.reply == 0 && n.is_lost(to)) return n.note_dropped();  // lost meanwhile
  }
  if constexpr ((is_bitwise<std::decay_t<V>> && ...)) {
    h.size = static_cast<std::uint32_t>((std::size_t{0} + ... + sizeof(std::decay_t<V>)));
    note_leaving(n, to, how, h.size);
    const open_parcel p = n.port().open(to, action, h);
    [[maybe_unused]] std::byte* at = p.payload;
    ((std::memcpy(at, &values, sizeof(std::decay_t<V>)), at += sizeof(std::decay_t<V>)), ...);
    n.port().close(p);
  } else {
    std::array<std::byte, stack_payload_bytes> on_stack;
    std::vector<departure> departures;
    wire_writer w(on_stack, nullptr, &departures);
    (net::write(w, std::as_const(values)), ...);
    if (!w.met_large() && w.used() <= n.port().max_payload_bytes()) {
      std::vector<std::byte> on_heap;
      if (w.overflowed()) {
        on_heap.resize(w.used());
        wire_writer again(on_heap);
        (net::write(again, std::as_const(values)), ...);
      }
      note_leaving(n, to, how, w.used());
      for (const departure& d : departures) d.leaves(d.what, to);
      const std::span<const std::byte> all = w.overflowed() ? std::span<const std::byte>(on_heap) : on_stack;
      return send_bytes(n, to, action, h, all.first(w.used()));
    }
    using held = std::tuple<std::decay_t<V>...>;
    auto m = std::make_unique<owning_message<held>>(held(std::forward<V>(values)...));
    send_large(
        n, to, action, h, *m.release(),
        [](wire_writer& into, const large_message& from) {
          net::write(into, static_cast<const owning_message<held>&>(from).values);
        },
        how);
  }
}

struct nothing_held {};

/// A pending call: its entry in the reply table and the state of its future. `Held` is released when the reply arrives.
template <class R, class Held = nothing_held>
class waiting_call final : public plx::detail::future_state<R>, public reply_target {
  using state = plx::detail::future_state<R>;

 public:
  waiting_call() noexcept : state(destroy, 2) {}
  explicit waiting_call(Held&& h) noexcept : state(destroy, 2), held_(std::move(h)) {}

  bool read(wire_reader& r) noexcept override {
    if constexpr (std::is_void_v<R>) {
      this->emplace();
    } else {
      try {
        this->emplace();
        net::read(r, this->value());  // in place: large arrays may arrive later
      } catch (...) {
        return false;
      }
    }
    return r.complete();
  }
  void complete() noexcept override {
    [[maybe_unused]] const Held gone = std::move(held_);
    state::complete();
    this->release();
  }
  void lose(std::exception_ptr e) noexcept override {
    [[maybe_unused]] const Held gone = std::move(held_);
    this->complete_with(std::move(e));
  }
  void let_go() noexcept override { this->release(); }

 private:
  static void destroy(plx::detail::future_state_base* base) noexcept {
    auto& self = static_cast<waiting_call&>(*base);  // by reference: a null pointer need not stay null
    self.~waiting_call();
    plx::detail::pool_put(&self, sizeof self);
  }
  [[no_unique_address]] Held held_;
};

/// The answer of a call that was forwarded back to its caller.
template <class... V>
void answer_here(node& n, const parcel_header& h, const V&... values) {
  wire_writer counting({});
  (net::write(counting, values), ...);
  std::vector<std::byte> bytes(counting.used());
  wire_writer w(bytes);
  (net::write(w, values), ...);
  n.answer_here(h, bytes);
}

void answer_with_error(const request& q, std::exception_ptr e) noexcept;
template <class R>
void answer(const request& q, future<R>&& result);
template <class R>
void answer(const request& q, R&& value) {
  parcel_header h;
  h.reply = q.reply_to;
  if (q.caller == q.here->here()) [[unlikely]]
    return answer_here(*q.here, h, value);
  send_values(*q.here, q.answered(), q.action, h, std::forward<R>(value));
}
void answer(const request& q);
template <class R>
void answer(const request& q, future<R>&& result) {
  static_cast<void>(result.then(launch::sync, [q](future<R> f) {
    try {
      if constexpr (std::is_void_v<R>)
        f.get(), answer(q);
      else
        answer(q, f.get());
    } catch (...) {
      answer_with_error(q, std::current_exception());
    }
  }));
}

/// Names the function and its type.
template <class T, T F>
constexpr std::string_view signature_text() {
  return __PRETTY_FUNCTION__;
}
/// Whether a plx_scope::name_of() is of a function of net itself.
constexpr bool is_of_net(std::string_view signature) {
  constexpr std::string_view before = " F = ";
  const std::size_t at = signature.find(before);
  if (at == std::string_view::npos) return false;
  signature.remove_prefix(at + before.size());
  if (signature.starts_with('&')) signature.remove_prefix(1);
  return signature.starts_with("plx::net::") || signature.starts_with("plx::distributed::");
}

/// A received call of the action F, as a task.
template <auto F>
struct arrived_call final : parcel_task {
  arrived_call(const request& q, bool control, probe::name_id name) : from(q), counted(!control) {
    this->info.name = name;
    this->owner = this;
    this->run = [](plx::detail::task* t, plx::detail::run_mode) { static_cast<arrived_call*>(t)->call(); };
    this->drop = [](parcel_task* t) noexcept { static_cast<arrived_call*>(t)->dropped(); };
  }
  // An exception that leaves a posted function ends the program, as with plx::post(). The actions that net itself posts
  // do not throw: if one does, the parcel was not sent by this program and is refused.
  void call() noexcept {
    using R = typename signature_of<decltype(+F)>::result;
    from.here->note_begun(from);
    if (from.reply_to == 0) {
      if constexpr (is_of_net(plx_scope::name_of<decltype(+F), +F>())) {
        try {
          static_cast<void>(std::apply(F, std::move(arguments)));
        } catch (const std::bad_alloc&) {
          std::terminate();  // the fault of this process
        } catch (...) {
          from.here->refuse(from.from, "an internal call that needs a reply arrived without a reply slot, and failed");
        }
      } else {
        static_cast<void>(std::apply(F, std::move(arguments)));
      }
    } else {
      try {
        if constexpr (std::is_void_v<R>)
          std::apply(F, std::move(arguments)), answer(from);
        else
          answer(from, std::apply(F, std::move(arguments)));
      } catch (...) {
        answer_with_error(from, std::current_exception());
      }
    }
    end();
  }
  void dropped() noexcept {
    if (from.here != nullptr) {
      from.here->note_begun(from);
      if (counted) from.here->note_started(from.from);
    }
    end();
  }
  void end() noexcept {
    node* n = counted ? from.here : nullptr;
    const locality_id sender = from.from;
    plx::detail::forget_origin(*this);
    this->~arrived_call();
    plx::detail::pool_put(this, sizeof(arrived_call));
    if (n != nullptr) n->note_done(sender);
  }

  request from;
  bool counted;
  arguments_of<F> arguments{};
};

/// The registration of the function F as an action.
template <auto F>
struct action_of {
  static constexpr auto layout = layout_of<result_of<F>>(static_cast<const arguments_of<F>*>(nullptr));
  static parcel_task* decode(wire_reader& r, const request& q) {
    check_travels<result_of<F>>();
    check_all_travel(static_cast<const arguments_of<F>*>(nullptr));
    using call = arrived_call<F>;
    static_assert(alignof(call) <= plx::detail::pooled_alignment, "arguments may be aligned to at most 64 bytes");
    auto* c = ::new (plx::detail::pool_get(sizeof(call))) call(q, entry.control, entry.name);
    try {
      net::read(r, c->arguments);
      if (!senders_are(c->arguments, q.from)) r.fail();
    } catch (...) {
      r.fail();
    }
    if (r.complete()) return c;
    c->dropped();  // the sender counted it: count it as done
    return nullptr;
  }
  static inline action_entry entry{signature_text<decltype(+F), +F>(), layout.text, decode, is_control<F>,
                                   is_direct<F>};
  static inline const bool registered = (add_action(entry), true);
};

/// The entry of F, which is registered because it is used.
template <auto F>
const action_entry& entry_of() {
  (void)action_of<F>::registered;
  return action_of<F>::entry;
}

template <auto F, class... A>
void send_call(node& n, locality_id to, std::uint64_t reply, A&&... arguments) {
  static_assert(sizeof...(A) == std::tuple_size_v<arguments_of<F>>, "wrong number of arguments for this action");
  const action_entry& e = entry_of<F>();
  parcel_header h;
  h.action = e.index;
  h.reply = reply;
  [&]<class... T>(const std::tuple<T...>*) {
    // Converted to the parameter types: an int passed for a double is sent as a double.
    constexpr accounting how = is_control<F>  ? accounting::none
                               : is_direct<F> ? accounting::direct
                                              : accounting::queued;
    send_values<how>(n, to, e.index, h, as<T>(std::forward<A>(arguments))...);
  }(static_cast<const arguments_of<F>*>(nullptr));
}

}  // namespace net::detail

/// Calls F(arguments...) on a locality as a task of its runtime. The future holds the result, or remote_error if F
/// threw, or locality_lost. On this locality it is an ordinary task. Throws what a save() function of an argument
/// throws; then nothing is sent.
template <auto F, class... A>
auto async(locality_id to, A&&... arguments) -> future<net::detail::result_of<F>> {
  using R = net::detail::result_of<F>;
  net::node& n = net::node_here();
  if (to == n.here()) return async(F, std::forward<A>(arguments)...);
  auto* call = plx::detail::make_state<net::detail::waiting_call<R>>();
  auto result = plx::detail::adopt_state<R>(call);
  const std::uint64_t slot = n.replies().add(*call, to);
  if (n.is_lost(to)) {
    // Either this call or the thread that reports the loss takes the entry, and completes it.
    if (net::reply_target* t = n.replies().take(slot, to)) t->fail(n.loss_of(to));
    return result;
  }
  try {
    net::detail::send_call<F>(n, to, slot, std::forward<A>(arguments)...);
  } catch (...) {  // an argument could not be serialized
    if (net::reply_target* t = n.replies().take(slot, to)) t->fail(std::current_exception());
    throw;
  }
  return result;
}

/// Calls F(arguments...) on a locality, without a result. An exception that leaves F ends that process, as with
/// plx::post(). Nothing is sent to a lost locality.
template <auto F, class... A>
void post(locality_id to, A&&... arguments) {
  net::node& n = net::node_here();
  if (to == n.here())
    return post([args = net::detail::arguments_of<F>(std::forward<A>(arguments)...)]() mutable {
      static_cast<void>(std::apply(F, std::move(args)));
    });
  if (n.is_lost(to)) return n.note_dropped();
  net::detail::send_call<F>(n, to, 0, std::forward<A>(arguments)...);
}

}  // namespace plx
