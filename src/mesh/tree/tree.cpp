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

}  // namespace

// Level by level, from the deepest: along the curve the eight children of a node are next to each other.
tree::tree(const block_mesh& mesh) : slots_(mesh.slot_count()), parent_(mesh.slot_count(), no_slot) {
  std::vector<std::vector<entry>> blocks(static_cast<std::size_t>(mesh.deepest()) + 1);
  for (const slot_id slot : mesh.blocks())
    blocks[static_cast<std::size_t>(mesh.level(slot))].push_back({mesh.position(slot), slot, mesh.where(slot)});
  std::vector<entry> made;
  for (std::size_t level = blocks.size(); level-- > 1;) {
    std::vector<entry> here;
    std::merge(blocks[level].begin(), blocks[level].end(), made.begin(), made.end(), std::back_inserter(here),
               [](const entry& a, const entry& b) { return a.position < b.position; });
    made.clear();
    PLX_ASSERT_EQ(here.size() % 8, 0u);
    for (std::size_t i = 0; i < here.size(); i += 8) {
      refined_node n{parent_of(here[i].where), here[i].position, {}};
      const node_id id = refined(refined_.size());
      for (std::size_t c = i; c < i + 8; ++c) {
        PLX_ASSERT(parent_of(here[c].where) == n.where);
        n.children[static_cast<std::size_t>(child_index(here[c].where))] = here[c].node;
        parent_[static_cast<std::size_t>(here[c].node)] = id;
      }
      made.push_back({n.position, id, n.where});
      refined_.push_back(n);
      parent_.push_back(no_slot);
    }
  }
}

}  // namespace plx::mesh
