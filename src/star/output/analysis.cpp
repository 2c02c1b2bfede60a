#include "star/output/analysis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "num/exact_sum.hpp"
#include "rt/for_loop.hpp"
#include "rt/runtime.hpp"
#include "star/driver/agreement.hpp"
#include "star/problems/registry.hpp"
#include "star/state/gas.hpp"

namespace plx::star {

namespace {

double speed2(const primitive& w) {
  return w.velocity[0] * w.velocity[0] + w.velocity[1] * w.velocity[1] + w.velocity[2] * w.velocity[2];
}

class energies final : public analysis {
 public:
  std::vector<column> columns() const override { return {{"kinetic_energy", "code"}, {"internal_energy", "code"}}; }
  void of_cell(const analysis_cell& c, double* values) const override {
    const double kinetic = 0.5 * c.state.density * speed2(c.state);
    values[0] = kinetic * c.volume;
    values[1] = (c.energy - kinetic) * c.volume;
  }
};

class rotation final : public analysis {
 public:
  std::vector<column> columns() const override {
    return {{"centre_x", "code"},
            {"centre_y", "code"},
            {"centre_z", "code"},
            {"angular_momentum_x", "code"},
            {"angular_momentum_y", "code"},
            {"angular_momentum_z", "code"},
            {"mass", "code"}};
  }
  void of_cell(const analysis_cell& c, double* values) const override {
    const double mass = c.state.density * c.volume;
    const vector &x = c.centre, &v = c.state.velocity;
    for (int a = 0; a < 3; ++a) {
      const int b = (a + 1) % 3, d = (a + 2) % 3;
      values[a] = mass * x[a];
      values[3 + a] = mass * (x[b] * v[d] - x[d] * v[b]);
    }
    values[6] = mass;
  }
  void finish(double* values) const override {
    for (int a = 0; a < 3; ++a) values[a] /= values[6];
  }
};

class inertia final : public analysis {
 public:
  std::vector<column> columns() const override {
    return {{"mass_xx", "code"}, {"mass_yy", "code"}, {"mass_zz", "code"},
            {"mass_xy", "code"}, {"mass_yz", "code"}, {"mass_zx", "code"}};
  }
  void of_cell(const analysis_cell& c, double* values) const override {
    const double mass = c.state.density * c.volume;
    for (int a = 0; a < 3; ++a) {
      values[a] = mass * c.centre[a] * c.centre[a];
      values[3 + a] = mass * c.centre[a] * c.centre[(a + 1) % 3];
    }
  }
};

class extrema final : public analysis {
 public:
  std::vector<column> columns() const override {
    return {{"density_max", "code", reduction::largest},
            {"density_min", "code", reduction::smallest},
            {"pressure_max", "code", reduction::largest},
            {"pressure_min", "code", reduction::smallest},
            {"speed_max", "code", reduction::largest}};
  }
  void of_cell(const analysis_cell& c, double* values) const override {
    values[0] = values[1] = c.state.density;
    values[2] = values[3] = c.state.pressure;
    values[4] = std::sqrt(speed2(c.state));
  }
};

constexpr analysis_entry entries[] = {
    {"energies", "kinetic and internal energy", make<energies>},
    {"extrema", "largest and smallest density and pressure, largest speed", make<extrema>},
    {"inertia", "second moments of the mass about the origin", make<inertia>},
    {"rotation", "centre of mass, and angular momentum about the origin", make<rotation>},
};

std::vector<analysis_entry>& registered() {
  static std::vector<analysis_entry> all;
  return all;
}

// NaN if one of them is.
double larger(double a, double b) { return a > b || std::isnan(a) ? a : b; }

// The largest and smallest values of a worker's cells, and its sums.
struct part {
  std::vector<exact_sum> sums;
  std::vector<double> largest, smallest;

