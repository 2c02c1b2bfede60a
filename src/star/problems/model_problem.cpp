#include "star/problems/model_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <utility>

#include "base/config.hpp"

namespace plx::star {

using models::matter_kind;

namespace {
constexpr double heaviest_atmosphere = 0.01;  ///< mass of the atmosphere over that of the stars
}

void model_problem::describe_model(config_table& t, bool species) {
  species_ = species;
  t.add(section_ + ".atmosphere", atmosphere_,
        {.unit = "1", .help = "density outside of stars over the smallest central one", .max = 0.1, .above = 0});
  t.add(section_ + ".atmosphere_heat", atmosphere_heat_,
        {.unit = "1",
         .help =
             "pressure over density outside of stars, over the smallest in a centre of a star; 0: the pressure of the "
             "matter of the stars at the density of the atmosphere",
         .min = 0,
         .max = 1000});
  t.add(section_ + ".species", species_,
        {.help = "mass fractions as species: of each star, or its core and its envelope, and of the atmosphere"});
  t.add(section_ + ".thermal", thermal_,
        {.unit = "1", .help = "of white dwarfs: thermal pressure over that of the electrons", .max = 1, .above = 0});
  t.add(section_ + ".level", level_,
        {.help = "of the mesh of the model in the stars; -1: mesh.max_level", .min = -1, .max = mesh::deepest_level});
  t.add(section_ + ".tolerance", tolerance_,
        {.unit = "1",
         .help = "the model is done when an iteration changes the density by less, as a part of the mass",
         .min = 1e-12,
         .max = 1e-2});
  t.add(section_ + ".model", file_,
        {.help = "file of a model, made by plx-star make-model with the same options; empty: the run computes it"});
}

result<void> model_problem::set_kind(models::matter& m, const std::string& kind, const std::string& key) const {
  auto known = models::matter_kind_of(kind);
  if (!known) return error{key + ": " + known.error().message};
  m.kind = *known;
  m.eos = eos();
  m.thermal = thermal_;
  const eos_kind found = eos().parameters().kind,
                 needed = m.kind == matter_kind::white_dwarf ? eos_kind::white_dwarf : eos_kind::ideal;
  if (found == needed) return {};
  return error{
      fmt::format("{} = \"{}\": expected eos.kind = \"{}\", found \"{}\"", key, kind, name_of(needed), name_of(found))};
}

bool has_images(const problem_setting& s) { return s.gravity > 0.0 && s.grid && s.grid->is_periodic(0); }

result<void> model_problem::do_prepare() {
  auto made = make_request();
  if (!made) return made.error();
  request_ = *std::move(made);
  request_.section = section_;
  const bool is_pair = request_.stars.size() == 2;
  if (auto fine = check_length(section_ + (is_pair ? ".separation" : ".radius"),
                               is_pair ? request_.separation : request_.radius);
      !fine)
    return fine;
  request_.gravity = setting().attraction;
  request_.gravity.constant = setting().gravity > 0.0 ? setting().gravity : 1.0;
  if (setting().grid) {
    request_.box = *setting().grid;
  } else {  // some mesh for the box
    mesh::domain& d = request_.box;
    const vector width = box_width();
    const double least = std::min({width[0], width[1], width[2]});
    for (int a = 0; a < 3; ++a)
      d.root_blocks[a] = static_cast<int>(std::lround(4.0 * width[a] / least)), d.lower[a] = setting().lower[a],
      d.upper[a] = setting().upper[a];
  }
  if (level_ > request_.box.max_level) request_.box.max_level = static_cast<int>(level_);
  request_.level = level_ < 0 ? request_.box.max_level : static_cast<int>(level_);
  request_.tolerance = tolerance_;
  return file_.empty() ? models::check(request_) : result<void>();
}

std::string model_problem::identity() const {
  const models::request& q = request_;
  std::string all;
  const auto add = [&](const std::string& key, double value) {
    all += fmt::format("{}.{} = {}\n", section_, key, value);
  };
  for (std::size_t s = 0; s < q.stars.size(); ++s) {
    const models::star_request& r = q.stars[s];
    const auto one = [&](const char* key, double value) { add(fmt::format("{} of star {}", key, s + 1), value); };
    one("matter", static_cast<double>(r.gas.kind));
    one("mass", r.mass), one("filling", r.filling), one("index", r.gas.index);
    one("core_index", r.gas.core_index), one("core_fraction", r.gas.core_fraction), one("density_jump", r.gas.jump);
    if (r.gas.kind != matter_kind::white_dwarf) continue;
    one("thermal", r.gas.thermal);
    one("electron_pressure", r.gas.eos.parameters().electron_pressure);
    one("electron_density", r.gas.eos.parameters().electron_density);
  }
  add("separation", q.separation), add("angular_momentum", q.angular_momentum), add("period", q.period);
  add("fillout", q.fillout), add("synchronous", q.synchronous);
  add("radius", q.radius), add("axis_ratio", q.axis_ratio), add("omega", q.omega);
  return all + fmt::format("gravity.constant = {}\n", q.gravity.constant);
}

result<models::model> model_problem::make() const {
  if (file_.empty()) return models::solve(request_);
  std::string theirs, mine = identity();
  auto m = models::read_model(file_, &theirs);
  if (!m || theirs == mine) return m;
  std::size_t at = 0;  // the first line that differs
  for (std::size_t i = 0; i < std::min(mine.size(), theirs.size()) && mine[i] == theirs[i]; ++i)
    if (mine[i] == '\n') at = i + 1;
  const auto line = [&](const std::string& of) { return of.substr(at, of.find('\n', at) - at); };
  return error{
      fmt::format("{}.model = \"{}\": expected a model with {}, found {}; make it again with plx-star make-model",
                  section_, file_, line(mine), line(theirs))};
}

result<void> model_problem::build() const {
  std::call_once(once_, [this] {
    auto made = make();
    if (!made) {
      failure_ = made.error().message;
      return;
    }
    model_ = *std::move(made);
    outer_density_ = model_->stars.front().central_density;
    for (const models::star& s : model_->stars) outer_density_ = std::min(outer_density_, s.central_density);
    outer_density_ *= atmosphere_;
    const vector width = box_width();
    const double weight = outer_density_ * width[0] * width[1] * width[2] / model_->mass();  // stars included
    if (weight > heaviest_atmosphere) {
      failure_ = fmt::format(
          "{}.atmosphere = {}: expected gas outside of the stars that weighs at most {} of them, found {:.2g}; choose "
          "at most {:.1e}, or a smaller box",
          section_, atmosphere_, heaviest_atmosphere, weight, 0.99 * atmosphere_ * heaviest_atmosphere / weight);
      model_.reset();
      return;
    }
    double least = std::numeric_limits<double>::infinity();  // pressure over density in a centre
    for (const models::star& s : model_->stars) {
      outer_pressure_ = std::max(outer_pressure_, s.gas.pressure(s.gas.enthalpy(outer_density_)));
      least = std::min(least, s.gas.pressure(s.gas.enthalpy(s.central_density)) / s.central_density);
    }
    if (atmosphere_heat_ > 0.0) outer_pressure_ = atmosphere_heat_ * least * outer_density_;
  });
  if (!model_) return error{failure_};
  return {};
}

const models::model& model_problem::stars() const {
  if (auto built = build(); !built) throw std::invalid_argument(built.error().message);
  return *model_;
}

std::vector<std::string> model_problem::notes() const {
  std::vector<std::string> lines;
  if (!model_) return lines;
  std::string table = models::table_of(*model_);
  for (std::size_t at = 0; at < table.size(); at = table.find('\n', at) + 1)
    lines.push_back(section_ + ": " + table.substr(at, table.find('\n', at) - at));
  return lines;
}

result<double> model_problem::frame_velocity() const {
  if (auto built = build(); !built) return built.error();
  return model_->omega;
}

result<double> model_problem::orbital_period() const {
  if (auto built = build(); !built) return built.error();
  if (!(model_->omega > 0.0))
    return error{
        fmt::format("run.time_unit = \"orbit\": expected a star that rotates, found {} with an angular velocity of {}; "
                    "use \"code\"",
                    section_, model_->omega)};
  return 2.0 * std::numbers::pi / model_->omega;
}

// Core and envelope of each star, then the atmosphere; the same order as in at().
std::vector<int> model_problem::star_of_species() const {
  std::vector<int> stars;
  if (!species_) return stars;
  int star = 0;
  for (const matter_kind k : kinds()) stars.insert(stars.end(), k == matter_kind::core_envelope ? 2 : 1, star++);
  stars.push_back(-1);
  return stars;
}

// The model, with the atmosphere.
models::model::state model_problem::state_at(const vector& x) const {
  const models::model::state s = stars().at(x);
  return s.density > outer_density_ ? s : models::model::state{-1, 0.0, outer_density_, outer_pressure_};
}

int model_problem::star_at(const vector& x) const { return state_at(x).star; }

primitive model_problem::at(const vector& x, double) const {
  const models::model& m = stars();
  const models::model::state s = state_at(x);
  primitive w;
  w.density = s.density, w.pressure = s.pressure, w.velocity = m.velocity(x, s.star);
  int species = 0;
  for (int i = 0; i < static_cast<int>(m.stars.size()); ++i) {
    const bool here = i == s.star;
    if (m.stars[static_cast<std::size_t>(i)].gas.has_core()) w.fraction[species++] = here ? s.core : 0.0;
    w.fraction[species++] = here ? 1.0 - s.core : 0.0;
  }
  w.fraction[species] = s.star < 0 ? 1.0 : 0.0;
  return w;
}

std::vector<named_value> model_problem::references(double) const {
  if (has_images(setting())) return {};
  const models::model& m = stars();
  std::vector<named_value> all{{"angular_velocity", "1/time", m.omega}};
  if (m.omega > 0.0) all.push_back({"period", "time", 2.0 * std::numbers::pi / m.omega});
  if (m.stars.size() == 2) all.push_back({"separation", "length", m.separation()});
  all.push_back({"angular_momentum", "code", m.angular_momentum});
  all.push_back({"potential_energy", "energy", m.potential});
  all.push_back({"virial_error", "1", m.virial_error});
  all.push_back({"virial_error_with_potential_energy", "1", m.energy_error});
  for (std::size_t s = 0; s < m.stars.size(); ++s)
    all.push_back({fmt::format("central_density_{}", s + 1), "density", m.stars[s].central_density});
  return all;
}

}  // namespace plx::star
