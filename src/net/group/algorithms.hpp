// The algorithms of the collective calls, and the conversion of received payloads to the values of their futures.
//
// Thread safety: as net/group/call.hpp says. Cost: a copy of each value. Example: net/test/collectives_test.cpp
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "net/group/call.hpp"
#include "net/group/elements.hpp"
#include "rt/future.hpp"

namespace plx::net::collective {

// Algorithms for exchanging payloads between the members of a group. Each is called once per member and call; the
// result is passed to call::finish().
//
// One payload: dissemination (barrier), binomial trees, recursive doubling. Many payloads: trees of bundles while they
// are small; large ones are sent directly to their destinations, or around the ring. Reductions combine contiguous runs
// of ranks in a tree that depends on the number of members only (reduction_tree.hpp): the result is the same on all
// ranks to the last bit, for every root.
//
// Sources: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH",
// IJHPCA 19 (2005) 49; D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization", IJPP 17 (1988)
// 1; J. Bruck et al., "Efficient algorithms for all-to-all communications", IEEE TPDS 8 (1997) 1143. Thread safety: as
// call. Example: net/test/collectives_test.cpp

/// Barrier: no result; finishes when all members have arrived.
algorithm meet(call& c);
/// Broadcast: the payload of the root, on every rank.
algorithm spread(call& c, payload mine, unsigned root);
/// Reduce: all payloads combined at the root; elsewhere no result.
algorithm combine_at(call& c, payload mine, unsigned root);
/// All-reduce: all payloads combined, on every rank.
algorithm combine_all(call& c, payload mine);
/// Gather: all payloads by rank at the root; elsewhere no result.
algorithm collect_at(call& c, payload mine, unsigned root);
/// All-gather: all payloads by rank, on every rank.
algorithm collect_all(call& c, payload mine);
/// Scatter: the root's payload for each rank. `all`: at the root, one per rank.
algorithm deal(call& c, std::vector<payload> all, unsigned root);
/// All-to-all: the payload of each rank for each rank.
algorithm exchange_all(call& c, std::vector<payload> all);
/// Scan: the payloads of ranks 0 to this one combined; with `exclusive` without this one's, and no result on rank 0.
algorithm combine_up_to(call& c, payload mine, bool exclusive);

/// A call and the state of its future. Result: R operator()(std::span<payload>).
template <class R, class Result>
class waiting final : public plx::detail::future_state<R>, public call {
  using state = plx::detail::future_state<R>;

 public:
  waiting(group& g, kind k, bool heavy, Result r) : state(destroy, 2), call(g, k, heavy), result_(std::move(r)) {}
  void combine(payload& left, const payload& right) override {
    if constexpr (requires { result_.combine(left, right); })
      result_.combine(left, right);
    else
      call::combine(left, right);
  }
  void combine_elements(std::byte* mine, const std::byte* theirs, std::size_t bytes, bool theirs_first) override {
    if constexpr (requires { result_.memory(); })
      result_.combine_elements(mine, theirs, bytes, theirs_first);
    else
      call::combine_elements(mine, theirs, bytes, theirs_first);
  }
  Result& result() noexcept { return result_; }

 private:
  void finished(std::span<payload> results) noexcept override {
    this->complete_with_result_of([&]() -> R { return result_(results); });
    this->release();
  }
  void failed(std::exception_ptr e) noexcept override {
    this->complete_with(std::move(e));
    this->release();
  }
  static void destroy(plx::detail::future_state_base* base) noexcept {
    auto& self = static_cast<waiting&>(*base);  // by reference: a null pointer need not stay null
    self.~waiting();
    plx::detail::pool_put(&self, sizeof self);
  }

  [[no_unique_address]] Result result_;
};

template <class T>
inline constexpr bool is_light = is_bitwise<T> && sizeof(T) <= most_light_bytes;

struct nothing {
  void operator()(std::span<payload>) const {}
};
template <class T>
struct one {
  T operator()(std::span<payload> p) const { return p[0].as<T>(); }
};
template <class T>
struct one_or_none {
  std::optional<T> operator()(std::span<payload> p) const {
    return p.empty() ? std::nullopt : std::optional<T>(p[0].as<T>());
  }
};
template <class T>
struct many {
  std::vector<T> operator()(std::span<payload> all) const {
    std::vector<T> values;
    values.reserve(all.size());
    for (const payload& p : all) values.push_back(p.as<T>());
    return values;
  }
};
/// A result for operations that combine values.
template <class T, class Op, class Result>
struct combined : Result {
  explicit combined(Op o) : op(std::move(o)) {}
  void combine(payload& left, const payload& right) const { left = payload::of<T>(op(left.as<T>(), right.as<T>())); }
  Op op;
};

template <class T>
std::vector<payload> payloads_of(const std::vector<T>& values) {
  std::vector<payload> all;
  all.reserve(values.size());
  for (const T& v : values) all.push_back(payload::of(v));
  return all;
}

}  // namespace plx::net::collective
