#include "qmc/dca/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "io/run_checkpoint.hpp"
#include "num/saved_numbers.hpp"

namespace plx::qmc {
namespace {

const checkpoint_kind kind = {"plx-dca", 5};
constexpr const char* may_change[] = {"loop.temperatures", "loop.iterations", "loop.first_iterations",
                                      "output.checkpoint_interval_s", "four_point.distribute"};

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
  save_parts(to, s.functions);
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
  s.functions = load_parts(from, numbers.size());
  return from.is_complete() && s.functions.have(s.walkers.size());
}

}  // namespace

result<void> write_dca_checkpoint(const std::string& path, const dca_checkpoint& c) {
  return write_run_checkpoint(path, kind, {c.build, c.options, c.table_bytes, numbers_of(c.state)});
}

result<dca_checkpoint> read_dca_checkpoint(const std::string& path) {
  auto file = read_run_checkpoint(path, kind);
  if (!file) return file.error();
  dca_checkpoint c{std::move(file->build), std::move(file->options), {}, std::move(file->table_bytes)};
  if (!read_state(file->numbers, c.state)) return damaged_checkpoint(path, "its state is incomplete");
  return c;
}

result<void> check_same_run(const dca_checkpoint& c, const std::string& config) {
  std::error_code failed;
  if (!std::filesystem::exists(config, failed)) return {};
  dca_options of_file, of_checkpoint;
  config_table file, checkpoint;
  of_file.describe(file);
  of_checkpoint.describe(checkpoint);
  if (auto r = file.load_file(config); !r) return r;
  if (auto r = checkpoint.load_text(c.options, "checkpoint"); !r) return r;
  return same_options(checkpoint, file, may_change, config + ": ");
}

result<dca_options> options_of_resumed(const dca_checkpoint& c, const std::vector<std::string>& sets) {
  dca_options before, now;
  config_table old_table, table;
  before.describe(old_table);
  now.describe(table);
  for (config_table* t : {&old_table, &table})
    if (auto r = t->load_text(c.options, "checkpoint"); !r) return r.error();
  for (const auto& s : sets)
    if (auto r = table.set(s); !r) return r.error();
  if (auto r = same_options(old_table, table, may_change); !r) return r.error();
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
