// Collective operations on a group of localities.
//
//   plx::communicator all;                                       // every locality of the job
//   double dt = all.all_reduce(my_dt, plx::minimum()).get();     // the minimum, on every rank
//   auto names = all.gather(my_name).get();                      // at rank 0, by rank; empty elsewhere
//   plx::communicator some("writers", {0, 2, 5});                // a named subset
//   plx::communicator part = all.split(all.rank() / 4);          // every four ranks
//
// Every member makes the same calls on a communicator in the same order; calls are matched by their sequence number. A
// call returns a future and does not wait: several may be in progress, and communicators are independent of each other.
// Tasks whose calls could overtake each other need communicators of their own. Communicators with the same name and
// members are the same one, also within a locality; their state (some 200 bytes) is kept until the job ends. That of a
// part made by split() is dropped once no member uses it.
//
// Reductions combine the values of neighbouring ranks, the lower rank as the left operand, in a tree that depends on
// the number of members only: floating-point results are identical to the last bit in each run and on each member, and
// reduce() and all_reduce() agree for every root. The operation must be associative (up to rounding), not commutative.
//
// Errors, thrown by the future's get(): locality_lost when a member is lost, by all pending and all later calls of that
// communicator; the survivors continue with a new one. An exception of an operation ends the communicator in the same
// way, on every member. logic_error when members make different calls at the same position.
//
// Values of a bitwise type of at most 256 bytes are combined by the worker that receives the message: the operation
// must then not wait. Thread safety: everything, but see above. Cost: log2(n) messages in sequence (all_to_all:
// n - 1, at most 8 sent ahead of those received); docs/net.md has times. Example: net/test/collectives_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "net/group/algorithms.hpp"
#include "net/group/tagged.hpp"
#include "rt/future.hpp"

namespace plx {

/// The smaller of two values, for reductions.
struct minimum {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return b < a ? b : a;
  }
};
/// The larger of two values.
struct maximum {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};

/// Combines two vectors element by element, for reductions: sums.all_reduce(values, elementwise(std::plus<>())).
/// Requires: vectors of the same size. Errors: logic_error otherwise.
template <class Op>
struct elementwise {
  explicit elementwise(Op o) : op(std::move(o)) {}
  template <class T>
  std::vector<T> operator()(std::vector<T> a, const std::vector<T>& b) const {
    net::collective::check_equal(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = op(std::as_const(a[i]), b[i]);
    return a;
  }
  Op op;
};

namespace net::collective {
/// Whether T is a vector of elements and Op combines elements.
template <class T, class Op>
inline constexpr bool is_elementwise = false;
template <class T, class Op>
inline constexpr bool is_elementwise<std::vector<T>, elementwise<Op>> = is_element<T>;
}  // namespace net::collective

/// A group of localities that performs collective operations.
class communicator {
 public:
  /// All localities of the job, without its spares. Throws std::logic_error on a spare, which uses joined().
  communicator();
  /// The same localities; independent of other communicators.
  explicit communicator(const std::string& name);
  /// These localities, including this one. Ranks are assigned in ascending order of locality.
  communicator(const std::string& name, std::vector<locality_id> members);

  [[nodiscard]] unsigned rank() const noexcept { return group_->rank(); }  ///< of this locality
  [[nodiscard]] unsigned size() const noexcept { return group_->size(); }  ///< how many members there are
  /// The localities by rank.
  [[nodiscard]] const std::vector<locality_id>& members() const noexcept { return group_->members(); }

