// Records the parcels that a locality sends and receives while a trace is recorded: the source of the arrows in a job's
// trace (net/observe/trace_gather.hpp).
//
// A parcel sent while recording is on carries a number: 8 bytes after its header, and a flag (net/parcels/frame.hpp).
// The receiver records the number and adds a *join* to its own trace (probe/record/trace_data.hpp), which becomes the
// parent of what the parcel makes ready. Combining the records of both localities makes the sending task the parent of
// the task that runs the call, and that task the parent of the one that continues with the reply.
//
// Thread safety: everything; collect() returns what was recorded before it. Cost: off, a relaxed load per parcel sent
// and a compare per parcel received; on, three shared atomic additions, no lock for workers, and 49 bytes of memory per
// parcel on each of the two localities, for at most `most` parcels. Example: net/observe/test/trace_gather_test.cpp
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

/// A sent or received parcel.
struct message_record {
  ticks when = 0;
  probe::task_id task = 0;   ///< the sending task (0: none); on the receiver, the join that represents it
  std::uint64_t number = 0;  ///< assigned by its sender
  std::uint64_t bytes = 0;   ///< including its header
  locality_id peer = 0;      ///< the receiver or sender
  std::uint32_t name = 0;    ///< of the action (probe::name_id); 0 for received replies
};

class message_log {
 public:
  explicit message_log(plx::detail::scheduler& s);
  ~message_log();
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

  /// All records: sent, received.
  struct records {
    std::vector<message_record> sent, received;
    std::uint64_t lost = 0;  ///< records dropped beyond `most`
  };
  [[nodiscard]] records collect() const;

  /// Maximum number of records of one locality: 400 MB. Further ones are counted as lost.
  static constexpr std::uint64_t most = std::uint64_t{1} << 23;

 private:
  struct chunk;
  struct lane;  // one writer's records

  void add(const message_record& r, bool was_sent) noexcept;

  plx::detail::scheduler& scheduler_;
  std::atomic<bool> on_{false};
  std::atomic<std::uint64_t> numbers_{0}, kept_{0}, lost_{0};
  std::mutex others_lock_;  // guards the last lane, used by external threads
  std::vector<std::unique_ptr<lane>> lanes_;
};

}  // namespace plx::net

namespace plx {
template <>
inline constexpr bool is_bitwise<net::message_record> = true;
}
