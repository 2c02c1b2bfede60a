// inclusive_scan, exclusive_scan, transform_inclusive_scan, transform_exclusive_scan: prefix sums.
//
// The output depends on the number of elements (and on the policy's chunk_size), never on workers or schedule: it is
// bitwise reproducible, also in floating point. Operands keep their order: the operation must be associative but need
// not be commutative. The output may be the input.
//
// Thread safety: operations are called from several workers concurrently. Cost: 2 n operations (n, if T is an integer
// and no other worker joins), one read and one write of the data. Iterators without random access are traversed in
// order by the caller, with n operations. Example: algorithm/test/scan_test.cpp.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "rt/algorithm/detail/common.hpp"
#include "rt/algorithm/reduce.hpp"

namespace plx {
namespace detail {

// Chunks with a running prefix: the basis of scans and copy_if. One pass over memory.
//
// Workers take chunks in ascending order. For each they first compute the chunk's own sum, which is independent of
// other chunks, and then, if the prefix before it is known by then, emit its output while the input is still in the
// cache. The worker that publishes a sum advances the frontier: prefix[c + 1] = prefix[c] + sum[c], as far as sums are
// available, always in this order and from sums of chunks determined by n alone, so the output is bitwise independent
// of the schedule. A chunk whose prefix was not known in time is emitted later by any worker, or after all sums. No
// worker waits.
//
// Invariants: prefix[c] is written before frontier_ >= c is published (release), and read after seeing it (acquire);
// sum[c] is written before summed. Each chunk is emitted once, by the worker that set its `emitted`.
// The steps are called from several workers concurrently, for different chunks. Cost: one read and one write of the
// data, one cell per chunk.
// Source: Merrill, Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back" (2016), for the idea.

/// `Steps` provides: types sum_type, prefix_type (copyable);
///   sum_type sum(c)                      the chunk's own sum; called once, unless both() is
///   void emit(c, const prefix_type&)     its output; called once, after sum(c)
///   prefix_type join(const prefix_type&, const sum_type&)
///   static constexpr bool exact          grouping changes no bit of the result; then it also provides
///   prefix_type both(c, const prefix_type&)   emits the output and returns the prefix after it, in one pass
template <class Steps>
class prefix_walk {
 public:
  using sum_type = typename Steps::sum_type;
  using prefix_type = typename Steps::prefix_type;

  prefix_walk(Steps& steps, std::int64_t count, prefix_type init) : steps_(steps), count_(count) {
    try {
      cells_ = std::make_unique<cell[]>(static_cast<std::size_t>(count) + 1);
    } catch (const std::bad_alloc&) {
      throw no_temporary_memory();
    }
    cells_[0].prefix = std::move(init);
  }

  /// The prefix after all chunks.
  prefix_type go(const spread& how) {
    in_pieces(how, count_, [this](std::int64_t i, std::int64_t end) {
      n_active_.fetch_add(1, std::memory_order_relaxed);
      for (; i < end; ++i) one();
      n_active_.fetch_sub(1, std::memory_order_relaxed);
    });
    advance();
    in_pieces(how, count_, [this](std::int64_t c, std::int64_t end) {
      for (; c < end; ++c) emit_once(c);
    });
    return std::move(*cells_[static_cast<std::size_t>(count_)].prefix);
  }

 private:
  struct cell {
    std::optional<prefix_type> prefix;
    std::optional<sum_type> sum;
    std::atomic<bool> summed{false}, emitted{false};
  };
  cell& at_chunk(std::int64_t c) noexcept { return cells_[static_cast<std::size_t>(c)]; }
  // acquire: pairs with the release in advance(), after which the prefix is available.
  [[nodiscard]] bool known(std::int64_t c) const noexcept { return frontier_.load(std::memory_order_acquire) >= c; }

  // Processes the next chunk, chosen here and not by the partitioner, so that chunks are started in order.
  void one() {
    const std::int64_t c = next_.fetch_add(1, std::memory_order_relaxed);
    cell& here = at_chunk(c);
    if constexpr (Steps::exact) {
      // A single active worker needs only one pass: no other one waits for the sum.
      if (n_active_.load(std::memory_order_relaxed) == 1 && known(c)) {
        here.emitted.store(true, std::memory_order_relaxed);
        at_chunk(c + 1).prefix = steps_.both(c, *here.prefix);
        frontier_.store(c + 1, std::memory_order_release);  // no other worker advances it: sum[c] is missing
        return advance();
      }
    }
    here.sum.emplace(steps_.sum(c));
    here.summed.store(true, std::memory_order_seq_cst);
    advance();
    if (known(c)) emit_once(c);
    help();
  }

