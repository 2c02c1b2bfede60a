#include "star/step/portable_pass.hpp"

#include <algorithm>
#include <utility>

#include "mesh/field/arena.hpp"
#include "step/border.hpp"
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

host_pass_data::host_pass_data() = default;
host_pass_data::~host_pass_data() = default;

step::node_values& host_pass_data::field(int index, int doubles) {
  if (static_cast<std::size_t>(index) == fields_.size())
    fields_.push_back(std::make_unique<step::node_values>(static_cast<std::size_t>(doubles)));
  return *fields_[static_cast<std::size_t>(index)];
}

void host_pass_data::adopt(const step::node_graph& nodes, std::vector<step::node_rows> rows,
                           const std::vector<std::vector<double>>& tables) {
  arrays_.emplace(nodes);
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    step::node_values& field = *fields_[f];
    field.resize(std::move(rows[f]));
    view_.fields[f] = {field.data(), field.rows().of.data(), static_cast<std::int32_t>(field.per_node())};
  }
  for (std::size_t t = 0; t < tables.size(); ++t) view_.tables[t] = tables[t].data();
  view_.n = nodes.mesh().block_size();
  view_.nodes.lower = arrays_->lower.data();
  view_.nodes.width = arrays_->width.data();
  view_.nodes.children = arrays_->children.data();
  view_.nodes.parent = arrays_->parent.data();
  view_.nodes.around = arrays_->around.data();
  view_.nodes.first_refined = arrays_->first_refined;
}

void host_pass_data::set_places(mesh::arena& start, mesh::arena& a, mesh::arena& b) {
  mesh::arena* const all[] = {&start, &a, &b};
  view_.n_var = start.variable_count();
  for (int p = 0; p < 3; ++p) {
    std::vector<std::int64_t>& values = values_[p];
    values.assign(all[p]->slots(), -1);
    for (std::size_t s = 0; s < values.size(); ++s)
      if (const auto slot = static_cast<mesh::slot_id>(s); all[p]->holds(slot))
        values[s] = static_cast<std::int64_t>(all[p]->row(slot) * all[p]->stride());
    view_.nodes.values[p] = values.data();
    view_.places[p] = all[p]->base();
  }
}

}  // namespace plx::star
