#include "probe/live/live_picture.hpp"

#include <utility>

#include "base/assert.hpp"
#include "base/clock.hpp"

namespace plx::probe {
namespace {

constexpr double looking_s = 5;  // a page asks every second; one that is hidden does not
constexpr double period_s = 1;

}  // namespace

bool picture_board::wanted() const noexcept {
  const double now = monotonic_seconds();
  return now - looked_s_.load(std::memory_order_relaxed) < looking_s &&
         now - published_s_.load(std::memory_order_relaxed) >= period_s;
}

void picture_board::publish(live_picture picture) {
  PLX_ASSERT(picture.width > 0 && picture.height > 0 && picture.width <= 512 && picture.height <= 512, picture.width,
             picture.height);
  PLX_ASSERT_EQ(picture.values.size(),
                static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.height));
  auto shared = std::make_shared<const live_picture>(std::move(picture));
  published_s_.store(monotonic_seconds(), std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  newest_.picture.swap(shared);  // the old one is freed after the lock
  ++newest_.number;
}

picture_board::numbered picture_board::look() noexcept {
  looked_s_.store(monotonic_seconds(), std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  return newest_;
}

}  // namespace plx::probe
