#include "io/run_checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/file.hpp"
#include "base/text.hpp"

namespace plx {
namespace {

std::uint64_t checksum(const run_checkpoint& c) {
  word_checksum sum;
  sum.add(c.numbers);
  for (const unsigned char byte : c.options) sum.add(byte);
  for (const std::uint64_t bytes : c.table_bytes) sum.add(bytes);
  return sum.value();
}

// "key = value" of each key.
std::vector<std::string> lines_of(const config_table& table) {
  const std::string text = table.text_effective();
  std::vector<std::string> lines;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    line.resize(line.rfind("  # "));
    line.resize(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

void word_checksum::add(std::span<const double> numbers) noexcept {
  for (const double x : numbers) {
    std::uint64_t word = 0;
    std::memcpy(&word, &x, sizeof word);
    add(word);
  }
}

error damaged_checkpoint(const std::string& path, const std::string& what) {
  return error{fmt::format("checkpoint '{}' is damaged: {}; start the run again in another folder", path, what)};
}

void begin_checkpoint(hdf5_writer& file, const checkpoint_kind& kind) {
  file.attribute("Format", kind.program + " checkpoint");
  file.attribute("Version", kind.version);
}

result<hdf5_reader> open_checkpoint(const std::string& path, const checkpoint_kind& kind) {
  const auto size = hdf5_reader::sizes_of(path);
  if (!size) return error{fmt::format("cannot read checkpoint '{}': {}", path, size.error().message)};
  if (!size->is_hdf5)
    return error{fmt::format("'{}' is not a checkpoint: expected an HDF5 file of {}", path, kind.program)};
  if (size->found < size->expected)
    return damaged_checkpoint(
        path, fmt::format("it is truncated: expected {}, found {}", plural(size->expected, "byte"), size->found));
  auto r = hdf5_reader::open(path);
  if (!r) return damaged_checkpoint(path, r.error().message);
  std::vector<std::string> format;
  if (!r->has("Format") || !r->texts("Format", format) ||
      format != std::vector<std::string>{kind.program + " checkpoint"})
    return error{fmt::format("'{}' is not a checkpoint: an HDF5 file, but not one of {}", path, kind.program)};
  int version = 0;
  if (!r->integer("Version", version)) return damaged_checkpoint(path, "it has no version");
  std::string writer = "of another version";
  if (version != kind.version && r->has_dataset("Build")) r->text("Build", writer);
  if (version != kind.version)
    return error{
        fmt::format("checkpoint '{}' has version {}, expected {}: resume it with the program that wrote it ({})", path,
                    version, kind.version, writer)};
  return r;
}

result<void> write_run_checkpoint(const std::string& path, const checkpoint_kind& kind, const run_checkpoint& c) {
  const std::uint64_t sum = checksum(c);
  const auto lock = hdf5_lock();
  auto file = hdf5_writer::create(path, 65536 + c.options.size() + c.build.size() + sizeof(double) * c.numbers.size());
  if (!file) return file.error();
  begin_checkpoint(*file, kind);
  file->text("Build", c.build);
  file->text("Options", c.options);
  file->dataset("Tables", {c.table_bytes.size()}, H5T_STD_U64LE, H5T_NATIVE_UINT64, c.table_bytes.data());
  file->dataset("State", {c.numbers.size()}, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, c.numbers.data());
  file->dataset("Checksum", {1}, H5T_STD_U64LE, H5T_NATIVE_UINT64, &sum);
  return file->commit();
}

result<run_checkpoint> read_run_checkpoint(const std::string& path, const checkpoint_kind& kind) {
  const auto lock = hdf5_lock();
  const auto r = open_checkpoint(path, kind);
  if (!r) return r.error();
  run_checkpoint c;
  std::vector<std::uint64_t> sum;
  if (!r->text("Build", c.build) || !r->text("Options", c.options) || !r->whole("Tables", c.table_bytes) ||
      !r->whole("State", c.numbers) || !r->whole("Checksum", sum) || sum.size() != 1)
    return damaged_checkpoint(path, "a part is missing or cannot be read");
  if (sum[0] != checksum(c)) return damaged_checkpoint(path, "its checksum does not match");
  return c;
}

result<void> same_options(const config_table& before, const config_table& now, std::span<const char* const> may_change,
                          const std::string& where) {
  const auto old_lines = lines_of(before), lines = lines_of(now);
  for (std::size_t i = 0; i < std::min(old_lines.size(), lines.size()); ++i) {
    if (old_lines[i] == lines[i]) continue;
    const std::size_t end = lines[i].find(" = ");
    const std::string key = lines[i].substr(0, end);
    if (std::find(may_change.begin(), may_change.end(), std::string_view(key)) != may_change.end()) continue;
    return error{
        fmt::format("{}{}: expected {}, with which the run was begun, found {}; a resumed run cannot change this "
                    "option{}: leave it as it was, or start a new run",
                    where, key, old_lines[i].substr(old_lines[i].find(" = ") + 3), lines[i].substr(end + 3),
                    may_change.empty() ? "" : fmt::format(", only {}", fmt::join(may_change, ", ")))};
  }
  return {};
}

}  // namespace plx
