#include "mesh/files/athdf.hpp"

#include <unistd.h>

#include <cstdio>
#include <limits>
#include <vector>

#include "base/file.hpp"
#include "mesh/files/athdf_content.hpp"

namespace plx::mesh {

result<void> write_athdf(const std::string& path, const block_mesh& mesh, const athdf_info& info, block_filler fill) {
  {
    const auto lock = hdf5_lock();
    auto file =
        hdf5_writer::create(path, structure_bytes(mesh) + content_bytes(mesh.block_count(), mesh.block_size(), info));
    if (!file) return file.error();
    write_structure(*file, mesh, info);
    write_content(*file, mesh.blocks(), mesh.block_size(), info, false, fill);
    if (auto done = file->commit(); !done) return done;
  }
  return write_file(xdmf_path(path), xdmf_text(path, mesh, info, false));
}

result<void> write_athdf_part(const std::string& path, std::span<const slot_id> blocks, int block_size,
                              const athdf_info& info, block_filler fill) {
  const auto lock = hdf5_lock();
  auto file = hdf5_writer::create(path, content_bytes(blocks.size(), block_size, info));
  if (!file) return file.error();
  write_content(*file, blocks, block_size, info, true, fill);
  return file->commit();
}

namespace {

void refer_to_parts(hdf5_writer& file, const block_mesh& mesh, const athdf_info& info,
                    std::span<const athdf_part> parts) {
  std::vector<hdf5_part> there;
  for (const athdf_part& p : parts) there.push_back({p.file, p.blocks});
  const hsize_t blocks = mesh.block_count(), n = mesh.block_size();
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  const float unknown_single = std::numeric_limits<float>::quiet_NaN();
  const std::int32_t no_locality = -1;
  for (const block_table& t : tables_of(info, true))
    file.dataset_of_parts(t.name, {blocks}, t.type, 0, there,
                          t.type == H5T_NATIVE_INT32 ? static_cast<const void*>(&no_locality) : &unknown);
  for (const athdf_dataset& d : info.datasets)
    file.dataset_of_parts(d.name, {d.variables.size(), blocks, n, n, n}, value_type(info), 1, there,
                          info.single_precision ? static_cast<const void*>(&unknown_single) : &unknown);
}

}  // namespace

result<void> write_athdf_of_parts(const std::string& path, const block_mesh& mesh, const athdf_info& info,
                                  std::span<const athdf_part> parts) {
  {
    const auto lock = hdf5_lock();
    auto file = hdf5_writer::create(path, structure_bytes(mesh) + 512 * parts.size() * (8 + info.datasets.size()));
    if (!file) return file.error();
    write_structure(*file, mesh, info);
    refer_to_parts(*file, mesh, info, parts);
    if (auto done = file->commit(); !done) return done;
  }
  auto done = write_file(xdmf_path(path), xdmf_text(path, mesh, info, true));
  if (!done) std::remove(path.c_str());  // the writer of the parts removes them
  return done;
}

std::optional<std::int64_t> athdf_step(const std::string& path) {
  if (access(xdmf_path(path).c_str(), R_OK) != 0 || access(path.c_str(), R_OK) != 0) return std::nullopt;
  const auto lock = hdf5_lock();
  const hdf5_id file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file) return std::nullopt;
  const hdf5_id step(H5Aopen(file, "NumCycles", H5P_DEFAULT), H5Aclose);
  std::int64_t found = 0;
  if (!step || H5Aread(step, H5T_NATIVE_INT64, &found) < 0) return std::nullopt;
  return found;
}

}  // namespace plx::mesh
