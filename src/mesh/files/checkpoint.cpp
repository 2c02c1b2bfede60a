#include "mesh/files/checkpoint.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <string>
#include <system_error>
#include <utility>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "io/hdf5_file.hpp"

namespace plx::mesh {

namespace {

constexpr const char* checkpoint_format = "parallax checkpoint";
constexpr const char* checkpoint_part_format = "parallax checkpoint part";

// A checksum of 64 bits; a change of the data goes unnoticed with probability 2^-64.
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

// The checksum that identifies a part of a checkpoint, the first of the part's checksums.
std::uint64_t part_checksum(const checkpoint_parts& parts, std::size_t index) {
  const std::uint64_t row[3] = {parts.mark, index, parts.all[index].blocks};
  const std::string& file = parts.all[index].file;
  return checksum(row, sizeof row) ^ checksum(file.data(), file.size());
}

// The checksum of everything except the cells.
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

// ---- writing

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
  for (const field_info& f : values.fields()) c.variables.push_back(f.name);
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

const std::vector<double>* checkpoint_state::find(std::string_view name) const {
  for (const auto& [key, list] : numbers)
    if (key == name) return &list;
  return nullptr;
}

// ---- reading

namespace {

/// The advice for a checkpoint that cannot be read.
std::string advice_for(const std::string& checkpoint) {
  const std::filesystem::path path(checkpoint), folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code failed;
  std::string previous;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    if (at->path().extension() == ".h5" && at->path().filename() < path.filename() && at->path().string() > previous)
      previous = at->path().string();
  if (failed) return "continue from an earlier one, or start the run again";
  return previous.empty() ? "there is no earlier one: start the run again"
                          : fmt::format("remove it to continue from '{}'", previous);
}

/// Reads the named data of an open checkpoint, or of a part of one. Thread safety: under hdf5_lock(). Errors: one line
/// that names the checkpoint, and the part if it is one.
class checkpoint_reader : public hdf5_reader {
 public:
  static result<checkpoint_reader> open(const std::string& checkpoint);
  /// Opens the part of this name.
  static result<checkpoint_reader> open_part(const std::string& checkpoint, const std::string& part);

  /// An error that describes the damage.
  error damaged(const std::string& what) const;

