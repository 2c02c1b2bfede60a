#include "mesh/tree/block_mesh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/assert.hpp"
#include "mesh/tree/regrid.hpp"

namespace plx::mesh {

namespace {

std::string text(const location& l) { return fmt::format("level {} ({}, {}, {})", l.level, l.x[0], l.x[1], l.x[2]); }

std::vector<leaf> root_leaves(const domain& d) {
  std::vector<leaf> leaves;
  for (int z = 0; z < d.root_blocks[2]; ++z)
    for (int y = 0; y < d.root_blocks[1]; ++y)
      for (int x = 0; x < d.root_blocks[0]; ++x) leaves.push_back({{0, {x, y, z}}, no_slot, 0});
  return leaves;
}

bool inside(const domain& d, const location& l) {
  if (l.level < 0 || l.level > deepest_level) return false;
  for (int a = 0; a < 3; ++a)
    if (l.x[a] < 0 || l.x[a] >= d.blocks_along(a, l.level)) return false;
  return true;
}

// Volume of a location as a fraction of its tree in units of 8^-21.
std::uint64_t volume(const location& l) { return std::uint64_t{1} << 3 * (deepest_level - l.level); }

// A regrid returns them in sorted order already.
void sort_along_curve(std::vector<leaf>& leaves) {
  std::vector<std::pair<curve_key, std::size_t>> keys;
  keys.reserve(leaves.size());
  for (const leaf& l : leaves) keys.push_back({key_of(l.where), keys.size()});
  if (std::is_sorted(keys.begin(), keys.end())) return;
  std::sort(keys.begin(), keys.end());
  std::vector<leaf> sorted;
  sorted.reserve(leaves.size());
  for (const auto& [key, index] : keys) sorted.push_back(leaves[index]);
  leaves = std::move(sorted);
}

// The keys of the leaves must tile each tree without gap or overlap: each begins where its predecessor ends.
result<void> check_cover(const domain& d, const std::vector<leaf>& leaves) {
  std::size_t trees = 0;
  curve_key expected{};
  for (std::size_t p = 0; p < leaves.size(); ++p) {
    const curve_key k = key_of(leaves[p].where);
    if (p == 0 || k.tree != expected.tree) {
      if (p > 0 && expected.inside != std::uint64_t{1} << 3 * deepest_level)
        return error{fmt::format("the mesh's leaves leave a gap after {}", text(leaves[p - 1].where))};
      expected = {k.tree, 0};
      ++trees;
    }
    if (k.inside != expected.inside)
      return error{fmt::format("the mesh's leaves overlap or leave a gap at {}", text(leaves[p].where))};
    expected.inside += volume(leaves[p].where);
  }
  const auto all = static_cast<std::size_t>(d.root_blocks[0]) * d.root_blocks[1] * d.root_blocks[2];
  if (trees != all || expected.inside != std::uint64_t{1} << 3 * deepest_level)
    return error{fmt::format("the mesh's leaves cover {} of {} root blocks", trees, all)};
  return {};
}

}  // namespace

block_mesh::block_mesh(const domain& d) : block_mesh(d, root_leaves(d)) {}

block_mesh::block_mesh(const domain& d, std::vector<leaf> leaves) : domain_(d) {
  adopt(std::move(leaves), nullptr).value();
}

block_mesh::block_mesh(const block_mesh& previous, std::vector<leaf> leaves) : domain_(previous.domain_) {
  adopt(std::move(leaves), &previous).value();
}

result<block_mesh> block_mesh::from_leaves(const domain& d, std::vector<leaf> leaves) {
  block_mesh made(d);
  if (auto r = made.adopt(std::move(leaves), nullptr); !r) return r.error();
  return made;
}

block_mesh block_mesh::with_votes(std::span<const std::int32_t> votes) const {
  block_mesh copy = *this;
  for (const slot_id s : curve_) copy.votes_[s] = votes[s];
  return copy;
}

void block_mesh::count_votes(std::span<const flag> flags, std::int32_t most) {
  PLX_ASSERT(flags.size() >= slot_count(), flags.size(), slot_count());
  for (std::size_t s = 0; s < votes_.size(); ++s)
    votes_[s] = flags[s] == flag::coarsen && levels_[s] >= 0 ? std::min(votes_[s] + 1, most) : 0;
}

result<void> block_mesh::adopt(std::vector<leaf> leaves, const block_mesh* previous) {
  if (auto r = domain_.check(); !r) return r.error();
  for (const leaf& l : leaves)
    if (!inside(domain_, l.where)) return error{fmt::format("the leaf {} is outside of the mesh", text(l.where))};
  sort_along_curve(leaves);
  if (auto r = check_cover(domain_, leaves); !r) return r.error();

  slot_id slots = 0;
  const bool number = !leaves.empty() && leaves.front().slot == no_slot;
  for (leaf& l : leaves) {
    if (number) l.slot = slots;
    slots = std::max(slots, l.slot + 1);
  }
  blocks_.assign(slots, {});
  levels_.assign(slots, -1);
  votes_.assign(slots, 0);
  curve_.clear();
  keys_.clear();
  curve_.reserve(leaves.size());
  keys_.reserve(leaves.size());
  deepest_ = 0;
  for (const leaf& l : leaves) {
    PLX_ASSERT(l.slot >= 0 && blocks_[l.slot].position < 0, l.slot);
    block& b = blocks_[l.slot];
    b.where = l.where;
    b.position = static_cast<int>(curve_.size());
    levels_[l.slot] = static_cast<std::int8_t>(l.where.level);
    votes_[l.slot] = l.coarsen_votes;
    deepest_ = std::max(deepest_, l.where.level);
    curve_.push_back(l.slot);
    keys_.push_back(key_of(l.where).inside);
  }
  build_roots();
  if (auto r = link(previous); !r) return r;
  list_loose_families();
  return {};
}

// Computes the ranks of the root blocks on the curve, and the first leaf of each tree.
void block_mesh::build_roots() {
  const auto& n = domain_.root_blocks;
  const std::size_t all = static_cast<std::size_t>(n[0]) * n[1] * n[2];
  std::vector<std::int32_t> order(all);
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](std::int32_t i) { return morton({i % n[0], i / n[0] % n[1], i / n[0] / n[1]}); };
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return key(a) < key(b); });
  tree_rank_.assign(all, 0);
  for (std::size_t r = 0; r < all; ++r) tree_rank_[order[r]] = static_cast<std::int32_t>(r);
  tree_begin_.clear();
  for (std::size_t p = 0; p < keys_.size(); ++p)
    if (keys_[p] == 0) tree_begin_.push_back(static_cast<std::int32_t>(p));  // the first leaf of each tree
  tree_begin_.push_back(static_cast<std::int32_t>(keys_.size()));
}

