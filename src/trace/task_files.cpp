#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <new>
#include <optional>
#include <vector>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "probe/counters/bounded_output.hpp"
#include "probe/counters/standard_counters.hpp"
#include "probe/record/text_sink.hpp"
#include "probe/record/trace_data.hpp"
#include "trace/critical_path.hpp"
#include "trace/profile.hpp"
#include "trace/task_files.hpp"
#include "trace/task_plots.hpp"
#include "trace/trace_export.hpp"
#include "trace/trace_file.hpp"
#include "trace/trace_graph.hpp"

namespace plx::probe {
namespace {

class task_files {
 public:
  task_files(recorder& r, const settings& s, const job_trace_data* whole) : rec_(r), asked_(s), whole_(whole) {}

  result<void> write() {
    write_profiles();
    if (wants_trace(asked_)) {
      note(with_memory([&]() -> result<void> {
        if (whole_ == nullptr) data_ = rec_.collect_trace();
        graph_.emplace(data());
        write_trace_files();
        write_analyses();
        return {};
      }));
      warn_of_dropped_records();
    }
    if (const std::uint64_t n = names_dropped(); n != 0)
      log_warning(
          "{} recorded as 'unnamed': expected at most {} different names, found more; use one name with a "
          "key "
          "for things of one type",
          plural(n, "name"), max_names);
    file("measurement.json", [&](const std::string& path) { return write_file(path, summary()); });
    return first_;
  }

 private:
  struct written_file {
    std::string name;
    double seconds;
    std::string failure;  // empty: written
  };

  [[nodiscard]] const trace_data& data() const noexcept { return whole_ != nullptr ? whole_->data : data_; }

  [[nodiscard]] const trace_job* job() const noexcept { return whole_ != nullptr ? &whole_->job : nullptr; }

  /// Runs a part that may need much memory. Without it, the part's files are missing, and the others are written.
  template <class Part>
  result<void> with_memory(Part part) const {
    try {
      return part();
    } catch (const std::bad_alloc&) {
      return error{
          fmt::format("out of memory while the files of a trace of {} records were written, which takes some "
                      "200 bytes for each: set trace-limit to fewer",
                      rec_.traced())};
    }
  }
  void note(const result<void>& r) {
    if (r) return;
    if (first_) first_ = r;
    log_error("{}", r.error().message);
  }

  /// Reports each reason with the setting that helps.
  void warn_of_dropped_records() const {
    const std::uint64_t all = data().lost + data().records, over = std::min(data().over_limit, data().lost);
    if (over != 0)
      log_warning(
          "{} of {} trace records were dropped ({}): set trace-limit above {}, with 100 to 200 bytes of memory "
          "for each, or trace-budget to trace less",
          over, all, data().records < static_cast<std::uint64_t>(asked_.trace_limit) ? "no memory left" : "trace full",
          asked_.trace_limit);
    if (data().lost > over)
      log_warning(
          "{} of {} trace records were dropped (buffer of a worker full): set trace-records above {}, or trace-budget "
          "to trace less",
          data().lost - over, all, asked_.trace_records);
  }

  /// Prints to stdout. A consumer that does not read does not delay the program: the text is dropped.
  void print(const std::string& text) {
    constexpr double timeout_s = 1;
    if (auto r = screen_.write("", text, timeout_s); !r) log_error("{}", r.error().message);
    if (screen_.dropped() == 1)
      log_warning("a profile was not printed because stdout is not being read; set profile to csv to write a file");
  }

  /// Writes one file, and notes its outcome.
  template <class Write>
  void file(const std::string& name, Write write) {
    const ticks begin = now_ticks();
    const result<void> r = with_memory([&]() -> result<void> { return write(asked_.output + "/" + name); });
    files_.push_back({name, seconds(now_ticks() - begin), r ? "" : r.error().message});
    note(r);
  }

  void write_profiles() {
    const std::string on_devices = device_profile_text(rec_);
    if (has_word(asked_.profile, "screen")) print(profile_text(rec_));
    if (has_word(asked_.profile, "screen") && !on_devices.empty()) print("\n"), print(on_devices);
    if (has_word(asked_.profile, "csv")) {
      file("profile.csv", [&](const std::string& path) { return write_profile_csv(rec_, path); });
      if (!on_devices.empty())
        file("device_profile.csv", [&](const std::string& path) { return write_device_profile_csv(rec_, path); });
      file("waits.csv", [&](const std::string& path) { return rec_.write_waits_csv(path); });
    }
    if (has_word(asked_.profile, "tau")) file("tau", [&](const std::string& path) { return write_tau(path); });
  }

