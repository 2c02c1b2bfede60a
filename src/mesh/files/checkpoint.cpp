#include "mesh/files/checkpoint.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "io/hdf5_file.hpp"
#include "mesh/files/checkpoint_format.hpp"

namespace plx::mesh {

namespace {

std::uint64_t header_bytes(const block_mesh& mesh, const checkpoint_state& state, const checkpoint_parts& parts) {
  std::uint64_t bytes = std::uint64_t{32768} + state.build.size() + state.options.size() + state.identity.size();
  for (const auto& [name, list] : state.numbers) bytes += 4096 + list.size() * sizeof(double);
  for (const checkpoint_part& p : parts.all) bytes += 64 + p.file.size();
  return bytes + mesh.block_count() * 32;
}

std::uint64_t block_bytes(std::size_t blocks, const arena& values) {
  const std::uint64_t cells = static_cast<std::uint64_t>(values.variable_count()) * values.cells();
  return 32768 + blocks * (32 + cells * sizeof(double));
}

}  // namespace

std::uint64_t checksum(const void* data, std::size_t bytes) {
  const auto* byte = static_cast<const unsigned char*>(data);
  std::uint64_t lane[4] = {0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0, 0x082efa98ec4e6c89};
  const auto mix = [](std::uint64_t h, std::uint64_t word) {
    h = (h ^ word) * 0x9e3779b97f4a7c15;
    return h ^ h >> 32;
  };
  std::size_t at = 0;
  for (; at + 32 <= bytes; at += 32)
    for (int l = 0; l < 4; ++l) {
      std::uint64_t word;
      std::memcpy(&word, byte + at + 8 * l, 8);
      lane[l] = mix(lane[l], word);
    }
  std::uint64_t h = mix(bytes, lane[0]);
  for (int l = 1; l < 4; ++l) h = mix(h, lane[l]);
  for (; at < bytes; ++at) h = mix(h, byte[at]);
  return h;
}

std::uint64_t header_checksum(const checkpoint& c) {
  std::uint64_t h = static_cast<std::uint64_t>(c.block_size);
  const auto add = [&h](const void* data, std::size_t bytes) {
    const std::uint64_t pair[2] = {h, checksum(data, bytes)};
    h = checksum(pair, sizeof pair);
  };
  for (const std::string* s : {&c.state.build, &c.state.options, &c.state.identity}) add(s->data(), s->size());
  for (const auto& [name, list] : c.state.numbers) {
    add(name.data(), name.size());
    add(list.data(), list.size() * sizeof(double));
  }
  for (const std::string& v : c.variables) add(v.data(), v.size());
  for (const leaf& l : c.leaves) {
    const std::int32_t row[5] = {l.where.level, l.where.x[0], l.where.x[1], l.where.x[2], l.coarsen_votes};
    add(row, sizeof row);
  }
  for (std::size_t i = 0; i < c.parts.all.size(); ++i) {
    const std::uint64_t sum = part_checksum(c.parts, i);
    add(&sum, sizeof sum);
  }
  return h;
}

std::uint64_t part_checksum(const checkpoint_parts& parts, std::size_t index) {
  const std::uint64_t row[3] = {parts.mark, index, parts.all[index].blocks};
  const std::string& file = parts.all[index].file;
  return checksum(row, sizeof row) ^ checksum(file.data(), file.size());
}

const std::vector<double>* checkpoint_state::find(std::string_view name) const {
  for (const auto& [key, list] : numbers)
    if (key == name) return &list;
  return nullptr;
}

namespace {

void write_header(hdf5_writer& file, const checkpoint& c) {
  file.attribute("Format", std::string(checkpoint_format));
  file.attribute("Version", checkpoint_version);
  file.attribute("BlockSize", c.block_size);
  file.attribute("Variables", c.variables);
  file.text("Build", c.state.build);
  file.text("Options", c.state.options);
  file.text("Identity", c.state.identity);
  std::vector<std::int32_t> rows;
  for (const leaf& l : c.leaves)
    rows.insert(rows.end(), {l.where.level, l.where.x[0], l.where.x[1], l.where.x[2], l.coarsen_votes});
  file.dataset("Leaves", {c.leaves.size(), 5}, H5T_STD_I32LE, H5T_NATIVE_INT32, rows.data());
  file.group("Numbers");
  std::vector<std::string> names;
  for (const auto& [name, list] : c.state.numbers) {
    names.push_back(name);
    file.dataset("Numbers/" + name, {list.size()}, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, list.data());
  }
  file.attribute("NumberNames", names.empty() ? std::vector<std::string>{""} : names);
}

void write_parts(hdf5_writer& file, const checkpoint_parts& parts) {
  std::string names;
  std::vector<std::uint64_t> blocks;
  for (const checkpoint_part& p : parts.all) {
    names += p.file + "\n";
    blocks.push_back(p.blocks);
  }
  file.text("Parts", names);
  file.dataset("PartBlocks", {blocks.size()}, H5T_STD_U64LE, H5T_NATIVE_UINT64, blocks.data());
  file.dataset("Mark", {1}, H5T_STD_U64LE, H5T_NATIVE_UINT64, &parts.mark);
}

void write_sums(hdf5_writer& file, const std::vector<std::uint64_t>& sums) {
  file.dataset("Checksums", {sums.size()}, H5T_STD_U64LE, H5T_NATIVE_UINT64, sums.data());
  file.attribute("Complete", 1);
}

// Writes the cells, then the checksums, and the completion mark last.
void write_blocks(hdf5_writer& file, std::span<const slot_id> slots, const arena& values, std::uint64_t header) {
  const hsize_t n = values.block_size(), blocks = slots.size(), variables = values.variable_count();
  const std::size_t count = static_cast<std::size_t>(variables) * values.cells();
  const hdf5_id data = file.open_dataset("Values", {blocks, variables, n, n, n}, H5T_IEEE_F64LE);
  std::vector<std::uint64_t> sums{header};
  const std::size_t batch = std::max<std::size_t>(1, (std::size_t{1} << 19) / count);
  std::vector<double> together(batch * count);
  for (std::size_t first = 0; first < blocks; first += batch) {
    const std::size_t now = std::min<std::size_t>(batch, blocks - first);
    for (std::size_t b = 0; b < now; ++b) {
      const double* block = values.block(slots[first + b]);
      sums.push_back(checksum(block, count * sizeof(double)));
      std::copy_n(block, count, &together[b * count]);
    }
    file.box(data, {first, 0, 0, 0, 0}, {now, variables, n, n, n}, H5T_NATIVE_DOUBLE, together.data());
  }
  write_sums(file, sums);
}

checkpoint header_of(const block_mesh& mesh, const arena& values, const checkpoint_state& state) {
  checkpoint c;
  c.state = state;
  c.block_size = mesh.block_size();
  for (const slot_id s : mesh.blocks()) c.leaves.push_back({mesh.where(s), no_slot, mesh.coarsen_votes(s)});
  for (const variable& v : values.variables()) c.variables.push_back(v.name);
  return c;
}

}  // namespace

result<void> write_checkpoint(const std::string& path, const block_mesh& mesh, const arena& values,
                              const checkpoint_state& state) {
  const checkpoint c = header_of(mesh, values, state);
  const auto lock = hdf5_lock();
  auto file = hdf5_writer::create(path, header_bytes(mesh, state, {}) + block_bytes(mesh.block_count(), values));
  if (!file) return file.error();
  write_header(*file, c);
  write_blocks(*file, mesh.blocks(), values, header_checksum(c));
  return file->commit();
}

result<void> write_checkpoint_part(const std::string& path, const block_mesh& mesh, const arena& values,
                                   const checkpoint_parts& parts, std::size_t index) {
  std::size_t first = 0;
  for (std::size_t i = 0; i < index; ++i) first += parts.all[i].blocks;
  const auto slots = mesh.blocks().subspan(first, parts.all[index].blocks);
  const auto lock = hdf5_lock();
  auto file = hdf5_writer::create(path, block_bytes(slots.size(), values));
  if (!file) return file.error();
  file->attribute("Format", std::string(checkpoint_part_format));
  file->attribute("Version", checkpoint_version);
  write_blocks(*file, slots, values, part_checksum(parts, index));
  return file->commit();
}

result<void> write_checkpoint_of_parts(const std::string& path, const block_mesh& mesh, const arena& values,
                                       const checkpoint_state& state, const checkpoint_parts& parts) {
  checkpoint c = header_of(mesh, values, state);
  c.parts = parts;
  const auto lock = hdf5_lock();
  auto file = hdf5_writer::create(path, header_bytes(mesh, state, parts));
  if (!file) return file.error();
  write_header(*file, c);
  write_parts(*file, parts);
  write_sums(*file, {header_checksum(c)});
  return file->commit();
}

}  // namespace plx::mesh
