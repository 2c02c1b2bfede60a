#include "star/runners/host_pass_data.hpp"

namespace plx::star {

int host_pass_data::add_field(int doubles) {
  fields_.push_back(std::make_unique<step::node_values>(static_cast<std::size_t>(doubles)));
  return static_cast<int>(fields_.size() - 1);
}

void host_pass_data::adopt(const step::node_graph& nodes) {
  arrays_.emplace(nodes);
  for (auto& f : fields_) f->resize(nodes.node_count());
  view_.n = nodes.mesh().block_size();
  view_.nodes.lower = arrays_->lower.data();
  view_.nodes.width = arrays_->width.data();
  view_.nodes.children = arrays_->children.data();
  view_.nodes.parent = arrays_->parent.data();
  view_.nodes.first_refined = arrays_->first_refined;
  for (std::size_t f = 0; f < fields_.size(); ++f) view_.fields[f] = fields_[f]->at(0);
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

pass_view host_pass_data::view() const { return view_; }

}  // namespace plx::star