// Position of the last leaf whose key is not greater than that of l: it covers l, or is the first leaf inside l.
int block_mesh::candidate(const location& l) const {
  const auto& n = domain_.root_blocks;
  const std::size_t tree =
      (l.x[0] >> l.level) + n[0] * ((l.x[1] >> l.level) + static_cast<std::size_t>(n[1]) * (l.x[2] >> l.level));
  const std::int32_t rank = tree_rank_[tree];
  const auto begin = keys_.begin() + tree_begin_[rank], end = keys_.begin() + tree_begin_[rank + 1];
  return static_cast<int>(std::upper_bound(begin, end, key_of(l).inside) - keys_.begin()) - 1;
}

slot_id block_mesh::find(const location& l) const {
  const slot_id slot = find_covering(l);
  return slot != no_slot && where(slot) == l ? slot : no_slot;
}

slot_id block_mesh::find_covering(const location& l) const {
  if (!inside(domain_, l)) return no_slot;
  const slot_id slot = curve_[candidate(l)];
  return level(slot) <= l.level ? slot : no_slot;
}

std::array<double, 3> block_mesh::lower(slot_id slot) const {
  const location& l = where(slot);
  const auto edge = [&](int a) { return domain_.coordinate(a, l.level, std::int64_t{2} * l.x[a] * block_size()); };
  return {edge(0), edge(1), edge(2)};
}

