// A vector distributed over the localities in blocks: rank r has the r-th of size() nearly equal parts.
//
//   plx::partitioned_vector<double> v("density", 1'000'000);   // on every locality, with the same name
//   for (double& x : v.local()) x = 1;
//   v.fence().get();
//   double total = v.reduce(0.0, std::plus<>()).get();          // the same on all
//   double there = v.get(999'999).get();                        // from anywhere, at any time
//   v.sort().get();
//
// Created, resized and destroyed by all members together. The algorithms are collective calls: every member makes the
// same ones in the same order; each member works on its own part, and its future is ready when all are done. get(),
// set() and their bulk forms are one-sided calls to the owners of the elements; synchronize reads with writes of other
// members by fence().
//
// Results are those of the standard algorithms; for floating-point numbers, reduce() and scans differ by rounding
// between numbers of localities. sort() is not stable. Errors: those of collective calls and actions, by the future;
// the part of a lost locality is lost. Thread safety: access to the elements is not synchronized. Cost: get() is a
// round trip, local elements cost no message; sort() sends each element at most twice. Example:
// net/test/partitioned_vector_test.cpp
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "net/action.hpp"
#include "net/collectives.hpp"
#include "rt/when_all.hpp"

namespace plx::net {

/// The distribution of a partitioned_vector: rank r has the r-th part of `size` / `ranks` elements; if that does not
/// divide evenly, the first ranks have one more.
///
/// Thread safety: values. Cost: a few instructions; part_table: a linear search. Example:
/// net/test/partitioned_vector_test.cpp
class partition {
 public:
  partition(std::size_t size, unsigned ranks) noexcept : size_(size), small_(size / ranks), large_(size % ranks) {}
  [[nodiscard]] std::size_t size() const noexcept { return size_; }  ///< of all ranks
  [[nodiscard]] std::size_t size_of(unsigned rank) const noexcept { return small_ + (rank < large_); }  ///< of a rank
  /// The first index of a rank.
  [[nodiscard]] std::size_t begin_of(unsigned rank) const noexcept {
    return rank * small_ + std::min<std::size_t>(rank, large_);
  }
  /// The rank that has element i. Requires: i < size().
  [[nodiscard]] unsigned rank_of(std::size_t i) const noexcept {
    const std::size_t in_large = large_ * (small_ + 1);
    return static_cast<unsigned>(i < in_large ? i / (small_ + 1) : large_ + (i - in_large) / small_);
  }

 private:
  std::size_t size_, small_, large_;
};

namespace detail {

/// Identifies the element type of a vector.
using element_type = const void*;
template <class T>
inline constexpr char element_type_mark = 0;
template <class T>
constexpr element_type element_type_of() noexcept {
  return &element_type_mark<T>;
}

/// The local parts by id of the vector and type of its elements.
class part_table {
 public:
  void put(std::uint64_t id, element_type type, void* part) {
    if (find(id, type) != parts_.end())
      throw std::logic_error("two partitioned vectors have the same name: rename one");
    parts_.push_back({id, type, part});
  }
  void remove(std::uint64_t id, element_type type) noexcept {
    if (const auto at = find(id, type); at != parts_.end()) parts_.erase(at);
  }
  [[nodiscard]] void* get(std::uint64_t id, element_type type) {
    const auto at = find(id, type);
    if (at == parts_.end()) throw std::runtime_error("no such partitioned vector on this locality");
    return at->part;
  }

 private:
  struct entry {
    std::uint64_t id;
    element_type type;
    void* part;
  };
  std::vector<entry>::iterator find(std::uint64_t id, element_type type) noexcept {
    return std::find_if(parts_.begin(), parts_.end(), [=](const entry& e) { return e.id == id && e.type == type; });
  }
  std::vector<entry> parts_;
};

/// Throws std::out_of_range unless the `n` elements from `first` on lie within `size`.
inline void check_part(std::uint64_t first, std::uint64_t n, std::size_t size) {
  if (first > size || n > size - first)
    throw std::out_of_range("a part of a partitioned vector is shorter than expected: was it resized concurrently?");
}

}  // namespace detail
}  // namespace plx::net

namespace plx {

/// The default order of sort().
struct ascending {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a < b;
  }
};

namespace net::detail {

/// The local parts of all vectors.
class segments final : public service {
 public:
  explicit segments(node&) {}
  template <class T>
  void put(std::uint64_t id, std::vector<T>* part) {
    const plx::detail::spin_guard guard(lock_);
    if (part == nullptr)
      parts_.remove(id, element_type_of<T>());
    else
      parts_.put(id, element_type_of<T>(), part);
  }
  template <class T>
  std::vector<T>& at(std::uint64_t id) {
    const plx::detail::spin_guard guard(lock_);
    return *static_cast<std::vector<T>*>(parts_.get(id, element_type_of<T>()));
  }

