#include "qmc/dca/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "io/hdf5_file.hpp"
#include "num/saved_numbers.hpp"

namespace plx::qmc {
namespace {

constexpr const char* format_name = "plx-dca checkpoint";
constexpr int format_version = 1;  // incremented when the meaning of the file changes

// FNV-1a on words of 64 bits.
std::uint64_t checksum(const dca_checkpoint& c, const std::vector<double>& numbers) {
  std::uint64_t h = 0xcbf29ce484222325;
  const auto add = [&](std::uint64_t word) { h = (h ^ word) * 0x100000001b3; };
  for (double x : numbers) {
    std::uint64_t word = 0;
    std::memcpy(&word, &x, sizeof word);
    add(word);
  }
  for (const unsigned char byte : c.options) add(byte);
  for (const std::uint64_t bytes : c.table_bytes) add(bytes);
  return h;
}

std::vector<double> numbers_of(const dca_state& s) {
  std::vector<double> numbers, eigenvalues;
  number_writer to(numbers);
  to.add(s.temperature);
  to.add(s.iteration);
  to.add(static_cast<double>(s.streams));
  to.add(s.seconds);
  save_function(to, s.self_energy);
  to.add(s.t);
  for (const auto& e : s.d_wave) eigenvalues.insert(eigenvalues.end(), {e.value, e.error});
  to.add(eigenvalues);
  to.add(static_cast<double>(s.walkers.size()));
  for (const auto& w : s.walkers) to.add(w);
  return numbers;
}

bool read_state(const std::vector<double>& numbers, dca_state& s) {
  number_reader from(numbers);
  s.temperature = from.integer<int>();
  s.iteration = from.integer<int>();
  s.streams = from.integer<std::uint64_t>();
  s.seconds = from.number();
  s.self_energy = load_function(from);
  s.t = from.numbers();
  const auto eigenvalues = from.numbers();
  for (std::size_t i = 0; i + 1 < eigenvalues.size(); i += 2) s.d_wave.push_back({eigenvalues[i], eigenvalues[i + 1]});
  s.walkers.resize(std::min(from.integer<std::size_t>(), numbers.size()));
  for (auto& w : s.walkers) w = from.numbers();
  return from.is_complete();
}

error damaged(const std::string& path, const std::string& what) {
  return error{fmt::format("checkpoint '{}' is damaged: {}; start the run again in another folder", path, what)};
}

}  // namespace

result<void> write_dca_checkpoint(const std::string& path, const dca_checkpoint& c) {
  const auto numbers = numbers_of(c.state);
  const std::uint64_t sum = checksum(c, numbers);
  const auto lock = hdf5_lock();
  auto file = hdf5_writer::create(path, 65536 + c.options.size() + c.build.size() + sizeof(double) * numbers.size());
  if (!file) return file.error();
  file->attribute("Format", std::string(format_name));
  file->attribute("Version", format_version);
  file->text("Build", c.build);
  file->text("Options", c.options);
  file->dataset("Tables", {c.table_bytes.size()}, H5T_STD_U64LE, H5T_NATIVE_UINT64, c.table_bytes.data());
  file->dataset("State", {numbers.size()}, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, numbers.data());
  file->dataset("Checksum", {1}, H5T_STD_U64LE, H5T_NATIVE_UINT64, &sum);
  return file->commit();
}

result<dca_checkpoint> read_dca_checkpoint(const std::string& path) {
  const auto lock = hdf5_lock();
  const auto size = hdf5_reader::sizes_of(path);
  if (!size) return error{fmt::format("cannot read checkpoint '{}': {}", path, size.error().message)};
  if (!size->is_hdf5) return error{fmt::format("'{}' is not a checkpoint: expected an HDF5 file of plx-dca", path)};
  if (size->found < size->expected)
    return damaged(path, fmt::format("it is truncated: expected {} bytes, found {}", size->expected, size->found));
  const auto r = hdf5_reader::open(path);
  if (!r) return damaged(path, r.error().message);
  std::vector<std::string> format;
  if (!r->has("Format") || !r->texts("Format", format) || format != std::vector<std::string>{format_name})
    return error{fmt::format("'{}' is not a checkpoint: an HDF5 file, but not one of plx-dca", path)};
  int version = 0;
  dca_checkpoint c;
  if (!r->integer("Version", version) || !r->text("Build", c.build)) return damaged(path, "it has no version");
  if (version != format_version)
    return error{
        fmt::format("checkpoint '{}' has version {}, expected {}: resume it with the program that wrote it ({})", path,
                    version, format_version, c.build)};
  std::vector<double> numbers;
  std::vector<std::uint64_t> sum;
  if (!r->text("Options", c.options) || !r->whole("Tables", c.table_bytes) || !r->whole("State", numbers) ||
      !r->whole("Checksum", sum) || sum.size() != 1)
    return damaged(path, "a part is missing or cannot be read");
  if (sum[0] != checksum(c, numbers)) return damaged(path, "its checksum does not match");
  if (!read_state(numbers, c.state)) return damaged(path, "its state is incomplete");
  return c;
}

result<dca_options> options_of_resumed(const dca_checkpoint& c, const std::vector<std::string>& sets) {
  dca_options before, now;
  config_table old_table, table;
  before.describe(old_table);
  now.describe(table);
  for (config_table* t : {&old_table, &table})
    if (auto r = t->load_text(c.options, "checkpoint"); !r) return r.error();
  for (const auto& s : sets) {
    const std::string unchanged = table.toml(), key = s.substr(0, s.find_first_of("= "));
    if (auto r = table.set(s); !r) return r.error();
    if (table.toml() != unchanged && key != "loop.temperatures" && key != "loop.iterations" &&
        key != "loop.first_iterations" && key != "output.checkpoint_interval_s")
      return error{
          fmt::format("{}: a resumed run cannot change it; expected one of loop.temperatures, loop.iterations, "
                      "loop.first_iterations, output.checkpoint_interval_s, or a new run with this option",
                      key)};
  }
  const dca_state& s = c.state;
  const bool begun = s.iteration > 0 || !s.walkers.empty();
  const auto reached = static_cast<std::size_t>(s.temperature) + (begun ? 1 : 0);
  if (now.temperatures.size() < reached ||
      !std::equal(now.temperatures.begin(), now.temperatures.begin() + reached, before.temperatures.begin()))
    return error{
        fmt::format("loop.temperatures: expected the first {} unchanged, which the checkpoint has reached", reached)};
  if (!s.walkers.empty() && (now.iterations != before.iterations || now.first_iterations != before.first_iterations))
    return error{"loop.iterations: the run was stopped within an iteration; resume it without a change first"};
  return now;
}

}  // namespace plx::qmc
