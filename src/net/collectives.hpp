// Calls that a group of localities makes together.
//
//   plx::communicator all;                                       // every locality of the job
//   double dt = all.all_reduce(my_dt, plx::minimum()).get();     // the least one, everywhere
//   auto names = all.gather(my_name).get();                      // at rank 0, by rank; empty elsewhere
//   plx::communicator some("writers", {0, 2, 5});                // a named subset
//
// Every member makes the same calls on a communicator, in the same order; their numbers make them meet. A call gives a
// future and does not wait: several may be under way, and calls of different communicators know nothing of each other.
// Where calls of several tasks could overtake each other, each gets a communicator of its own. Communicators of one
// name and the same members are the same one, on one locality too; its state stays until the job ends (some 200 bytes).
//
// Reductions combine values of neighbouring ranks, lower ones left, in a tree that only the number of members decides:
// floating-point results are the same bit for bit in each run and on each member, and reduce() and all_reduce() agree
// whatever the root; the operation must be associative (up to rounding), not commutative.
//
// Errors, thrown by the future's get(): locality_lost when a member is lost: by all calls that wait then, and all later
// ones of that communicator; the survivors go on with a new one. What an operation throws ends the communicator
// likewise, everywhere. logic_error when members make different calls at the same place.
//
// A value of a bitwise type of at most 256 bytes is combined by whoever takes it from the network: the operation must
// then not wait. Thread safety: everything, but see above. Cost: log2(n) messages one after the other (all_to_all: n -
// 1 at once); docs/net.md has times. Example: net/test/collectives_test.cpp
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/group/algorithms.hpp"
#include "rt/future.hpp"

namespace plx {

/// The lesser of two, for reductions.
struct minimum {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return b < a ? b : a;
  }
};
/// The greater of two.
struct maximum {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};

/// A group of localities that makes calls together.
class communicator {
 public:
  /// All localities of the job.
  communicator();
  /// All localities, apart from other communicators.
  explicit communicator(const std::string& name);
  /// These localities, this one among them. Their ranks are their places in ascending order.
  communicator(const std::string& name, std::vector<locality_id> members);

  [[nodiscard]] unsigned rank() const noexcept { return group_->rank(); }  ///< of this locality
  [[nodiscard]] unsigned size() const noexcept { return group_->size(); }  ///< how many members there are
  /// By rank.
  [[nodiscard]] const std::vector<locality_id>& members() const noexcept { return group_->members(); }

  /// Ready when all members have called it.
  future<void> barrier() const;
  /// The root's value, everywhere; what others give is not looked at.
  template <class T>
  future<T> broadcast(T value, unsigned root = 0) const {
    return start<T>(kind::broadcast, false, one<T>(),
                    [&](auto& c) { spread(c, rank() == root ? payload::of(value) : payload(), checked(root)); });
  }
  /// All values combined: at the root; elsewhere nothing.
  template <class T, class Op>
  future<std::optional<T>> reduce(T value, Op op, unsigned root = 0) const {
    using result = net::collective::combined<T, Op, net::collective::one_or_none<T>>;
    return start<std::optional<T>>(kind::reduce, !net::collective::is_light<T>, result(std::move(op)),
                                   [&](auto& c) { combine_at(c, payload::of(value), checked(root)); });
  }
  /// All values combined, everywhere.
  template <class T, class Op>
  future<T> all_reduce(T value, Op op) const {
    return start<T>(kind::all_reduce, !net::collective::is_light<T>,
                    net::collective::combined<T, Op, one<T>>(std::move(op)),
                    [&](auto& c) { combine_all(c, payload::of(value)); });
  }
  /// All values, by rank: at the root; empty elsewhere.
  template <class T>
  future<std::vector<T>> gather(T value, unsigned root = 0) const {
    return start<std::vector<T>>(kind::gather, false, many<T>(),
                                 [&](auto& c) { collect_at(c, payload::of(value), checked(root)); });
  }
  /// All values, by rank, everywhere.
  template <class T>
  future<std::vector<T>> all_gather(T value) const {
    return start<std::vector<T>>(kind::all_gather, false, many<T>(),
                                 [&](auto& c) { collect_all(c, payload::of(value)); });
  }
  /// What the root has for this rank. Requires: at the root, size() values; elsewhere they are not looked at.
  template <class T>
  future<T> scatter(const std::vector<T>& values, unsigned root = 0) const {
    return start<T>(kind::scatter, false, one<T>(),
                    [&](auto& c) { deal(c, rank() == root ? all_of(values) : std::vector<payload>(), checked(root)); });
  }
  /// What each rank has for this one, by rank. Requires: size() values.
  template <class T>
  future<std::vector<T>> all_to_all(const std::vector<T>& values) const {
    return start<std::vector<T>>(kind::all_to_all, false, many<T>(), [&](auto& c) { exchange_all(c, all_of(values)); });
  }
  /// The values of ranks 0 to this one combined.
  template <class T, class Op>
  future<T> inclusive_scan(T value, Op op) const {
    return start<T>(kind::inclusive_scan, !net::collective::is_light<T>,
                    net::collective::combined<T, Op, one<T>>(std::move(op)),
                    [&](auto& c) { combine_up_to(c, payload::of(value), false); });
  }
  /// The values of the ranks before this one combined; of rank 0, nothing.
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

  net::collective::group* group_;
};

}  // namespace plx
