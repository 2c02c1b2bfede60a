#include "net/group/elements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "net/group/reduction_tree.hpp"

namespace plx::net::collective {
namespace {

[[noreturn]] void wrong_size(std::size_t expected_bytes, std::size_t found_bytes, std::size_t each_bytes) {
  throw std::logic_error(fmt::format(
      "expected {} elements of {} bytes from another member, found {} bytes: all members pass the same number of "
      "elements of the same type",
      expected_bytes / each_bytes, each_bytes, found_bytes));
}

// The elements, divided into a part for each place. A set of parts is given by the first place and the distance to the
// next one; with share::whole, each set is all elements.
class parts {
 public:
  parts(const elements& mine, const tree& t, unsigned ranks, share how)
      : mine_(mine), tree_(t), block_(mine.count / ranks), how_(how) {}

  [[nodiscard]] std::size_t bytes_of(unsigned first, unsigned distance) const {
    std::size_t sum = 0;
    each(first, distance, [&](std::byte*, std::size_t bytes) { sum += bytes; });
    return sum;
  }
  [[nodiscard]] payload packed(unsigned first, unsigned distance) const {
    payload p(bytes_of(first, distance));
    std::byte* to = p.data();
    each(first, distance, [&](const std::byte* from, std::size_t bytes) {
      if (bytes != 0) std::memcpy(to, from, bytes);
      to += bytes;
    });
    return p;
  }
  void put(unsigned first, unsigned distance, const payload& p) const {
    visit(first, distance, p, [](std::byte* to, const std::byte* from, std::size_t bytes) {
      if (bytes != 0) std::memcpy(to, from, bytes);
    });
  }
  void combine(call& c, unsigned first, unsigned distance, const payload& p, bool theirs_first) const {
    visit(first, distance, p, [&](std::byte* to, const std::byte* from, std::size_t bytes) {
      c.combine_elements(to, from, bytes, theirs_first);
    });
  }
  // The result of a rank: its block, or everything.
  [[nodiscard]] elements result_of(unsigned rank) const {
    if (how_ != share::blocks) return mine_;
    return {mine_.data + rank * block_ * mine_.each_bytes, block_, mine_.each_bytes};
  }

 private:
  [[nodiscard]] std::size_t begin(unsigned place) const {
    if (place == tree_.places) return mine_.count;
    if (how_ == share::blocks) return tree_.rank_at(place) * block_;
    return mine_.count / tree_.places * place + std::min<std::size_t>(place, mine_.count % tree_.places);
  }
  template <class F>
  void each(unsigned first, unsigned distance, F f) const {
    if (how_ == share::whole) return f(mine_.data, mine_.bytes());
    for (unsigned place = first; place < tree_.places; place += distance)
      f(mine_.data + begin(place) * mine_.each_bytes, (begin(place + 1) - begin(place)) * mine_.each_bytes);
  }
  template <class F>
  void visit(unsigned first, unsigned distance, const payload& p, F f) const {
    const std::size_t expected = bytes_of(first, distance);
    if (p.size() != expected) wrong_size(expected, p.size(), mine_.each_bytes);
    const std::byte* from = p.data();
    each(first, distance, [&](std::byte* to, std::size_t bytes) {
      f(to, from, bytes);
      from += bytes;
    });
  }

