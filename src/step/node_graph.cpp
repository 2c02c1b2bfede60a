#include "step/node_graph.hpp"

#include <numeric>

#include "base/assert.hpp"

namespace plx::step {

node_graph::node_graph(const mesh::block_mesh& mesh, const mesh::curve_parts& parts, int here, bool with_tree)
    : mesh_(mesh), parts_(parts), here_(here), with_tree_(with_tree) {
  if (with_tree) tree_ = mesh::tree(mesh);
  move_to(here);
  itself_.resize(node_count());
  std::iota(itself_.begin(), itself_.end(), 0);
  list_faces();
}

void node_graph::move_to(int here) {
  here_ = here;
  const auto own = parts_.blocks(mesh_, here);
  local_.assign(own.begin(), own.end());
  for (std::size_t i = 0; with_tree_ && i < tree_.refined_count(); ++i)
    if (is_local(tree_.refined(i))) local_.push_back(tree_.refined(i));
}

void node_graph::list_faces() {
  const std::size_t slots = mesh_.slot_count();
  finer_.begin.assign(slots + 1, 0);
  coarser_.begin.assign(slots + 1, 0);
  for (std::size_t s = 0; s < slots; ++s) {
    const auto slot = static_cast<node_id>(s);
    if (mesh_.is_live(slot)) {
      for (int f = 0; f < mesh::face_count; ++f)
        if (const mesh::neighbour& across = mesh_.across(slot, f); across.kind == mesh::relation::finer)
          finer_.nodes.insert(finer_.nodes.end(), across.slots.begin(), across.slots.begin() + across.count);
      for (const mesh::face_neighbour& c : mesh_.coarser_face_neighbours(slot)) coarser_.nodes.push_back(c.slot);
    }
    finer_.begin[s + 1] = static_cast<std::uint32_t>(finer_.nodes.size());
    coarser_.begin[s + 1] = static_cast<std::uint32_t>(coarser_.nodes.size());
  }
}

bool node_graph::contains(node_set set, node_id node) const {
  switch (set) {
    case node_set::blocks:
      return is_block(node);
    case node_set::beside_finer:
      return is_block(node) && mesh_.finer_face_count(node) > 0;
    case node_set::refined:
      return !is_block(node);
    case node_set::blocks_and_refined:
      return true;
  }
  return false;
}

std::span<const node_id> node_graph::read_by(stencil at, node_id node) const {
  switch (at) {
    case stencil::own:
      return {&itself_[static_cast<std::size_t>(node)], 1};
    case stencil::neighbours:
      return is_block(node) ? mesh_.touching(node) : std::span<const node_id>{};
    case stencil::finer_faces:
      return is_block(node) ? finer_.of(node) : std::span<const node_id>{};
    case stencil::children:
      return is_block(node) ? std::span<const node_id>{} : tree_.child_list(node);
    case stencil::parent:
      return tree_.parents(node);
    case stencil::level_neighbours:
      return tree_.level_neighbours(node);
  }
  return {};
}

node_rows node_graph::rows(node_set set, std::span<const stencil> read_at) const {
  node_rows all{std::vector<std::int32_t>(node_count(), -1), 0};
  const auto add = [&](node_id node) {
    if (std::int32_t& row = all.of[static_cast<std::size_t>(node)]; row < 0 && contains(set, node)) row = all.count++;
  };
  for (const node_id node : local_) add(node);
  for (const stencil at : read_at)
    for (const node_id node : local_)
      for (const node_id from : read_by(at, node)) add(from);
  return all;
}

std::span<const node_id> node_graph::readers_of(stencil at, node_id node) const {
  switch (at) {
    case stencil::finer_faces:
      return is_block(node) ? coarser_.of(node) : std::span<const node_id>{};
    case stencil::children:
      return read_by(stencil::parent, node);
    case stencil::parent:
      return read_by(stencil::children, node);
    default:
      return read_by(at, node);
  }
}

}  // namespace plx::step
