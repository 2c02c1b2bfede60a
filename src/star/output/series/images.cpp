#include "star/output/series/images.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "io/hdf5_file.hpp"
#include "num/exact_sum.hpp"
#include "num/symmetric.hpp"
#include "rt/for_loop.hpp"
#include "rt/runtime.hpp"
#include "star/driver/agreement.hpp"
#include "star/hydro/state.hpp"
#include "star/state/gas.hpp"

namespace plx::star {

namespace {

/// The axes of the image: x, y for z; x, z for y; y, z for x.
std::array<int, 2> axes_of(int normal) { return normal == 0 ? std::array{1, 2} : std::array{0, normal == 1 ? 2 : 1}; }

/// The part of a block in an image: maps [field][n][n], values of a slice or sums along the axis.
class block_maps {
 public:
  block_maps(const series_options& s, std::span<const output_variable> variables, const gas& g,
             const hydro_parameters& p, const gravity_field* gravity)
      : s_(s),
        g_(g),
        p_(p),
        gravity_(gravity),
        n_(g.mesh.block_size()),
        is_slice_(s.kind == "slice"),
        by_mass_(s.kind == "projection" && s.weighted_by_mass()),
        variables_(variables.begin(), variables.end()) {
    if (by_mass_) variables_.push_back(all_variables()[0]);  // the density, for the weights
    const mesh::domain& box = g.mesh.box();
    const auto a = static_cast<std::size_t>(s.axis_index());
    from_lower_ = (s.position_in(box) - box.lower[a]) / box.cell_width(0);
  }

  std::size_t fields() const { return variables_.size(); }
  std::size_t numbers() const { return fields() * static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_); }
  bool by_mass() const { return by_mass_; }

  bool has(mesh::slot_id slot) const {
    return !is_slice_ || cell_of(slot) / n_ == g_.mesh.where(slot).x[s_.axis_index()];
  }

  void fill(mesh::slot_id slot, double* maps) const {
    const int axis = s_.axis_index();
    const auto cells = static_cast<std::size_t>(g_.now.cells()), n = static_cast<std::size_t>(n_);
    std::vector<double> values(cells * fields());
    fill_variables(variables_, g_, p_, slot, values.data(), gravity_);
    const auto [a, b] = axes_of(axis);
    const std::array<std::size_t, 3> stride{1, n, n * n};
    const double* const density = &values[(fields() - 1) * cells];  // if by_mass_
    const double width = g_.mesh.cell_width(slot);
    const auto cut = static_cast<std::size_t>(is_slice_ ? cell_of(slot) % n_ : 0);
    for (std::size_t f = 0; f < fields(); ++f)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t i = 0; i < n; ++i) {
          const std::size_t first = i * stride[static_cast<std::size_t>(a)] + j * stride[static_cast<std::size_t>(b)];
          const std::size_t along = stride[static_cast<std::size_t>(axis)];
          const double* v = &values[f * cells];
          double sum = 0.0;
          for (std::size_t k = 0; k < n && !is_slice_; ++k) {
            const std::size_t cell = first + k * along;
            sum += (by_mass_ && f + 1 < fields() ? density[cell] * v[cell] : v[cell]) * width;
          }
          *maps++ = is_slice_ ? v[first + cut * along] : sum;
        }
  }

 private:
  /// Index along the axis, in the whole box, of the cells of this block's level in the plane.
  std::int64_t cell_of(mesh::slot_id slot) const {
    const int level = g_.mesh.level(slot);
    const std::int64_t count = g_.mesh.box().blocks_along(s_.axis_index(), level) * n_;
    const auto cell = static_cast<std::int64_t>(std::floor(std::ldexp(from_lower_, level)));
    return std::clamp<std::int64_t>(cell, 0, count - 1);
  }

  const series_options& s_;
  const gas& g_;
  const hydro_parameters& p_;
  const gravity_field* gravity_;
  int n_;
  bool is_slice_, by_mass_;
  std::vector<output_variable> variables_;
  double from_lower_ = 0.0;  // of the plane, in cells of level 0
};