  result<void> write_tau(const std::string& folder) const {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) return error{fmt::format("cannot create the folder '{}': {}", folder, failed.message())};
    return write_tau_profiles(rec_, 0, folder);
  }

  void write_trace_files() {
    if (has_word(asked_.trace, "json"))
      file(text_sink::compressed_name("trace.json"),
           [&](const std::string& path) { return write_json_trace(data(), *graph_, path, job()); });
    if (has_word(asked_.trace, "otf2"))
      file("otf2", [&](const std::string& path) { return write_otf2_trace(data(), *graph_, path, job()); });
    if (has_word(asked_.trace, "what-if"))
      file("what_if.trace", [&](const std::string& path) { return write_what_if_trace(data(), path, job()); });
    if (asked_.scatter > 0)
      file("scatter.csv",
           [&](const std::string& path) { return write_scatter_csv(data(), *graph_, asked_.scatter, path); });
    if (whole_ != nullptr)
      file("job_timeline.csv", [&](const std::string&) { return write_job_tables(*whole_, asked_.output); });
    if (asked_.concurrency)
      file("concurrency.csv", [&](const std::string& path) { return write_concurrency_csv(data(), path); });
  }

  void write_analyses() {
    if (asked_.tree) {
      const auto tree = call_tree(*graph_);
      file("tree.txt", [&](const std::string& path) { return write_file(path, call_tree_text(tree)); });
      file("tree.csv", [&](const std::string& path) { return write_call_tree_csv(tree, path); });
    }
    if (asked_.graph) file("graph.dot", [&](const std::string& path) { return write_graph_dot(*graph_, path); });
    if (asked_.critical_path) {
      const critical_path_report r = report_critical_path(*graph_, data());
      if (has_word(asked_.profile, "screen")) print("\n"), print(critical_path_text(r));
      file("critical_path.csv", [&](const std::string& path) { return write_critical_path_csv(r, path); });
      file("critical_path.json", [&](const std::string& path) { return write_critical_path_json(r, path); });
    }
  }

  [[nodiscard]] std::string summary() const {
    const worker_times sum = times_of(rec_);
    const idle_blame idle = rec_.blame();
    std::string text = fmt::format(
        "{{\"workers\":{},\"tasks\":{},\n\"time_s\":{{\"tasks\":{:.9g},\"idle\":{:.9g},\"searching\":{:.9g},"
        "\"background\":{:.9g}}},\n\"idle_s\":{{\"blamed\":{:.9g},\"unattributed\":{:.9g}}},\n"
        "\"measuring_cost\":{:.6g},\n\"names_dropped\":{},\n",
        rec_.worker_count(), sum.tasks, sum.exec_s, sum.idle_s, sum.overhead_s, sum.background_s, idle.blamed_s,
        idle.unattributed_s, rec_.measurement_cost(), names_dropped());
    if (graph_) text += trace_summary();
    text += "\"files\":[";
    for (const written_file& f : files_)
      fmt::format_to(std::back_inserter(text), "{}\n{{\"name\":{},\"seconds\":{:.3g}{}}}",
                     &f == files_.data() ? "" : ",", json_text(f.name), f.seconds,
                     f.failure.empty() ? "" : fmt::format(",\"failure\":{}", json_text(f.failure)));
    return text + "]}\n";
  }

  [[nodiscard]] std::string trace_summary() const {
    const trace_graph::holes& h = graph_->missing();
    return fmt::format(
               "\"trace\":{{\"records\":{},\"records_lost\":{},\"share\":{:.9g},\"tasks\":{},\"pieces\":{},\"edges\":{}"
               ","
               "\"samples\":{},\"marks\":{},\"tasks_without_a_begin\":{},\"tasks_without_an_end\":{},"
               "\"edges_with_an_unknown_end\":{},\"edges_against_time\":{}}},\n",
               data().records, data().lost, data().share, graph_->tasks().size(), graph_->pieces().size(),
               data().edges.size(), data().samples.size(), data().marks.size(), h.headless, h.unfinished,
               h.unknown_edges, h.against_time) +
           localities_summary();
  }

