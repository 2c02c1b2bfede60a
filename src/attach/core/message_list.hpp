// The messages that a program without the runtime has sent and received (MPI), until they are written to its trace.
//
// Thread safety: all functions; one thread at a time calls drain(). Cost: a lock and 48 bytes of memory per message
// until it is drained, up to twice that while the list grows. Errors: messages beyond `most` are dropped, and counted
// in a mark of the trace. Example: tests/exec/test_mpi_messages.py
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "probe/record/trace_sink.hpp"

namespace plx::probe {

class message_list final : public trace_source {
 public:
  /// Requires: the thread is inside the measurement (inside_scope).
  void add(const trace_parcel& m, bool sent) noexcept;
  /// Counts messages that cannot be recorded.
  void lose(std::uint64_t n) noexcept { lost_.fetch_add(n, std::memory_order_relaxed); }

  void drain(trace_sink& to) override;

  /// The most messages of each direction that wait for drain(): 96 MiB together, up to twice that while a list grows.
  static constexpr std::size_t most = std::size_t{1} << 20;

 private:
  std::mutex mutex_;
  std::vector<trace_parcel> waiting_[2];  // received, sent; guarded by mutex_
  std::atomic<std::uint64_t> lost_{0};
  std::uint64_t lost_passed_ = 0;  // in marks
};

}  // namespace plx::probe