  /// The members that pass the same colour, as a communicator of their own in which they keep their order:
  /// MPI_Comm_split with equal keys. All members call it, and the call waits: it may not be made by a poller. Errors:
  /// locality_lost when a member is lost meanwhile; then calls of the new communicators, where another member has one
  /// already, end with it, too. A later loss ends this communicator, and that new one which the lost locality is in.
  /// Cost: an all_gather and a barrier. The state of a part (some 400 bytes) is dropped in the first split() of this
  /// communicator after all its members have destroyed all copies of it and those of its parts, and its calls have
  /// ended: a loop that splits keeps the part of two turns at most, if none is stored.
  [[nodiscard]] communicator split(std::uint64_t colour) const;
  /// Ready when all members have called it.
  future<void> barrier() const;
  /// The root's value on every rank; the values of other ranks are ignored.
  template <class T>
  future<T> broadcast(T value, unsigned root = 0) const {
    return start<T>(kind::broadcast, false, one<T>(),
                    [&](auto& c) { spread(c, rank() == root ? payload::of(value) : payload(), checked(root)); });
  }
  /// All values combined, at the root; empty elsewhere.
  template <class T, class Op>
  future<std::optional<T>> reduce(T value, Op op, unsigned root = 0) const {
    using result = net::collective::combined<T, Op, net::collective::one_or_none<T>>;
    return start<std::optional<T>>(kind::reduce, !net::collective::is_light<T>, result(std::move(op)),
                                   [&](auto& c) { combine_at(c, payload::of(value), checked(root)); });
  }
  /// All values combined, on every rank. Vectors with an elementwise() operation are combined as spans are, see below.
  template <class T, class Op>
  future<T> all_reduce(T value, Op op) const {
    if constexpr (net::collective::is_elementwise<T, Op>)
      return combine_in_place<T>(std::move(value), std::move(op.op));
    else
      return start<T>(kind::all_reduce, !net::collective::is_light<T>,
                      net::collective::combined<T, Op, one<T>>(std::move(op)),
                      [&](auto& c) { combine_all(c, payload::of(value)); });
  }
  /// All values by rank, at the root; empty elsewhere.
  template <class T>
  future<std::vector<T>> gather(T value, unsigned root = 0) const {
    return start<std::vector<T>>(kind::gather, false, many<T>(),
                                 [&](auto& c) { collect_at(c, payload::of(value), checked(root)); });
  }
  /// All values by rank, on every rank.
  template <class T>
  future<std::vector<T>> all_gather(T value) const {
    return start<std::vector<T>>(kind::all_gather, false, many<T>(),
                                 [&](auto& c) { collect_all(c, payload::of(value)); });
  }
  /// The root's value for this rank. Requires: at the root, size() values; elsewhere they are ignored.
  template <class T>
  future<T> scatter(const std::vector<T>& values, unsigned root = 0) const {
    return start<T>(kind::scatter, false, one<T>(),
                    [&](auto& c) { deal(c, rank() == root ? all_of(values) : std::vector<payload>(), checked(root)); });
  }
  /// The value of each rank for this one, by rank. Requires: size() values.
  template <class T>
  future<std::vector<T>> all_to_all(const std::vector<T>& values) const {
    return start<std::vector<T>>(kind::all_to_all, false, many<T>(), [&](auto& c) { exchange_all(c, all_of(values)); });
  }
  /// The values of ranks 0 to rank() combined.
  template <class T, class Op>
  future<T> inclusive_scan(T value, Op op) const {
    return start<T>(kind::inclusive_scan, !net::collective::is_light<T>,
                    net::collective::combined<T, Op, one<T>>(std::move(op)),
                    [&](auto& c) { combine_up_to(c, payload::of(value), false); });
  }
  /// The values of the ranks before this one combined; empty on rank 0.
  template <class T, class Op>
  future<std::optional<T>> exclusive_scan(T value, Op op) const {
    using result = net::collective::combined<T, Op, net::collective::one_or_none<T>>;
    return start<std::optional<T>>(kind::exclusive_scan, !net::collective::is_light<T>, result(std::move(op)),
                                   [&](auto& c) { combine_up_to(c, payload::of(value), true); });
  }

  // The same on memory of the caller, which stays valid, and is accessed by nothing else, until the future is ready.
  // T: a bitwise type other than bool. All members pass the same number of elements; otherwise the calls end with a
  // logic_error (all_reduce, reduce_scatter: on all members, with the communicator). Sent elements are copied once,
  // into a message; received ones are combined or copied from it.

