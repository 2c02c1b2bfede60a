#include "control/progress.hpp"

#include <mutex>

namespace plx::probe {
namespace {

// Held during passed(), so that a listener can end while other threads make progress.
constinit std::mutex mutex;
constinit progress_listener* listener = nullptr;

}  // namespace

bool listen_to_progress(progress_listener& l) {
  const std::lock_guard lock(mutex);
  if (listener != nullptr) return false;
  listener = &l;
  detail::progress_wanted.store(true, std::memory_order_relaxed);
  return true;
}

void ignore_progress(progress_listener& l) noexcept {
  const std::lock_guard lock(mutex);
  if (listener != &l) return;
  listener = nullptr;
  detail::progress_wanted.store(false, std::memory_order_relaxed);
}

void detail::pass_progress(std::string_view name) noexcept {
  const std::lock_guard lock(mutex);
  if (listener != nullptr) listener->passed(name);
}

}  // namespace plx::probe
