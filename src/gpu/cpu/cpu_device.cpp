// Devices of the cpu backend: the execution of stream entries, and activity records like those of GPU libraries.

#include <algorithm>
#include <atomic>
#include <chrono>

#include "gpu/cpu/cpu_device.hpp"

namespace plx::gpu::cpu {

std::uint64_t device::choose(std::uint64_t n) {
  rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
  return (rng * 0x2545f4914f6cdd1du >> 16) % n;
}

bool device::step(std::unique_lock<std::mutex>& lock) {
  if (lost || home.held || streams.empty()) return false;
  const std::size_t first = home.o.stepped ? choose(streams.size()) : turn++;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    stream& s = *streams[(first + i) % streams.size()];
    if (s.running || s.entries.empty() || !s.entries.front().work->may_begin()) continue;
    const entry at = s.entries.front();
    const std::shared_ptr<work>& next = at.work;
    s.running = true;
    lock.unlock();
    if (home.o.delay_s > 0) std::this_thread::sleep_for(std::chrono::duration<double>(home.o.delay_s));
    code failed = ok;
    const ticks begin = now_ticks();
    try {
      next->run();
    } catch (...) {
      failed = item_failed;
    }
    if (at.tag != 0 && next->is_told()) {
      activity a{.tag = at.tag, .begin = begin, .end = now_ticks()};
      next->tell(a);
      tell_activity(a);
    }
    lock.lock();
    s.running = false;
    if (failed != ok) s.failed = failed, ++s.failures;
    if (!lost) next->done(s);
    if (!s.entries.empty()) s.entries.pop_front();
    home.changed.notify_all();
    return true;
  }
  return false;
}

void device::run() {
  std::unique_lock lock(home.lock);
  while (!stop)
    if (!step(lock)) home.changed.wait(lock);
}

void device::perhaps_step(std::unique_lock<std::mutex>& lock) {
  if (home.o.stepped && choose(2) == 0) step(lock);
}

testing_backend::testing_backend(options o) : shared_(std::make_unique<shared>(o)) {}
testing_backend::~testing_backend() = default;
const backend& testing_backend::get() const noexcept { return shared_->table; }

void testing_backend::fail_call(const char* call, code c, unsigned after, unsigned times) {
  const std::lock_guard lock(shared_->lock);
  shared_->faults[call] = {c, after, times};
}

void testing_backend::lose(int index) {
  const std::lock_guard lock(shared_->lock);
  shared_->lost.push_back(index);
  for (device* d : shared_->open_devices)
    if (d->index == index) d->lost = true;
  shared_->changed.notify_all();
}

void testing_backend::hold(bool on) {
  const std::lock_guard lock(shared_->lock);
  shared_->held = on;
  shared_->changed.notify_all();
}

std::size_t testing_backend::allocated_bytes() const noexcept {
  const std::lock_guard lock(shared_->lock);
  return shared_->allocated;
}
std::uint64_t testing_backend::launches() const noexcept {
  const std::lock_guard lock(shared_->lock);
  return shared_->launches;
}
std::uint64_t testing_backend::items() const noexcept {
  const std::lock_guard lock(shared_->lock);
  return shared_->items;
}

code testing_backend::shared::fault_of(const char* call) {
  const auto found = faults.find(call);
  if (found == faults.end()) return ok;
  fault& f = found->second;
  if (f.after > 0) return --f.after, ok;
  if (f.times == 0) return ok;
  --f.times;
  return f.with;
}

namespace {

using listener = void (*)(const activity&) noexcept;
std::atomic<listener> heard_by{nullptr};
thread_local std::uint64_t tag_here = 0;

}  // namespace

std::uint64_t current_tag() noexcept { return tag_here; }

void tell_activity(const activity& a) noexcept {
  if (const listener heard = heard_by.load(std::memory_order_acquire)) heard(a);
}

const activity_functions& cpu_records() noexcept {
  static constexpr activity_functions functions{[](const std::string&, listener heard) {
                                                  heard_by.store(heard, std::memory_order_release);
                                                  return std::string();
                                                },
                                                [](std::uint64_t tag) noexcept { tag_here = tag; }, []() noexcept {}};
  return functions;
}

}  // namespace plx::gpu::cpu
