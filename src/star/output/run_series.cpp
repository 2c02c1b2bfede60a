// Writes the files of [[output.series]].
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/file.hpp"
#include "base/log.hpp"
#include "mesh/files/pixel_file.hpp"
#include "rt/runtime.hpp"
#include "star/driver/simulation.hpp"
#include "star/output/run_files.hpp"
#include "star/output/series/pixels.hpp"
#include "star/output/series/shells.hpp"

namespace plx::star {

namespace {

task_info info() { return {probe::register_name("star.series"), probe::no_key}; }

result<void> check_precision(const std::string& path, const mesh::pixel_image& image) {
  if (!image.single_precision) return {};
  double largest = 0.0;
  for (const std::vector<double>& values : image.values)
    for (const double v : values) largest = std::max(largest, std::abs(v));
  if (largest <= std::numeric_limits<float>::max()) return {};
  return error{
      fmt::format("cannot write '{}': a value of {:g} does not fit into single precision; set precision = "
                  "\"double\" in this [[output.series]]",
                  path, largest)};
}

}  // namespace

result<void> run_files::write_due_series(double before, std::uint32_t wished) {
  std::vector<std::size_t> due = series_.due(before, sim_.time(), sim_.steps());
  if ((wished & wish_series) != 0) {  // the root's clock decides
    std::vector<double> by_wall;
    for (const std::size_t i : series_.due_by_wall_time(wall_s())) by_wall.push_back(static_cast<double>(i));
    for (const double i : from_root(net(), sim_.tasks(), std::move(by_wall)))
      due.push_back(static_cast<std::size_t>(i));
  }
  for (const std::size_t i : due)
    if (auto r = write_series(series_.all()[i]); !r) return r;
  return {};
}

result<void> run_files::write_all_series() {
  for (output_series& s : series_.all())
    if (auto r = write_series(s); !r) return r;
  return {};
}

result<void> run_files::write_series(output_series& s) {
  if (s.step == sim_.steps()) return {};
  sim_.fetch();
  const std::string path = folder_.series_file(s.options.name, s.next, s.ending());
  auto written = s.options.kind == "mesh"      ? write_mesh_to(path, {s.variables, s.options.precision == "single"}, {})
                 : s.options.kind == "profile" ? write_shells(path, s)
                 : s.options.kind == "tracers" ? write_tracers(path, s)
                                               : write_pixels(path, s);
  if (!written) return written;
  log_info("step {}, time {:g}: wrote {}", sim_.steps(), sim_.time(), path);
  s.step = sim_.steps();
  s.wall_s = wall_s();
  ++s.next;
  return {};
}

result<void> run_files::write_pixels(const std::string& path, const output_series& s) {
  mesh::pixel_image image =
      sim_.tasks().run(info(), [&] { return paint(s.options, s.variables, sim_.state(), sim_.settings().hydro); });
  return at_root([&]() -> result<void> {
    const units& u = sim_.settings().code_units;
    image.time = sim_.time();
    image.step = sim_.steps();
    for (const output_variable& v : s.variables) {
      const dimension d = unit_in_image(s.options, v);
      image.units.push_back(u.name_of(d));
      image.factors.push_back(u.cgs_of(d));
    }
    image.numbers = attributes_of(u);
    if (auto fits = check_precision(path, image); !fits) return fits;
    return mesh::write_pixel_file(path, image);
  });
}

result<void> run_files::write_tracers(const std::string& path, const output_series& s) {
  const std::string table = sim_.tasks().run(info(), [&] {
    return sim_.points().table(s.variables, sim_.state(), sim_.settings().hydro, sim_.scratch(), sim_.steps(),
                               sim_.time());
  });
  return at_root([&] { return write_file(path, table); });
}

result<void> run_files::write_shells(const std::string& path, const output_series& s) {
  const std::string table = sim_.tasks().run(info(), [&] {
    return shell_table(s.options, s.variables, sim_.state(), sim_.settings().hydro, sim_.tasks().worker_count(),
                       sim_.steps(), sim_.time());
  });
  return at_root([&] { return write_file(path, table); });
}

}  // namespace plx::star
