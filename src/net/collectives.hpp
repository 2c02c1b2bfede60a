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
#include <string>
#include <utility>
#include <vector>

#include "net/group/algorithms.hpp"
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

/// A group of localities that performs collective operations.
class communicator {
 public:
  /// All localities of the job.
  communicator();
  /// All localities; independent of other communicators.
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
  /// All values combined, on every rank.
  template <class T, class Op>
  future<T> all_reduce(T value, Op op) const {
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
  template <class T>
  std::vector<payload> all_of(const std::vector<T>& values) const {
    check_count(values.size());
    return net::collective::payloads_of(values);
  }
  void check_count(std::size_t n) const;
  [[nodiscard]] unsigned checked(unsigned root) const;

  explicit communicator(std::shared_ptr<net::collective::group> part) noexcept;

  std::shared_ptr<net::collective::group> group_;  // of a part: a handle, which counts
};

}  // namespace plx
