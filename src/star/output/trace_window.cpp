#include "star/output/trace_window.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "probe/record/text_sink.hpp"
#include "trace/critical_path.hpp"
#include "trace/file/trace_reader.hpp"
#include "trace/flame_graph.hpp"
#include "trace/task_plots.hpp"
#include "trace/trace_graph.hpp"

namespace plx::star {

trace_window::~trace_window() { abandon(); }

/// Ends a trace that is open, and removes the file of a window that was not kept.
void trace_window::abandon() {
  draining_.reset();
  if (file_ != nullptr) {
    recorder_.trace(false);
    recorder_.stream_to(nullptr);
    file_.reset();
  }
  std::error_code ignored;
  // Another process may write a file of this name, if this run could not lock its folder.
  if (created_ && which_ == steps::windows) std::filesystem::remove(unfinished(), ignored);
  created_ = false;
}

void trace_window::keep(result<void> r) {
  if (failed_ && !r) failed_ = std::move(r);
}

result<void> trace_window::start(const std::string& path) {
  auto created = probe::trace_writer::create(path);
  if (!created) return created.error();
  file_ = *std::move(created);
  created_ = true;
  if (which_ == steps::all)
    recorder_.stream_to(file_.get(), locality_, localities_);
  else
    recorder_.stream_to(file_.get());
  return {};
}

/// Reads back what was written.
result<void> trace_window::stop() {
  draining_.reset();
  recorder_.trace(false);
  recorder_.stream_to(nullptr);
  const std::string error_of_file = file_->error();
  file_.reset();
  if (!error_of_file.empty()) return error{error_of_file};
  const std::string path = which_ == steps::all ? path_ : unfinished();
  auto read = probe::load_trace({path}, most_kept);
  if (!read) return read.error();
  for (const std::string& line : read->warnings) log_warning("tables of the trace: {}", line);
  data_ = std::move(read->trace.data);
  return {};
}

result<void> trace_window::begin() {
  if (which_ != steps::nothing && locality_ == 0)
    probe::remove_traces_beyond(std::filesystem::path(path_).parent_path(), which_ == steps::all ? localities_ : 1);
  if (which_ != steps::all) return {};
  if (auto r = start(path_); !r) return r;
  draining_ = std::make_unique<probe::periodic_thread>("plx-drain");
  draining_->every(0.02, [this] { recorder_.drain(); });
  return {};
}

void trace_window::after_step(std::int64_t step) {
  if (which_ == steps::nothing || !failed_) return;
  if (file_ != nullptr) {
    newest_ = step;
    if (which_ == steps::all) return;
    recorder_.drain();
    const bool long_enough =
        recorder_.traced() - records_before_ >= most_records || monotonic_seconds() - begin_s_ >= most_s_;
    if (long_enough) close();
  } else if (which_ == steps::windows && step >= next_) {
    open(step);
  }
}

result<void> trace_window::end() {
  if (file_ != nullptr && which_ == steps::all)
    keep(stop());
  else if (file_ != nullptr && newest_ > opened_ && (data_.records == 0 || newest_ - opened_ >= last_ - first_))
    close();
  abandon();
  return failed_;
}

void trace_window::open(std::int64_t step) {
  recorder_.forget_trace();
  keep(start(unfinished()));
  if (file_ == nullptr) return;
  recorder_.trace(true, std::size_t{1} << 17);
  opened_ = newest_ = step;
  begin_s_ = monotonic_seconds();
  records_before_ = recorder_.traced();
}

void trace_window::close() {
  keep(stop());
  if (std::error_code failed; failed_ && locality_ == 0) {
    std::filesystem::rename(unfinished(), path_, failed);
    if (failed) keep(error{fmt::format("cannot rename '{}': {}", unfinished(), failed.message())});
  }
  first_ = opened_ + 1;
  last_ = newest_;
  next_ = std::max(2 * opened_, newest_ + 1);
}

namespace {

/// Writes the slices of all workers from the first on, at most `most`.
result<void> write_timeline(const probe::trace_data& data, const std::string& path, std::size_t most) {
  std::vector<std::pair<unsigned, probe::trace_slice>> all;
  for (unsigned w = 0; w < data.workers.size(); ++w)
    for (const probe::trace_slice& s : data.workers[w]) all.emplace_back(w, s);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second.begin < b.second.begin; });
  if (all.size() > most) all.resize(most);
  std::string text = "worker,name,key,begin_s,end_s,device\n";
  const auto time = [&](ticks t) { return t > data.origin ? seconds(t - data.origin) : 0.0; };
  for (const auto& [worker, s] : all) {
    const bool on_device = data.is_device(worker);
    const std::string key = on_device || s.key == probe::no_key ? std::string() : fmt::format("{}", s.key);
    fmt::format_to(std::back_inserter(text), "{},{},{},{:.9f},{:.9f},{}\n", worker,
                   probe::csv_field(probe::name_of(s.name)), key, time(s.begin), time(s.end),
                   on_device ? probe::csv_field(data.worker_names[worker]) : std::string());
  }
  return write_file(path, text);
}

}  // namespace

result<void> write_task_tables(const probe::trace_data& data, const std::string& folder, std::size_t most) {
  if (data.records == 0) return {};
  const probe::trace_graph graph(data);
  const auto file = [&](const char* name) { return folder + "/" + name; };
  const double share = std::min(1.0, 4000.0 / static_cast<double>(std::max<std::size_t>(graph.tasks().size(), 1)));
  if (auto r = write_timeline(data, file("timeline.csv"), most); !r) return r;
  if (auto r = probe::write_concurrency_csv(data, file("concurrency.csv"), 400); !r) return r;
  if (auto r = probe::write_scatter_csv(data, graph, share, file("scatter.csv")); !r) return r;
  if (auto r = write_file(file("flame.svg"), probe::flame_svg(probe::call_tree(graph))); !r) return r;
  const probe::critical_path_report path = probe::report_critical_path(graph, data);
  if (auto r = probe::write_critical_path_csv(path, file("critical_path.csv")); !r) return r;
  return probe::write_critical_path_json(path, file("critical_path.json"));
}

}  // namespace plx::star