double block_mesh::centre(slot_id slot, int axis, int i) const {
  const location& l = where(slot);
  return domain_.coordinate(axis, l.level, 2 * (std::int64_t{l.x[axis]} * block_size() + i) + 1);
}

std::span<const slot_id> block_mesh::touching(slot_id slot) const {
  const block& b = blocks_[slot];
  return std::span(touching_).subspan(b.touching_begin, b.touching_end - b.touching_begin);
}

std::span<const coarse_box> block_mesh::coarse_boxes(slot_id slot, bool faces_only) const {
  return box_lists_[blocks_[slot].boxes[faces_only ? 1 : 0]].boxes;
}

// ---- the table of neighbours

namespace {

// Moves to the neighbouring location; false if that is outside the domain.
bool step(const domain& d, location& l, const std::array<int, 3>& dir) {
  for (int a = 0; a < 3; ++a) {
    const auto n = static_cast<std::int32_t>(d.blocks_along(a, l.level));
    l.x[a] += dir[a];
    if (l.x[a] >= 0 && l.x[a] < n) continue;
    if (!d.is_periodic(a)) return false;
    l.x[a] = l.x[a] < 0 ? n - 1 : 0;  // a step is one block long; a sum of two positions could overflow
  }
  return true;
}

// Children of the location in direction `dir` that touch the block from which the direction is taken: at its near side
// along the axes of the direction, at either half along the others. Returns how many; the first `count` of `children`
// are set.
int touching_children(const std::array<int, 3>& dir, std::array<int, 4>& children) {
  children[0] = (dir[0] < 0 ? 1 : 0) | (dir[1] < 0 ? 2 : 0) | (dir[2] < 0 ? 4 : 0);
  int count = 1;
  for (int a = 0; a < 3; ++a) {
    if (dir[a] != 0 || count > 2) continue;
    for (int c = 0; c < count; ++c) children[count + c] = children[c] | 1 << a;
    count *= 2;
  }
  return count;
}

}  // namespace

result<neighbour> block_mesh::look(const location& from, int direction) const {
  const auto dir = direction_of(direction);
  location l = from;
  if (!step(domain_, l, dir)) return neighbour{};
  const slot_id found = curve_[candidate(l)];
  if (level(found) == l.level) return neighbour{relation::same, 1, {found, no_slot, no_slot, no_slot}};
  const auto unbalanced = [&] {
    return error{fmt::format("the mesh is not 2:1 balanced at level {} ({}, {}, {})", from.level, from.x[0], from.x[1],
                             from.x[2])};
  };
  if (level(found) < l.level) {
    if (level(found) < l.level - 1) return unbalanced();
    return neighbour{relation::coarser, 1, {found, no_slot, no_slot, no_slot}};
  }
  neighbour result{relation::finer, 0, {no_slot, no_slot, no_slot, no_slot}};
  std::array<int, 4> children{};
  result.count = static_cast<std::uint8_t>(touching_children(dir, children));
  for (int c = 0; c < result.count; ++c) {
    result.slots[c] = find(child_of(l, children[c]));
    if (result.slots[c] == no_slot) return unbalanced();
  }
  return result;
}

result<void> block_mesh::link(const block_mesh* previous) {
  touching_.clear();
  box_lists_.clear();
  // By slot: is it a block of both meshes? One small table, because each block is a neighbour of many.
  std::vector<std::uint8_t> kept(slot_count(), 0);
  if (previous != nullptr) {
    box_lists_ = previous->box_lists_;
    touching_.reserve(previous->touching_.size());
    for (const slot_id slot : curve_)
      kept[slot] = previous->is_live(slot) && previous->where(slot) == where(slot) ? 1 : 0;
  }
  for (const slot_id slot : curve_) {
    if (previous != nullptr && take_over(slot, *previous, kept)) continue;
    if (auto r = link(slot); !r) return r.error();
  }
  return {};
}

