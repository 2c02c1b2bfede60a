#include "trace/tools/trace_concurrency.hpp"

#include <utility>

#include "trace/file/run_files.hpp"
#include "trace/tools/slice_sink.hpp"

namespace plx::probe {
namespace {

/// Passes the slices of workers to one of the two functions.
class worker_slices final : public slice_sink {
 public:
  using function = void (concurrency_counter::*)(name_id, ticks, ticks);

  worker_slices(concurrency_counter& to, function pass, const run_file& file, const tick_window& window)
      : slice_sink(window, false), to_(to), pass_(pass), file_(file) {}

  void row(unsigned row, std::string_view, std::uint32_t device) override {
    if (is_device_.size() <= row) is_device_.resize(row + std::size_t{1});
    is_device_[row] = device != 0;
  }
  void slice(unsigned row, const trace_slice& s, std::span<const trace_edge>) override {
    if (row >= is_device_.size() || !is_device_[row]) (to_.*pass_)(s.name, file_.clock(s.begin), file_.clock(s.end));
  }

 private:
  concurrency_counter& to_;
  const function pass_;
  const run_file& file_;
  std::vector<bool> is_device_;  // by row
};

}  // namespace

result<concurrency> concurrency_of_trace(const std::vector<std::string>& files, std::vector<std::string>& warnings,
                                         const time_range& range, std::size_t cells, std::size_t most_names) {
  const auto run = run_files(files, warnings);
  if (!run) return run.error();
  concurrency_counter counter(cells, most_names);
  for (const auto pass : {&concurrency_counter::survey, &concurrency_counter::add})
    for (const run_file& file : *run) {
      const tick_window window = window_of(*run, file, range);
      worker_slices slices(counter, pass, file, window);
      const auto read = read_trace(file.path, slices, window);
      if (!read) return read.error();
      if (pass != &concurrency_counter::survey) continue;
      for (std::string& line : read->warnings(file.path)) warnings.push_back(std::move(line));
    }
  return counter.take(run->front().clock(run->front().start.origin));
}

}  // namespace plx::probe
