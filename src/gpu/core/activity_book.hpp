// What was submitted while activity records are on, until the records of it have come: puts the two together.
//
// A submission has a number, its tag, that grows in the process; the newest `places` are known. Thread safety:
// everything. Cost: a lock and a copy of 64 bytes per submission and per record. Example: gpu/test/activity_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "gpu/backend.hpp"
#include "probe/record/device_lanes.hpp"

namespace plx::gpu::detail {

/// The longest path through a stream as its records have told it so far. The book's, under its lock.
struct told_path {
  std::uint64_t tag = 0;  // of the newest submission that a record has come for
  ticks path = 0;
  ticks end = 0;
};

class activity_book {
 public:
  static constexpr std::uint64_t places = std::uint64_t{1} << 14;

  /// That of the process.
  static activity_book& of_process();

  /// A submission begins, to which the longest path is `path`. Returns its tag. `owner` must live until it leaves.
  std::uint64_t submit(probe::device_lane& lane, told_path& owner, ticks path = 0) noexcept;
  /// It has been submitted, as `o` says, whose begin and end are not known yet.
  void describe(std::uint64_t tag, const probe::device_operation& o) noexcept;
  /// It was refused.
  void forget(std::uint64_t tag) noexcept;
  /// A record has come. Nothing happens when nobody knows its tag any more.
  void heard(const activity& a) noexcept;
  /// The longest path through what `owner` submitted up to `tag`, as far as records have come: never too long.
  [[nodiscard]] ticks path_behind(const told_path& owner, std::uint64_t tag) noexcept;
  /// What `owner` submitted is nobody's from now on. Returns how many of it no record has come for.
  std::uint64_t leave(const told_path& owner) noexcept;

 private:
  struct entry {
    std::uint64_t tag = 0;
    probe::device_lane* lane = nullptr;
    told_path* owner = nullptr;
    ticks path = 0;  // the longest one that leads here; once heard of, through it
    probe::device_operation operation;
    bool described = false, heard = false;
    std::vector<activity> early;  // came before it was described
  };
  static void grow(entry& e, const activity& a) noexcept;
  static void tell(const entry& e, const activity& a);

  std::mutex lock_;
  std::uint64_t newest_ = 0;
  std::unique_ptr<std::array<entry, places>> entries_ = std::make_unique<std::array<entry, places>>();
};

}  // namespace plx::gpu::detail
