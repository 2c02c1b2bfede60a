// Slices of a trace file one after another, for readers that keep nothing in memory.
//
// Thread safety: one thread. Memory: some hundred bytes per row. Cost: that of trace_reader.hpp.
// Example: trace/tools/trace_stats.cpp
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "trace/file/trace_reader.hpp"

namespace plx::probe {

/// A sink that gets whole slices instead of records.
class slice_sink : public trace_sink {
 public:
  explicit slice_sink(const tick_window& window = {}, bool with_edges = true);
  ~slice_sink() override;

  /// A slice that lies in the window, at least in part. Slices of a row come in order of time. An operation of a device
  /// is a slice with the number of bytes as its key; those of a chunk are sorted. `edges`: those that were recorded in
  /// this row since its last slice: the one from the task that made this slice ready, and those that lead to other
  /// tasks. Without edges it may contain the first of these alone.
  virtual void slice(unsigned row, const trace_slice& s, std::span<const trace_edge> edges) = 0;

  void begin(const trace_start& s) override { space_ = s.space; }
  void records(unsigned row, std::span<const trace_record> some) final;
  void operations(unsigned row, std::span<const device_operation> some) final;

 protected:
  [[nodiscard]] const tick_window& window() const noexcept { return window_; }

 private:
  struct row_data;
  row_data& at(unsigned row);

  const tick_window window_;
  const bool with_edges_;
  unsigned space_ = 0;
  std::vector<std::unique_ptr<row_data>> rows_;
};

}  // namespace plx::probe
