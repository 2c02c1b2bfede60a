// Collective calls on memory of the caller: elements that are combined in place, or copied to their destination.
//
// Messages own their bytes: each call copies what it sends into a message once, and combines or copies what it receives
// directly from the message. No other locality accesses the caller's memory.
//
// Thread safety: as net/group/call.hpp says. Example: net/group/test/elements_test.cpp
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "net/group/call.hpp"

namespace plx::net::collective {

/// Payloads of at least this size are not sent through trees.
inline constexpr std::size_t large_bytes = std::size_t{1} << 16;
/// Values of at most this size are combined by the worker that receives them.
inline constexpr std::size_t most_light_bytes = 256;

/// Whether arrays of T are sent as their bytes.
template <class T>
inline constexpr bool is_element = is_bitwise<T> && !is_boolean<T> && !is_checked_enum<T>;
template <class T>
constexpr void check_element() {
  static_assert(is_element<T>, "T must be a bitwise type, and not bool");
  check_bitwise<T>();
}

/// Memory of the caller, which stays valid until the call has completed.
struct elements {
  std::byte* data = nullptr;
  std::size_t count = 0, each_bytes = 1;

  [[nodiscard]] std::size_t bytes() const noexcept { return count * each_bytes; }
};

/// How combine_elements() divides the work.
enum class share {
  whole,            ///< log2(n) messages of all elements: recursive doubling
  halves,           ///< twice the elements in all, in 2 log2(n) messages: recursive halving, then doubling
  exchanged,        ///< twice the elements in all, in 2 (n - 1) messages: each rank combines one of n blocks for all
  blocks,           ///< recursive halving only: the combined elements of block `rank` of n equal ones on each rank
  exchanged_blocks  ///< the same result in n - 1 messages, without the second half of `exchanged`
};

/// Blocks of at least this size are exchanged between all members.
inline constexpr std::size_t least_exchanged_bytes = 4096;

/// How an all-reduce, or a reduce-scatter, of that many bytes is divided. With two members, whole and halves send the
/// same number of bytes. With a number that is no power of two, halves and blocks send more bytes than the exchanges,
/// but fewer messages.
[[nodiscard]] constexpr share share_of(std::size_t bytes, unsigned members, bool scatters) noexcept {
  const bool exchanges = !std::has_single_bit(members) && bytes / members >= least_exchanged_bytes;
  if (scatters) return exchanges ? share::exchanged_blocks : share::blocks;
  if (bytes < large_bytes || members < 3) return share::whole;
  return exchanges ? share::exchanged : share::halves;
}

[[nodiscard]] constexpr kind kind_of(share how) noexcept {
  constexpr kind kinds[] = {kind::all_reduce, kind::all_reduce_halves, kind::all_reduce_exchanged, kind::reduce_scatter,
                            kind::reduce_scatter_exchanged};
  return kinds[static_cast<std::size_t>(how)];
}

/// All-reduce (whole, halves, exchanged) and reduce-scatter (the others), in place. Each element is combined in the
/// tree of reduction_tree.hpp, whatever the share. After a reduce-scatter the elements of other blocks are unspecified.
/// Memory: the exchanges keep a block of every member, together as many bytes as the elements.
/// Errors: logic_error, on all members, if their numbers of elements differ.
/// Source: R. Rabenseifner, "Optimization of collective reduction operations", ICCS 2004, LNCS 3036, page 1; the
/// halves are those of ranks whose numbers differ in the lowest bit first, so that neighbours combine first.
algorithm combine_elements(call& c, elements mine, share how);

/// Throws logic_error if the operands of an elementwise operation differ in size.
void check_equal(std::size_t left, std::size_t right);
/// Copies a received payload. Errors: logic_error if it does not have the size of `to`.
void copy_elements(const payload& from, elements to);

template <class T>
elements elements_of(std::span<T> values) noexcept {
  return {reinterpret_cast<std::byte*>(values.data()), values.size(), sizeof(T)};
}

/// The result of a call that combines elements in place: Values is a std::span, or a std::vector that is returned.
template <class Values, class Op>
struct combined_in_place {
  using value = typename Values::value_type;

  auto operator()(std::span<payload>) {
    if constexpr (!std::is_same_v<Values, std::span<value>>) return std::move(values);
  }
  [[nodiscard]] elements memory() noexcept { return elements_of(std::span<value>(values)); }
  /// mine := mine op theirs, or theirs op mine.
  void combine_elements(std::byte* mine, const std::byte* theirs, std::size_t bytes, bool theirs_first) {
    value* to = reinterpret_cast<value*>(mine);
    const std::size_t n = bytes / sizeof(value);
    const auto other = [theirs](std::size_t i) {
      value v;
      std::memcpy(&v, theirs + i * sizeof(value), sizeof(value));  // it may not be aligned
      return v;
    };
    if (theirs_first)
      for (std::size_t i = 0; i < n; ++i) to[i] = op(other(i), std::as_const(to[i]));
    else
      for (std::size_t i = 0; i < n; ++i) to[i] = op(std::as_const(to[i]), other(i));
  }

  Values values;
  Op op;
};

/// The result of a call whose payloads are copied to memory of the caller, one after the other. `here`: a payload that
/// is there already.
template <class T>
struct copied {
  void operator()(std::span<payload> all) const {
    const std::size_t each = to.size() / all.size();
    for (std::size_t i = 0; i < all.size(); ++i)
      if (i != here) copy_elements(all[i], elements_of(to.subspan(i * each, each)));
  }
  static constexpr std::size_t none = ~std::size_t{0};

  std::span<T> to;
  std::size_t here = none;
};

}  // namespace plx::net::collective
