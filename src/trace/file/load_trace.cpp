// Trace files in memory: one process, or all localities of a job with one clock.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/file.hpp"
#include "base/text.hpp"
#include "probe/record/slice_reader.hpp"
#include "trace/file/job_trace.hpp"
#include "trace/file/trace_reader.hpp"
#include "trace/profile.hpp"

namespace plx::probe {
namespace {

/// The contents of one file.
class trace_part final : public trace_sink {
 public:
  explicit trace_part(std::uint64_t most) : most_(most) {}

  void begin(const trace_start& s) override { start_ = s; }
  void row(unsigned row, std::string_view name, std::uint32_t device) override {
    row_data& r = at(row);
    r.name = name;
    r.device = device;
  }
  void records(unsigned row, std::span<const trace_record> some) override {
    if (!keeps(some.size())) return;
    row_data& r = at(row);
    for (const trace_record& one : some) r.reader.take(one);
  }
  void operations(unsigned row, std::span<const device_operation> some) override {
    if (!keeps(some.size())) return;
    auto& all = at(row).operations;
    all.insert(all.end(), some.begin(), some.end());
  }
  void sample(const trace_sample& s) override { data_.samples.push_back(s); }
  void mark(const trace_mark& m) override { data_.marks.push_back(m); }
  void parcels(bool sent, std::span<const trace_parcel> some) override {
    if (!keeps(some.size())) return;
    auto& all = sent ? parcels_.sent : parcels_.received;
    all.insert(all.end(), some.begin(), some.end());
  }
  void clock(unsigned locality, double ticks_per_second, const clock_point& p) override {
    clocks_.push_back({locality, ticks_per_second, p});
  }

  /// Requires: called once, after everything was read.
  trace_data data(const trace_file_state& found) {
    data_.origin = start_.origin;
    data_.locality = start_.locality;
    data_.records = kept_;
    data_.lost = found.totals.lost;
    data_.share = found.totals.share;
    for (auto& r : rows_) add(r);
    rows_.clear();
    const auto earlier = [](const auto& a, const auto& b) { return a.when < b.when; };
    std::stable_sort(data_.samples.begin(), data_.samples.end(), earlier);
    std::stable_sort(data_.marks.begin(), data_.marks.end(), earlier);
    return std::move(data_);
  }
  trace_parcels take_parcels() { return std::move(parcels_); }
  [[nodiscard]] const trace_start& start() const noexcept { return start_; }
  [[nodiscard]] std::uint64_t kept() const noexcept { return kept_; }

  struct clock_record {
    unsigned locality;
    double ticks_per_second;
    clock_point point;
  };
  [[nodiscard]] const std::vector<clock_record>& clocks() const noexcept { return clocks_; }

 private:
  /// Whether the records of a chunk are kept.
  bool keeps(std::size_t n) {
    full_ = full_ || kept_ >= most_;
    if (!full_) kept_ += n;
    return !full_;
  }
  /// Locks, edges and placements of a row are collected apart: those of a slice follow each other within a row only.
  struct row_data {
    explicit row_data(task_id first) : reader{slices, all, first} {}
    trace_data all;
    std::vector<trace_slice> slices;
    std::vector<device_operation> operations;
    detail::slice_reader reader;
    std::string name;
    std::uint32_t device = 0;
  };

