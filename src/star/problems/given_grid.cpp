// Problem grid: an initial state on a uniform grid of points in an HDF5 file, from another code or a script.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/config.hpp"
#include "io/hdf5_file.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {

namespace {

/// Points that are equally far apart along an axis.
struct grid_axis {
  double first = 0.0, spacing = 1.0;
  int count = 0;

  /// Index of the point before x and the share of the next one, inside of the first and the last point.
  std::pair<int, double> place(double x) const {
    const double s = std::clamp((x - first) / spacing, 0.0, count - 1.0);
    const int i = std::min(static_cast<int>(s), count - 2);
    return {i, s - i};
  }
  /// Does a point's cell, half the spacing to both sides, hold x?
  bool covers(double x) const { return x >= first - 0.5 * spacing && x <= first + (count - 0.5) * spacing; }
};

enum grid_field { f_density, f_pressure, f_velocity, grid_field_count = f_velocity + 3 };

/// Shapes: values[field]: [z][y][x]; the velocity may be absent.
struct grid_data {
  std::array<grid_axis, 3> axes;
  std::array<std::vector<double>, grid_field_count> values;
  bool has_pressure = true;  ///< otherwise internal energy per mass is in its place
};

result<grid_axis> read_axis(const hdf5_reader& file, const std::string& path, const std::string& name) {
  std::vector<double> x;
  if (!file.whole(name, x))
    return error{fmt::format("{}: expected a dataset '{}', the coordinates of the points along {}, found none", path,
                             name, name)};
  if (x.size() < 2)
    return error{fmt::format("{}: dataset '{}': expected at least two coordinates, found {}", path, name, x.size())};
  const grid_axis axis{x.front(), (x.back() - x.front()) / static_cast<double>(x.size() - 1),
                       static_cast<int>(x.size())};
  for (std::size_t i = 1; i < x.size(); ++i)
    if (!(std::abs(x[i] - x[i - 1] - axis.spacing) < 1e-3 * axis.spacing))
      return error{fmt::format("{}: dataset '{}': expected ascending coordinates at equal distances, found {} after {}",
                               path, name, x[i], x[i - 1])};
  return axis;
}

result<std::vector<double>> read_field(const hdf5_reader& file, const std::string& path, const std::string& name,
                                       const std::array<grid_axis, 3>& axes) {
  const extents wanted{static_cast<hsize_t>(axes[2].count), static_cast<hsize_t>(axes[1].count),
                       static_cast<hsize_t>(axes[0].count)};
  const auto text = [](const extents& e) {
    std::string all;
    for (const hsize_t n : e) all += (all.empty() ? "" : " x ") + std::to_string(n);
    return all.empty() ? std::string("none") : all;
  };
  const extents found = hdf5_reader::extents_of(file.dataset(name));
  if (found != wanted)
    return error{fmt::format("{}: dataset '{}': expected {} numbers ([z][y][x], as many as coordinates), found {}",
                             path, name, text(wanted), text(found))};
  std::vector<double> all;
  if (!file.whole(name, all)) return error{fmt::format("{}: dataset '{}' cannot be read as numbers", path, name)};
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!std::isfinite(all[i]) || (!name.starts_with("velocity") && !(all[i] > 0.0))) {
      const std::size_t nx = wanted[2], ny = wanted[1];
      return error{fmt::format("{}: dataset '{}': expected finite numbers{}, found {} at [{}][{}][{}]", path, name,
                               name.starts_with("velocity") ? "" : " above 0", all[i], i / (nx * ny), i / nx % ny,
                               i % nx)};
    }
  return all;
}

result<grid_data> read_grid(const std::string& path) {
  const auto lock = hdf5_lock();
  const auto sizes = hdf5_reader::sizes_of(path);
  if (!sizes) return error{fmt::format("{}: {}", path, sizes.error().message)};
  if (!sizes->is_hdf5 || sizes->found < sizes->expected)
    return error{fmt::format("{}: expected an HDF5 file, found one that is {}", path,
                             sizes->is_hdf5 ? "truncated" : "of another kind")};
  auto file = hdf5_reader::open(path);
  if (!file) return error{fmt::format("{}: {}", path, file.error().message)};
  grid_data g;
  for (std::size_t a = 0; a < 3; ++a) {
    auto axis = read_axis(*file, path, std::string(1, "xyz"[a]));
    if (!axis) return axis.error();
    g.axes[a] = *axis;
  }
  const bool has[] = {file->has_dataset("pressure"), file->has_dataset("internal_energy")};
  if (has[0] == has[1])
    return error{fmt::format("{}: expected one of the datasets 'pressure' and 'internal_energy' (per mass), found {}",
                             path, has[0] ? "both" : "neither")};
  g.has_pressure = has[0];
  const std::array<std::string, grid_field_count> names{"density", has[0] ? "pressure" : "internal_energy",
                                                        "velocity_x", "velocity_y", "velocity_z"};
  for (std::size_t f = 0; f < names.size(); ++f) {
    if (f >= f_velocity && !file->has_dataset(names[f].c_str())) continue;
    auto values = read_field(*file, path, names[f], g.axes);
    if (!values) return values.error();
    g.values[f] = *std::move(values);
  }
  return g;
}

