// Checkpoints in memory: each member keeps the image of what it stored, and a copy of its partner's.
//
// Invariants. A store is identified by its number, which is higher than all earlier ones of its members, and by these
// members. A member marks it as complete after a barrier that follows the acknowledgements of all copies. So if a store
// is complete on one member, all members have both images of it, and keep them. A member drops a store when it marks a
// later one as complete. At the beginning of a store it drops all but the newest one that any member has marked. A
// store that has been restored is marked as well. So a loss at any time leaves on all survivors the images of one
// store, which restore() finds by comparing what they have.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <tuple>
#include <utility>

#include "base/text.hpp"
#include "net/action.hpp"
#include "net/checkpoint.hpp"
#include "net/error.hpp"

namespace plx::net::checkpoint {

namespace {

constexpr unsigned no_rank = ~0u;

/// Identifies a store of one checkpoint.
struct store_id {
  std::uint64_t number = 0;   // 0: none
  std::uint64_t members = 0;  // their hash

  friend bool operator==(const store_id&, const store_id&) = default;
};

/// The data that this member keeps of a store.
struct kept_store {
  store_id id;
  std::vector<locality_id> members;  // empty: only the copy has arrived
  unsigned distance = 0;
  unsigned own_rank = no_rank, copy_rank = no_rank;  // of the images
  image own, copy;
  bool complete = false;
};

/// The same, as members compare it.
struct kept_summary {
  store_id id;
  std::uint32_t members = 0;
  std::uint32_t own_rank = no_rank, copy_rank = no_rank;
  std::uint32_t complete = 0;
};

std::uint64_t hash_of_members(const std::vector<locality_id>& members) noexcept {
  return fnv1a({reinterpret_cast<const char*>(members.data()), members.size() * sizeof(locality_id)});
}

}  // namespace

/// The data that this member keeps of one checkpoint. Thread safety: everything.
class kept_images {
 public:
  explicit kept_images(std::uint64_t id) noexcept : id_(id) {}
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

  /// The newest store that this member has marked as complete, and the highest number of any.
  std::pair<store_id, std::uint64_t> state() const {
    const std::lock_guard guard(lock_);
    store_id complete;
    for (const kept_store& s : stores_)
      if (s.complete && s.id.number > complete.number) complete = s.id;
    return {complete, highest_};
  }
  /// Drops all stores but `kept`, and begins one.
  void begin(const store_id& kept, kept_store next) {
    std::vector<kept_store> dropped;  // destroyed after the lock is released
    const std::lock_guard guard(lock_);
    highest_ = std::max(highest_, next.id.number);
    drop_others(kept, next.id, dropped);
    if (kept_store* early = find(next.id)) {  // a copy came before this member's begin()
      next.copy = std::move(early->copy), next.copy_rank = early->copy_rank;
      *early = std::move(next);
    } else {
      stores_.push_back(std::move(next));
    }
  }
  void keep_copy(const store_id& id, unsigned rank, image copy) {
    const std::lock_guard guard(lock_);
    kept_store* s = find(id);
    if (s == nullptr) s = &stores_.emplace_back(), s->id = id;
    s->copy_rank = rank, s->copy = std::move(copy);
  }
  /// Marks it as complete, and drops the others.
  void complete(const store_id& id) {
    mark(id);
    std::vector<kept_store> dropped;
    const std::lock_guard guard(lock_);
    drop_others(id, id, dropped);
  }
  /// Marks it as complete.
  void mark(const store_id& id) {
    const std::lock_guard guard(lock_);
    if (kept_store* s = find(id)) s->complete = true;
  }
  /// This member replaces the lost owner of its copy: the image is its own from now on.
  void own_copy(const store_id& id) {
    const std::lock_guard guard(lock_);
    kept_store* s = find(id);
    if (s == nullptr || s->own_rank != no_rank) return;
    s->own = std::exchange(s->copy, {});
    s->own_rank = std::exchange(s->copy_rank, no_rank);
  }
  void drop(const store_id& id) {
    kept_store dropped;
    const std::lock_guard guard(lock_);
    if (kept_store* s = find(id)) {
      dropped = std::move(*s);
      stores_.erase(stores_.begin() + (s - stores_.data()));
    }
  }
  std::vector<kept_summary> summary() const {
    const std::lock_guard guard(lock_);
    std::vector<kept_summary> all;
    for (const kept_store& s : stores_)
      all.push_back(
          {s.id, static_cast<std::uint32_t>(s.members.size()), s.own_rank, s.copy_rank, s.complete ? 1u : 0u});
    return all;
  }
  /// A copy, whose images share their data; empty if there is none.
  kept_store get(const store_id& id) {
    const std::lock_guard guard(lock_);
    const kept_store* s = find(id);
    return s == nullptr ? kept_store{} : *s;
  }
  std::uint64_t bytes() const noexcept {
    const std::lock_guard guard(lock_);
    std::uint64_t n = 0;
    for (const kept_store& s : stores_) n += s.own.data.size() + s.copy.data.size();
    return n;
  }

