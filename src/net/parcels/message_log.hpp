// Which parcels a locality has sent and received, and when, while a trace is recorded: what the arrows of a job's trace
// are drawn from (net/observe/trace_gather.hpp).
//
// A parcel that is sent while this is on gets a number, which travels with it: 8 bytes behind its header, and a flag
// (net/parcels/frame.hpp). Who receives it notes the number, and makes a *join* of its own trace for it
// (probe/record/trace_data.hpp), which what the parcel makes ready comes from. Both sides put together, the task that
// sent is the parent of the task that runs there, and of the one that goes on with the answer.
//
// Thread safety: everything; collect() gives what was noted before it. Cost: off, a relaxed load per parcel sent and a
// compare per parcel received; on, no lock for workers, three atomic additions that they share, and 49 bytes of memory
// per parcel and side, at most `most` of them. Example: net/observe/test/trace_gather_test.cpp
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "net/bitwise.hpp"
#include "net/locality.hpp"
#include "probe/record/trace_data.hpp"

namespace plx::detail {
class scheduler;
struct worker;
}  // namespace plx::detail

namespace plx::net {

/// A parcel that left or came.
struct message_record {
  ticks when = 0;
  probe::task_id task = 0;   ///< who sent it (0: no task), or the join that stands for it where it came
  std::uint64_t number = 0;  ///< its sender's
  std::uint64_t bytes = 0;   ///< with its header
  locality_id peer = 0;      ///< where it went, or came from
  std::uint32_t name = 0;    ///< of what was called (probe::name_id); of received answers 0
};

class message_log {
 public:
  explicit message_log(plx::detail::scheduler& s);
  ~message_log();
  message_log(const message_log&) = delete;
  message_log& operator=(const message_log&) = delete;

  /// From now on parcels have numbers, and are noted.
  void start() noexcept { on_.store(true, std::memory_order_relaxed); }
  /// And now no longer.
  void stop() noexcept { on_.store(false, std::memory_order_relaxed); }
  [[nodiscard]] bool on() const noexcept { return on_.load(std::memory_order_relaxed); }

  /// The number of the next parcel, from 1 on. Requires: sent() is called with it.
  [[nodiscard]] std::uint64_t next_number() noexcept { return numbers_.fetch_add(1, std::memory_order_relaxed) + 1; }
  /// A parcel was handed over by the caller.
  void sent(std::uint64_t number, locality_id to, std::uint64_t bytes, std::uint32_t name, ticks when) noexcept;
  /// A parcel has come, told by a poller; gives the join that stands for it here, 0 while this is off.
  probe::task_id received(std::uint64_t number, locality_id from, std::uint64_t bytes) noexcept;

  /// All that was noted: first what was sent, then what was received.
  struct records {
    std::vector<message_record> sent, received;
    std::uint64_t lost = 0;  ///< beyond `most`
  };
  [[nodiscard]] records collect() const;

  /// Records of one locality: 400 MB. What comes later is counted as lost.
  static constexpr std::uint64_t most = std::uint64_t{1} << 23;

 private:
  struct chunk;
  struct lane;  // one writer's records

  lane& lane_of_caller() noexcept;
  void add(const message_record& r, bool was_sent) noexcept;

  plx::detail::scheduler& scheduler_;
  std::atomic<bool> on_{false};
  std::atomic<std::uint64_t> numbers_{0}, kept_{0}, lost_{0};
  std::mutex others_lock_;  // of the last lane, for threads that are no workers
  std::vector<std::unique_ptr<lane>> lanes_;
};

}  // namespace plx::net

namespace plx {
template <>
inline constexpr bool is_bitwise<net::message_record> = true;
}
