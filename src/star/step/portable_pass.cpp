#include "star/step/portable_pass.hpp"

#include <algorithm>

#include "step/node_graph.hpp"

namespace plx::star {

node_arrays::node_arrays(const step::node_graph& nodes) {
  const mesh::block_mesh& m = nodes.mesh();
  const std::size_t count = nodes.node_count(), slots = m.slot_count();
  lower.assign(3 * count, 0.0);
  width.assign(count, 0.0);
  first_refined = static_cast<std::int32_t>(slots);
  if (nodes.has_tree()) {
    parent.assign(count, -1);
    around.reserve(27 * count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto all = nodes.tree().around(static_cast<step::node_id>(i));
      around.insert(around.end(), all.begin(), all.end());
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto node = static_cast<step::node_id>(i);
    if (i < slots && !m.is_live(node)) continue;
    const mesh::location& l = i < slots ? m.where(node) : nodes.tree().where(node);
    width[i] = m.box().cell_width(l.level);
    // A coarse node begins where its first root block does.
    const int level = std::max(l.level, 0), up = std::max(-l.level, 0);
    for (std::size_t a = 0; a < 3; ++a)
      lower[3 * i + a] =
          m.box().coordinate(static_cast<int>(a), level, (2 * std::int64_t{l.x[a]} << up) * m.block_size());
    if (!nodes.has_tree()) continue;
    parent[i] = nodes.tree().parent(node);
    if (i >= slots)
      children.insert(children.end(), nodes.tree().children(node).begin(), nodes.tree().children(node).end());
  }
}

}  // namespace plx::star
