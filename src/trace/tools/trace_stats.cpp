#include "trace/tools/trace_stats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "probe/monitor/task_energy.hpp"
#include "trace/file/run_files.hpp"
#include "trace/profile.hpp"
#include "trace/tools/slice_sink.hpp"

namespace plx::probe {
namespace {

constexpr double bins_per_octave = 4;

/// The energy of the machine over the time of a file.
class energy_sink final : public trace_sink {
 public:
  explicit energy_sink(energy_curve& to) : to_(to) {}
  void sample(const trace_sample& s) override {
    if (s.name == task_energy::counter_name) to_.add(s.when, s.value);
  }

 private:
  energy_curve& to_;
};

/// Adds the slices of one file to the types of all.
class slice_counter final : public slice_sink {
 public:
  slice_counter(std::vector<slice_statistics>& types, const tick_window& window, const energy_curve& energy)
      : slice_sink(window, false), types_(types), energy_(energy) {}

  void begin(const trace_start& s) override {
    slice_sink::begin(s);
    tick_s_ = 1 / s.ticks_per_second;
  }
  void row(unsigned row, std::string_view, std::uint32_t device) override {
    rows_.resize(std::max<std::size_t>(rows_.size(), row + std::size_t{1}));
    rows_[row] = device == 0 ? row_kind::worker : row_kind::device;
  }
  [[nodiscard]] double wall_s() const noexcept {
    return last_ > first_ ? static_cast<double>(last_ - first_) * tick_s_ : 0;
  }
  [[nodiscard]] unsigned workers() const noexcept {
    return static_cast<unsigned>(std::count(rows_.begin(), rows_.end(), row_kind::worker));
  }

  void slice(unsigned row, const trace_slice& s, std::span<const trace_edge>) override {
    if (row >= rows_.size() || rows_[row] == row_kind::unknown) slice_counter::row(row, {}, 0);
    if (s.name >= types_.size()) types_.resize(s.name + std::size_t{1});
    slice_statistics& t = types_[s.name];
    const double length_s = static_cast<double>(ticks_between(s.begin, s.end)) * tick_s_;
    const auto octaves = bins_per_octave * std::log2(std::max(length_s * 1e9, 1.0));
    const unsigned bin = std::min(static_cast<unsigned>(std::ceil(octaves)), slice_statistics::n_bins - 1);
    const double weight = s.every;
    t.bins[bin] += s.every;
    t.min_s = t.slices == 0 ? length_s : std::min(t.min_s, length_s);
    t.max_s = std::max(t.max_s, length_s);
    ++t.recorded;
    t.slices += s.every;
    t.tasks += s.finished ? s.every : 0;
    t.total_s += weight * length_s;
    t.squares_s2 += weight * length_s * length_s;
    if (energy_.size() != 0 && rows_[row] == row_kind::worker)
      t.energy_j += energy_.at(std::min(s.end, window().last)) - energy_.at(std::max(s.begin, window().first));
    if (s.ready != 0) t.wait_s += weight * static_cast<double>(ticks_between(s.ready, s.begin)) * tick_s_;
    first_ = std::min(first_, s.begin), last_ = std::max(last_, s.end);
  }

 private:
  enum class row_kind : std::uint8_t { unknown, worker, device };

