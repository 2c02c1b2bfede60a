#include "mesh/files/pixel_file.hpp"

#include "io/hdf5_file.hpp"

namespace plx::mesh {

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

}  // namespace plx::mesh
