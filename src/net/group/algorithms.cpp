#include "net/collectives.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "net/core/node.hpp"
#include "net/group/groups.hpp"
#include "net/group/reduction_tree.hpp"

namespace plx::net::collective {
namespace {

payload join(call& c, payload left, const payload& right) {
  c.combine(left, right);
  return left;
}

// The payloads of all ranks that are known here, packed into one message. Large ones are only announced in it and are
// sent separately.
class bundle {
 public:
  explicit bundle(unsigned n) : of_(n), apart_(n, false) {}
  payload& operator[](unsigned rank) { return of_[rank]; }
  void put(unsigned rank, payload p) {
    apart_[rank] = p.size() >= large_bytes;
    of_[rank] = std::move(p);
  }
  /// Whether it is sent in a message of its own.
  [[nodiscard]] bool apart(unsigned rank) const { return apart_[rank]; }
  std::span<payload> all() { return of_; }

  /// The payloads of `count` ranks from `first` on, cyclically.
  [[nodiscard]] payload packed(unsigned first, unsigned count) const {
    std::size_t size = 0;
    for (unsigned i = 0; i < count; ++i) size += sizeof(head) + bytes_here((first + i) % of_.size());
    payload p(size);
    wire_writer w({p.data(), size});
    for (unsigned i = 0; i < count; ++i) {
      const auto rank = static_cast<std::uint32_t>((first + i) % of_.size());
      const head h{rank, apart_[rank], bytes_here(rank), handles_here(rank)};
      w.bytes(&h, sizeof h);
      w.bytes(of_[rank].data(), bytes_here(rank));
      p.add_handles(of_[rank], 0, handles_here(rank));
    }
    return p;
  }
  /// Adds the payloads of a packed() bundle.
  void unpack(const payload& p) {
    std::size_t handles = 0;  // taken so far
    for (wire_reader r(p.bytes()); r.left() != 0;) {
      head h;
      r.bytes(&h, sizeof h);
      if (r.failed() || h.rank >= of_.size() || h.apart > 1 || h.size > r.left() ||
          h.handles > p.handle_count() - handles)
        throw std::runtime_error("another locality sent an invalid bundle of payloads");
      payload one(h.size);
      r.bytes(one.data(), h.size);
      one.add_handles(p, handles, h.handles);
      handles += h.handles;
      of_[h.rank] = std::move(one);
      apart_[h.rank] = h.apart != 0;
    }
  }

 private:
  struct head {
    std::uint32_t rank = 0, apart = 0;
    std::uint64_t size = 0, handles = 0;
  };
  [[nodiscard]] std::size_t bytes_here(std::size_t rank) const { return apart_[rank] ? 0 : of_[rank].size(); }
  [[nodiscard]] std::size_t handles_here(std::size_t rank) const { return apart_[rank] ? 0 : of_[rank].handle_count(); }