 private:
  plx::detail::spinlock lock_;
  part_table parts_;
};

template <class T>
std::vector<T> read_part(std::uint64_t id, std::uint64_t first, std::uint64_t n) {
  const std::vector<T>& part = node_here().get<segments>().at<T>(id);
  check_part(first, n, part.size());
  const auto begin = part.begin() + static_cast<std::ptrdiff_t>(first);
  return std::vector<T>(begin, begin + static_cast<std::ptrdiff_t>(n));
}
template <class T>
void write_part(std::uint64_t id, std::uint64_t first, const std::vector<T>& values) {
  std::vector<T>& part = node_here().get<segments>().at<T>(id);
  check_part(first, values.size(), part.size());
  std::copy(values.begin(), values.end(), part.begin() + static_cast<std::ptrdiff_t>(first));
}

}  // namespace net::detail

/// Requires: T is serializable and has a default constructor.
template <class T>
class partitioned_vector {
 public:
  /// Collective; when it returns, every locality has its part. Requires: no other vector with this name exists while
  /// this one lives.
  explicit partitioned_vector(const std::string& name, std::size_t size = 0, const T& value = T())
      : all_("partitioned_vector " + name), id_(net::hash_of(name)), parts_(size, all_.size()) {
    part_.assign(parts_.size_of(all_.rank()), value);
    place().put(id_, &part_);
    all_.barrier().get();
  }
  /// Collective; no member may use the vector any more.
  ~partitioned_vector() { place().template put<T>(id_, nullptr); }
  partitioned_vector(const partitioned_vector&) = delete;
  partitioned_vector& operator=(const partitioned_vector&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return parts_.size(); }  ///< elements of all parts
  /// The local elements; the first of them is element first() of the vector.
  [[nodiscard]] std::span<T> local() noexcept { return part_; }
  [[nodiscard]] std::size_t first() const noexcept { return parts_.begin_of(all_.rank()); }  ///< index of local()[0]
  /// The localities that share the vector.
  [[nodiscard]] const communicator& members() const noexcept { return all_; }

  /// The element i.
  [[nodiscard]] future<T> get(std::size_t i) const {
    return get(i, 1).then(launch::sync, [](future<std::vector<T>> f) { return T(std::move(f.get()[0])); });
  }
  /// Ready when the element i has been written.
  future<void> set(std::size_t i, T value) { return set(i, std::vector<T>{std::move(value)}); }
  /// The n elements from i on.
  [[nodiscard]] future<std::vector<T>> get(std::size_t i, std::size_t n) const {
    std::vector<future<std::vector<T>>> asked;
    each_piece(i, n, [&](unsigned rank, std::size_t at, std::size_t count, std::size_t) {
      asked.push_back(async<&net::detail::read_part<T>>(all_.members()[rank], id_, at, count));
    });
    return when_all(std::move(asked)).then([n](auto f) {
      std::vector<T> values;
      values.reserve(n);
      for (auto& piece : f.get())
        for (T& v : piece.get()) values.push_back(std::move(v));
      if (values.size() != n)
        throw std::runtime_error("another locality sent a different number of elements than requested");
      return values;
    });
  }
  /// Ready when the elements from i on have been written.
  future<void> set(std::size_t i, const std::vector<T>& values) {
    std::vector<future<void>> written;
    each_piece(i, values.size(), [&](unsigned rank, std::size_t at, std::size_t count, std::size_t begin) {
      const auto from = values.begin() + static_cast<std::ptrdiff_t>(begin);
      written.push_back(async<&net::detail::write_part<T>>(
          all_.members()[rank], id_, at, std::vector<T>(from, from + static_cast<std::ptrdiff_t>(count))));
    });
    return when_all(std::move(written)).then([](auto f) {
      for (auto& each : f.get()) each.get();
    });
  }

  /// Ready when all members have called it: earlier writes are then visible to later reads. Collective.
  future<void> fence() const { return all_.barrier(); }
  /// Keeps the elements below both sizes; new ones are `value`. Collective.
  future<void> resize(std::size_t size, const T& value = T()) {
    return async([this, size, value] {
      const net::partition next(size, all_.size());
      std::vector<std::vector<T>> out(all_.size());
      for (std::size_t k = 0; k < part_.size() && first() + k < size; ++k)
        out[next.rank_of(first() + k)].push_back(std::move(part_[k]));
      take(next, all_.all_to_all(out).get(), value);
      all_.barrier().get();
    });
  }

