#include "probe/export/concurrency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "base/assert.hpp"
#include "base/file.hpp"
#include "probe/csv.hpp"

namespace plx::probe {
namespace {

/// Adds a slice's time to the cells it touches, as a share of each cell.
class grid {
 public:
  grid(ticks begin, ticks end, std::size_t cells)
      : begin_(begin),
        cells_(cells),
        width_(std::max(1.0, static_cast<double>(end - begin)) / static_cast<double>(cells)) {}

  [[nodiscard]] double width() const { return width_; }

  void add(std::vector<double>& row, const trace_slice& s) const {
    if (s.end <= s.begin) return;
    const double from = static_cast<double>(s.begin - begin_) / width_,
                 to = static_cast<double>(s.end - begin_) / width_;
    const std::size_t first = std::min(static_cast<std::size_t>(from), cells_ - 1);
    const std::size_t last = std::min(static_cast<std::size_t>(to), cells_ - 1);
    for (std::size_t c = first; c <= last; ++c) {
      const double low = std::max(from, static_cast<double>(c)), high = std::min(to, static_cast<double>(c + 1));
      row[c] += std::max(0.0, high - low);
    }
  }

 private:
  ticks begin_;
  std::size_t cells_;
  double width_;
};

/// What ran on a worker; nothing of a device.
std::span<const trace_slice> tasks_of(const trace_data& data, std::size_t worker) {
  if (data.is_device(worker)) return {};
  return data.workers[worker];
}

struct name_total {
  name_id name;
  double time;
};

/// The largest first.
std::vector<name_total> totals(const trace_data& data) {
  std::vector<name_total> all;
  for (std::size_t w = 0; w < data.workers.size(); ++w) {
    for (const trace_slice& s : tasks_of(data, w)) {
      while (all.size() <= s.name) all.push_back({static_cast<name_id>(all.size()), -1});
      all[s.name].time = std::max(0.0, all[s.name].time) + static_cast<double>(s.end > s.begin ? s.end - s.begin : 0);
    }
  }
  std::erase_if(all, [](const name_total& n) { return n.time < 0; });
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.time > b.time; });
  return all;
}

}  // namespace

concurrency concurrency_over_time(const trace_data& data, std::size_t cells, std::size_t most_names) {
  PLX_ASSERT(cells > 0, cells);
  ticks begin = ~ticks{0}, end = 0;
  for (std::size_t w = 0; w < data.workers.size(); ++w)
    for (const trace_slice& s : tasks_of(data, w)) begin = std::min(begin, s.begin), end = std::max(end, s.end);
  concurrency c;
  if (end <= begin) return c;
  const grid cell(begin, end, cells);
  c.begin_s = begin > data.origin ? seconds(begin - data.origin) : 0;
  c.cell_s = cell.width() / ticks_per_second();
  c.other.assign(cells, 0);
  const auto all = totals(data);
  std::vector<std::size_t> row_of;  // by name
  for (const name_total& n : all) {
    if (row_of.size() <= n.name) row_of.resize(n.name + 1, most_names);
    if (c.names.size() == most_names) continue;
    row_of[n.name] = c.names.size();
    c.names.push_back(n.name);
    c.running.emplace_back(cells, 0.0);
  }
  for (std::size_t w = 0; w < data.workers.size(); ++w)
    for (const trace_slice& s : tasks_of(data, w))
      cell.add(row_of[s.name] < most_names ? c.running[row_of[s.name]] : c.other, s);
  return c;
}

result<void> write_concurrency_csv(const trace_data& data, const std::string& path, std::size_t cells) {
  const concurrency c = concurrency_over_time(data, cells);
  std::string text = "time_s,running";
  const auto out = std::back_inserter(text);
  for (const name_id n : c.names) (text += ',') += csv_field(name_of(n));
  text += ",other\n";
  for (std::size_t i = 0; i < c.other.size(); ++i) {
    double sum = c.other[i];
    for (const auto& row : c.running) sum += row[i];
    fmt::format_to(out, "{:.9g},{:.4g}", c.begin_s + (static_cast<double>(i) + 0.5) * c.cell_s, sum);
    for (const auto& row : c.running) fmt::format_to(out, ",{:.4g}", row[i]);
    fmt::format_to(out, ",{:.4g}\n", c.other[i]);
  }
  return write_file(path, text);
}

}  // namespace plx::probe
