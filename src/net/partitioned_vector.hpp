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
// same ones in the same order; each member works on its own part with all its workers, so functions and operations are
// called concurrently, and its future is ready when all are done. get(), set() and their bulk forms are one-sided calls
// to the owners of the elements; synchronize reads with writes of other members by fence().
//
// Results are those of the standard algorithms; for floating-point numbers, reduce() and scans differ by rounding
// between numbers of localities. sort() is not stable. Errors: those of collective calls and actions, by the future;
// the part of a lost locality is lost. Thread safety: access to the elements is not synchronized. Cost: get() is a
// round trip, local elements cost no message; sort() sends each element at most twice, and 32 samples of each member to
// all. Example: net/test/partitioned_vector_test.cpp
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "net/action.hpp"
#include "net/collectives.hpp"
#include "rt/algorithm/for_each.hpp"
#include "rt/algorithm/reduce.hpp"
#include "rt/algorithm/scan.hpp"
#include "rt/algorithm/sort.hpp"
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

/// The local parts by id of the vector and type of its elements. A remote call that uses a part shares it, so that the
/// part lives until the call has ended.
class part_table {
 public:
  void put(std::uint64_t id, element_type type, std::shared_ptr<void> part) {
    if (find(id, type) != parts_.end())
      throw std::logic_error("two partitioned vectors have the same name: rename one");
    parts_.push_back({id, type, std::move(part)});
  }
  void replace(std::uint64_t id, element_type type, std::shared_ptr<void> part) noexcept {
    if (const auto at = find(id, type); at != parts_.end()) at->part.swap(part);
  }
  void remove(std::uint64_t id, element_type type) noexcept {
    if (const auto at = find(id, type); at != parts_.end()) parts_.erase(at);
  }
  [[nodiscard]] std::shared_ptr<void> get(std::uint64_t id, element_type type) {
    const auto at = find(id, type);
    if (at == parts_.end()) throw std::runtime_error("no such partitioned vector on this locality");
    return at->part;
  }

 private:
  struct entry {
    std::uint64_t id;
    element_type type;
    std::shared_ptr<void> part;
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
  void put(std::uint64_t id, std::shared_ptr<std::vector<T>> part) {
    const plx::detail::spin_guard guard(lock_);
    parts_.put(id, element_type_of<T>(), std::move(part));
  }
  template <class T>
  void replace(std::uint64_t id, std::shared_ptr<std::vector<T>> part) noexcept {
    const plx::detail::spin_guard guard(lock_);
    parts_.replace(id, element_type_of<T>(), std::move(part));
  }
  template <class T>
  void remove(std::uint64_t id) noexcept {
    const plx::detail::spin_guard guard(lock_);
    parts_.remove(id, element_type_of<T>());
  }
  template <class T>
  std::shared_ptr<std::vector<T>> at(std::uint64_t id) {
    const plx::detail::spin_guard guard(lock_);
    return std::static_pointer_cast<std::vector<T>>(parts_.get(id, element_type_of<T>()));
  }

 private:
  plx::detail::spinlock lock_;
  part_table parts_;
};

template <class T>
std::vector<T> read_part(std::uint64_t id, std::uint64_t first, std::uint64_t n) {
  const std::shared_ptr<const std::vector<T>> part = node_here().get<segments>().at<T>(id);
  check_part(first, n, part->size());
  const auto begin = part->begin() + static_cast<std::ptrdiff_t>(first);
  return std::vector<T>(begin, begin + static_cast<std::ptrdiff_t>(n));
}
template <class T>
void write_part(std::uint64_t id, std::uint64_t first, const std::vector<T>& values) {
  const std::shared_ptr<std::vector<T>> part = node_here().get<segments>().at<T>(id);
  check_part(first, values.size(), part->size());
  std::copy(values.begin(), values.end(), part->begin() + static_cast<std::ptrdiff_t>(first));
}

/// Samples of a sorted part, for the borders between the ranks: one at a pseudo-random place in each of `n` equal
/// stretches. The places differ between ranks: if all took the same ones, equal parts would have no borders between
/// them.
inline std::vector<std::uint64_t> sample_places(std::size_t size, unsigned rank, std::size_t n = 32) {
  std::vector<std::uint64_t> places;
  n = std::min(n, size);
  std::uint64_t random = (rank + 1) * 0x9e3779b97f4a7c15u;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t begin = size / n * i + size % n * i / n, end = size / n * (i + 1) + size % n * (i + 1) / n;
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    places.push_back(begin + random % (end - begin));
  }
  return places;
}