  /// f(element) for each. Collective.
  template <class F>
  future<void> for_each(F f) {
    return async([this, f = std::move(f)]() mutable {
      for (T& v : part_) f(v);
      all_.barrier().get();
    });
  }
  /// element = f(element) for each. Collective.
  template <class F>
  future<void> transform(F f) {
    return for_each([f = std::move(f)](T& v) mutable { v = f(std::as_const(v)); });
  }
  /// init and all elements combined, in their order; the same on all members. Requires: op is associative. Collective.
  template <class Op>
  future<T> reduce(T init, Op op) const {
    return async([this, init = std::move(init), op]() -> T {
      const auto sum = all_.all_reduce(sum_of_part(op), optionally(op)).get();
      return sum.empty() ? init : T(op(init, sum[0]));
    });
  }
  /// Replaces each element by the combination of all up to it. Requires: op is associative. Collective.
  template <class Op>
  future<void> inclusive_scan(Op op) {
    return scan(std::vector<T>(), std::move(op), true);
  }
  /// Replaces each element by the combination of init and all before it. Requires: op is associative. Collective.
  template <class Op>
  future<void> exclusive_scan(T init, Op op) {
    return scan(std::vector<T>{std::move(init)}, std::move(op), false);
  }
  /// Sorts by `less`. Collective. By regular sampling (Shi, Schaeffer, J. Parallel Distrib. Comput. 14 (1992) 361).
  template <class Less = ascending>
  future<void> sort(Less less = {}) {
    return async([this, less] {
      const unsigned n = all_.size();
      std::sort(part_.begin(), part_.end(), less);
      std::vector<T> samples;
      for (unsigned i = 0; i < n && !part_.empty(); ++i) samples.push_back(part_[i * part_.size() / n]);
      std::vector<T> pivots;
      for (auto& s : all_.all_gather(samples).get()) pivots.insert(pivots.end(), s.begin(), s.end());
      std::sort(pivots.begin(), pivots.end(), less);
      std::vector<std::vector<T>> out(n);
      for (T& v : part_) {
        const auto below = std::upper_bound(pivots.begin(), pivots.end(), v, less) - pivots.begin();
        const std::size_t to = pivots.empty() ? 0 : static_cast<std::size_t>(below) * n / (pivots.size() + 1);
        out[to].push_back(std::move(v));
      }
      std::vector<T> mine;
      for (auto& from : all_.all_to_all(out).get()) mine.insert(mine.end(), from.begin(), from.end());
      std::sort(mine.begin(), mine.end(), less);
      std::size_t at = all_.exclusive_scan(mine.size(), std::plus<>()).get().value_or(0);
      if (at > size() || mine.size() > size() - at)
        throw std::runtime_error("the localities together have more elements than their vector");
      for (auto& o : out) o.clear();
      for (T& v : mine) out[parts_.rank_of(at++)].push_back(std::move(v));
      take(parts_, all_.all_to_all(out).get(), T());
      all_.barrier().get();
    });
  }

 private:
  static net::detail::segments& place() { return net::node_here().get<net::detail::segments>(); }

  template <class F>
  void each_piece(std::size_t i, std::size_t n, F f) const {
    PLX_ASSERT(i <= size() && n <= size() - i && "elements out of range", i, n);
    for (std::size_t done = 0; done < n;) {
      const unsigned rank = parts_.rank_of(i + done);
      const std::size_t at = i + done - parts_.begin_of(rank);
      const std::size_t count = std::min(n - done, parts_.size_of(rank) - at);
      f(rank, at, count, done);
      done += count;
    }
  }
  /// Sets the part to the received elements, filled up with `value`.
  void take(const net::partition& next, std::vector<std::vector<T>> come, const T& value) {
    std::vector<T> part;
    for (auto& from : come)
      for (T& v : from) part.push_back(std::move(v));
    part.resize(next.size_of(all_.rank()), value);
    part_ = std::move(part);
    parts_ = next;
  }
  /// One value, or none if the part is empty.
  template <class Op>
  std::vector<T> sum_of_part(const Op& op) const {
    if (part_.empty()) return {};
    T sum = part_[0];
    for (std::size_t k = 1; k < part_.size(); ++k) sum = op(sum, part_[k]);
    return {sum};
  }
  template <class Op>
  static auto optionally(Op op) {
    return [op](const std::vector<T>& a, const std::vector<T>& b) {
      return a.empty() ? b : b.empty() ? a : std::vector<T>{op(a[0], b[0])};
    };
  }
  template <class Op>
  future<void> scan(std::vector<T> sum, Op op, bool inclusive) {
    return async([this, sum = std::move(sum), op, inclusive]() mutable {
      const auto before = all_.exclusive_scan(sum_of_part(op), optionally(op)).get();
      if (before) sum = optionally(op)(sum, *before);
      for (T& v : part_) {
        std::vector<T> next = optionally(op)(sum, {v});
        v = inclusive ? next[0] : sum[0];
        sum = std::move(next);
      }
      all_.barrier().get();
    });
  }

  communicator all_;
  std::uint64_t id_;
  net::partition parts_;
  std::vector<T> part_;
};

}  // namespace plx
