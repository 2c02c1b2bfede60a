// How the elements of a partitioned_vector are spread: rank r has the r-th of `size` / `ranks` elements, the first ones
// one more where it does not divide.
//
// Thread safety: values. Cost: a few instructions; a part_table a search. Example: net/partitioned_vector_test.cpp
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace plx::net {

class partition {
 public:
  partition(std::size_t size, unsigned ranks) noexcept : size_(size), small_(size / ranks), large_(size % ranks) {}
  [[nodiscard]] std::size_t size() const noexcept { return size_; }  ///< elements of all
  [[nodiscard]] std::size_t size_of(unsigned rank) const noexcept { return small_ + (rank < large_); }
  /// The first index of a rank.
  [[nodiscard]] std::size_t begin_of(unsigned rank) const noexcept {
    return rank * small_ + std::min<std::size_t>(rank, large_);
  }
  /// Who has it. Requires: i < size().
  [[nodiscard]] unsigned rank_of(std::size_t i) const noexcept {
    const std::size_t in_large = large_ * (small_ + 1);
    return static_cast<unsigned>(i < in_large ? i / (small_ + 1) : large_ + (i - in_large) / small_);
  }

 private:
  std::size_t size_, small_, large_;
};

namespace detail {

/// Names the type of the elements of a vector.
using element_type = const void*;
template <class T>
inline constexpr char element_type_mark = 0;
template <class T>
constexpr element_type element_type_of() noexcept {
  return &element_type_mark<T>;
}

/// Parts by the number of their vector and the type of its elements.
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
    if (at == parts_.end()) throw std::runtime_error("there is no such partitioned vector on this locality");
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

/// Throws std::out_of_range unless `n` elements from `first` on are among `size`.
inline void check_part(std::uint64_t first, std::uint64_t n, std::size_t size) {
  if (first > size || n > size - first)
    throw std::out_of_range("a part of a partitioned vector is shorter than expected: was it resized meanwhile?");
}

}  // namespace detail
}  // namespace plx::net
