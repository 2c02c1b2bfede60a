#include "mesh/tree/block_mesh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/assert.hpp"

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
  for (const slot_id s : curve_) copy.blocks_[s].coarsen_votes = votes[s];
  return copy;
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
    b.coarsen_votes = l.coarsen_votes;
    deepest_ = std::max(deepest_, l.where.level);
    curve_.push_back(l.slot);
    keys_.push_back(key_of(l.where).inside);
  }
  build_roots();
  return link(previous);
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

}  // namespace plx::mesh