 private:
  kept_store* find(const store_id& id) noexcept {
    const auto at = std::find_if(stores_.begin(), stores_.end(), [&](const kept_store& s) { return s.id == id; });
    return at == stores_.end() ? nullptr : &*at;
  }
  void drop_others(const store_id& a, const store_id& b, std::vector<kept_store>& dropped) {
    const auto others =
        std::partition(stores_.begin(), stores_.end(), [&](const kept_store& s) { return s.id == a || s.id == b; });
    dropped.assign(std::make_move_iterator(others), std::make_move_iterator(stores_.end()));
    stores_.erase(others, stores_.end());
  }

  const std::uint64_t id_;
  mutable std::mutex lock_;
  std::vector<kept_store> stores_;
  std::uint64_t highest_ = 0;
};

namespace {

/// The checkpoints of this locality, by the hash of their names.
class memory_table final : public service {
 public:
  explicit memory_table(node&) {}
  /// False if there is one with this id.
  bool add(std::shared_ptr<kept_images> k) {
    const std::lock_guard guard(lock_);
    for (const auto& other : all_)
      if (other->id() == k->id()) return false;
    all_.push_back(std::move(k));
    return true;
  }
  void remove(std::uint64_t id) {
    const std::lock_guard guard(lock_);
    std::erase_if(all_, [&](const auto& k) { return k->id() == id; });
  }
  std::shared_ptr<kept_images> find(std::uint64_t id) {
    const std::lock_guard guard(lock_);
    for (const auto& k : all_)
      if (k->id() == id) return k;
    return nullptr;
  }

