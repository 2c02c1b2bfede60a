#include "mesh/tree/tree.hpp"

#include <algorithm>
#include <iterator>

#include "base/assert.hpp"

namespace plx::mesh {

namespace {

// A node of the level at work.
struct entry {
  int position = 0;  // of its first block
  node_id node = no_slot;
  location where;
};

constexpr std::array<node_id, direction_count> nothing_around() {
  std::array<node_id, direction_count> all{};
  all.fill(no_slot);
  return all;
}

// The neighbour of child `which` in a direction: it is child `inside` of the node in direction `over` from the parent.
struct neighbour_place {
  std::uint8_t over = 0, inside = 0;
};
using neighbour_places = std::array<std::array<neighbour_place, direction_count>, 8>;

constexpr neighbour_places make_neighbour_places() {
  neighbour_places all{};
  for (std::size_t which = 0; which < 8; ++which)
    for (int d = 0; d < direction_count; ++d) {
      int over = self_direction, inside = 0;
      for (int a = 0, stride = 1; a < 3; ++a, stride *= 3) {
        const int x = static_cast<int>(which >> a & 1) + direction_of(d)[static_cast<std::size_t>(a)];
        over += x < 0 ? -stride : x > 1 ? stride : 0;
        inside |= (x & 1) << a;
      }
      all[which][static_cast<std::size_t>(d)] = {static_cast<std::uint8_t>(over), static_cast<std::uint8_t>(inside)};
    }
  return all;
}

}  // namespace

int top_level(const domain& d) {
  const std::int64_t cells = std::int64_t{*std::max_element(d.root_blocks.begin(), d.root_blocks.end())} * d.block_size;
  int k = 0;
  while (cells > std::int64_t{4} << k) ++k;
  return -k;
}

// Level by level, from the deepest: the curve is a Morton curve over root blocks and inside each of them, so the
// children of a node are next to each other on it.
tree::tree(const block_mesh& mesh) : slots_(mesh.slot_count()), parent_(mesh.slot_count(), no_slot) {
  std::vector<std::vector<entry>> blocks(static_cast<std::size_t>(mesh.deepest()) + 1);
  for (const slot_id slot : mesh.blocks())
    blocks[static_cast<std::size_t>(mesh.level(slot))].push_back({mesh.position(slot), slot, mesh.where(slot)});
  std::vector<entry> made;
  for (int level = mesh.deepest(); level > top_level(mesh.box()); --level) {
    std::vector<entry> here = std::move(made);
    if (level >= 0) {
      const std::vector<entry> refined = std::move(here);
      const std::vector<entry>& leaves = blocks[static_cast<std::size_t>(level)];
      here.clear();
      std::merge(leaves.begin(), leaves.end(), refined.begin(), refined.end(), std::back_inserter(here),
                 [](const entry& a, const entry& b) { return a.position < b.position; });
    }
    made.clear();
    for (std::size_t i = 0; i < here.size();) {
      refined_node n;
      n.where = parent_of(here[i].where);
      n.position = here[i].position;
      const node_id id = refined(refined_.size());
      for (; i < here.size() && parent_of(here[i].where) == n.where; ++i) {
        n.children[static_cast<std::size_t>(child_index(here[i].where))] = here[i].node;
        n.list[static_cast<std::size_t>(n.count++)] = here[i].node;
        parent_[static_cast<std::size_t>(here[i].node)] = id;
      }
      PLX_ASSERT(n.count == 8 || level <= 0, level, n.count);
      made.push_back({n.position, id, n.where});
      refined_.push_back(n);
      parent_.push_back(no_slot);
    }
  }
  PLX_ASSERT_EQ(made.size(), 1u);
  around_.assign(node_count(), nothing_around());
  for (int level = coarsest(); level <= 0; ++level) link_grid(mesh, level);
  link_finer();
  list_neighbours(mesh.box().is_periodic(0) || mesh.box().is_periodic(1) || mesh.box().is_periodic(2));
}

// A level that covers the whole domain: a grid of nodes.
void tree::link_grid(const block_mesh& mesh, int level) {
  const domain& d = mesh.box();
  std::array<int, 3> count{};
  for (int a = 0; a < 3; ++a) count[a] = ((d.root_blocks[a] - 1) >> -level) + 1;
  std::vector<node_id> grid(static_cast<std::size_t>(count[0]) * static_cast<std::size_t>(count[1] * count[2]),
                            no_slot);
  const auto at = [&](const std::array<std::int32_t, 3>& x) -> node_id& {
    return grid[static_cast<std::size_t>((std::ptrdiff_t{x[2]} * count[1] + x[1]) * count[0] + x[0])];
  };
  std::vector<entry> nodes;
  for (std::size_t i = 0; i < refined_.size(); ++i)
    if (refined_[i].where.level == level) nodes.push_back({0, refined(i), refined_[i].where});
  if (level == 0)
    for (const slot_id slot : mesh.blocks())
      if (mesh.level(slot) == 0) nodes.push_back({0, slot, mesh.where(slot)});
  for (const entry& n : nodes) at(n.where.x) = n.node;
  for (const entry& n : nodes)
    for (int direction = 0; direction < direction_count; ++direction) {
      std::array<std::int32_t, 3> x = n.where.x;
      bool exists = true;
      for (int a = 0; a < 3; ++a) {
        x[a] += direction_of(direction)[static_cast<std::size_t>(a)];
        if (x[a] >= 0 && x[a] < count[a]) continue;
        // The period is `count` nodes, or 1/2, 1/4, ... of one: then the node is a whole number of periods wide.
        exists = exists && d.is_periodic(a) &&
                 (d.root_blocks[a] == count[a] << -level || (1 << -level) % d.root_blocks[a] == 0);
        x[a] = (x[a] + count[a]) % count[a];
      }
      if (exists) around_[static_cast<std::size_t>(n.node)][static_cast<std::size_t>(direction)] = at(x);
    }
}

// From the root grid down: a neighbour of a node is one of its siblings, or a child of a neighbour of its parent.
void tree::link_finer() {
  static constexpr neighbour_places places = make_neighbour_places();
  for (std::size_t i = refined_.size(); i-- > 0;) {
    if (refined_[i].where.level < 0) continue;
    // The children of the nodes around; of none, no_slot.
    std::array<const std::array<node_id, 8>*, direction_count> families{};
    static constexpr std::array<node_id, 8> none{no_slot, no_slot, no_slot, no_slot,
                                                 no_slot, no_slot, no_slot, no_slot};
    for (std::size_t d = 0; d < families.size(); ++d) {
      const node_id beside = around_[slots_ + i][d];
      families[d] = beside != no_slot && is_refined(beside) ? &children(beside) : &none;
    }
    for (std::size_t which = 0; which < 8; ++which) {
      const node_id child = refined_[i].children[which];
      if (child == no_slot) continue;
      std::array<node_id, direction_count>& to = around_[static_cast<std::size_t>(child)];
      for (std::size_t d = 0; d < to.size(); ++d) to[d] = (*families[places[which][d].over])[places[which][d].inside];
    }
  }
}

// Only through periodic boundaries is a node around another one in several directions.
void tree::list_neighbours(bool periodic) {
  std::size_t links = 0;
  for (const auto& all : around_)
    links += static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](node_id n) { return n != no_slot; }));
  level_neighbours_.reserve(links);
  first_neighbour_.reserve(node_count() + 1);
  for (const auto& all : around_) {
    const auto first = static_cast<std::ptrdiff_t>(level_neighbours_.size());
    first_neighbour_.push_back(static_cast<std::uint32_t>(first));
    for (const node_id n : all) {
      const bool is_known = periodic && std::find(level_neighbours_.begin() + first, level_neighbours_.end(), n) !=
                                            level_neighbours_.end();
      if (n != all[self_direction] && n != no_slot && !is_known) level_neighbours_.push_back(n);
    }
  }
  first_neighbour_.push_back(static_cast<std::uint32_t>(level_neighbours_.size()));
}

}  // namespace plx::mesh