  /// Each element combined with those of the other members, in place, on every rank. Each element is combined in the
  /// tree described above, so the bits are those of an all_reduce of that element alone.
  /// Cost: with 64 KiB and more on 3 and more members, each member sends and receives at most twice the bytes of
  /// `values`: in 2 log2(n) messages in sequence if n is a power of two; otherwise in 2 (n - 1) messages if `values`
  /// have 4 KiB for each member. With fewer, the first 2 (n - p) members (p: the largest power of two below n) in pairs
  /// send and receive `values` once more. Below 64 KiB, and on two members, log2(n) messages of all values.
  template <class T, class Op>
  future<void> all_reduce(std::span<T> values, Op op) const {
    return combine_in_place<void>(values, std::move(op));
  }
  /// Block rank() of `values`, which are size() blocks of equal size, combined with the same block of the other
  /// members, in place. Afterwards, the contents of other blocks are unspecified. The bits are those of all_reduce().
  /// Requires: values.size() is a multiple of size(). Cost: each member sends and receives at most the bytes of
  /// `values` once, in log2(n) messages in sequence if n is a power of two; otherwise in n - 1 messages if blocks have
  /// at least 4 KiB. With smaller ones, some send and receive them twice, in pairs as above.
  template <class T, class Op>
  future<void> reduce_scatter(std::span<T> values, Op op) const {
    check_blocks(values.size());
    return combine_in_place<void>(values, std::move(op), true);
  }
  /// The root's values on every rank; the root's memory is only read.
  template <class T>
  future<void> broadcast(std::span<T> values, unsigned root = 0) const {
    net::collective::check_element<T>();
    const bool here = rank() == root;
    return start<void>(kind::broadcast, false,
                       net::collective::copied<T>{values, here ? 0 : net::collective::copied<T>::none},
                       [&](auto& c) { spread(c, here ? payload(std::as_bytes(values)) : payload(), checked(root)); });
  }
  /// The values of all members, by rank. `mine` may be block rank() of `all`. Requires: all.size() is size() times
  /// mine.size().
  template <class T>
  future<void> all_gather(std::span<const std::type_identity_t<T>> mine, std::span<T> all) const {
    net::collective::check_element<T>();
    check_gathered(mine.size(), all.size());
    const bool there = mine.data() == all.data() + rank() * mine.size();
    return start<void>(kind::all_gather, false,
                       net::collective::copied<T>{all, there ? rank() : net::collective::copied<T>::none},
                       [&](auto& c) { collect_all(c, payload(std::as_bytes(mine))); });
  }

  // Messages between two members, matched by tag. The n-th recv() of a (sender, tag) takes the n-th message that this
  // sender has sent with that tag, whatever the order of arrival; calls of several tasks at the same time are in any
  // order. Messages do not depend on collective calls, nor on other members: a communicator that has lost another
  // member still carries them. A vector of bitwise elements, a span of them, and a single element are sent as elements,
  // and any of these can receive them if the number of elements is right; other values are serialized.
  //
  // send(): the value is copied, and the future is ready when recv() has taken it. At most 16 MiB
  // (net::collective::most_waiting_bytes, with 256 bytes for each message), or one message of any size,
  // wait for recv() at each receiver; a send() beyond that suspends its task until there is room, unless a poller calls
  // it. Tasks are admitted in order. All tags share this room, so one direction suffices for a deadlock: if 16 MiB with
  // tag A wait, and the receiver waits for tag B, which is sent afterwards. The same holds for messages to oneself, and
  // for two members that send each other more than that before they receive.
  // recv(): the future holds the value; into a span, which must stay valid until the future is ready.
  //
  // Errors: invalid_argument, thrown by send() and recv(), for a nonexistent rank. In the futures: locality_lost when
  // the peer is lost (messages that have arrived can still be received); logic_error from recv(), and remote_error with
  // the same text from send(), if type or number of elements differ: the message counts as received. runtime_error from
  // recv() if its message could not be read or kept here (send() has the reason), and from both if the job ends first.
  // Cost: a call and its reply, and a copy on each side. Example: net/group/test/tagged_test.cpp