/// Adds the maps of blocks to the pixels of one level.
class canvas {
 public:
  canvas(const mesh::block_mesh& m, int level, std::array<int, 2> axes, std::size_t fields)
      : m_(m), level_(level), axes_(axes) {
    for (std::size_t a = 0; a < 2; ++a)
      size_[a] = static_cast<std::size_t>(m.box().blocks_along(axes[a], level) * m.block_size());
    for (std::size_t f = 0; f < fields; ++f) values.emplace_back(size_[0] * size_[1]);
  }

  void add(mesh::slot_id slot, const double* maps) {
    const auto n = static_cast<std::size_t>(m_.block_size());
    const int deeper = m_.level(slot) - level_;
    const std::size_t repeat = deeper < 0 ? std::size_t{1} << -deeper : 1;
    const double share = deeper > 0 ? std::ldexp(1.0, -2 * deeper) : 1.0;  // of a cell in its pixel
    const auto pixel = [&](std::size_t axis, std::size_t i) {
      const std::size_t cell =
          static_cast<std::size_t>(m_.where(slot).x[static_cast<std::size_t>(axes_[axis])]) * n + i;
      return deeper > 0 ? cell >> deeper : cell * repeat;
    };
    for (std::vector<double>& to : values)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t i = 0; i < n; ++i) {
          const double value = *maps++ * share;
          const std::size_t x = pixel(0, i), y = pixel(1, j);
          for (std::size_t q = y; q < y + repeat; ++q)
            for (std::size_t p = x; p < x + repeat; ++p) to[q * size_[0] + p] += value;
        }
  }

  std::vector<std::vector<double>> values;  // by field

 private:
  const mesh::block_mesh& m_;
  int level_;
  std::array<int, 2> axes_;
  std::array<std::size_t, 2> size_{};
};

std::vector<double> maps_of(const block_maps& maps, std::span<const mesh::slot_id> own) {
  std::vector<mesh::slot_id> inside;
  for (const mesh::slot_id slot : own)
    if (maps.has(slot)) inside.push_back(slot);
  std::vector<double> all(inside.size() * maps.numbers());
  for_loop({probe::register_name("star.pixels"), probe::no_key}, std::size_t{0}, inside.size(),
           [&](std::size_t b) { maps.fill(inside[b], &all[b * maps.numbers()]); });
  return all;
}

}  // namespace

dimension unit_in_image(const series_options& s, const output_variable& v) {
  dimension d = v.unit;
  if (s.kind == "projection" && !s.weighted_by_mass()) ++d.length;
  return d;
}

pixel_image paint(const series_options& s, std::span<const output_variable> variables, const gas& g,
                  const hydro_parameters& p, const gravity_field* gravity) {
  const block_maps maps(s, variables, g, p, gravity);
  const auto all = g.net.gather(maps_of(maps, g.own()));
  pixel_image image;
  if (!is_root(g.net)) return image;

  const mesh::domain& box = g.mesh.box();
  const std::array<int, 2> axes = axes_of(s.axis_index());
  image.kind = s.kind;
  if (s.kind == "projection") image.weight = s.weighted_by_mass() ? "mass" : "none";
  image.normal = s.axis;
  image.position = s.position_in(box);
  image.level = s.level >= 0 ? static_cast<int>(s.level) : g.mesh.deepest();
  image.single_precision = s.precision == "single";
  for (std::size_t a = 0; a < 2; ++a) {
    image.axes[a] = std::string(1, "xyz"[axes[a]]);
    const std::int64_t count = box.blocks_along(axes[a], image.level) * g.mesh.block_size();
    for (std::int64_t i = 0; i <= count; ++i) image.edges[a].push_back(box.coordinate(axes[a], image.level, 2 * i));
    for (std::int64_t i = 0; i < count; ++i)
      image.centres[a].push_back(box.coordinate(axes[a], image.level, 2 * i + 1));
  }
  canvas to(g.mesh, image.level, axes, maps.fields());
  for (int locality = 0; locality < g.parts.count(); ++locality) {
    const double* next = all[static_cast<std::size_t>(locality)].data();
    for (const mesh::slot_id slot : g.parts.blocks(g.mesh, locality)) {
      if (!maps.has(slot)) continue;
      to.add(slot, next);
      next += maps.numbers();
    }
  }
  if (maps.by_mass()) {
    const std::vector<double> mass = std::move(to.values.back());
    to.values.pop_back();
    for (std::vector<double>& v : to.values)
      for (std::size_t i = 0; i < v.size(); ++i) v[i] /= mass[i];
  }
  image.values = std::move(to.values);
  for (const output_variable& v : variables) image.variables.push_back(v.name);
  return image;
}