  row_data& at(unsigned row) {
    if (row >= rows_.size()) rows_.resize(row + std::size_t{1});
    if (rows_[row] == nullptr) rows_[row] = std::make_unique<row_data>(detail::first_id_of(row, start_.space));
    return *rows_[row];
  }
  void add(std::unique_ptr<row_data>& r) {
    data_.worker_names.emplace_back();
    data_.devices.push_back(0);
    auto& slices = data_.workers.emplace_back();
    if (r == nullptr) return;
    r->reader.end();
    slices = std::move(r->slices);
    data_.worker_names.back() = r->name;
    data_.devices.back() = r->device;
    const auto append = [](auto& to, auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    append(data_.edges, r->all.edges);
    append(data_.locks, r->all.locks);
    append(data_.placements, r->all.placements);
    if (!r->operations.empty()) device_lanes::put_row(r->reader.first, std::move(r->operations), slices, data_.edges);
    r.reset();
  }

  const std::uint64_t most_;  // records to keep
  std::uint64_t kept_ = 0;
  bool full_ = false;
  trace_start start_;
  trace_data data_;
  trace_parcels parcels_;
  std::vector<clock_record> clocks_;
  std::vector<std::unique_ptr<row_data>> rows_;
};

struct read_part {
  std::string path;
  std::unique_ptr<trace_part> part;
  trace_file_state found{};
};

/// Ticks of a file as ticks of this process, with the same moment at its start.
clock_map own_clock(const trace_start& s) {
  clock_map m(ticks_per_second(), s.ticks_per_second);
  m.add({.there = s.origin, .here = s.origin});
  return m;
}

/// The clock of a locality as that of the root's file `root`, by the points in it or, without any, by the time of day.
clock_map clock_of(const trace_start& s, const trace_part& root, std::vector<std::string>& warnings) {
  const clock_map of_root = own_clock(root.start());
  clock_map m(ticks_per_second(), s.ticks_per_second);
  for (const auto& c : root.clocks())
    if (c.locality == s.locality)
      m.add({.there = c.point.there,
             .here = of_root(c.point.here),
             .uncertainty = static_cast<ticks>(std::lround(static_cast<double>(c.point.uncertainty) *
                                                           ticks_per_second() / root.start().ticks_per_second))});
  if (m.known()) return m;
  const double later_s = s.unix_s - root.start().unix_s;
  const ticks begin = of_root(root.start().origin), step = ticks_from(std::abs(later_s));
  m.add({.there = s.origin, .here = later_s >= 0 ? begin + step : begin - std::min(begin, step)});
  warnings.push_back(fmt::format(
      "locality {}: its clock was not measured; its times are converted by the time of day of its host", s.locality));
  return m;
}

loaded_trace merged(std::vector<read_part>& parts, std::vector<std::string> warnings) {
  std::uint32_t n = 0;
  for (const read_part& p : parts) n = std::max({n, p.part->start().localities, p.part->start().locality + 1});
  job_trace job(n);
  std::vector<bool> there(n);
  const trace_part& root = *parts.front().part;
  for (read_part& p : parts) {
    const trace_start& s = p.part->start();
    there[s.locality] = true;
    const clock_map clock = &*p.part == &root ? own_clock(s) : clock_of(s, root, warnings);
    if (!p.found.totals.ended) job.missing(s.locality, "its trace has no end: it was killed, or is still running");
    if (!job.add(s.locality, s.host, p.part->data(p.found), p.part->take_parcels(), clock))
      warnings.push_back(fmt::format("locality {} was omitted: one trace holds at most {} workers", s.locality,
                                     job_trace::most_workers));
  }
  for (std::uint32_t l = 0; l < n; ++l) {
    if (there[l]) continue;
    job.missing(l, "it left no trace");
    warnings.push_back(fmt::format("locality {} left no trace", l));
  }
  return {job.finish(), std::move(warnings)};
}

namespace fs = std::filesystem;

/// RUN/localities/N/trace.plxt, in order of N.
std::vector<std::pair<unsigned long, std::string>> traces_of_others(const std::string& run) {
  std::error_code ignored;
  std::vector<std::pair<unsigned long, std::string>> all;
  for (fs::directory_iterator i(run + "/localities", ignored), end; i != end; i.increment(ignored))
    if (const fs::path own = i->path() / "trace.plxt"; fs::exists(own, ignored))
      all.emplace_back(std::strtoul(i->path().filename().c_str(), nullptr, 10), own.string());
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

void remove_traces_beyond(const std::string& run, unsigned localities) {
  std::error_code ignored;
  for (const auto& [number, path] : traces_of_others(run))
    if (number >= localities) fs::remove(path, ignored);
}

result<std::vector<std::string>> trace_files(const std::string& run) {
  std::error_code ignored;
  if (!fs::exists(run, ignored)) return error{fmt::format("'{}' does not exist: expected the folder of a run", run)};
  if (!fs::is_directory(run, ignored)) return std::vector{run};
  std::vector<std::string> files;
  if (const std::string own = run + "/trace.plxt"; fs::exists(own, ignored)) files.push_back(own);
  for (auto& [number, path] : traces_of_others(run)) files.push_back(std::move(path));
  if (files.empty())
    return error{fmt::format("'{}' has no trace.plxt: record one with PLX_TRACE=1 PLX_OUTPUT={}", run, run)};
  std::uint32_t of_first = 0;
  for (const std::string& path : files) {
    const auto start = start_of_trace(path);
    if (!start) return start.error();
    if (&path == files.data()) of_first = start->localities;
    if (start->localities != of_first)
      return error{
          fmt::format("'{}' is of a job of {} processes, but '{}' of one of {}: remove the file of the earlier run",
                      files.front(), of_first, path, start->localities)};
  }
  return files;
}

result<loaded_trace> load_trace(const std::vector<std::string>& files, std::uint64_t most) {
  std::vector<read_part> parts;
  std::vector<std::string> warnings;
  for (const std::string& path : files) {
    read_part& p = parts.emplace_back(read_part{path, std::make_unique<trace_part>(most)});
    const auto found = read_trace(path, *p.part);
    if (!found) return found.error();
    p.found = *found;
    for (std::string& line : p.found.warnings(path)) warnings.push_back(std::move(line));
    if (p.part->kept() < p.found.records)
      warnings.push_back(fmt::format("'{}': only the first {} of its {} records were kept", path,
                                     count_text(p.part->kept()), count_text(p.found.records)));
  }
  std::stable_sort(parts.begin(), parts.end(), [](const read_part& a, const read_part& b) {
    return a.part->start().locality < b.part->start().locality;
  });
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const trace_start& s = parts[i].part->start();
    if (s.locality >= std::max(s.localities, 1u) || s.localities > job_trace::most_workers)
      return error{fmt::format("'{}' is of locality {} of {}", parts[i].path, s.locality, s.localities)};
    if (i > 0 && s.locality == parts[i - 1].part->start().locality)
      return error{fmt::format("'{}' and '{}' are both of locality {}: expected the files of one run",
                               parts[i - 1].path, parts[i].path, s.locality)};
  }
  if (parts.size() > 1 || parts[0].part->start().localities > 1) return merged(parts, std::move(warnings));
  trace_part& only = *parts[0].part;
  if (only.start().ticks_per_second == ticks_per_second())
    return loaded_trace{{only.data(parts[0].found), {}}, std::move(warnings)};
  job_trace one(1);
  const trace_start s = only.start();
  one.add(0, s.host, only.data(parts[0].found), {}, own_clock(s));
  loaded_trace all{one.finish(), std::move(warnings)};
  all.trace.job = {};
  return all;
}

}  // namespace plx::probe