// The neighbours of a block are unchanged if all blocks among them still exist.
bool block_mesh::take_over(slot_id slot, const block_mesh& previous, std::span<const std::uint8_t> kept) {
  const auto is_kept = [&](slot_id s) { return static_cast<std::size_t>(s) < kept.size() && kept[s] != 0; };
  if (!is_kept(slot)) return false;
  const auto around = previous.touching(slot);
  if (!std::all_of(around.begin(), around.end(), is_kept)) return false;
  block& b = blocks_[slot];
  const int position = b.position;
  b = previous.blocks_[slot];
  b.position = position;
  b.touching_begin = static_cast<std::uint32_t>(touching_.size());
  touching_.insert(touching_.end(), around.begin(), around.end());
  b.touching_end = static_cast<std::uint32_t>(touching_.size());
  return true;
}

result<void> block_mesh::link(slot_id slot) {
  block& b = blocks_[slot];
  b.masks = {};
  for (int d = 0; d < direction_count; ++d) {
    if (d == self_direction) {
      b.around[d] = {relation::same, 1, {slot, no_slot, no_slot, no_slot}};
    } else {
      auto found = look(b.where, d);
      if (!found) return found.error();
      b.around[d] = found.value();
    }
    b.masks[static_cast<int>(b.around[d].kind)] |= 1u << d;
  }
  count_faces(b);
  list_touching(b);
  const std::uint32_t coarser = b.masks[static_cast<int>(relation::coarser)];
  b.boxes = {boxes_for(coarser), boxes_for(coarser & face_directions())};
  for (const coarse_box& box : box_lists_[b.boxes[0]].boxes)
    PLX_ASSERT(b.around[box.direction].kind != relation::finer, slot, box.direction);
  return {};
}

// The curve completes a location before it leaves it: eight blocks of one level in a row are a family if the first one
// is the first child of its parent.
void block_mesh::list_loose_families() {
  loose_families_.clear();
  for (std::size_t p = 0; p + 8 <= curve_.size(); ++p) {
    const location& first = where(curve_[p]);
    if (first.level == 0 || ((first.x[0] | first.x[1] | first.x[2]) & 1) != 0) continue;
    const auto family = std::span(curve_).subspan(p, 8);
    if (std::all_of(family.begin(), family.end(),
                    [&](slot_id s) { return level(s) == first.level && directions_with(s, relation::finer) == 0; }))
      loose_families_.push_back(static_cast<std::int32_t>(p));
  }
}

void block_mesh::count_faces(block& b) {
  for (int f = 0; f < face_count; ++f) {
    const neighbour& n = b.around[face_direction(f)];
    if (n.kind == relation::finer) ++b.finer_faces;
    if (n.kind != relation::coarser) continue;
    PLX_ASSERT_LT(b.coarser_face_count, 3);
    b.coarser_faces[b.coarser_face_count++] = {f, n.slots[0]};
  }
}

void block_mesh::list_touching(block& b) {
  b.touching_begin = static_cast<std::uint32_t>(touching_.size());
  for (const neighbour& n : b.around)
    for (int i = 0; i < n.count; ++i)
      if (n.slots[i] != curve_[b.position]) touching_.push_back(n.slots[i]);
  const auto begin = touching_.begin() + b.touching_begin;
  std::sort(begin, touching_.end());
  touching_.erase(std::unique(begin, touching_.end()), touching_.end());
  b.touching_end = static_cast<std::uint32_t>(touching_.size());
}