  /// Without its devices.
  [[nodiscard]] unsigned workers_of(const trace_locality& l) const {
    unsigned n = 0;
    for (unsigned w = l.first_worker; w < l.first_worker + l.workers; ++w) n += data().is_device(w) ? 0 : 1;
    return n;
  }

  /// For the trace of a job.
  [[nodiscard]] std::string localities_summary() const {
    const trace_job* const job = whole_ != nullptr ? &whole_->job : nullptr;
    if (job == nullptr) return {};
    std::string text = fmt::format("\"messages\":{},\n\"localities\":[", job->messages.size());
    for (const trace_locality& l : job->localities)
      fmt::format_to(std::back_inserter(text),
                     "{}\n{{\"host\":{},\"workers\":{},\"clock_offset_s\":{:.9f},\"clock_drift\":{:.3g},"
                     "\"clock_uncertainty_s\":{:.3g},\"parcels_unmatched\":{},\"missing\":{}}}",
                     &l == job->localities.data() ? "" : ",", json_text(l.host), workers_of(l), l.offset_s, l.drift,
                     l.uncertainty_s, l.unmatched, json_text(l.missing));
    return text + "],\n";
  }

  recorder& rec_;
  const settings& asked_;
  const job_trace_data* const whole_;
  trace_data data_;
  std::optional<trace_graph> graph_;
  std::vector<written_file> files_;
  bounded_output screen_{"stdout"};
  result<void> first_;
};

}  // namespace

bool wants_trace(const settings& s) noexcept {
  return !s.trace.empty() || s.tree || s.graph || s.concurrency || s.critical_path || s.scatter > 0;
}

result<void> write_task_files(recorder& r, const settings& s, const job_trace_data* whole) {
  return task_files(r, s, whole).write();
}

namespace {

struct found_piece {
  const trace_slice* slice;
  unsigned worker;
};

/// In order of their begin.
std::vector<found_piece> pieces_of(const trace_data& data) {
  std::vector<found_piece> all;
  for (unsigned w = 0; w < data.workers.size(); ++w)
    for (const trace_slice& s : data.workers[w]) all.push_back({&s, w});
  std::sort(all.begin(), all.end(),
            [](const found_piece& a, const found_piece& b) { return a.slice->begin < b.slice->begin; });
  return all;
}

std::size_t first_of_middle(std::size_t n, std::size_t most) { return n > most ? (n - most) / 2 : 0; }

}  // namespace

result<void> write_job_tables(const job_trace_data& trace, const std::string& folder, std::size_t most) {
  const auto time = [&](ticks t) { return t > trace.data.origin ? seconds(t - trace.data.origin) : 0.0; };
  const std::vector<found_piece> pieces = pieces_of(trace.data);
  std::string text = "locality,worker,name,key,begin_s,end_s\n";
  ticks first = ~ticks{0}, last = 0;
  const std::size_t from = first_of_middle(pieces.size(), most);
  for (std::size_t i = from; i < std::min(pieces.size(), from + most); ++i) {
    const trace_slice& s = *pieces[i].slice;
    const unsigned l = trace.job.locality_of(pieces[i].worker);
    first = std::min(first, s.begin), last = std::max(last, s.end);
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{:.9f},{:.9f}\n", l,
                   pieces[i].worker - trace.job.localities[l].first_worker, csv_field(name_of(s.name)),
                   s.key == no_key ? std::string() : fmt::format("{}", s.key), time(s.begin), time(s.end));
  }
  if (auto r = write_file(folder + "/job_timeline.csv", text); !r) return r;

  std::vector<const trace_message*> parcels;
  for (const trace_message& m : trace.job.messages)
    if (m.received != 0 && m.sent >= first && m.sent <= last) parcels.push_back(&m);
  text = "from,to,name,bytes,sent_s,received_s\n";
  const std::size_t begin = first_of_middle(parcels.size(), most);
  for (std::size_t i = begin; i < std::min(parcels.size(), begin + most); ++i)
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{:.9f},{:.9f}\n", parcels[i]->from, parcels[i]->to,
                   csv_field(name_of(parcels[i]->name)), parcels[i]->bytes, time(parcels[i]->sent),
                   time(parcels[i]->received));
  return write_file(folder + "/job_parcels.csv", text);
}

}  // namespace plx::probe
