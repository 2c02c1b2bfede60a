#include "star/output/series/series_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/config.hpp"
#include "mesh/files/checkpoint.hpp"
#include "mesh/tree/domain.hpp"
#include "star/output/series/variables.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {

void series_options::describe(config_table& t) {
  const std::string key = "output.series.";
  t.add(key + "name", name, {.help = "of the files series/NAME.00000.*; by default the kind and a number"});
  t.add(key + "kind", kind,
        {.help = "mesh: all cells; slice: the cells that a plane cuts; projection: integrals or means along an axis; "
                 "profile: means over spherical shells; tracers: a row for each of tracers.number",
         .choices = {"mesh", "slice", "projection", "profile", "tracers"}});
  std::string names;
  for (const output_variable& v : all_variables()) names += (names.empty() ? "" : ", ") + v.name;
  t.add(key + "variables", variables, {.help = "among " + names + ", species_N or the name of a species"});
  t.add(
      key + "every_time", every_time,
      {.unit = "run.time_unit", .help = "between files; the first step that reaches a multiple writes one", .min = 0});
  t.add(key + "every_steps", every_steps, {.unit = "steps", .help = "between files, instead of every_time", .min = 0});
  t.add(key + "every_wall_s", every_wall_s,
        {.unit = "s", .help = "wall time between files, instead of every_time", .min = 0});
  t.add(key + "precision", precision, {.help = "of the values in HDF5 files", .choices = {"single", "double"}});
  t.add(key + "axis", axis,
        {.help = "normal of a slice, or line of sight of a projection", .choices = {"x", "y", "z"}});
  t.add(key + "position", position,
        {.unit = "code", .help = "of a slice along its axis, or middle of the box", .takes_number = true});
  t.add(key + "level", level,
        {.help = "level of the pixels of a slice or projection, which are averages of finer cells; -1: the finest "
                 "present",
         .min = -1,
         .max = mesh::deepest_level});
  t.add(key + "weight", weight,
        {.help = "projection: none (default), the integral along the axis, or mass, the mean weighted by density; "
                 "profile: mass (default) or volume",
         .choices = {"default", "none", "mass", "volume"}});
  t.add(key + "centre", centre, {.unit = "code", .help = "of the shells of a profile"});
  t.add(key + "bins", bins, {.help = "number of shells of a profile", .min = 1, .max = 4096});
  t.add(key + "radii", radii,
        {.unit = "code",
         .help = "inner and outer radius of a profile; 0, 0: to the farthest corner of the box",
         .min = 0});
  t.add(key + "spacing", spacing, {.help = "of the shells of a profile", .choices = {"linear", "log"}});
}