  /// Sends a value; see above.
  template <class T>
  future<void> send(unsigned to, std::uint32_t tag, const T& value) const {
    using carried = net::collective::carried<T>;
    return net::collective::send_tagged(*group_, to, tag, carried::type, carried::pack(value));
  }
  /// Sends elements, which are copied before the call returns.
  template <class T>
  future<void> send(unsigned to, std::uint32_t tag, std::span<T> values) const {
    using element = std::remove_const_t<T>;
    net::collective::check_element<element>();
    return net::collective::send_tagged(*group_, to, tag, net::collective::carried<element>::type,
                                        payload(std::as_bytes(values)));
  }
  /// Receives a value, or a vector of any number of elements; see above.
  template <class T>
  future<T> recv(unsigned from, std::uint32_t tag) const {
    return net::collective::receive_tagged<T, T>(*group_, from, tag, net::collective::carried<T>::count,
                                                 &net::collective::carried<T>::unpack);
  }
  /// Receives as many elements as `into` has.
  template <class T>
  future<void> recv(unsigned from, std::uint32_t tag, std::span<T> into) const {
    net::collective::check_element<T>();
    return net::collective::receive_tagged<void, T>(*group_, from, tag, into.size(), [into](const payload& p) {
      net::collective::copy_elements(p, net::collective::elements_of(into));
    });
  }

 private:
  using kind = net::collective::kind;
  using payload = net::payload;
  template <class T>
  using one = net::collective::one<T>;
  template <class T>
  using many = net::collective::many<T>;

  template <class R, class Result, class Start>
  future<R> start(kind k, bool heavy, Result r, Start begin) const {
    auto* c = plx::detail::make_state<net::collective::waiting<R, Result>>(*group_, k, heavy, std::move(r));
    auto f = plx::detail::adopt_state<R>(c);
    if (!c->begin()) return f;
    try {
      begin(*c);
    } catch (...) {
      c->fail(std::current_exception());
    }
    return f;
  }
  template <class R, class Values, class Op>
  future<R> combine_in_place(Values values, Op op, bool scatters = false) const {
    using net::collective::share;
    using T = typename Values::value_type;
    net::collective::check_element<T>();
    const std::size_t bytes = values.size() * sizeof(T);
    const share how = net::collective::share_of(bytes, size(), scatters);
    const kind k = net::collective::kind_of(how);
    using result = net::collective::combined_in_place<Values, Op>;
    return start<R>(k, bytes > net::collective::most_light_bytes, result{std::move(values), std::move(op)},
                    [&](auto& c) { net::collective::combine_elements(c, c.result().memory(), how); });
  }
  template <class T>
  std::vector<payload> all_of(const std::vector<T>& values) const {
    check_count(values.size());
    return net::collective::payloads_of(values);
  }
  void check_count(std::size_t n) const;
  void check_blocks(std::size_t n) const;
  void check_gathered(std::size_t mine, std::size_t all) const;
  [[nodiscard]] unsigned checked(unsigned root) const;

  explicit communicator(std::shared_ptr<net::collective::group> part) noexcept;

  std::shared_ptr<net::collective::group> group_;  // of a part: a handle, which counts
};

// The replacement of lost localities by spares. With the setting `spares` = k (PLX_SPARES, --plx:spares) the last k
// localities of a job are spares: they serve messages, and job.run(f) calls f on one of them only when it is taken.
//
//   auto all = plx::joined();             // on a spare that was taken: with the others
//   const bool is_new = all.has_value();
//   if (!all) all = plx::replace_lost();  // on all other members, in any run
//   ...
//   } catch (const plx::locality_lost&) {
//     all = plx::replace_lost();          // the survivors and a spare, which calls f
//   }

/// A communicator of all living members, completed with spares to `size` members (0: as many as the job had at the
/// start) as far as there are any. Ranks ascend with the number of the locality, so new members come last. A collective
/// call of all living members, with the same size: it waits for all of them, whichever notices the loss first, and if
/// another one is lost meanwhile, it begins again without it. A spare that has been taken calls the function of the run
/// and finds this communicator by joined().
/// Empty: a member has returned from the function of the run, so it will not take part. If all wait for each other
/// at the end of the function, no work of the others is left then.
/// Errors: std::logic_error on a spare that has not been taken. Losses are no error; a member that is lost afterwards
/// ends the calls of the new communicator.
/// Cost: two messages each way between each locality and the first living one, one for each spare that is taken, and
/// one from that to each locality. Example: examples/24_spares.cpp
[[nodiscard]] std::optional<communicator> replace_lost(unsigned size = 0);
/// The communicator with which this locality became a member, if it is a spare that was taken in this run; otherwise
/// empty.
[[nodiscard]] std::optional<communicator> joined();

}  // namespace plx