  explicit part(std::size_t columns)
      : sums(columns),
        largest(columns, -std::numeric_limits<double>::infinity()),
        smallest(columns, std::numeric_limits<double>::infinity()) {}
  void add(std::size_t i, analysis::reduction how, double value) {
    if (how == analysis::reduction::sum) sums[i].add(value);
    if (how == analysis::reduction::largest) largest[i] = larger(largest[i], value);
    if (how == analysis::reduction::smallest) smallest[i] = -larger(-smallest[i], -value);
  }
};

void add_block(const analysis& a, const std::vector<analysis::column>& columns, const gas& g,
               const hydro_parameters& hydro, mesh::slot_id slot, part& to) {
  const int n = g.mesh.block_size();
  const std::ptrdiff_t cells = g.now.cells();
  const double* u = g.now.block(slot);
  analysis_cell c;
  c.eos = hydro.eos;
  c.width = g.mesh.cell_width(slot), c.volume = c.width * c.width * c.width, c.level = g.mesh.level(slot);
  std::vector<double> values(columns.size());
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i, ++u) {
        c.centre = {g.mesh.centre(slot, 0, i), g.mesh.centre(slot, 1, j), g.mesh.centre(slot, 2, k)};
        c.state = to_primitive(c.eos, u, cells, hydro.n_species, hydro.dual_energy_switch);
        c.energy = u[i_energy * cells];
        a.of_cell(c, values.data());
        for (std::size_t v = 0; v < values.size(); ++v) to.add(v, columns[v].over_cells, values[v]);
      }
}

}  // namespace

bool register_analysis(const analysis_entry& entry) {
  registered().push_back(entry);
  return true;
}

std::span<const analysis_entry> all_analyses() {
  static const std::vector<analysis_entry> all =
      sorted_entries<analysis_entry>("analysis", entries, registered());  // several threads may be the first
  return all;
}

result<std::unique_ptr<analysis>> make_analysis(std::string_view name) {
  return make_entry<analysis>("analysis", "output.analysis: expected names among", all_analyses(), name);
}

result<void> check_columns(std::string_view name, const analysis& a) {
  const std::vector<analysis::column> columns = a.columns();
  const auto refuse = [&](const std::string& expected, const std::string& found) {
    return error{"analysis '" + std::string(name) + "': expected " + expected + ", found " + found};
  };
  if (columns.empty()) return refuse("at least one column", "none");
  for (auto c = columns.begin(); c != columns.end(); ++c) {
    if (!is_identifier(c->name) || c->name == "step" || c->name == "time")
      return refuse("columns named by lower-case letters, digits and _, other than step and time", "'" + c->name + "'");
    if (std::any_of(columns.begin(), c, [&](const auto& other) { return other.name == c->name; }))
      return refuse("each column once", "'" + c->name + "' twice");
  }
  return {};
}

std::vector<double> analyse(const analysis& a, const gas& g, const hydro_parameters& hydro, unsigned workers) {
  const std::vector<analysis::column> columns = a.columns();
  std::vector<part> parts(workers, part(columns.size()));
  const auto own = g.own();
  for_loop({probe::register_name("star.analysis"), probe::no_key}, std::size_t{0}, own.size(),
           [&](std::size_t b) { add_block(a, columns, g, hydro, own[b], parts[*worker_index()]); });
  part whole(columns.size());
  for (const part& p : parts)
    for (std::size_t v = 0; v < columns.size(); ++v) {
      whole.sums[v].add(p.sums[v]);
      whole.largest[v] = larger(whole.largest[v], p.largest[v]);
      whole.smallest[v] = -larger(-whole.smallest[v], -p.smallest[v]);
    }
  sum_over_localities(g.net, whole.sums);
  std::vector<double> extremes;
  for (std::size_t v = 0; v < columns.size(); ++v)
    extremes.insert(extremes.end(), {whole.largest[v], -whole.smallest[v]});
  extremes = g.net.all_reduce(std::move(extremes), [](const std::vector<double>& x, const std::vector<double>& y) {
    std::vector<double> largest(x.size());
    std::transform(x.begin(), x.end(), y.begin(), largest.begin(), larger);
    return largest;
  });
  std::vector<double> row;
  for (std::size_t v = 0; v < columns.size(); ++v)
    row.push_back(columns[v].over_cells == analysis::reduction::sum       ? whole.sums[v].value()
                  : columns[v].over_cells == analysis::reduction::largest ? extremes[2 * v]
                                                                          : -extremes[2 * v + 1]);
  a.finish(row.data());
  return row;
}

}  // namespace plx::star
