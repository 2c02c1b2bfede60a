#include "star/output/trace_window.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "probe/record/text_sink.hpp"
#include "trace/critical_path.hpp"
#include "trace/task_plots.hpp"
#include "trace/trace_file.hpp"
#include "trace/trace_graph.hpp"

namespace plx::star {

void trace_window::after_step(std::int64_t step) {
  if (!wanted_) return;
  if (open_) {
    newest_ = step;
    recorder_.drain();
    if (recorder_.traced() >= most_records || monotonic_seconds() - begin_s_ >= most_s) close();
  } else if (step >= next_) {
    open(step);
  }
}

void trace_window::end() {
  if (open_ && newest_ > opened_ && (data_.records == 0 || newest_ - opened_ >= last_ - first_)) close();
  if (open_) recorder_.trace(false);
  open_ = false;
}

void trace_window::open(std::int64_t step) {
  recorder_.forget_trace();
  lost_before_ = recorder_.trace_lost();
  recorder_.trace(true, std::size_t{1} << 17);
  opened_ = newest_ = step;
  begin_s_ = monotonic_seconds();
  open_ = true;
}

void trace_window::close() {
  recorder_.trace(false);
  data_ = recorder_.collect_trace();
  data_.lost -= std::min(data_.lost, lost_before_);
  recorder_.forget_trace();
  first_ = opened_ + 1;
  last_ = newest_;
  next_ = std::max(2 * opened_, newest_ + 1);
  open_ = false;
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
  if (auto r = probe::write_what_if_trace(data, file("what_if.trace")); !r) return r;
  const probe::critical_path_report path = probe::report_critical_path(graph, data);
  if (auto r = probe::write_critical_path_csv(path, file("critical_path.csv")); !r) return r;
  return probe::write_critical_path_json(path, file("critical_path.json"));
}

}  // namespace plx::star
