// The parts of a device of the cpu backend. Internal to the backend.
//
// One lock per backend guards everything except the execution of work, which happens without it.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "gpu/cpu/cpu_backend.hpp"

namespace plx::gpu::cpu {

struct device;
struct stream;

/// An entry of a stream. A graph keeps its entries and runs them again.
struct work {
  virtual ~work() = default;
  [[nodiscard]] virtual bool may_begin() const { return true; }  // under the lock
  virtual void run() {}                                          // without the lock; an exception fails the stream
  virtual void done(stream&) {}                                  // under the lock
  virtual void describe(activity&) const {}                      // describes it; called only with a tag
  [[nodiscard]] virtual bool is_recorded() const { return false; }
};

/// One recording of an event. Later recordings of the event, in any stream, do not affect those that wait for this one.
struct place {
  stream* of = nullptr;
  bool reached = false;
  code failed = ok;
  unsigned failures = 0;  // of the stream, when this point was reached
  ticks when = 0;
};
struct event {
  std::shared_ptr<place> last;
};

/// An element of a stream's queue.
struct entry {
  std::shared_ptr<gpu::cpu::work> work;
  std::uint64_t tag = 0;
};

struct stream {
  explicit stream(device& d) : home(d) {}
  device& home;
  std::deque<entry> entries;
  bool running = false;  // the first entry runs, without the lock
  bool capturing = false;
  bool spoiled = false;  // queried during a capture, which invalidates it
  std::vector<std::shared_ptr<work>> captured;
  code failed = ok;       // cleared when it is reported by an event
  unsigned failures = 0;  // total
};

struct graph {
  std::vector<std::shared_ptr<work>> entries;
};

struct device {
  device(testing_backend::shared& b, int i) : home(b), index(i) {}
  testing_backend::shared& home;
  const int index;
  bool lost = false, stop = false;
  std::vector<stream*> streams;
  std::size_t turn = 0;
  std::uint64_t rng = 1;
  std::thread thread;

  /// Runs one entry of one stream. False if none may begin. Called with the lock, which is released while it runs.
  bool step(std::unique_lock<std::mutex>& lock);
  /// The thread's loop.
  void run();
  /// On a stepped device, runs an entry or none, as the seed decides.
  void perhaps_step(std::unique_lock<std::mutex>& lock);
  std::uint64_t choose(std::uint64_t n);
};

}  // namespace plx::gpu::cpu

namespace plx::gpu::cpu {

/// Tag of this thread's submissions; 0: none.
std::uint64_t current_tag() noexcept;
/// Delivers a record if recording is on.
void report_activity(const activity& a) noexcept;
const activity_functions& cpu_records() noexcept;

}  // namespace plx::gpu::cpu

namespace plx::gpu {

struct cpu::testing_backend::shared {
  explicit shared(options opt);
  struct fault {
    code with = ok;
    unsigned after = 0, times = 0;
  };
  options o;
  backend table;
  std::mutex lock;
  std::condition_variable changed;
  std::map<std::string, fault> faults;
  bool held = false;
  std::size_t allocated = 0;
  std::map<void*, std::size_t> blocks;
  std::uint64_t launches = 0, items = 0;
  std::vector<device*> open_devices;
  std::vector<int> lost;

  /// The injected result of a call. Requires the lock.
  code fault_of(const char* call);
};

}  // namespace plx::gpu
