// Records the parcels that a locality sends and receives while a trace is recorded: the source of the arrows in a job's
// trace (trace/file/job_trace.hpp).
//
// A parcel sent while recording is on carries a number: 8 bytes after its header, and a flag (net/parcels/frame.hpp).
// The receiver records the number and adds a *join* to its own trace (probe/record/trace_data.hpp), which becomes the
// parent of what the parcel makes ready. Combining the records of both localities makes the sending task the parent of
// the task that runs the call, and that task the parent of the one that continues with the reply.
//
// Thread safety: everything; one thread at a time calls drain(). Cost: off, a relaxed load per parcel sent
// and a compare per parcel received; on, three shared atomic additions, no lock for workers, and 49 bytes of memory per
// parcel on each of the two localities until it is drained. Example: net/observe/test/trace_end_test.cpp
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "net/locality.hpp"
#include "probe/record/trace_sink.hpp"

namespace plx::detail {
class scheduler;
struct worker;
}  // namespace plx::detail

namespace plx::net {

class message_log final : public probe::trace_source {
 public:
  explicit message_log(plx::detail::scheduler& s);
  ~message_log() override;
  message_log(const message_log&) = delete;
  message_log& operator=(const message_log&) = delete;

  /// Starts numbering and recording parcels.
  void start() noexcept { on_.store(true, std::memory_order_relaxed); }
  void stop() noexcept { on_.store(false, std::memory_order_relaxed); }
  [[nodiscard]] bool on() const noexcept { return on_.load(std::memory_order_relaxed); }

  /// The number of the next parcel, from 1 on. Requires: sent() is called with it.
  [[nodiscard]] std::uint64_t next_number() noexcept { return numbers_.fetch_add(1, std::memory_order_relaxed) + 1; }
  /// Records a parcel sent by the caller.
  void sent(std::uint64_t number, locality_id to, std::uint64_t bytes, std::uint32_t name, ticks when) noexcept;
  /// Records a received parcel; called by a poller. Returns the join that represents it here, 0 while recording is off.
  probe::task_id received(std::uint64_t number, locality_id from, std::uint64_t bytes) noexcept;

  /// Passes all records that were not passed before, and frees them.
  void drain(probe::trace_sink& to) override;

  /// Maximum number of records of one locality that wait for drain(): 51 MB. Further ones are lost, and counted in a
  /// mark of the trace.
  static constexpr std::uint64_t most = std::uint64_t{1} << 20;

 private:
  struct chunk;
  struct lane;  // one writer's records

  void add(const probe::trace_parcel& r, bool was_sent) noexcept;

  plx::detail::scheduler& scheduler_;
  std::atomic<bool> on_{false};
  std::atomic<std::uint64_t> numbers_{0}, kept_{0}, lost_{0};
  std::uint64_t lost_passed_ = 0;  // in marks
  std::mutex others_lock_;         // guards the last lane, used by external threads
  std::vector<std::unique_ptr<lane>> lanes_;
};

}  // namespace plx::net