 private:
  std::mutex lock_;
  std::vector<std::shared_ptr<kept_images>> all_;
};

}  // namespace

void take_copy(std::uint64_t checkpoint, std::uint64_t number, std::uint64_t members, std::uint32_t rank,
               std::vector<entry> entries, const buffer<std::byte>& data) {
  const auto kept = node_here().get<memory_table>().find(checkpoint);
  if (kept == nullptr) throw std::runtime_error("it has no memory_checkpoint with this name");
  if (rank >= locality_count()) throw std::runtime_error("a copy of a nonexistent member");
  std::uint64_t left = data.size();
  for (const entry& e : entries) {
    if (e.size_bytes > left) throw std::runtime_error("the sizes of a copy do not match its data");
    left -= e.size_bytes;
  }
  kept->keep_copy({number, members}, rank, {std::move(entries), data, {}});
}

namespace {

/// Sends an image, of `owner` with this rank in the store, to another member, which keeps it as its copy. Returns a
/// description of the problem, "" if there is none. Throws locality_lost.
std::string send_copy(const std::string& name, std::uint64_t checkpoint, locality_id to, const store_id& id,
                      unsigned rank, locality_id owner, image copy) {
  try {
    async<&take_copy>(to, checkpoint, id.number, id.members, rank, std::move(copy.entries), copy.data).get();
    return "";
  } catch (const locality_lost&) {
    throw;
  } catch (const std::exception& e) {
    return fmt::format("memory checkpoint '{}': locality {} cannot keep the copy of locality {}: {}", name, to, owner,
                       e.what());
  }
}

using summaries = std::vector<std::vector<kept_summary>>;  // by member of the restoration

/// Whether the members have all images of a store; `missing`: the first rank without one.
bool is_whole(const summaries& all, const store_id& id, unsigned& missing) {
  std::vector<bool> found;
  for (const auto& of_member : all)
    for (const kept_summary& s : of_member) {
      if (s.id != id) continue;
      if (found.size() < s.members) found.resize(s.members);
      for (const unsigned r : {s.own_rank, s.copy_rank}) {
        if (r == no_rank) continue;
        if (found.size() <= r) found.resize(r + 1);
        found[r] = true;
      }
    }
  const auto at = std::find(found.begin(), found.end(), false);
  missing = static_cast<unsigned>(at - found.begin());
  return !found.empty() && at == found.end();
}

/// The newest whole store; number 0: none. Then `newest` is the newest that is known, and `missing` a rank of it.
store_id newest_whole(const summaries& all, store_id& newest, unsigned& missing) {
  std::vector<store_id> known;
  for (const auto& of_member : all)
    for (const kept_summary& s : of_member)
      if (s.members != 0 && std::find(known.begin(), known.end(), s.id) == known.end()) known.push_back(s.id);
  const auto before = [](const store_id& a, const store_id& b) {
    return std::tie(a.number, a.members) > std::tie(b.number, b.members);
  };
  std::sort(known.begin(), known.end(), before);
  for (const store_id& id : known)
    if (is_whole(all, id, missing)) return id;
  // Unfinished stores are expected to be incomplete; the error names the newest store that was complete.
  for (const store_id& id : known)
    for (const auto& of_member : all)
      for (const kept_summary& s : of_member)
        if (s.id == id && s.complete != 0 && newest.number == 0) newest = id;
  if (newest.number != 0) is_whole(all, newest, missing);
  return {};
}

/// Whether this member is the one that restores its copy: no owner lives, and no earlier member has a copy.
bool restores_copy(const summaries& all, const store_id& id, unsigned copy_rank, unsigned here) {
  for (unsigned m = 0; m < all.size(); ++m)
    for (const kept_summary& s : all[m]) {
      if (s.id != id) continue;
      if (s.own_rank == copy_rank || (s.copy_rank == copy_rank && m < here)) return false;
    }
  return true;
}

/// By rank of a store: the member of the restoration that restores its image, as its owner is lost and this member has
/// no image; no_rank: a member that has one. `checkpoints`: by member; it must be the one that has the store.
std::vector<unsigned> find_replacements(const summaries& all, const std::vector<std::uint64_t>& checkpoints,
                                        const store_id& id) {
  std::size_t ranks = 0;  // as members know them that took part in the store
  std::vector<unsigned> owned, without;
  std::uint64_t stored_in = 0;
  for (unsigned m = 0; m < all.size(); ++m) {
    bool has_images = false;
    for (const kept_summary& s : all[m]) {
      if (s.id != id) continue;
      has_images = true;
      stored_in = checkpoints[m];
      ranks = std::max<std::size_t>(ranks, s.members);
      owned.push_back(s.own_rank);
    }
    if (!has_images) without.push_back(m);
  }
  std::erase_if(without, [&](unsigned m) { return checkpoints[m] != stored_in; });
  std::vector<unsigned> replacements(ranks, no_rank);
  auto next = without.begin();
  for (unsigned r = 0; r < ranks && next != without.end(); ++r)
    if (std::find(owned.begin(), owned.end(), r) == owned.end()) replacements[r] = *next++;
  return replacements;
}

}  // namespace

}  // namespace plx::net::checkpoint