  const elements mine_;
  const tree tree_;
  const std::size_t block_;  // elements of each rank, with share::blocks
  const share how_;
};

payload copy_of(const elements& e) { return payload(std::span<const std::byte>(e.data, e.bytes())); }

// One of n blocks of elements, whose sizes differ by at most one element.
elements block_of(const elements& all, unsigned n, unsigned i) {
  const auto begin = [&](std::size_t k) { return all.count / n * k + std::min(k, all.count % n); };
  return {all.data + begin(i) * all.each_bytes, begin(i + 1) - begin(i), all.each_bytes};
}

// Combines the elements of all ranks, given by the memory of each, in the tree. The result is in the caller's.
void combine_ranks(call& c, std::span<std::byte* const> of_rank, std::size_t bytes) {
  std::byte* const mine = of_rank[c.rank()];
  const auto combined = [&](std::byte* left, std::byte* right) {
    const bool into_right = right == mine;
    c.combine_elements(into_right ? right : left, into_right ? left : right, bytes, into_right);
    return into_right ? right : left;
  };
  const tree t(c.size());
  std::vector<std::byte*> at;
  for (unsigned place = 0; place < t.places; ++place) {
    const unsigned r = t.rank_at(place);
    at.push_back(r < t.paired ? combined(of_rank[r], of_rank[r + 1]) : of_rank[r]);
  }
  for (; at.size() > 1; at.resize(at.size() / 2))
    for (std::size_t i = 0; i < at.size() / 2; ++i) at[i] = combined(at[2 * i], at[2 * i + 1]);
}

// Round 0: each rank receives its block from all others, and combines it. Round 1: it sends the result to all others.
// A rank whose number of elements differs has at least one block of another size, whose rank notices it, and sends no
// result.
algorithm exchange_blocks(call& c, elements mine, unsigned rounds) {
  const unsigned n = c.size(), r = c.rank();
  const elements here = block_of(mine, n, r);
  std::vector<payload> received(n);
  payload result;
  for (std::uint16_t round = 0; round < rounds; ++round) {
    for (unsigned i = 1, sent = 1; i < n; ++i) {
      for (; sent < n && sent < i + most_unreceived; ++sent) {
        const unsigned to = (r + sent) % n;
        c.send(to, round, round == 0 ? copy_of(block_of(mine, n, to)) : result);
      }
      const unsigned from = (r + n - i) % n;
      payload p = co_await c.from(from, round);
      if (round == 1) {
        copy_elements(p, block_of(mine, n, from));
      } else {
        if (p.size() != here.bytes()) wrong_size(here.bytes(), p.size(), mine.each_bytes);
        received[from] = std::move(p);
      }
    }
    if (round == 1) break;
    std::vector<std::byte*> of_rank;
    for (unsigned i = 0; i < n; ++i) of_rank.push_back(i == r ? here.data : received[i].data());
    combine_ranks(c, of_rank, here.bytes());
    received.clear();
    if (rounds == 2) result = copy_of(here);
  }
  c.finish(std::span<payload>());
}

// Members with different numbers of elements notice it. All pairs exchange both halves of their parts, so if all
// payloads have the expected sizes, the parts of both have equal sizes; hence the sums of all parts are equal, too.
algorithm combine_pairs(call& c, elements mine, share how) {
  const tree t(c.size());
  const parts all(mine, t, c.size(), how);
  const unsigned r = c.rank(), place = t.place_of(r);
  const bool paired = r < t.paired, leads = paired && r % 2 == 0;
  if (paired && !leads) {
    c.send(r - 1, pair_step, copy_of(mine));
    const payload result = co_await c.from(r - 1, result_step);
    copy_elements(result, all.result_of(r));
    co_return c.finish(std::span<payload>());
  }
  if (leads) {
    const payload theirs = co_await c.from(r + 1, pair_step);
    all.combine(c, 0, 1, theirs, false);
  }
  std::uint16_t step = 0;
  // `place` has combined the parts of the places that agree with it in the bits below `bit`.
  for (unsigned bit = 1; bit < t.places; bit *= 2, ++step) {
    const unsigned other = place ^ bit, mask = 2 * bit - 1;
    c.send(t.rank_at(other), step, all.packed(other & mask, 2 * bit));
    const payload theirs = co_await c.from(t.rank_at(other), step);
    all.combine(c, place & mask, 2 * bit, theirs, (place & bit) != 0);
  }
  for (unsigned bit = t.places / 2; bit != 0 && how == share::halves; bit /= 2, ++step) {
    const unsigned other = place ^ bit, mask = 2 * bit - 1;
    c.send(t.rank_at(other), step, all.packed(place & mask, 2 * bit));
    const payload theirs = co_await c.from(t.rank_at(other), step);
    all.put(other & mask, 2 * bit, theirs);
  }
  if (leads) c.send(r + 1, result_step, copy_of(all.result_of(r + 1)));
  c.finish(std::span<payload>());
}

}  // namespace

void check_equal(std::size_t left, std::size_t right) {
  if (left != right)
    throw std::logic_error(fmt::format(
        "an elementwise operation of vectors of {} and {} elements: all members pass vectors of the same size", left,
        right));
}

void copy_elements(const payload& from, elements to) {
  if (from.size() != to.bytes()) wrong_size(to.bytes(), from.size(), to.each_bytes);
  if (to.bytes() != 0) std::memcpy(to.data, from.data(), to.bytes());
}

algorithm combine_elements(call& c, elements mine, share how) {
  if (how == share::exchanged) return exchange_blocks(c, mine, 2);
  if (how == share::exchanged_blocks) return exchange_blocks(c, mine, 1);
  return combine_pairs(c, mine, how);
}

}  // namespace plx::net::collective
