// Matches activity records of the device library with the submissions that they belong to.
//
// A submission is identified by its tag, a process-wide number that increases; the newest `places` submissions are
// kept.
// Thread safety: all functions. Cost: a lock and a copy of 64 bytes per submission and per record.
// Example: gpu/test/activity_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "gpu/backend.hpp"
#include "probe/record/device_lanes.hpp"

namespace plx::gpu::detail {

/// The longest path through a stream as far as its records have arrived. Guarded by the book's lock.
struct told_path {
  std::uint64_t tag = 0;  // of the newest submission with a record
  ticks path = 0;
  ticks end = 0;
};

class activity_book {
 public:
  static constexpr std::uint64_t places = std::uint64_t{1} << 14;

  /// The instance of the process.
  static activity_book& of_process();

  /// Begins a submission; `path` is the longest path that leads to it. Returns its tag. `owner` must live until
  /// leave().
  std::uint64_t submit(probe::device_lane& lane, told_path& owner, ticks path = 0) noexcept;
  /// Describes a submission that has succeeded; the begin and end in `o` are not known yet.
  void describe(std::uint64_t tag, const probe::device_operation& o) noexcept;
  /// Removes a submission that was refused.
  void forget(std::uint64_t tag) noexcept;
  /// Handles an activity record; ignored if its tag is no longer known.
  void heard(const activity& a) noexcept;
  /// The longest path through the submissions of `owner` up to `tag`, as far as records have arrived: a lower bound.
  [[nodiscard]] ticks path_behind(const told_path& owner, std::uint64_t tag) noexcept;
  /// Removes the submissions of `owner`. Returns the number of those without a record.
  std::uint64_t leave(const told_path& owner) noexcept;

 private:
  struct entry {
    std::uint64_t tag = 0;
    probe::device_lane* lane = nullptr;
    told_path* owner = nullptr;
    ticks path = 0;  // longest path that leads here; once a record has arrived, including this submission
    probe::device_operation operation;
    bool described = false, heard = false;
    std::vector<activity> early;  // arrived before describe()
  };
  static void grow(entry& e, const activity& a) noexcept;
  static void tell(const entry& e, const activity& a);

  std::mutex lock_;
  std::uint64_t newest_ = 0;
  std::unique_ptr<std::array<entry, places>> entries_ = std::make_unique<std::array<entry, places>>();
};

}  // namespace plx::gpu::detail