class grid_problem final : public problem {
 public:
  void describe(config_table& t) override {
    t.section("grid", "Initial state on a uniform grid, from an HDF5 file");
    t.add("grid.file", file_,
          {.help = "HDF5 with the coordinates x, y, z of points at equal distances, and [z][y][x] density, pressure or "
                   "internal_energy (per mass), and optionally velocity_x, velocity_y, velocity_z; relative to the "
                   "working directory"});
    t.add("grid.cgs", cgs_, {.help = "the file is in CGS, and [units] gives the code units"});
    t.add("grid.shift", shift_, {.unit = "code", .help = "added to the coordinates of the file"});
    t.add("grid.velocity", velocity_, {.unit = "code", .help = "added to the velocity of all gas"});
    t.add("grid.ambient_density", ambient_density_,
          {.unit = "code", .help = "outside of the grid; 0: the nearest value", .min = 0});
    t.add("grid.ambient_pressure", ambient_pressure_,
          {.unit = "code", .help = "outside of the grid; 0: the nearest value", .min = 0});
  }

  result<void> build() const override {
    std::call_once(once_, [this] {
      auto read = read_grid(file_);
      if (!read)
        failure_ = "grid.file: " + read.error().message;
      else
        data_ = in_code_units(*std::move(read));
      if (data_) check_place(*data_);
    });
    if (!data_) return error{failure_};
    return {};
  }

  primitive at(const vector& x, double) const override {
    const grid_data& g = data();
    std::array<int, 3> from{};
    std::array<double, 3> share{};
    bool inside = true;
    for (std::size_t a = 0; a < 3; ++a) {
      std::tie(from[a], share[a]) = g.axes[a].place(x[a] - shift_[a]);
      inside = inside && g.axes[a].covers(x[a] - shift_[a]);
    }
    const auto value = [&](std::size_t f) {
      const std::vector<double>& v = g.values[f];
      if (v.empty()) return 0.0;
      double sum = 0.0;
      for (int c = 0; c < 8; ++c) {
        double weight = 1.0;
        std::size_t index = 0;
        for (int a = 2; a >= 0; --a) {
          const int upper = c >> a & 1;
          weight *= upper == 1 ? share[static_cast<std::size_t>(a)] : 1.0 - share[static_cast<std::size_t>(a)];
          index = index * static_cast<std::size_t>(g.axes[static_cast<std::size_t>(a)].count) +
                  static_cast<std::size_t>(from[static_cast<std::size_t>(a)] + upper);
        }
        sum += weight * v[index];
      }
      return sum;
    };
    primitive w;
    w.density = !inside && ambient_density_ > 0.0 ? ambient_density_ : value(f_density);
    if (!inside && ambient_pressure_ > 0.0) {
      w.pressure = ambient_pressure_;
    } else {
      const double found = value(f_pressure);
      w.pressure = g.has_pressure ? found : eos().pressure(w.density, w.density * found);
    }
    for (std::size_t a = 0; a < 3; ++a) w.velocity[a] = velocity_[a] + (inside ? value(f_velocity + a) : 0.0);
    return w;
  }

 protected:
  result<void> do_prepare() override {
    if (file_.empty()) return error{"grid.file: expected the path of an HDF5 file, found none"};
    if (cgs_ && !setting().code_units.known) return error{"grid.cgs: expected [units] in the input, found none"};
    return {};
  }

  /// Two points per distance of the grid's in a cell.
  std::array<int, 3> samples(const cell& c, double) const override {
    std::array<int, 3> n{2, 2, 2};
    for (std::size_t a = 0; a < 3; ++a)
      while (n[a] < 16 && n[a] * data().axes[a].spacing < 2.0 * c.width[a]) n[a] *= 2;
    return n;
  }

 private:
  const grid_data& data() const {
    if (auto built = build(); !built) throw std::invalid_argument(built.error().message);
    return *data_;
  }

  // Coordinates in other units than the mesh's would silently give a uniform state.
  void check_place(const grid_data& g) const {
    for (std::size_t a = 0; a < 3; ++a) {
      const grid_axis& axis = g.axes[a];
      const double lower = axis.first - 0.5 * axis.spacing + shift_[a], upper = lower + axis.count * axis.spacing;
      if (lower < setting().upper[a] && upper > setting().lower[a]) continue;
      failure_ = fmt::format(
          "grid.file: {}: expected a grid that overlaps the mesh, from {} to {} along {}, found one from {} to {}, in "
          "code units; check the unit of its coordinates, grid.cgs and grid.shift",
          file_, setting().lower[a], setting().upper[a], "xyz"[a], lower, upper);
      data_.reset();
      return;
    }
  }

  grid_data in_code_units(grid_data g) const {
    if (!cgs_) return g;
    const units& u = setting().code_units;
    for (grid_axis& axis : g.axes) {
      axis.first = u.to_code(axis.first, dimensions::length);
      axis.spacing = u.to_code(axis.spacing, dimensions::length);
    }
    constexpr dimension per_mass{2, 0, -2};
    const std::array<dimension, grid_field_count> of{dimensions::density,
                                                     g.has_pressure ? dimensions::pressure : per_mass,
                                                     dimensions::velocity, dimensions::velocity, dimensions::velocity};
    for (std::size_t f = 0; f < of.size(); ++f)
      for (double& v : g.values[f]) v = u.to_code(v, of[f]);
    return g;
  }

  std::string file_;
  bool cgs_ = false;
  vector shift_{0, 0, 0}, velocity_{0, 0, 0};
  double ambient_density_ = 0.0, ambient_pressure_ = 0.0;
  mutable std::once_flag once_;
  mutable std::optional<grid_data> data_;
  mutable std::string failure_;
};

}  // namespace

std::unique_ptr<problem> make_grid() { return std::make_unique<grid_problem>(); }

}  // namespace plx::star