  void emit_once(std::int64_t c) {
    cell& here = at_chunk(c);
    if (!here.emitted.load(std::memory_order_relaxed) && !here.emitted.exchange(true, std::memory_order_relaxed))
      steps_.emit(c, *here.prefix);
  }

  // Emits chunks that were skipped, if their prefix is known by now.
  void help() {
    std::int64_t c = left_behind_.load(std::memory_order_relaxed);
    for (unsigned emitted = 0; emitted < 2 && c < next_.load(std::memory_order_relaxed) && known(c); ++c) {
      cell& here = at_chunk(c);
      // acquire: computing the sum may have stored data for emit (copy_if's marks).
      if (!here.summed.load(std::memory_order_acquire)) {
        if (!here.emitted.load(std::memory_order_relaxed)) break;
        continue;
      }
      if (here.emitted.load(std::memory_order_relaxed)) continue;
      emit_once(c);
      ++emitted;
    }
    std::int64_t old = left_behind_.load(std::memory_order_relaxed);
    while (old < c && !left_behind_.compare_exchange_weak(old, c, std::memory_order_relaxed)) {
    }
  }

  // Advances the frontier over all available sums. seq_cst: a worker that finds the lock taken has published its sum
  // before, so the holder's last check after the unlock sees it.
  void advance() {
    while (next_sum_is_there() && !advancing_.exchange(true, std::memory_order_seq_cst)) {
      struct unlock {
        std::atomic<bool>& lock;
        ~unlock() { lock.store(false, std::memory_order_seq_cst); }
      } guard{advancing_};
      while (next_sum_is_there()) {
        const std::int64_t f = frontier_.load(std::memory_order_relaxed);
        at_chunk(f + 1).prefix = steps_.join(*at_chunk(f).prefix, *at_chunk(f).sum);
        frontier_.store(f + 1, std::memory_order_release);
      }
    }
  }
  [[nodiscard]] bool next_sum_is_there() noexcept {
    const std::int64_t f = frontier_.load(std::memory_order_acquire);
    return f < count_ && at_chunk(f).summed.load(std::memory_order_seq_cst);
  }

  Steps& steps_;
  const std::int64_t count_;
  std::unique_ptr<cell[]> cells_;
  std::atomic<std::int64_t> next_{0}, frontier_{0}, left_behind_{0};
  std::atomic<int> n_active_{0};
  std::atomic<bool> advancing_{false};
};

enum class scan_kind : bool { inclusive, exclusive };

/// Scans n elements in order; advances `to` to the end of the output and returns the sum so far.
template <scan_kind Kind, class T, class In, class Out, class Op, class Unary>
std::optional<T> scan_in_order(In in, std::int64_t n, Out& to, std::optional<T> so_far, Op& op, Unary& unary) {
  if (n <= 0) return so_far;
  if (!so_far) {  // only an inclusive scan may start without a value
    so_far.emplace(static_cast<T>(unary(*in)));
    *to = *so_far;
    ++in;
    ++to;
    --n;
  }
  T sum = std::move(*so_far);
  for (; n > 0; --n, ++in, ++to) {
    if constexpr (Kind == scan_kind::inclusive) {
      sum = static_cast<T>(op(std::move(sum), unary(*in)));
      *to = sum;
    } else {
      T next = static_cast<T>(op(sum, unary(*in)));  // read before *to, which may be *in, is written
      *to = std::move(sum);
      sum = std::move(next);
    }
  }
  return std::optional<T>(std::move(sum));
}

/// The computation per chunk. The prefix is empty before the first element of an inclusive scan without init.
template <scan_kind Kind, class T, class In, class Out, class Op, class Unary>
struct scan_steps {
  using sum_type = T;
  using prefix_type = std::optional<T>;
  static constexpr bool exact = std::is_integral_v<T>;

  In first;
  Out out;
  Op& op;
  Unary& unary;
  chunking chunks;