namespace {

struct range {
  int lo, hi;
};

// Coarse cells under the ghost cells in a direction along one axis, and the region of a direction along it.
range ghosts_under(int dir, int half) {
  return dir < 0 ? range{-(ghosts + 1) / 2, 0} : dir > 0 ? range{half, half + (ghosts + 1) / 2} : range{0, half};
}
range region(int dir, int half) {
  return dir < 0 ? range{-ghosts, 0} : dir > 0 ? range{half, half + ghosts} : range{0, half};
}

// Extends `box` (in region e) by the cells of the stencil of `target` (under direction t) that are in e: its own cells
// and those one step along one axis.
void add_stencil(coarse_box& box, const std::array<int, 3>& e, const std::array<int, 3>& t, int half) {
  for (int grown = -1; grown < 3; ++grown) {
    std::array<range, 3> part{};
    bool empty = false;
    for (int a = 0; a < 3; ++a) {
      const range target = ghosts_under(t[a], half), own = region(e[a], half);
      const int more = a == grown ? 1 : 0;
      part[a] = {std::max(target.lo - more, own.lo), std::min(target.hi + more, own.hi)};
      empty = empty || part[a].lo >= part[a].hi;
    }
    if (empty) continue;
    const bool first = box.hi[0] == box.lo[0];
    for (int a = 0; a < 3; ++a) {
      box.lo[a] = static_cast<std::int8_t>(first ? part[a].lo : std::min<int>(box.lo[a], part[a].lo));
      box.hi[a] = static_cast<std::int8_t>(first ? part[a].hi : std::max<int>(box.hi[a], part[a].hi));
    }
  }
}

}  // namespace

// The coarse tile is filled in the coarser regions and, for slopes, one cell around their ghost cells. Those cells are
// in regions of the same or the coarser level, or outside the domain: a finer one would touch the coarser block and
// violate the 2:1 balance.
std::uint16_t block_mesh::boxes_for(std::uint32_t coarser) {
  const auto known =
      std::find_if(box_lists_.begin(), box_lists_.end(), [&](const box_list& l) { return l.coarser == coarser; });
  if (known != box_lists_.end()) return static_cast<std::uint16_t>(known - box_lists_.begin());
  box_list list{coarser, {}};
  const int half = block_size() / 2;
  for (int e = 0; e < direction_count; ++e) {
    coarse_box box{static_cast<std::uint8_t>(e), {}, {}};
    for (int t = 0; t < direction_count; ++t)
      if (coarser >> t & 1) add_stencil(box, direction_of(e), direction_of(t), half);
    if (box.hi[0] != box.lo[0]) list.boxes.push_back(box);
  }
  box_lists_.push_back(std::move(list));
  return static_cast<std::uint16_t>(box_lists_.size() - 1);
}

curve_parts::curve_parts(std::span<const std::int32_t> owner, int parts) {
  PLX_ASSERT(parts >= 1 && std::is_sorted(owner.begin(), owner.end()), parts);
  PLX_ASSERT(owner.empty() || (owner.front() >= 0 && owner.back() < parts), parts);
  for (int part = 0; part <= parts; ++part)
    begin_.push_back(static_cast<std::int32_t>(std::lower_bound(owner.begin(), owner.end(), part) - owner.begin()));
}

int curve_parts::part_of(int position) const {
  PLX_ASSERT(position >= 0 && position < begin_.back(), position, begin_.back());
  // The last part that begins at or before it: empty ones before it begin at the same position.
  return static_cast<int>(std::upper_bound(begin_.begin(), begin_.end(), position) - begin_.begin()) - 1;
}

std::vector<std::int32_t> cut_curve(std::span<const double> cost_s, int parts) {
  PLX_ASSERT(parts >= 1, parts);
  const auto blocks = static_cast<std::int32_t>(cost_s.size());
  double total = 0.0;
  for (const double c : cost_s) {
    PLX_ASSERT(c >= 0.0, c);
    total += c;
  }
  std::vector<std::int32_t> owner(cost_s.size());
  double before = 0.0;
  for (std::int32_t p = 0; p < blocks; ++p) {
    const double middle = total > 0.0 ? (before + 0.5 * cost_s[p]) / total : (p + 0.5) / blocks;
    owner[p] = std::min(static_cast<std::int32_t>(middle * parts), parts - 1);
    before += cost_s[p];
  }
  // Keeps a block for each part: part q begins at block q or later and leaves at least parts - 1 - q blocks after it.
  for (std::int32_t p = 0; p < blocks; ++p) {
    const std::int32_t last = p > 0 ? owner[p - 1] : -1;
    const std::int32_t least = std::max(last, parts - (blocks - p));
    owner[p] = std::clamp(owner[p], std::max(least, 0), std::max(last + 1, 0));
  }
  return owner;
}

}  // namespace plx::mesh
