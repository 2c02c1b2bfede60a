#include "star/hydro/species.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/assert.hpp"
#include "base/config.hpp"

namespace plx::star {

species_list species_list::numbered(int count) {
  species_list all;
  for (int s = 0; s < count; ++s) all.names.push_back(fmt::format("species_{}", s));
  return all;
}

double species_list::mean_weight(const double* fraction) const {
  PLX_ASSERT(!weights.empty());
  double particles = 0.0;  // per atomic mass
  for (std::size_t s = 0; s < weights.size(); ++s) particles += fraction[s] / weights[s];
  return 1.0 / particles;
}

void species_options::describe(config_table& table) {
  table.section("species", "Species");
  table.add("species.names", names,
            {.help = "in files and tables, one per species of the problem; none: species_0, species_1, ..."});
  table.add(
      "species.weights", weights,
      {.unit = "1",
       .help = "atomic masses per particle, one per species: 4/3 for ionized helium; temperatures are then those of "
               "the mixture in each cell, in place of eos.molecular_weight; requires [units]"});
}

namespace {

bool is_name(const std::string& name) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.front() >= 'a' && name.front() <= 'z' && std::all_of(name.begin(), name.end(), fits);
}

}  // namespace

result<species_list> species_options::make(int count) const {
  const auto n = static_cast<std::size_t>(count);
  const auto wrong_number = [n](const char* key, std::size_t found) {
    return error{fmt::format("{}: expected {}, one per species of the problem, found {}", key,
                             n == 0 ? std::string("none") : fmt::format("{}", n), found)};
  };
  if (!names.empty() && names.size() != n) return wrong_number("species.names", names.size());
  if (!weights.empty() && weights.size() != n) return wrong_number("species.weights", weights.size());
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (!is_name(*name))
      return error{
          fmt::format("species.names: expected lower-case letters, digits and _, a letter first, found '{}'", *name)};
    if (std::count(names.begin(), name, *name) > 0)
      return error{fmt::format("species.names: expected each name once, found '{}' twice", *name)};
  }
  for (const double w : weights)
    if (!(w > 0.0 && std::isfinite(w)))
      return error{fmt::format("species.weights: expected numbers above 0, found {:g}", w)};
  species_list all = species_list::numbered(count);
  if (!names.empty()) all.names = names;
  all.weights = weights;
  return all;
}

}  // namespace plx::star