/// A border between two ranks of a sort: elements up to this one go to the lower rank. Equal values are in the order of
/// rank and place, so that they are divided as well.
template <class T>
struct border {
  T value;
  unsigned rank;
  std::uint64_t place;
};

/// How many elements of a sorted part of rank `rank` are up to the border.
template <class T, class Less>
std::size_t elements_up_to(const std::vector<T>& part, unsigned rank, const border<T>& b, const Less& less) {
  if (rank == b.rank) return static_cast<std::size_t>(b.place) + 1;
  const auto at = rank < b.rank ? std::upper_bound(part.begin(), part.end(), b.value, less)
                                : std::lower_bound(part.begin(), part.end(), b.value, less);
  return static_cast<std::size_t>(at - part.begin());
}

}  // namespace net::detail

/// Requires: T is serializable and has a default constructor.
template <class T>
class partitioned_vector {
 public:
  /// Collective; when it returns, every locality has its part. Requires: no other vector with this name exists while
  /// this one lives.
  explicit partitioned_vector(const std::string& name, std::size_t size = 0, const T& value = T())
      : partitioned_vector(communicator("partitioned_vector " + name), name, size, value) {}
  /// The same on these localities, which include this one: for example those that have survived a loss.
  partitioned_vector(const std::string& name, std::vector<locality_id> members, std::size_t size = 0,
                     const T& value = T())
      : partitioned_vector(communicator("partitioned_vector " + name, std::move(members)), name, size, value) {}
  /// Collective; no member may use the vector any more. Remote calls that still run keep the elements they use alive;
  /// later ones end with an exception.
  ~partitioned_vector() { place().template remove<T>(id_); }
  partitioned_vector(const partitioned_vector&) = delete;
  partitioned_vector& operator=(const partitioned_vector&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return parts_.size(); }  ///< elements of all parts
  /// The local elements; the first of them is element first() of the vector.
  [[nodiscard]] std::span<T> local() noexcept { return *part_; }
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
      std::vector<T>& part = *part_;
      for (std::size_t k = 0; k < part.size() && first() + k < size; ++k)
        out[next.rank_of(first() + k)].push_back(std::move(part[k]));
      take(next, all_.all_to_all(out).get(), value);
      all_.barrier().get();
    });
  }

  /// f(element) for each, concurrently. Collective.
  template <class F>
  future<void> for_each(F f) {
    return async([this, f = std::move(f)]() mutable {
      plx::for_each(par(execution::task), part_->begin(), part_->end(), std::move(f)).get();
      all_.barrier().get();
    });
  }
  /// element = f(element) for each, concurrently. Collective.
  template <class F>
  future<void> transform(F f) {
    return for_each([f = std::move(f)](T& v) mutable { v = f(std::as_const(v)); });
  }
  /// init and all elements combined, in their order; the same on all members. Requires: op is associative. Collective.
  template <class Op>
  future<T> reduce(T init, Op op) const {
    return async([this, init = std::move(init), op]() -> T {
      const std::optional<T> sum = all_.all_reduce(sum_of_part(op), optionally(op)).get();
      return sum ? T(op(init, *sum)) : init;
    });
  }
  /// Replaces each element by the combination of all up to it. Requires: op is associative. Collective.
  template <class Op>
  future<void> inclusive_scan(Op op) {
    return scan(std::nullopt, std::move(op), true);
  }
  /// Replaces each element by the combination of init and all before it. Requires: op is associative. Collective.
  template <class Op>
  future<void> exclusive_scan(T init, Op op) {
    return scan(std::optional<T>(std::move(init)), std::move(op), false);
  }
  /// Sorts by `less`. Collective. By samples (Frazer, McKellar, J. ACM 17 (1970) 496): with any distribution of the
  /// elements, equal ones included, a member has about size() / members of them at a time, at most twice that in
  /// practice.
  template <class Less = ascending>
  future<void> sort(Less less = {}) {
    return async([this, less] {
      const unsigned n = all_.size();
      std::vector<T>& part = *part_;
      plx::sort(par(execution::task), part.begin(), part.end(), less).get();
      const auto borders = choose_borders(less);
      std::vector<std::vector<T>> out(n);
      std::size_t begin = 0;
      for (unsigned to = 0; to < n; ++to) {
        std::size_t end = part.size();
        if (to < borders.size())
          end = std::max(begin, net::detail::elements_up_to(part, all_.rank(), borders[to], less));
        out[to].assign(std::make_move_iterator(part.begin() + static_cast<std::ptrdiff_t>(begin)),
                       std::make_move_iterator(part.begin() + static_cast<std::ptrdiff_t>(end)));
        begin = end;
      }
      std::vector<T> mine;
      for (auto& from : all_.all_to_all(out).get())
        mine.insert(mine.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
      plx::sort(par(execution::task), mine.begin(), mine.end(), less).get();
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
  partitioned_vector(communicator all, const std::string& name, std::size_t size, const T& value)
      : all_(std::move(all)), id_(fnv1a(name)), parts_(size, all_.size()) {
    part_ = std::make_shared<std::vector<T>>(parts_.size_of(all_.rank()), value);
    place().template put<T>(id_, part_);
    all_.barrier().get();
  }
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
    auto part = std::make_shared<std::vector<T>>();
    part->reserve(next.size_of(all_.rank()));
    for (auto& from : come)
      for (T& v : from) part->push_back(std::move(v));
    part->resize(next.size_of(all_.rank()), value);
    part_ = part;
    parts_ = next;
    place().template replace<T>(id_, std::move(part));
  }
  /// One value, or none if the part is empty.
  template <class Op>
  std::optional<T> sum_of_part(const Op& op) const {
    const std::vector<T>& part = *part_;
    if (part.empty()) return std::nullopt;
    return plx::reduce(par(execution::task), part.begin() + 1, part.end(), T(part[0]), op).get();
  }
  template <class Op>
  static auto optionally(Op op) {
    return [op](const std::optional<T>& a, const std::optional<T>& b) {
      return !a ? b : !b ? a : std::optional<T>(op(*a, *b));
    };
  }
  /// `before`: what precedes the first element of the vector.
  template <class Op>
  future<void> scan(std::optional<T> before, Op op, bool inclusive) {
    return async([this, before = std::move(before), op, inclusive]() mutable {
      const std::optional<std::optional<T>> lower = all_.exclusive_scan(sum_of_part(op), optionally(op)).get();
      if (lower) before = optionally(op)(before, *lower);
      std::vector<T>& part = *part_;
      const auto how = par(execution::task);
      if (!inclusive)
        plx::exclusive_scan(how, part.begin(), part.end(), part.begin(), *before, op).get();
      else if (before)
        plx::inclusive_scan(how, part.begin(), part.end(), part.begin(), op, *before).get();
      else
        plx::inclusive_scan(how, part.begin(), part.end(), part.begin(), op).get();
      all_.barrier().get();
    });
  }
  /// The borders between neighbouring ranks, fewer if there are few elements. Requires: the parts are sorted.
  template <class Less>
  std::vector<net::detail::border<T>> choose_borders(const Less& less) const {
    const std::vector<std::uint64_t> places = net::detail::sample_places(part_->size(), all_.rank());
    std::vector<T> values;
    for (const std::uint64_t at : places) values.push_back((*part_)[at]);
    const auto gathered = all_.all_gather(std::pair(std::move(values), places)).get();
    std::vector<net::detail::border<T>> samples, borders;
    for (unsigned rank = 0; rank < gathered.size(); ++rank)
      for (std::size_t i = 0; i < gathered[rank].first.size(); ++i)
        samples.push_back({gathered[rank].first[i], rank, gathered[rank].second[i]});
    std::stable_sort(samples.begin(), samples.end(),
                     [&less](const auto& a, const auto& b) { return less(a.value, b.value); });
    for (std::size_t k = 1; k < all_.size() && !samples.empty(); ++k)
      borders.push_back(samples[std::min(samples.size() * k / all_.size(), samples.size() - 1)]);
    return borders;
  }

  communicator all_;
  std::uint64_t id_;
  net::partition parts_;
  std::shared_ptr<std::vector<T>> part_;  // also in the table of the local parts
};

}  // namespace plx
