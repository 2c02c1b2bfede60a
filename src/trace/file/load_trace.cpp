// Trace files in memory: one process, or all localities of a job with one clock.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/text.hpp"
#include "probe/record/slice_reader.hpp"
#include "trace/file/job_trace.hpp"
#include "trace/file/run_files.hpp"
#include "trace/file/trace_reader.hpp"
#include "trace/profile.hpp"

namespace plx::probe {
namespace {

/// The contents of one file.
class trace_part final : public trace_sink {
 public:
  trace_part(std::uint64_t most, const tick_window& window) : most_(most), window_(window) {}

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
    for (const device_operation& o : some)
      if (window_.overlaps(o.begin, o.end)) all.push_back(o);
  }
  void sample(const trace_sample& s) override { data_.samples.push_back(s); }
  void mark(const trace_mark& m) override { data_.marks.push_back(m); }
  void parcels(bool sent, std::span<const trace_parcel> some) override {
    if (!keeps(some.size())) return;
    auto& all = sent ? parcels_.sent : parcels_.received;
    for (const trace_parcel& p : some)
      if (window_.overlaps(p.when, p.when)) all.push_back(p);
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
  [[nodiscard]] std::uint64_t kept() const noexcept { return kept_; }

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
    std::erase_if(slices, [this](const trace_slice& s) { return !window_.overlaps(s.begin, s.end); });
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
  const tick_window window_;
  std::uint64_t kept_ = 0;
  bool full_ = false;
  trace_start start_;
  trace_data data_;
  trace_parcels parcels_;
  std::vector<std::unique_ptr<row_data>> rows_;
};

struct read_part {
  std::unique_ptr<trace_part> part;
  trace_file_state found{};
};

loaded_trace merged(const std::vector<run_file>& files, std::vector<read_part>& parts,
                    std::vector<std::string> warnings) {
  std::uint32_t n = 0;
  for (const run_file& f : files) n = std::max({n, f.start.localities, f.start.locality + 1});
  job_trace job(n);
  std::vector<bool> there(n);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const trace_start& s = files[i].start;
    read_part& p = parts[i];
    there[s.locality] = true;
    if (!p.found.totals.ended) job.missing(s.locality, "its trace has no end: it was killed, or is still running");
    if (!job.add(s.locality, s.host, p.part->data(p.found), p.part->take_parcels(), files[i].clock))
      warnings.push_back(fmt::format("locality {} was omitted: one trace holds at most {} workers", s.locality,
                                     job_trace::most_workers));
  }
  constexpr std::size_t most_named = 8;
  std::vector<std::uint32_t> missing;
  for (std::uint32_t l = 0; l < n; ++l) {
    if (there[l]) continue;
    job.missing(l, "it left no trace");
    missing.push_back(l);
  }
  if (missing.size() == 1) warnings.push_back(fmt::format("locality {} left no trace", missing[0]));
  if (missing.size() > 1)
    warnings.push_back(
        fmt::format("{} of {} localities left no trace: {}{}; every k-th one records with PLX_TRACE_LOCALITIES=k",
                    missing.size(), n, fmt::join(std::span(missing).first(std::min(missing.size(), most_named)), ", "),
                    missing.size() > most_named ? ", ..." : ""));
  return {job.finish(), std::move(warnings)};
}

namespace fs = std::filesystem;

/// FOLDER/PREFIXN/trace.plxt, in order of N.
std::vector<std::pair<unsigned long, std::string>> traces_below(const std::string& folder, std::string_view prefix) {
  std::error_code ignored;
  std::vector<std::pair<unsigned long, std::string>> all;
  for (fs::directory_iterator i(folder, ignored), end; i != end; i.increment(ignored)) {
    const std::string name = i->path().filename().string();
    if (const fs::path own = i->path() / "trace.plxt"; name.starts_with(prefix) && fs::exists(own, ignored))
      all.emplace_back(std::strtoul(name.c_str() + prefix.size(), nullptr, 10), own.string());
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<std::pair<unsigned long, std::string>> traces_of_others(const std::string& run) {
  return traces_below(run + "/localities", "");
}

}  // namespace

void remove_traces_beyond(const std::string& run, unsigned localities, std::uint64_t every) {
  std::error_code ignored;
  for (const auto& [number, path] : traces_of_others(run))
    if (number >= localities || number % every != 0) fs::remove(path, ignored);
}

result<std::vector<std::string>> trace_files(const std::string& run) {
  std::error_code ignored;
  if (!fs::exists(run, ignored)) return error{fmt::format("'{}' does not exist: expected the folder of a run", run)};
  if (!fs::is_directory(run, ignored)) return std::vector{run};
  std::vector<std::string> files;
  if (const std::string own = run + "/trace.plxt"; fs::exists(own, ignored)) files.push_back(own);
  for (auto& [number, path] : traces_of_others(run)) files.push_back(std::move(path));
  if (files.empty())
    for (auto& [number, path] : traces_below(run, "rank-")) files.push_back(std::move(path));
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

result<loaded_trace> load_trace(const std::vector<std::string>& paths, std::uint64_t most, const time_range& range) {
  std::vector<std::string> warnings;
  const auto files = run_files(paths, warnings);
  if (!files) return files.error();
  std::vector<read_part> parts;
  for (const run_file& f : *files) {
    const tick_window window = window_of(*files, f, range);
    read_part& p = parts.emplace_back(read_part{std::make_unique<trace_part>(most, window)});
    const auto found = read_trace(f.path, *p.part, window);
    if (!found) return found.error();
    p.found = *found;
    for (std::string& line : p.found.warnings(f.path)) warnings.push_back(std::move(line));
    if (p.part->kept() < p.found.records)
      warnings.push_back(fmt::format("'{}': only the first {} of its {} records were kept", f.path,
                                     count_text(p.part->kept()), count_text(p.found.records)));
  }
  if (!range.whole()) warnings.push_back("a part of the run: dependencies on tasks outside of it are missing");
  const run_file& first = files->front();
  if (files->size() > 1 || first.start.localities > 1) return merged(*files, parts, std::move(warnings));
  if (!first.clock.known()) return loaded_trace{{parts[0].part->data(parts[0].found), {}}, std::move(warnings)};
  job_trace one(1);
  one.add(0, first.start.host, parts[0].part->data(parts[0].found), {}, first.clock);
  loaded_trace all{one.finish(), std::move(warnings)};
  all.trace.job = {};
  return all;
}

}  // namespace plx::probe
