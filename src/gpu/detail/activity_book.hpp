// What was submitted while activity records are on, until the records of it have come: puts the two together.
//
// A submission has a number, its tag, that grows in the process; the newest `places` are known. Thread safety:
// everything. Cost: a lock and a copy of 64 bytes per submission and per record. Example: gpu/activity_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "gpu/backend.hpp"
#include "probe/device_lanes.hpp"

namespace plx::gpu::detail {

class activity_book {
 public:
  static constexpr std::uint64_t places = std::uint64_t{1} << 14;

  /// That of the process.
  static activity_book& of_process();

  /// A submission begins; `o.begin` and `o.end` are not known yet. Returns its tag.
  std::uint64_t submit(probe::device_lane& lane, const void* owner) noexcept;
  /// It has been submitted, as `o` says.
  void describe(std::uint64_t tag, const probe::device_operation& o) noexcept;
  /// It was refused.
  void forget(std::uint64_t tag) noexcept;
  /// A record has come. Nothing happens when nobody knows its tag any more.
  void heard(const activity& a) noexcept;
  /// What `owner` submitted is nobody's from now on. Returns how many of it no record has come for.
  std::uint64_t leave(const void* owner) noexcept;

 private:
  struct entry {
    std::uint64_t tag = 0;
    probe::device_lane* lane = nullptr;
    const void* owner = nullptr;
    probe::device_operation operation;
    bool described = false, heard = false;
    std::vector<activity> early;  // came before it was described
  };
  static void tell(const entry& e, const activity& a);

  std::mutex lock_;
  std::uint64_t newest_ = 0;
  std::unique_ptr<std::array<entry, places>> entries_ = std::make_unique<std::array<entry, places>>();
};

}  // namespace plx::gpu::detail
