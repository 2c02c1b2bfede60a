// Writes a trace file while the program runs: records in chunks (trace_chunk.hpp), each complete in the file within
// half a second, so that a program that is killed loses no more than that.
//
// Memory: a buffer of 64 KiB per row that has records, whatever the length of the trace. A full disk ends the trace,
// with one line in the log; the program continues, and further records are counted. While a slow disk blocks a write,
// records stay in the workers' rings, which drop and count what they cannot hold.
// Thread safety: one thread at a time; error() and dropped() at any time. Cost: 7 to 16 bytes per record, and the time
// in docs/probe.md, "Cost", on the thread that drains. Errors: error(). A child process of fork() writes nothing.
// Example: trace/file/test/trace_file_test.cpp
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "probe/record/trace_sink.hpp"

namespace plx::probe {

class trace_writer final : public trace_sink {
 public:
  /// Creates the file, or truncates it. Its folder must exist.
  static result<std::unique_ptr<trace_writer>> create(const std::string& path);
  ~trace_writer() override;

  // The calls of trace_sink.
  void begin(const trace_start& start) override;
  void row(unsigned row, std::string_view name, std::uint32_t device) override;
  void records(unsigned row, std::span<const trace_record> some) override;
  void operations(unsigned row, std::span<const device_operation> some) override;
  void sample(const trace_sample& s) override;  ///< written at once
  void mark(const trace_mark& m) override;      ///< written at once
  /// As records().
  void parcels(bool sent, std::span<const trace_parcel> some) override;
  void clock(unsigned locality, double ticks_per_second, const clock_point& p) override;
  void totals(const trace_totals& t) override;
  /// Writes the chunks that are older than 0.3 s; full ones have been written.
  void drained() override;
  /// Writes what is in the buffers.
  void flush();

  /// Why the trace ended early; "" if it did not.
  [[nodiscard]] std::string error() const;
  /// Those that were passed last.
  [[nodiscard]] const trace_totals& last_totals() const noexcept;
  /// Records that could not be written.
  [[nodiscard]] std::uint64_t dropped() const noexcept;

 private:
  struct state;
  explicit trace_writer(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace plx::probe