  std::vector<payload> of_;
  std::vector<bool> apart_;
};

}  // namespace

algorithm meet(call& c) {
  const unsigned n = c.size(), r = c.rank();
  std::uint16_t step = 0;
  for (unsigned distance = 1; distance < n; distance *= 2, ++step) {
    c.send((r + distance) % n, step, {});
    co_await c.from((r + n - distance) % n, step);
  }
  c.finish(std::span<payload>());
}

algorithm spread(call& c, payload mine, unsigned root) {
  const unsigned n = c.size(), r = (c.rank() + n - root) % n;  // relative to the root
  const unsigned low = r == 0 ? std::bit_ceil(n) : r & (~r + 1);
  if (r != 0) mine = co_await c.from((r - low + root) % n, 0);
  for (unsigned bit = low / 2; bit != 0; bit /= 2)
    if (r + bit < n) c.send((r + bit + root) % n, 0, mine);
  c.finish(std::move(mine));
}

algorithm combine_at(call& c, payload mine, unsigned root) {
  const tree t(c.size());
  const unsigned r = c.rank(), place = t.place_of(r), root_place = t.place_of(root);
  // The rank that represents a pair: the root, otherwise the first.
  const auto holder = [&](unsigned p) { return p == root_place ? root : t.rank_at(p); };
  if (r < t.paired) {
    const unsigned other = r ^ 1;
    if (holder(place) != r) {
      c.send(other, pair_step, mine);
      co_return c.finish(std::span<payload>());
    }
    payload theirs = co_await c.from(other, pair_step);
    mine = r < other ? join(c, std::move(mine), theirs) : join(c, std::move(theirs), mine);
  }
  // The place that represents a block of 2^k places: the root's if it is in the block, otherwise the first.
  const auto block_holder = [&](unsigned p, unsigned size) {
    const unsigned first = p & ~(size - 1);
    return (root_place & ~(size - 1)) == first ? root_place : first;
  };
  std::uint16_t step = 0;
  for (unsigned size = 1; size < t.places; size *= 2, ++step) {
    const unsigned both = block_holder(place, 2 * size), other = block_holder(place ^ size, size);
    if (both != place) {
      c.send(holder(both), step, mine);
      co_return c.finish(std::span<payload>());
    }
    payload theirs = co_await c.from(holder(other), step);
    mine = (place & size) == 0 ? join(c, std::move(mine), theirs) : join(c, std::move(theirs), mine);
  }
  c.finish(std::move(mine));
}

algorithm combine_all(call& c, payload mine) {
  const tree t(c.size());
  const unsigned r = c.rank(), place = t.place_of(r);
  const bool paired = r < t.paired, leads = paired && r % 2 == 0;
  if (paired && !leads) {
    c.send(r - 1, pair_step, mine);
    payload result = co_await c.from(r - 1, result_step);
    co_return c.finish(std::move(result));
  }
  if (leads) {
    payload theirs = co_await c.from(r + 1, pair_step);
    mine = join(c, std::move(mine), theirs);
  }
  std::uint16_t step = 0;
  for (unsigned bit = 1; bit < t.places; bit *= 2, ++step) {
    const unsigned other = t.rank_at(place ^ bit);
    c.send(other, step, mine);
    payload theirs = co_await c.from(other, step);
    mine = (place & bit) == 0 ? join(c, std::move(mine), theirs) : join(c, std::move(theirs), mine);
  }
  if (leads) c.send(r + 1, result_step, mine);
  c.finish(std::move(mine));
}

algorithm collect_at(call& c, payload mine, unsigned root) {
  const unsigned n = c.size(), r = (c.rank() + n - root) % n;  // relative to the root
  bundle known(n);
  known.put(c.rank(), std::move(mine));
  for (unsigned bit = 1; bit < n; bit *= 2) {
    if ((r & bit) != 0) {
      c.send((r - bit + root) % n, 0, known.packed(c.rank(), std::min(bit, n - r)));
      if (known.apart(c.rank())) c.send(root, apart_step, known[c.rank()]);
      co_return c.finish(std::span<payload>());
    }
    if (r + bit >= n) continue;
    payload theirs = co_await c.from((r + bit + root) % n, 0);
    known.unpack(theirs);
  }
  for (unsigned i = 0; i < n; ++i)
    if (i != c.rank() && known.apart(i)) known[i] = co_await c.from(i, apart_step);
  c.finish(known.all());
}

algorithm collect_all(call& c, payload mine) {
  const unsigned n = c.size(), r = c.rank();
  bundle known(n);
  known.put(r, std::move(mine));
  std::uint16_t step = 0;
  for (unsigned have = 1; have < n; have *= 2, ++step) {  // `have` consecutive ranks, beginning with this one
    c.send((r + n - have) % n, step, known.packed(r, std::min(have, n - have)));
    payload theirs = co_await c.from((r + have) % n, step);
    known.unpack(theirs);
  }
  for (unsigned i = 1; i < n; ++i) {
    const unsigned passed_on = (r + n - i + 1) % n, next = (r + n - i) % n;
    const auto round = static_cast<std::uint16_t>(ring_step + i);
    if (known.apart(passed_on)) c.send((r + 1) % n, round, known[passed_on]);
    if (known.apart(next)) known[next] = co_await c.from((r + n - 1) % n, round);
  }
  c.finish(known.all());
}

algorithm deal(call& c, std::vector<payload> all, unsigned root) {
  const unsigned n = c.size(), r = (c.rank() + n - root) % n;
  const unsigned low = r == 0 ? std::bit_ceil(n) : r & (~r + 1);
  bundle known(n);
  if (r != 0) {
    payload mine = co_await c.from((r - low + root) % n, 0);
    known.unpack(mine);
  } else {
    for (unsigned i = 0; i < n; ++i) known.put(i, std::move(all.at(i)));
  }
  for (unsigned bit = low / 2; bit != 0; bit /= 2)
    if (r + bit < n) c.send((r + bit + root) % n, 0, known.packed((r + bit + root) % n, std::min(bit, n - r - bit)));
  for (unsigned i = 0; i < n && r == 0; ++i)
    if (i != root && known.apart(i)) c.send(i, apart_step, known[i]);
  if (r != 0 && known.apart(c.rank())) known[c.rank()] = co_await c.from(root, apart_step);
  c.finish(std::move(known[c.rank()]));
}

algorithm exchange_all(call& c, std::vector<payload> all) {
  const unsigned n = c.size(), r = c.rank();
  std::vector<payload> received(n);
  received[r] = std::move(all.at(r));
  for (unsigned i = 1, sent = 1; i < n; ++i) {
    for (; sent < n && sent < i + most_unreceived; ++sent) {
      const unsigned to = (r + sent) % n;
      c.send(to, 0, std::exchange(all.at(to), {}));
    }
    const unsigned from = (r + n - i) % n;
    received[from] = co_await c.from(from, 0);
  }
  c.finish(received);
}

algorithm combine_up_to(call& c, payload mine, bool exclusive) {
  const unsigned n = c.size(), r = c.rank();
  std::uint16_t step = 0;
  for (unsigned have = 1; have < n; have *= 2, ++step) {  // `mine` combines this rank and those before
    if (r + have < n) c.send(r + have, step, mine);
    if (r < have) continue;
    payload before = co_await c.from(r - have, step);
    mine = join(c, std::move(before), mine);
  }
  if (!exclusive) co_return c.finish(std::move(mine));
  if (r + 1 < n) c.send(r + 1, result_step, mine);
  if (r == 0) co_return c.finish(std::span<payload>());
  payload before = co_await c.from(r - 1, result_step);
  c.finish(std::move(before));
}

}  // namespace plx::net::collective

