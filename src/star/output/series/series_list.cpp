#include "star/output/series/series_list.hpp"

#include <cmath>

#include "mesh/files/checkpoint.hpp"

namespace plx::star {

const char* output_series::ending() const {
  return options.kind == "mesh" ? ".athdf" : options.kind == "profile" || options.kind == "tracers" ? ".csv" : ".h5";
}

series_list::series_list(const std::vector<series_options>& all, int n_species, double time_unit) {
  for (const series_options& s : all) {
    output_series& one = all_.emplace_back();
    one.options = s;
    one.interval = s.every_time * time_unit;
    one.variables = find_variables(s.variables, n_species).value();
  }
}

std::vector<std::size_t> series_list::due(double before, double time, std::int64_t step) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const series_options& o = all_[i].options;
    const double interval = all_[i].interval;
    const bool by_time = interval > 0.0 && std::floor(time / interval) > std::floor(before / interval);
    if (by_time || (o.every_steps > 0 && step % o.every_steps == 0)) found.push_back(i);
  }
  return found;
}

std::vector<std::size_t> series_list::due_by_wall_time(double wall_s) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const double interval = all_[i].options.every_wall_s;
    if (interval > 0.0 && wall_s - all_[i].wall_s >= interval) found.push_back(i);
  }
  return found;
}

namespace {

std::string list_of(const output_series& s) { return "series." + s.options.name; }

}  // namespace

void series_list::append_to(std::vector<std::pair<std::string, std::vector<double>>>& numbers) const {
  for (const output_series& s : all_)
    numbers.push_back({list_of(s), {static_cast<double>(s.next), static_cast<double>(s.step)}});
}

void series_list::restore(const mesh::checkpoint_state& state, bool in_place, double wall_s) {
  for (output_series& s : all_) {
    s.wall_s = wall_s;
    const std::vector<double>* list = state.find(list_of(s));
    if (list == nullptr || list->size() != 2) continue;
    s.next = static_cast<std::int64_t>(list->at(0));
    if (in_place) s.step = static_cast<std::int64_t>(list->at(1));
  }
}

}  // namespace plx::star
