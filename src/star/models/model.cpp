#include "star/models/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "mesh/field/arena.hpp"
#include "mesh/files/checkpoint.hpp"

namespace plx::star::models {

double model::mass() const {
  double sum = 0.0;
  for (const star& s : stars) sum += s.mass;
  return sum;
}

bool model::contains(int i, const point& x) const {
  const star& s = stars[static_cast<std::size_t>(i)];
  if (stars.size() == 2 && (i == 0 ? x[0] < s.side : x[0] > s.side)) return false;
  const double d[3] = {x[0] - s.place[0], x[1] - s.place[1], x[2] - s.place[2]};
  return d[0] * d[0] + d[1] * d[1] + d[2] * d[2] < s.reach * s.reach;
}

double model::depth(int i, const point& x, double phi) const {
  const star& s = stars[static_cast<std::size_t>(i)];
  const double turn = synchronous ? 0.5 * (x[0] * x[0] + x[1] * x[1]) : s.place[0] * x[0] + s.place[1] * x[1];
  const double pull =
      s.pull[0] * (x[0] - s.place[0]) + s.pull[1] * (x[1] - s.place[1]) + s.pull[2] * (x[2] - s.place[2]);
  return omega * omega * turn + pull - phi;
}

model::state model::at(const point& x) const {
  for (int i = 0; i < static_cast<int>(stars.size()); ++i) {
    if (!contains(i, x)) continue;
    const star& s = stars[static_cast<std::size_t>(i)];
    const double h = s.constant + depth(i, x, field->at(x));
    if (!(h > 0.0)) continue;
    const double density = s.gas.density(h);
    return {i, density > 0.0 ? s.gas.core_density(h) / density : 0.0, density, s.gas.pressure(h)};
  }
  return {};
}

point model::velocity(const point& x, int s) const {
  if (!synchronous) {
    if (s < 0) return {};
    const point& place = stars[static_cast<std::size_t>(s)].place;
    return {-omega * place[1], omega * place[0], 0.0};
  }
  double turn = omega;
  if (s < 0) {
    const double r2 = x[0] * x[0] + x[1] * x[1];
    double edge = separation();
    if (stars.size() == 1) edge = stars[0].outer;
    if (r2 > edge * edge) turn *= edge * edge / r2;
  }
  return {-turn * x[1], turn * x[0], 0.0};
}

std::string table_head(std::size_t stars) {
  std::string all = fmt::format("{:>4} {:>5} {:>9} {:>9} {:>9} {:>13} {:>13}", "iter", "level", "change", "virial",
                                "energy", "omega", "ang.momentum");
  if (stars == 2) all += fmt::format(" {:>11}", "separation");
  for (std::size_t s = 1; s <= stars; ++s)
    all += fmt::format(" {:>12} {:>11} {:>11} {:>9} {:>8}", fmt::format("C{}", s), fmt::format("rho_c{}", s),
                       fmt::format("K{}", s), fmt::format("off{}", s), fmt::format("core{}", s));
  return all;
}

std::string table_line(const iteration& i, std::size_t stars) {
  const auto error = [](double e) { return std::isnan(e) ? "-" : fmt::format("{:.2e}", e); };
  std::string all = fmt::format("{:4} {:5} {:9.2e} {:>9} {:>9} {:13.7g} {:13.7g}", i.number, i.level, i.change,
                                error(i.virial_error), error(i.energy_error), i.omega, i.angular_momentum);
  if (stars == 2) all += fmt::format(" {:11.6g}", i.separation);
  for (std::size_t s = 0; s < stars; ++s)
    all += fmt::format(" {:12.6g} {:11.5g} {:11.5g} {:9.1e} {:>8}", i.constant[s], i.central_density[s],
                       i.polytrope_constant[s], i.displacement[s],
                       std::isnan(i.core_fraction[s]) ? "-" : fmt::format("{:.5f}", i.core_fraction[s]));
  return all;
}

std::string table_of(const model& m) {
  const bool two = m.stars.size() == 2;
  std::string all = table_head(m.stars.size()) + "\n";
  for (const iteration& i : m.iterations) all += table_line(i, m.stars.size()) + "\n";
  for (std::size_t s = 0; s < m.stars.size(); ++s) {
    const star& one = m.stars[s];
    all += fmt::format(
        "star {}: {}, mass {:.6g}, radius {:.5g} ({} {:.5g}, {} {:.5g}, polar {:.5g}), central density {:.5g}", s + 1,
        name_of(one.gas.kind), one.mass, one.radius, two ? "inner" : "equatorial", one.inner,
        two ? "outer" : "opposite", one.outer, one.polar, one.central_density);
    if (one.gas.has_core())
      all += fmt::format(", core {:.4f} of the mass, density jump {:.4f}", one.gas.core_fraction, one.gas.jump);
    if (two && m.fillout == 0.0) all += fmt::format(", filling {:.4f}", one.filling);
    all += "\n";
  }
  if (m.fillout > 0.0)
    all +=
        fmt::format("common envelope: fillout {:g}, L1 at x = {:.5g}, neck of radius {:.4g} along y, {:.4g} along z\n",
                    m.fillout, m.stars[0].side, m.neck[0], m.neck[1]);
  return all + m.verdict + "\n";
}

namespace {

using numbers = std::vector<double>;

std::vector<mesh::field_info> fields() { return {{"potential"}, {"slope_x"}, {"slope_y"}, {"slope_z"}}; }

numbers of_domain(const mesh::domain& d) {
  numbers n{static_cast<double>(d.block_size), static_cast<double>(d.max_level)};
  for (int a = 0; a < 3; ++a) {
    n.push_back(d.root_blocks[a]);
    n.push_back(d.lower[a]);
    n.push_back(d.upper[a]);
  }
  return n;
}

result<mesh::domain> domain_of(const numbers& n) {
  mesh::domain d;
  d.block_size = static_cast<int>(n[0]), d.max_level = static_cast<int>(n[1]);
  for (std::size_t a = 0; a < 3; ++a)
    d.root_blocks[a] = static_cast<int>(n[2 + 3 * a]), d.lower[a] = n[3 + 3 * a], d.upper[a] = n[4 + 3 * a];
  d.sides.fill(mesh::boundary::outflow);
  if (auto fine = d.check(); !fine) return fine.error();
  return d;
}

constexpr std::size_t star_numbers = 19;

numbers of_star(const star& s) {
  return {s.mass,     s.place[0], s.place[1], s.place[2],  s.pull[0],   s.pull[1],   s.pull[2],
          s.constant, s.side,     s.reach,    s.centre[0], s.centre[1], s.centre[2], s.central_density,
          s.radius,   s.inner,    s.outer,    s.polar,     s.filling};
}

star star_of(const numbers& n) {
  star s;
  s.mass = n[0], s.place = {n[1], n[2], n[3]}, s.pull = {n[4], n[5], n[6]}, s.constant = n[7];
  s.side = n[8], s.reach = n[9], s.centre = {n[10], n[11], n[12]}, s.central_density = n[13], s.radius = n[14];
  s.inner = n[15], s.outer = n[16], s.polar = n[17], s.filling = n[18];
  return s;
}

constexpr std::size_t iteration_numbers = 18;

numbers of_iterations(const model& m) {
  numbers n;
  for (const iteration& i : m.iterations)
    n.insert(n.end(), {static_cast<double>(i.number), static_cast<double>(i.level), i.change, i.virial_error,
                       i.energy_error, i.omega, i.angular_momentum, i.separation, i.constant[0], i.constant[1],
                       i.central_density[0], i.central_density[1], i.polytrope_constant[0], i.polytrope_constant[1],
                       i.displacement[0], i.displacement[1], i.core_fraction[0], i.core_fraction[1]});
  return n;
}

std::vector<iteration> iterations_of(const numbers& n) {
  std::vector<iteration> all;
  for (std::size_t at = 0; at + iteration_numbers <= n.size(); at += iteration_numbers) {
    const double* f = &n[at];
    all.push_back({static_cast<int>(f[0]),
                   static_cast<int>(f[1]),
                   f[2],
                   f[3],
                   f[4],
                   f[5],
                   f[6],
                   f[7],
                   {f[8], f[9]},
                   {f[10], f[11]},
                   {f[12], f[13]},
                   {f[14], f[15]},
                   {f[16], f[17]}});
  }
  return all;
}

}  // namespace

result<void> write_model(const std::string& path, const model& m, const model_origin& origin) {
  const mesh::block_mesh& mesh = m.field->mesh();
  mesh::arena values(fields(), mesh.block_size());
  values.resize(mesh.slot_count());
  for (const mesh::slot_id b : mesh.blocks())
    std::copy_n(m.field->block(b), 4 * static_cast<std::size_t>(values.cells()), values.block(b));
  mesh::checkpoint_state state{origin.build, origin.options, origin.identity, {}};
  const auto add = [&](std::string name, numbers n) { state.numbers.emplace_back(std::move(name), std::move(n)); };
  add("model_domain", of_domain(mesh.box()));
  add("model_totals",
      {m.gravity, m.omega, m.synchronous ? 1.0 : 0.0, m.kinetic, m.potential, m.pressure, m.angular_momentum,
       m.virial_error, m.energy_error, m.fillout, m.neck_enthalpy, m.neck[0], m.neck[1]});
  for (std::size_t s = 0; s < m.stars.size(); ++s) {
    add(fmt::format("model_star_{}", s), of_star(m.stars[s]));
    add(fmt::format("model_matter_{}", s), m.stars[s].gas.numbers());
  }
  add("model_iterations", of_iterations(m));
  numbers verdict(m.verdict.begin(), m.verdict.end());
  add("model_verdict", std::move(verdict));
  return mesh::write_checkpoint(path, mesh, values, state);
}

result<model> read_model(const std::string& path, std::string* identity) {
  const auto c = mesh::read_checkpoint(path);
  if (!c) return c.error();
  const error no_model{
      fmt::format("{}: expected a model of stars, written by plx-star make-model; found a checkpoint of "
                  "a run or of another program, or a model of an earlier version; make it again",
                  path)};
  const auto list = [&](const std::string& name, std::size_t size) -> const numbers* {
    const numbers* n = c->state.find(name);
    return n != nullptr && (size == 0 || n->size() == size) ? n : nullptr;
  };
  const numbers *domain = list("model_domain", 11), *whole = list("model_totals", 13);
  if (domain == nullptr || whole == nullptr || c->variables.size() != 4) return no_model;
  model m;
  m.gravity = (*whole)[0], m.omega = (*whole)[1], m.synchronous = (*whole)[2] != 0.0, m.kinetic = (*whole)[3];
  m.potential = (*whole)[4], m.pressure = (*whole)[5], m.angular_momentum = (*whole)[6], m.virial_error = (*whole)[7];
  m.energy_error = (*whole)[8], m.fillout = (*whole)[9], m.neck_enthalpy = (*whole)[10];
  m.neck = {(*whole)[11], (*whole)[12]};
  for (int s = 0; s < 2; ++s) {
    const numbers *of = list(fmt::format("model_star_{}", s), star_numbers),
                  *gas = list(fmt::format("model_matter_{}", s), 0);
    if (of == nullptr || gas == nullptr) break;
    star one = star_of(*of);
    auto matter = matter::of_numbers(*gas);
    if (!matter) return error{path + ": " + matter.error().message};
    one.gas = *matter;
    m.stars.push_back(one);
  }
  if (m.stars.empty()) return no_model;
  if (const numbers* n = list("model_iterations", 0)) m.iterations = iterations_of(*n);
  if (const numbers* n = list("model_verdict", 0))
    for (const double letter : *n) m.verdict.push_back(static_cast<char>(letter));
  auto box = domain_of(*domain);
  if (!box) return error{path + ": " + box.error().message};
  auto mesh = mesh::block_mesh::from_leaves(*box, c->leaves);
  if (!mesh) return error{path + ": " + mesh.error().message};
  mesh::arena values(fields(), mesh->block_size());
  values.resize(mesh->slot_count());
  if (auto read = mesh::read_values(path, *mesh, values); !read) return read.error();
  m.field = std::make_unique<tree_field>(*mesh);
  for (const mesh::slot_id b : mesh->blocks())
    std::copy_n(values.block(b), 4 * static_cast<std::size_t>(values.cells()), m.field->block(b));
  if (identity != nullptr) *identity = c->state.identity;
  return m;
}

}  // namespace plx::star::models