 private:
  checkpoint_reader(std::string checkpoint, std::string part)
      : checkpoint_(std::move(checkpoint)), part_(std::move(part)) {}
  static result<checkpoint_reader> open(const std::string& checkpoint, const std::string& part, const char* format);
  std::string path() const;
  result<void> check_size();
  result<void> check_format(const char* format) const;
  std::string checkpoint_, part_;
};

result<checkpoint_reader> checkpoint_reader::open(const std::string& checkpoint) {
  return open(checkpoint, "", checkpoint_format);
}

result<checkpoint_reader> checkpoint_reader::open_part(const std::string& checkpoint, const std::string& part) {
  return open(checkpoint, part, checkpoint_part_format);
}

result<checkpoint_reader> checkpoint_reader::open(const std::string& checkpoint, const std::string& part,
                                                  const char* format) {
  checkpoint_reader r(checkpoint, part);
  if (auto size = r.check_size(); !size) return size.error();
  auto file = hdf5_reader::open(r.path());
  if (!file) return r.damaged(file.error().message);
  static_cast<hdf5_reader&>(r) = *std::move(file);
  if (auto checked = r.check_format(format); !checked) return checked.error();
  return r;
}

std::string checkpoint_reader::path() const {
  return part_.empty() ? checkpoint_ : checkpoint_.substr(0, checkpoint_.rfind('/') + 1) + part_;
}

error checkpoint_reader::damaged(const std::string& what) const {
  const std::string where = part_.empty() ? "" : fmt::format("its part '{}': ", part_);
  return error{fmt::format("checkpoint '{}' is damaged: {}{}; {}", checkpoint_, where, what, advice_for(checkpoint_))};
}

result<void> checkpoint_reader::check_size() {
  struct stat there {};
  const bool exists = stat(path().c_str(), &there) == 0;
  const auto size = sizes_of(path());
  if (!size) {
    if (!part_.empty()) return damaged(size.error().message);
    if (exists && !S_ISREG(there.st_mode))
      return error{fmt::format("'{}' is not a checkpoint: expected a file", path())};
    return error{fmt::format("cannot read checkpoint '{}': {}", path(), size.error().message)};
  }
  if (size->found > 0 && !size->is_hdf5) {
    if (!part_.empty()) return damaged("expected an HDF5 file");
    return error{fmt::format("'{}' is not a checkpoint: expected an HDF5 file written by plx", path())};
  }
  if (size->found >= size->expected) return {};
  if (!part_.empty())
    return damaged(fmt::format("it is truncated: expected {} bytes, found {}", size->expected, size->found));
  return error{fmt::format("checkpoint '{}' is truncated: expected {} bytes, found {}; {}", checkpoint_, size->expected,
                           size->found, advice_for(checkpoint_))};
}

result<void> checkpoint_reader::check_format(const char* expected) const {
  std::vector<std::string> format;
  if (!has("Format") || !texts("Format", format) || format.size() != 1 || format[0] != expected) {
    if (!part_.empty()) return damaged("it is not a part of a checkpoint");
    return error{fmt::format("'{}' is not a checkpoint: an HDF5 file, but not written as one", path())};
  }
  int version = 0, complete = 0;
  if (!integer("Version", version)) return damaged("it has no version");
  if (version != checkpoint_version) {
    std::string build;
    if (!text("Build", build)) build = "an unknown program";
    return error{
        fmt::format("checkpoint '{}' has version {}, expected {}: resume it with the program that wrote it ({})",
                    path(), version, checkpoint_version, build)};
  }
  if (!has("Complete") || !integer("Complete", complete) || complete != 1) return damaged("its writer did not finish");
  return {};
}

bool read_header(const checkpoint_reader& r, checkpoint& c) {
  std::vector<std::string> names;
  std::vector<std::int32_t> rows;
  bool good = r.integer("BlockSize", c.block_size) && r.texts("Variables", c.variables) &&
              r.text("Build", c.state.build) && r.text("Options", c.state.options) &&
              r.text("Identity", c.state.identity) && r.texts("NumberNames", names) && r.whole("Leaves", rows) &&
              rows.size() % 5 == 0;
  for (const std::string& name : names) {
    if (!good || name.empty()) continue;
    auto& [key, list] = c.state.numbers.emplace_back(name, std::vector<double>{});
    good = r.whole("Numbers/" + key, list);
  }
  for (std::size_t i = 0; good && i < rows.size(); i += 5)
    c.leaves.push_back({{rows[i], {rows[i + 1], rows[i + 2], rows[i + 3]}}, no_slot, rows[i + 4]});
  return good;
}

bool read_parts(const checkpoint_reader& r, checkpoint_parts& parts) {
  std::string names;
  std::vector<std::uint64_t> blocks, mark;
  if (!r.text("Parts", names) || !r.whole("PartBlocks", blocks) || !r.whole("Mark", mark) || mark.size() != 1)
    return false;
  if (std::count(names.begin(), names.end(), '\n') != static_cast<std::ptrdiff_t>(blocks.size())) return false;
  parts.mark = mark[0];
  std::size_t at = 0;
  for (const std::uint64_t count : blocks) {
    const std::size_t end = names.find('\n', at);
    parts.all.push_back({names.substr(at, end - at), count});
    at = end + 1;
  }
  return true;
}

std::uint64_t blocks_in(const checkpoint_parts& parts) {
  return std::accumulate(parts.all.begin(), parts.all.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const checkpoint_part& p) { return sum + p.blocks; });
}

/// Reads everything except the cells, and the checksums of the file.
result<checkpoint> read_all_but_cells(const checkpoint_reader& r, std::vector<std::uint64_t>& sums) {
  checkpoint c;
  const bool of_parts = r.has_dataset("Parts");
  if (!read_header(r, c) || (of_parts && !read_parts(r, c.parts)) || !r.whole("Checksums", sums) ||
      sums.size() != (of_parts ? 1 : c.leaves.size() + 1))
    return r.damaged("a part is missing or cannot be read");
  if (sums[0] != header_checksum(c) || (of_parts && blocks_in(c.parts) != c.leaves.size()))
    return r.damaged("the checksum of its header does not match");
  return c;
}

/// Fills blocks `first` and following from a file with `count` of them. Blocks that `values` does not hold are skipped.
result<void> read_blocks(const checkpoint_reader& r, const block_mesh& mesh, std::size_t first, std::size_t count,
                         const std::vector<std::uint64_t>& sums, arena& values) {
  const hdf5_id data = r.dataset("Values");
  if (!data || sums.size() != count + 1) return r.damaged("its values cannot be read");
  const hsize_t n = mesh.block_size(), variables = values.variable_count();
  const extents expected = {count, variables, n, n, n};
  extents found = hdf5_reader::extents_of(data);
  const bool same = found == expected;
  found.resize(5);
  if (!same)
    return r.damaged(fmt::format("it holds {} of {} variables and {}^3 cells: expected {}, {} and {}^3",
                                 plural(found[0], "block"), found[1], found[2], expected[0], expected[1], expected[2]));
  const std::size_t bytes = static_cast<std::size_t>(variables) * values.cells() * sizeof(double);
  for (std::size_t i = 0; i < count; ++i) {
    if (!values.holds(mesh.blocks()[first + i])) continue;
    double* block = values.block(mesh.blocks()[first + i]);
    if (!hdf5_reader::box(data, {i, 0, 0, 0, 0}, {1, variables, n, n, n}, H5T_NATIVE_DOUBLE, block))
      return r.damaged(fmt::format("block {} cannot be read", first + i));
    if (checksum(block, bytes) != sums[i + 1])
      return r.damaged(fmt::format("the checksum of block {} does not match", first + i));
  }
  return {};
}

result<void> read_part(const std::string& path, const checkpoint& c, std::size_t index, const block_mesh& mesh,
                       std::size_t first, arena& values) {
  const checkpoint_part& part = c.parts.all[index];
  const auto r = checkpoint_reader::open_part(path, part.file);
  if (!r) return r.error();
  std::vector<std::uint64_t> sums;
  if (!r->whole("Checksums", sums) || sums.empty()) return r->damaged("its checksums cannot be read");
  if (sums[0] != part_checksum(c.parts, index)) return r->damaged("it belongs to another checkpoint");
  return read_blocks(*r, mesh, first, part.blocks, sums, values);
}

}  // namespace

result<checkpoint> read_checkpoint(const std::string& path) {
  const auto lock = hdf5_lock();
  const auto r = checkpoint_reader::open(path);
  if (!r) return r.error();
  std::vector<std::uint64_t> sums;
  return read_all_but_cells(*r, sums);
}

result<void> read_values(const std::string& path, const block_mesh& mesh, arena& values) {
  const auto lock = hdf5_lock();
  const auto r = checkpoint_reader::open(path);
  if (!r) return r.error();
  std::vector<std::uint64_t> sums;
  const auto c = read_all_but_cells(*r, sums);
  if (!c) return c.error();
  if (c->leaves.size() != mesh.block_count() || c->block_size != mesh.block_size() ||
      c->variables.size() != values.fields().size())
    return error{fmt::format("checkpoint '{}' holds {} of {} variables and {}^3 cells: expected {}, {} and {}^3", path,
                             plural(c->leaves.size(), "block"), c->variables.size(), c->block_size, mesh.block_count(),
                             values.variable_count(), mesh.block_size())};
  if (c->parts.all.empty()) return read_blocks(*r, mesh, 0, mesh.block_count(), sums, values);
  std::size_t first = 0;
  for (std::size_t i = 0; i < c->parts.all.size(); ++i) {
    const auto blocks = mesh.blocks().subspan(first, c->parts.all[i].blocks);
    const auto held = [&](slot_id s) { return values.holds(s); };
    if (std::any_of(blocks.begin(), blocks.end(), held))
      if (auto read = read_part(path, *c, i, mesh, first, values); !read) return read;
    first += blocks.size();
  }
  return {};
}

namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    all.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

std::string_view key_of_line(std::string_view line) { return line.substr(0, line.find(' ')); }

std::string_view line_of(const std::vector<std::string_view>& lines, std::string_view key) {
  const auto found =
      std::find_if(lines.begin(), lines.end(), [&](std::string_view l) { return key_of_line(l) == key; });
  return found == lines.end() ? std::string_view() : *found;
}

}  // namespace

result<void> same_input(const checkpoint& c, const std::string& path, std::string_view identity,
                        const identity_rules& rules) {
  const auto there = lines_of(c.state.identity), here = lines_of(identity), defaults = lines_of(rules.defaults);
  const auto check = [&](std::string_view key, std::string_view expected, std::string_view found) -> result<void> {
    if (found == expected || std::find(rules.may_change.begin(), rules.may_change.end(), key) != rules.may_change.end())
      return {};
    return error{
        fmt::format("checkpoint '{}' belongs to another input: expected \"{}\", found \"{}\"; resume with the input "
                    "that wrote it",
                    path, expected, found)};
  };
  for (const std::string_view expected : here) {
    const std::string_view key = key_of_line(expected);
    std::string_view found = line_of(there, key);
    if (found.empty()) found = line_of(defaults, key);
    if (auto r = check(key, expected, found); !r) return r;
  }
  for (const std::string_view found : there)
    if (line_of(here, key_of_line(found)).empty())
      if (auto r = check(key_of_line(found), "", found); !r) return r;
  return {};
}

}  // namespace plx::mesh