namespace {

constexpr std::size_t fixed_sums = 3;  // cells, volume, mass; then weight times value of each variable

// Integrals over some shells: sums [shell][fixed_sums + variables], extremes [shell][variables].
struct shell_sums {
  std::size_t shells, variables;
  std::vector<exact_sum> sums;
  std::vector<double> largest, largest_negated;  // of the values, and of their negatives

  shell_sums(std::size_t n, std::size_t v)
      : shells(n),
        variables(v),
        sums(n * (fixed_sums + v)),
        largest(n * v, -std::numeric_limits<double>::infinity()),
        largest_negated(largest) {}
  exact_sum& sum(std::size_t shell, std::size_t i) { return sums[shell * (fixed_sums + variables) + i]; }
};

double larger_of(double a, double b) { return a > b || std::isnan(a) ? a : b; }

std::vector<double> larger_of_all(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> all(a.size());
  std::transform(a.begin(), a.end(), b.begin(), all.begin(), larger_of);
  return all;
}

class shell_adder {
 public:
  shell_adder(const series_options& s, std::span<const output_variable> variables, const gas& g,
              const hydro_parameters& p, const gravity_field* gravity)
      : s_(s),
        g_(g),
        p_(p),
        gravity_(gravity),
        count_(variables.size()),
        edges_(s.edges_in(g.mesh.box())),
        variables_(variables.begin(), variables.end()) {
    variables_.push_back(all_variables()[0]);  // the density
  }

  const std::vector<double>& edges() const { return edges_; }

  void add(mesh::slot_id slot, shell_sums& to) const {
    const int n = g_.mesh.block_size();
    const auto cells = static_cast<std::size_t>(g_.now.cells());
    std::vector<double> values(cells * variables_.size());
    fill_variables(variables_, g_, p_, slot, values.data(), gravity_);
    const double width = g_.mesh.cell_width(slot), volume = width * width * width;
    std::size_t cell = 0;
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i, ++cell) {
          const double r = std::sqrt(symmetric_norm2(g_.mesh.centre(slot, 0, i) - s_.centre[0],
                                                     g_.mesh.centre(slot, 1, j) - s_.centre[1],
                                                     g_.mesh.centre(slot, 2, k) - s_.centre[2]));
          if (r < edges_.front() || r >= edges_.back()) continue;
          const auto shell =
              static_cast<std::size_t>(std::upper_bound(edges_.begin(), edges_.end(), r) - edges_.begin() - 1);
          add_cell(&values[cell], cells, shell, volume, to);
        }
  }

 private:
  void add_cell(const double* values, std::size_t stride, std::size_t shell, double volume, shell_sums& to) const {
    const double mass = values[count_ * stride] * volume, weight = s_.weighted_by_mass() ? mass : volume;
    to.sum(shell, 0).add(1.0);
    to.sum(shell, 1).add(volume);
    to.sum(shell, 2).add(mass);
    for (std::size_t v = 0; v < count_; ++v) {
      const double value = values[v * stride];
      to.sum(shell, fixed_sums + v).add(weight * value);
      double& largest = to.largest[shell * count_ + v];
      double& negated = to.largest_negated[shell * count_ + v];
      largest = larger_of(largest, value);
      negated = larger_of(negated, -value);
    }
  }

  const series_options& s_;
  const gas& g_;
  const hydro_parameters& p_;
  const gravity_field* gravity_;
  std::size_t count_;
  std::vector<double> edges_;
  std::vector<output_variable> variables_;  // and the density
};

std::string header_of(std::span<const output_variable> variables) {
  std::string text = "step,time,r_inner,r_outer,cells,volume,mass";
  for (const output_variable& v : variables) text += fmt::format(",{0},{0}_min,{0}_max", v.name);
  return text + "\n";
}

}  // namespace