  std::vector<slice_statistics>& types_;
  const energy_curve& energy_;
  std::vector<row_kind> rows_;
  double tick_s_ = 1;
  ticks first_ = ~ticks{0}, last_ = 0;
};

}  // namespace

double slice_statistics::quantile_s(double share) const noexcept {
  const auto rank = static_cast<std::uint64_t>(share * static_cast<double>(slices));
  std::uint64_t below = 0;
  for (unsigned i = 0; i < n_bins; ++i)
    if ((below += bins[i]) > rank) return std::min(1e-9 * std::exp2(i / bins_per_octave), max_s);
  return max_s;
}

result<trace_statistics> statistics_of_trace(const std::vector<std::string>& files, const time_range& range) {
  trace_statistics all;
  std::vector<slice_statistics> types;
  const auto run = run_files(files, all.warnings);
  if (!run) return run.error();
  for (const run_file& file : *run) {
    const tick_window window = window_of(*run, file, range);
    energy_curve energy;
    if (run->size() == 1) {  // each process of a job has the energy of its whole machine
      energy_sink samples(energy);
      if (const auto read = read_trace(file.path, samples, {.only_small = true}); !read) return read.error();
    }
    slice_counter counter(types, window, energy);
    const auto found = read_trace(file.path, counter, window);
    if (!found) return found.error();
    all.energy_j = energy.at(window.last) - energy.at(window.first);
    all.records += found->records, all.lost += found->totals.lost, all.bytes += found->bytes;
    all.share = std::min(all.share, found->totals.share);
    all.wall_s = std::max(all.wall_s, counter.wall_s());
    all.workers += counter.workers();
    for (std::string& line : found->warnings(file.path)) all.warnings.push_back(std::move(line));
  }
  if (all.share < 1) all.energy_j = 0;
  for (name_id id = 0; id < types.size(); ++id) {
    if (types[id].slices == 0) continue;
    types[id].name = name_of(id);
    types[id].energy_j /= std::max(1u, all.workers);
    all.types.push_back(std::move(types[id]));
  }
  std::stable_sort(all.types.begin(), all.types.end(),
                   [](const auto& a, const auto& b) { return a.total_s > b.total_s; });
  return all;
}

std::string statistics_text(const trace_statistics& s, std::size_t rows) {
  double total_s = 0;
  for (const slice_statistics& t : s.types) total_s += t.total_s;
  std::string text = fmt::format("{} records in {} bytes, {} dropped; {} workers for {}\n", count_text(s.records),
                                 count_text(s.bytes), count_text(s.lost), s.workers, time_text(s.wall_s));
  if (s.share < 1)
    text += fmt::format("trace-budget reduced the recorded share of some types to {:.3g} %: slices are estimates\n",
                        100 * s.share);
  text += "\n";
  const bool energy = s.energy_j > 0;
  const std::size_t width = energy ? 22 : 32;
  const auto joules = [&](double j) { return energy ? fmt::format(" {:>7.3g} J", j) : std::string(); };
  text += fmt::format("{:<{}} {:>9} {:>9} {:>6} {:>8} {:>8} {:>8} {:>8} {:>8}{}\n", "task type", width, "slices",
                      "total", "share", "mean", "median", "99 %", "max", "wait", energy ? "    energy" : "");
  for (const slice_statistics& t : std::span(s.types).first(std::min(rows, s.types.size())))
    text += fmt::format("{} {:>9} {:>9} {:>5.1f}% {:>8} {:>8} {:>8} {:>8} {:>8}{}\n",
                        padded(shortened(t.name, width), width), count_text(t.slices), time_text(t.total_s),
                        total_s > 0 ? 100 * t.total_s / total_s : 0.0, time_text(t.mean_s()),
                        time_text(t.quantile_s(0.5)), time_text(t.quantile_s(0.99)), time_text(t.max_s),
                        time_text(t.wait_s / static_cast<double>(t.slices)), joules(t.energy_j));
  if (s.types.size() > rows) text += fmt::format("and {} more types\n", s.types.size() - rows);
  if (energy) {
    double of_tasks = 0;
    for (const slice_statistics& t : s.types) of_tasks += t.energy_j;
    text += fmt::format("energy of the machine: {:.3g} J: tasks {:.3g} J, no task {:.3g} J\n", s.energy_j, of_tasks,
                        s.energy_j - of_tasks);
  }
  return text;
}

std::string histogram_text(const trace_statistics& s, const std::string& pattern) {
  constexpr auto step = static_cast<unsigned>(bins_per_octave);
  constexpr double widest = 60;
  std::string text;
  for (const slice_statistics& t : s.types) {
    if (t.name.find(pattern) == std::string::npos) continue;
    std::vector<std::uint64_t> octaves;
    for (unsigned i = 0; i < slice_statistics::n_bins; ++i) {
      if (i % step == 1 || octaves.empty()) octaves.push_back(0);  // bin 0 ends at 1 ns, bins 1 to 4 at 2 ns, ...
      octaves.back() += t.bins[i];
    }
    const auto first = std::find_if(octaves.begin(), octaves.end(), [](auto n) { return n != 0; });
    const auto last = std::find_if(octaves.rbegin(), octaves.rend(), [](auto n) { return n != 0; }).base();
    const std::uint64_t most = *std::max_element(octaves.begin(), octaves.end());
    text += fmt::format("{}{}: {} slices, up to\n", text.empty() ? "" : "\n", t.name, count_text(t.slices));
    for (auto o = first; o != last; ++o)
      text += fmt::format(
          "{:>9} {:>9} {}\n", time_text(1e-9 * std::exp2(o - octaves.begin())), count_text(*o),
          std::string(static_cast<std::size_t>(std::ceil(widest * static_cast<double>(*o) / static_cast<double>(most))),
                      '#'));
  }
  return text;
}

std::string difference_text(const trace_statistics& a, const trace_statistics& b, std::size_t rows) {
  struct change {
    const slice_statistics *a = nullptr, *b = nullptr;
    [[nodiscard]] double by_count() const { return (n(b) - n(a)) * (a != nullptr ? a->mean_s() : b->mean_s()); }
    [[nodiscard]] double all() const { return (b != nullptr ? b->total_s : 0) - (a != nullptr ? a->total_s : 0); }
    /// The standard error of the difference of the means, times the slices of b: what chance may make of it.
    [[nodiscard]] double noise() const {
      if (a == nullptr || b == nullptr) return 0;
      const auto variance = [](const slice_statistics& s) {
        const double m = s.mean_s();
        return std::max(0.0, s.squares_s2 / static_cast<double>(s.slices) - m * m) / static_cast<double>(s.recorded);
      };
      return n(b) * std::sqrt(variance(*a) + variance(*b));
    }
    static double n(const slice_statistics* s) { return s != nullptr ? static_cast<double>(s->slices) : 0; }
  };
  std::map<std::string, change> by_name;
  for (const slice_statistics& t : a.types) by_name[t.name].a = &t;
  for (const slice_statistics& t : b.types) by_name[t.name].b = &t;
  std::vector<std::pair<std::string, change>> all(by_name.begin(), by_name.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& x, const auto& y) { return std::abs(x.second.all()) > std::abs(y.second.all()); });
  const auto total = [](const trace_statistics& s) {
    double sum = 0;
    for (const slice_statistics& t : s.types) sum += t.total_s;
    return sum;
  };
  const auto with_sign = [](double s) { return (s < 0 ? "-" : "+") + time_text(std::abs(s)); };
  std::string text =
      fmt::format("wall time {} -> {}; time of all slices {} -> {} ({})\n\n", time_text(a.wall_s), time_text(b.wall_s),
                  time_text(total(a)), time_text(total(b)), with_sign(total(b) - total(a)));
  text += fmt::format("{:<36} {:>10} {:>10} {:>10} {:>10} {:>19}\n", "task type", "difference", "by number",
                      "by length", "2 x error", "mean");
  for (const auto& [name, c] : std::span(all).first(std::min(rows, all.size())))
    text +=
        fmt::format("{:<36} {:>10} {:>10} {:>10} {:>10} {:>8} -> {:>7}\n", shortened(name, 36), with_sign(c.all()),
                    with_sign(c.by_count()), with_sign(c.all() - c.by_count()), time_text(2 * c.noise()),
                    c.a != nullptr ? time_text(c.a->mean_s()) : "-", c.b != nullptr ? time_text(c.b->mean_s()) : "-");
  if (all.size() > rows) text += fmt::format("and {} more types\n", all.size() - rows);
  return text;
}

}  // namespace plx::probe
