#include "star/runners/host_pass_data.hpp"

#include <utility>

#include "step/node_graph.hpp"

namespace plx::star {

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