namespace plx {
namespace {

std::vector<locality_id> members_of_start() {
  const net::node& n = net::node_here();
  if (n.here() >= n.first_spare())
    throw std::logic_error("locality " + std::to_string(n.here()) +
                           " is a spare, and no member of the communicator of the start: use plx::joined()");
  std::vector<locality_id> all(n.first_spare());
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

}  // namespace

communicator::communicator() : communicator("") {}
communicator::communicator(const std::string& name) : communicator(name, members_of_start()) {}
communicator::communicator(const std::string& name, std::vector<locality_id> members)
    : group_(std::shared_ptr<void>(),
             &net::node_here().get<net::collective::groups>().named(name, std::move(members))) {}
communicator::communicator(std::shared_ptr<net::collective::group> part) noexcept : group_(std::move(part)) {}

// After the barrier, every member knows all colours, or no barrier succeeds. So a member whose barrier fails can report
// this to the members of its part, where the barrier may have succeeded: no member is left waiting in a call of the
// part.
communicator communicator::split(std::uint64_t colour) const {
  auto& all = net::node_here().get<net::collective::groups>();
  const std::uint64_t number = group_->calls();  // the same on all members, and used once
  std::vector<std::uint64_t> mine = all.take_unused(*group_);
  mine.push_back(colour);
  std::vector<std::vector<std::uint64_t>> of_rank = all_gather(std::move(mine)).get();
  std::vector<locality_id> same;
  for (unsigned r = 0; r < size(); ++r) {
    if (of_rank[r].empty()) throw std::runtime_error("another locality sent no colour: do all members split?");
    if (of_rank[r].back() == colour) same.push_back(members()[r]);
    of_rank[r].pop_back();
  }
  all.drop_unused(*group_, of_rank);
  communicator part(all.make_part(group_, number, colour, std::move(same)));
  try {
    barrier().get();
  } catch (...) {
    part.group_->fail(std::current_exception());
    throw;
  }
  return part;
}

future<void> communicator::barrier() const {
  return start<void>(kind::barrier, false, net::collective::nothing(), [](auto& c) { meet(c); });
}

void communicator::check_count(std::size_t n) const {
  PLX_ASSERT_EQ(n, std::size_t{size()});  // a value for each rank
}
void communicator::check_blocks(std::size_t n) const {
  PLX_ASSERT(n % size() == 0 && "a block of the same size for each rank", n, size());
}
void communicator::check_gathered(std::size_t mine, std::size_t all) const {
  PLX_ASSERT_EQ(all, mine * size());  // room for the values of all ranks
}
unsigned communicator::checked(unsigned root) const {
  PLX_ASSERT(root < size() && "no such rank", root);
  return root;
}

}  // namespace plx
