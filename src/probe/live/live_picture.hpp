// A slice through what a program simulates, for the live page: a grid of values, and its blocks with what they cost.
//
// The program draws it when that suits it (between two steps) and only when somebody looks:
//   if (board && board->wanted()) board->publish(picture_of(...));
// Thread safety: picture_board: everything; a published picture never changes. Cost: wanted() is two relaxed loads and
// a clock read; nothing else happens while nobody looks. Example: probe/live/live_picture_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace plx::probe {

struct live_picture {
  /// A rectangle in the same coordinates as `lower` and `upper`.
  struct block {
    double x = 0, y = 0, width = 0, height = 0;
    double cost_s = 0;  // seconds of work per step
    int level = 0;
    unsigned worker = 0;
  };

  std::string title{};  // "density in the plane z = 0.004"
  std::string unit{};   // of the values
  std::int64_t step = 0;
  double time = 0;
  double lower[2] = {0, 0};
  double upper[2] = {1, 1};
  int width = 0;
  int height = 0;
  std::vector<float> values{};  // [height][width], the lowest row first
  std::vector<block> blocks{};
};

/// Where a program puts the picture of itself that clients ask for.
class picture_board {
 public:
  /// Whether somebody has looked in the last seconds, and the newest picture is a second old.
  [[nodiscard]] bool wanted() const noexcept;
  /// Requires: values.size() == width * height, width and height at most 512.
  void publish(live_picture picture);

  /// A picture and its number, which grows with each.
  struct numbered {
    std::shared_ptr<const live_picture> picture;  // null: none yet
    std::uint64_t number = 0;                     // grows with every picture
  };
  /// The newest one; asking for it is looking.
  [[nodiscard]] numbered look() noexcept;

 private:
  std::atomic<double> looked_s_{-1e9};  // relaxed, as the next: they order nothing
  std::atomic<double> published_s_{-1e9};
  std::mutex mutex_;
  numbered newest_;  // under mutex_
};

}  // namespace plx::probe