std::string shell_table(const series_options& s, std::span<const output_variable> variables, const gas& g,
                        const hydro_parameters& p, unsigned workers, std::int64_t step, double time,
                        const gravity_field* gravity) {
  const shell_adder adder(s, variables, g, p, gravity);
  const auto shells = static_cast<std::size_t>(s.bins);
  std::vector<shell_sums> parts(workers, shell_sums(shells, variables.size()));
  const auto own = g.own();
  for_loop({probe::register_name("star.shells"), probe::no_key}, std::size_t{0}, own.size(),
           [&](std::size_t b) { adder.add(own[b], parts[*worker_index()]); });
  shell_sums& all = parts.front();
  for (std::size_t w = 1; w < parts.size(); ++w) {
    for (std::size_t i = 0; i < all.sums.size(); ++i) all.sums[i].add(parts[w].sums[i]);
    all.largest = larger_of_all(all.largest, parts[w].largest);
    all.largest_negated = larger_of_all(all.largest_negated, parts[w].largest_negated);
  }
  sum_over_localities(g.net, all.sums);
  all.largest = g.net.all_reduce(std::move(all.largest), larger_of_all);
  all.largest_negated = g.net.all_reduce(std::move(all.largest_negated), larger_of_all);

  std::string text = header_of(variables);
  const auto out = std::back_inserter(text);
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t shell = 0; shell < shells; ++shell) {
    const double cells = all.sum(shell, 0).value(), volume = all.sum(shell, 1).value(),
                 mass = all.sum(shell, 2).value();
    fmt::format_to(out, "{},{},{},{},{:.0f},{},{}", step, time, adder.edges()[shell], adder.edges()[shell + 1], cells,
                   volume, mass);
    for (std::size_t v = 0; v < variables.size(); ++v) {
      const std::size_t i = shell * variables.size() + v;
      const double mean = all.sum(shell, fixed_sums + v).value() / (s.weighted_by_mass() ? mass : volume);
      if (cells > 0.0)
        fmt::format_to(out, ",{},{},{}", mean, -all.largest_negated[i], all.largest[i]);
      else
        fmt::format_to(out, ",{0},{0},{0}", unknown);
    }
    text += '\n';
  }
  return text;
}

result<void> write_pixel_file(const std::string& path, const pixel_image& p) {
  const extents size{p.centres[1].size(), p.centres[0].size()};
  const hid_t type = p.single_precision ? H5T_IEEE_F32LE : H5T_IEEE_F64LE;
  const std::uint64_t bytes_each = p.single_precision ? sizeof(float) : sizeof(double);
  std::uint64_t bytes = 65536 + 4096 * (4 + p.variables.size()) + 32 * (size[0] + size[1] + 2);
  bytes += p.variables.size() * bytes_each * size[0] * size[1];
  const auto lock = hdf5_lock();
  auto file = hdf5_writer::create(path, bytes);
  if (!file) return file.error();
  file->attribute("Kind", p.kind);
  file->attribute("Time", p.time);
  file->attribute("Step", p.step);
  file->attribute("Axes", std::vector<std::string>{p.axes[0], p.axes[1]});
  file->attribute("Normal", p.normal);
  file->attribute("Level", p.level);
  if (p.kind == "slice") file->attribute("Position", p.position);
  if (!p.weight.empty()) file->attribute("Weight", p.weight);
  file->attribute("VariableNames", p.variables);
  file->attribute("VariableUnits", p.units);
  file->attribute("VariableFactors", p.factors);
  for (const auto& [name, value] : p.numbers) file->attribute(name.c_str(), value);
  for (std::size_t a = 0; a < 2; ++a) {
    file->dataset(p.axes[a], {p.centres[a].size()}, H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE, p.centres[a].data());
    file->dataset(p.axes[a] + "_edges", {p.edges[a].size()}, H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE, p.edges[a].data());
  }
  for (std::size_t v = 0; v < p.variables.size(); ++v)
    file->dataset(p.variables[v], size, type, H5T_NATIVE_DOUBLE, p.values[v].data());
  return file->commit();
}

}  // namespace plx::star