namespace {

std::optional<double> number_in(const std::string& text) {
  double value = 0.0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

double series_options::position_in(const mesh::domain& box) const {
  const auto a = static_cast<std::size_t>(axis_index());
  return number_in(position).value_or(0.5 * (box.lower[a] + box.upper[a]));
}

std::vector<double> series_options::edges_in(const mesh::domain& box) const {
  double lower = radii[0], upper = radii[1];
  if (upper == 0.0) {
    double far2 = 0.0;
    for (std::size_t a = 0; a < 3; ++a) {
      const double far = std::max(std::abs(box.lower[a] - centre[a]), std::abs(box.upper[a] - centre[a]));
      far2 += far * far;
    }
    upper = std::sqrt(far2);
  }
  std::vector<double> edges;
  for (std::int64_t i = 0; i <= bins; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(bins);
    edges.push_back(spacing == "log" ? lower * std::pow(upper / lower, part) : lower + (upper - lower) * part);
  }
  edges.back() = upper;
  return edges;
}

namespace {

/// Checks one series; the messages of its functions do not contain its name.
class checker {
 public:
  checker(const series_options& s, const mesh::domain& box, const species_list& species)
      : s_(s), box_(box), species_(species) {}

  result<void> all(double t_end) const {
    if (!is_identifier(s_.name))
      return error{"expected a name of lower-case letters, digits and _, which begins with a letter"};
    if (s_.variables.empty()) return error{"variables: expected at least one, found none"};
    for (auto v = s_.variables.begin(); v != s_.variables.end(); ++v)
      if (std::find(s_.variables.begin(), v, *v) != v)
        return error{fmt::format("variables: expected each once, found '{}' twice", *v)};
    if (auto known = find_variables(s_.variables, species_); !known) return known.error();
    for (const auto& part : {cadence(t_end), only_where_used(), pixels(), shells()})
      if (!part) return part;
    return {};
  }

 private:
  result<void> cadence(double t_end) const {
    const int given = (s_.every_time > 0.0) + (s_.every_steps > 0) + (s_.every_wall_s > 0.0);
    if (given != 1)
      return error{fmt::format("expected one of every_time, every_steps and every_wall_s above 0, found {}",
                               given == 0   ? "none"
                               : given == 2 ? "two"
                                            : "three")};
    constexpr double most = 1e9;
    if (s_.every_time == 0.0 || t_end / s_.every_time <= most) return {};
    return error{fmt::format("every_time = {:g}: expected at most {:g} files up to run.t_end = {:g}", s_.every_time,
                             most, t_end)};
  }

  /// A key that has no effect is a mistake.
  result<void> only_where_used() const {
    const series_options other;
    const bool is_plane = s_.kind == "slice" || s_.kind == "projection", is_profile = s_.kind == "profile";
    const auto refuse = [&](const char* key, const char* used_by) {
      return error{fmt::format("{} has no effect with kind = \"{}\"; expected it with {} only", key, s_.kind, used_by)};
    };
    if (!is_plane && s_.axis != other.axis) return refuse("axis", "slice and projection");
    if (!is_plane && s_.level != other.level) return refuse("level", "slice and projection");
    if (s_.kind != "slice" && s_.position != other.position) return refuse("position", "slice");
    if (!is_profile && s_.centre != other.centre) return refuse("centre", "profile");
    if (!is_profile && s_.bins != other.bins) return refuse("bins", "profile");
    if (!is_profile && s_.radii != other.radii) return refuse("radii", "profile");
    if (!is_profile && s_.spacing != other.spacing) return refuse("spacing", "profile");
    if (s_.weight == other.weight) return {};
    if (s_.kind != "projection" && !is_profile) return refuse("weight", "projection and profile");
    const bool fits = s_.weight == "mass" || s_.weight == (is_profile ? "volume" : "none");
    if (fits) return {};
    return error{fmt::format("weight: expected {} with kind = \"{}\", found \"{}\"",
                             is_profile ? "mass or volume" : "none or mass", s_.kind, s_.weight)};
  }

  result<void> pixels() const {
    if (s_.level > box_.max_level)
      return error{fmt::format("level = {}: expected at most mesh.max_level = {}", s_.level, box_.max_level)};
    if (s_.position == "middle") return {};
    const auto a = static_cast<std::size_t>(s_.axis_index());
    const auto at = number_in(s_.position);
    if (at && *at >= box_.lower[a] && *at <= box_.upper[a]) return {};
    return error{fmt::format("position: expected \"middle\" or a number from {:g} to {:g}, the box along {}, found {}",
                             box_.lower[a], box_.upper[a], s_.axis, s_.position)};
  }

  result<void> shells() const {
    const bool whole = s_.radii == std::array<double, 2>{0, 0};
    if (!whole && !(s_.radii[0] < s_.radii[1]))
      return error{fmt::format("radii: expected inner < outer, found {:g} and {:g}", s_.radii[0], s_.radii[1])};
    if (s_.spacing == "log" && s_.radii[0] == 0.0)
      return error{"spacing = \"log\": expected radii with an inner radius above 0, found 0"};
    return {};
  }

  const series_options& s_;
  const mesh::domain& box_;
  const species_list& species_;
};

}  // namespace

result<void> check_series(std::vector<series_options>& all, const mesh::domain& box, const species_list& species,
                          double t_end, bool self_gravity) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    series_options& s = all[i];
    if (s.name.empty()) s.name = fmt::format("{}_{}", s.kind, i + 1);
    const std::string which = fmt::format("output.series, number {} ('{}'): ", i + 1, s.name);
    if (auto fine = checker(s, box, species).all(t_end); !fine) return error{which + fine.error().message};
    for (const output_variable& v : find_variables(s.variables, species).value())
      if (v.needs_gravity() && !self_gravity)
        return error{fmt::format("{}variable '{}': expected gravity.self = true, found false", which, v.name)};
    const auto same = std::find_if(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i),
                                   [&](const series_options& other) { return other.name == s.name; });
    if (same != all.begin() + static_cast<std::ptrdiff_t>(i))
      return error{fmt::format("{}expected a name of its own, found that of number {}", which, same - all.begin() + 1)};
  }
  return {};
}

const char* output_series::ending() const {
  return options.kind == "mesh" ? ".athdf" : options.kind == "profile" || options.kind == "tracers" ? ".csv" : ".h5";
}

series_list::series_list(const std::vector<series_options>& all, const species_list& species, double time_unit) {
  for (const series_options& s : all) {
    output_series& one = all_.emplace_back();
    one.options = s;
    one.interval = s.every_time * time_unit;
    one.variables = find_variables(s.variables, species).value();
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