namespace plx {

template <>
inline constexpr bool is_bitwise<net::checkpoint::kept_summary> = true;
template <>
inline constexpr bool is_bitwise<net::checkpoint::store_id> = true;

memory_checkpoint::memory_checkpoint(const std::string& name, unsigned distance) : name_(name), distance_(distance) {
  if (distance == 0) throw std::invalid_argument("memory_checkpoint: the distance of a partner is at least 1, found 0");
  kept_ = std::make_shared<net::checkpoint::kept_images>(fnv1a(name));
  if (!net::node_here().get<net::checkpoint::memory_table>().add(kept_))
    throw std::logic_error(fmt::format("two memory checkpoints have the name '{}': rename one", name));
}

memory_checkpoint::~memory_checkpoint() { net::node_here().get<net::checkpoint::memory_table>().remove(kept_->id()); }

std::uint64_t memory_checkpoint::kept_bytes() const noexcept { return kept_->bytes(); }

void memory_checkpoint::store(const communicator& all, const checkpoint_set& mine) {
  using namespace net::checkpoint;
  const unsigned n = all.size(), r = all.rank();
  if (n > 1 && distance_ % n == 0)
    throw std::invalid_argument(fmt::format(
        "memory checkpoint '{}': the distance {} makes each of {} members its own partner", name_, distance_, n));
  image packed;
  std::string problem;
  try {
    packed = pack(mine);
  } catch (const std::exception& e) {
    problem = e.what();
  }
  const auto [complete, highest] = kept_->state();
  using state = std::tuple<std::string, std::uint64_t, std::uint64_t, std::uint64_t>;
  const auto combine = [](const state& a, const state& b) {
    const bool first = std::get<1>(a) >= std::get<1>(b);
    return state{std::get<0>(a).empty() ? std::get<0>(b) : std::get<0>(a), std::get<1>(first ? a : b),
                 std::get<2>(first ? a : b), std::max(std::get<3>(a), std::get<3>(b))};
  };
  const auto [text, kept_number, kept_members, last] =
      all.all_reduce(state{problem, complete.number, complete.members, highest}, combine).get();
  if (!text.empty()) throw checkpoint_error(text);
  const store_id id{last + 1, hash_of_members(all.members())};
  const locality_id partner = all.members()[(r + distance_) % n];
  std::string failed;
  try {
    kept_->begin({kept_number, kept_members}, {id, all.members(), distance_, r, no_rank, packed, {}, false});
    if (n > 1) failed = send_copy(name_, kept_->id(), partner, id, r, find_here(), std::move(packed));
  } catch (const std::bad_alloc&) {
    failed = fmt::format("memory checkpoint '{}': the memory of locality {} is exhausted", name_, find_here());
  }
  try {
    agree(all, failed);  // the barrier
  } catch (const checkpoint_error&) {
    kept_->drop(id);
    throw;
  }
  kept_->complete(id);
}

restored_objects memory_checkpoint::restore_types(const communicator& all,
                                                  std::span<const net::checkpoint::stored_type* const> types) const {
  using namespace net::checkpoint;
  summaries known;
  std::vector<std::uint64_t> checkpoints;
  for (auto& [checkpoint, stores] : all.all_gather(std::pair(kept_->id(), kept_->summary())).get())
    checkpoints.push_back(checkpoint), known.push_back(std::move(stores));
  const auto is_impossible = [n = locality_count()](const kept_summary& s) {
    const auto beyond = [n](unsigned rank) { return rank != no_rank && rank >= n; };
    return s.members > n || beyond(s.own_rank) || beyond(s.copy_rank);
  };
  for (auto& of_member : known) std::erase_if(of_member, is_impossible);
  store_id newest;
  unsigned missing = 0;
  const store_id id = newest_whole(known, newest, missing);
  std::string problem;
  std::vector<image> images;
  if (id.number == 0) {
    const kept_store s = kept_->get(newest);
    if (newest.number == 0)
      problem = fmt::format("memory checkpoint '{}': nothing has been stored", name_);
    else if (missing < s.members.size())
      problem = fmt::format(
          "memory checkpoint '{}': the objects of locality {} are lost with it and its partner, locality {}: restore a "
          "checkpoint on disk",
          name_, s.members[missing], s.members[(missing + s.distance) % s.members.size()]);
  } else {
    kept_store s = kept_->get(id);
    const auto origin = [&](unsigned rank) {
      return rank < s.members.size() ? fmt::format("memory checkpoint '{}', locality {}", name_, s.members[rank])
                                     : fmt::format("memory checkpoint '{}', lost rank {}", name_, rank);
    };
    if (s.own_rank != no_rank) s.own.origin = origin(s.own_rank), images.push_back(s.own);
    const std::vector<unsigned> instead = find_replacements(known, checkpoints, id);
    bool restores = s.copy_rank < instead.size() && restores_copy(known, id, s.copy_rank, all.rank());
    if (restores && instead[s.copy_rank] != no_rank) {
      restores = false;
      const locality_id to = all.members()[instead[s.copy_rank]];
      problem = send_copy(name_, kept_->id(), to, id, s.copy_rank, s.members.at(s.copy_rank), std::move(s.copy));
    }
    if (std::any_of(instead.begin(), instead.end(), [](unsigned m) { return m != no_rank; })) all.barrier().get();
    if (std::find(instead.begin(), instead.end(), all.rank()) != instead.end()) {
      kept_->own_copy(id);
      s = kept_->get(id);
      restores = false;
      if (s.own_rank != no_rank) s.own.origin = origin(s.own_rank), images.push_back(s.own);
    }
    if (restores) s.copy.origin = origin(s.copy_rank), images.push_back(s.copy);
  }
  restored_objects made = net::checkpoint::restore(all, std::move(images), types, problem);
  kept_->mark(id);  // so that the next store() keeps it
  return made;
}

}  // namespace plx