  T sum(std::int64_t c) {
    const auto get = [this](std::int64_t i) -> decltype(auto) { return unary(*at(first, i)); };
    return fold<T>(chunks.begin(c), chunks.end(c), get, op);
  }
  prefix_type join(const prefix_type& prefix, const T& s) {
    return prefix_type(prefix ? static_cast<T>(op(T(*prefix), s)) : T(s));
  }
  void emit(std::int64_t c, const prefix_type& prefix) { (void)both(c, prefix); }
  prefix_type both(std::int64_t c, const prefix_type& prefix) {
    Out to = at(out, chunks.begin(c));
    return scan_in_order<Kind>(at(first, chunks.begin(c)), chunks.end(c) - chunks.begin(c), to, prefix, op, unary);
  }
};

template <scan_kind Kind, class T, class In, class Out, class Op, class Unary>
Out scan(const spread& how, In first, In last, Out out, std::optional<T> init, Op& op, Unary& unary) {
  const auto n = static_cast<std::int64_t>(std::distance(first, last));
  if (n <= 0) return out;
  if constexpr (std::random_access_iterator<In> && shareable_it<Out>) {
    constexpr std::int64_t in_l1 = 32768 / static_cast<std::int64_t>(sizeof(T));
    const chunking chunks(how, n, commutes<Op, T> ? 1024 : 8, in_l1 < 1024 ? 1024 : in_l1);
    using steps_type = scan_steps<Kind, T, In, Out, Op, Unary>;
    steps_type steps{first, out, op, unary, chunks};
    prefix_walk<steps_type>(steps, chunks.count, std::move(init)).go(over_chunks(how));
    return at(out, n);
  } else {
    scan_in_order<Kind>(first, n, out, std::move(init), op, unary);
    return out;
  }
}

}  // namespace detail

/// out[i] = init + f(x[0]) + ... + f(x[i]), with `op` for +. Returns the end of the output.
template <execution_policy Policy, detail::forward_it In, detail::output_it Out, class Op, class Unary, class T>
auto transform_inclusive_scan(const Policy& policy, In first, In last, Out out, Op op, Unary f, T init) {
  return detail::perform(policy, [=, init = std::move(init)](const detail::spread& how) mutable {
    return detail::scan<detail::scan_kind::inclusive, T>(how, first, last, out, std::move(init), op, f);
  });
}
template <execution_policy Policy, detail::forward_it In, detail::output_it Out, class Op, class Unary>
auto transform_inclusive_scan(const Policy& policy, In first, In last, Out out, Op op, Unary f) {
  using T = std::decay_t<decltype(f(*first))>;
  return detail::perform(policy, [=](const detail::spread& how) mutable {
    return detail::scan<detail::scan_kind::inclusive, T>(how, first, last, out, std::nullopt, op, f);
  });
}
/// out[i] = init + f(x[0]) + ... + f(x[i - 1]), with `op` for +. Returns the end of the output.
template <execution_policy Policy, detail::forward_it In, detail::output_it Out, class T, class Op, class Unary>
auto transform_exclusive_scan(const Policy& policy, In first, In last, Out out, T init, Op op, Unary f) {
  return detail::perform(policy, [=, init = std::move(init)](const detail::spread& how) mutable {
    return detail::scan<detail::scan_kind::exclusive, T>(how, first, last, out, std::move(init), op, f);
  });
}

/// out[i] = init + x[0] + ... + x[i], with `op` for +. Returns the end of the output.
template <execution_policy Policy, detail::forward_it In, detail::output_it Out, class Op, class T>
auto inclusive_scan(const Policy& policy, In first, In last, Out out, Op op, T init) {
  return plx::transform_inclusive_scan(policy, first, last, out, std::move(op), std::identity(), std::move(init));
}
template <execution_policy Policy, detail::forward_it In, detail::output_it Out, class Op = std::plus<>>
auto inclusive_scan(const Policy& policy, In first, In last, Out out, Op op = {}) {
  using T = detail::value_of<In>;
  return detail::perform(policy, [=](const detail::spread& how) mutable {
    std::identity same;
    return detail::scan<detail::scan_kind::inclusive, T>(how, first, last, out, std::nullopt, op, same);
  });
}
template <execution_policy Policy, detail::sized_range Range, detail::output_it Out, class Op = std::plus<>>
auto inclusive_scan(const Policy& policy, Range&& range, Out out, Op op = {}) {
  return plx::inclusive_scan(policy, std::begin(range), std::end(range), out, std::move(op));
}
template <execution_policy Policy, detail::sized_range Range, detail::output_it Out, class Op, class T>
auto inclusive_scan(const Policy& policy, Range&& range, Out out, Op op, T init) {
  return plx::inclusive_scan(policy, std::begin(range), std::end(range), out, std::move(op), std::move(init));
}

/// out[i] = init + x[0] + ... + x[i - 1], with `op` for +. Returns the end of the output.
template <execution_policy Policy, detail::forward_it In, detail::output_it Out, class T, class Op = std::plus<>>
auto exclusive_scan(const Policy& policy, In first, In last, Out out, T init, Op op = {}) {
  return plx::transform_exclusive_scan(policy, first, last, out, std::move(init), std::move(op), std::identity());
}
template <execution_policy Policy, detail::sized_range Range, detail::output_it Out, class T, class Op = std::plus<>>
auto exclusive_scan(const Policy& policy, Range&& range, Out out, T init, Op op = {}) {
  return plx::exclusive_scan(policy, std::begin(range), std::end(range), out, std::move(init), std::move(op));
}

}  // namespace plx
