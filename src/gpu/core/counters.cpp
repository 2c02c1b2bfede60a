#include "gpu/core/device_core.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "probe/counters/counter_registry.hpp"
#include "probe/record/recorder.hpp"
#include "rt/runtime.hpp"

namespace plx::gpu::detail {

counter_door::counter_door(device_core& d)
    : device_(&d), index_(d.index), name_(d.timeline().device_name()), lanes_(d.rt.recorder().devices()) {}

void counter_door::close() {
  const std::lock_guard guard(lock_);
  last_ = device_->counts();
  for (const memory_kind k : {memory_kind::device, memory_kind::pinned})
    last_memory_[static_cast<int>(k)] = device_->pool(k).counts();
  device_ = nullptr;
}

device_counts counter_door::counts() {
  const std::lock_guard guard(lock_);
  return device_ != nullptr ? device_->counts() : last_;
}

// The recorder belongs to the runtime and outlives the device.
probe::device_times counter_door::times() {
  for (probe::device_times& t : lanes_.times())
    if (t.device == name_) return std::move(t);
  return {};
}

memory_counts counter_door::memory(memory_kind kind) {
  const std::lock_guard guard(lock_);
  return device_ != nullptr ? device_->pool(kind).counts() : last_memory_[static_cast<int>(kind)];
}

namespace {

struct device_row {
  const char* name;
  const char* unit;
  const char* help;
  double (*value)(const device_counts&);
};

template <auto member>
double value_of(const device_counts& c) {
  return static_cast<double>(c.*member);
}

constexpr device_row of_device[] = {
    {"count/launches", "1", "Kernel launches of one or more items", value_of<&device_counts::launches>},
    {"count/items", "1", "Items in these launches", value_of<&device_counts::items>},
    {"count/aggregated-launches", "1", "Launches by aggregating executors", value_of<&device_counts::batches>},
    {"count/graph-launches", "1", "Graphs launched", value_of<&device_counts::graphs>},
    {"count/copies", "1", "Copies submitted to streams", value_of<&device_counts::copies>},
    {"count/fills", "1", "Fills submitted to streams", value_of<&device_counts::fills>},
    {"count/completions", "1", "Completions submitted to streams for futures, batches and memory",
     value_of<&device_counts::completions>},
    {"count/polls", "1", "Polls of the device by workers", value_of<&device_counts::polls>},
    {"count/questions", "1", "Completions queried in these polls", value_of<&device_counts::questions>},
    {"data/copied", "bytes", "Bytes of the copies submitted to streams", value_of<&device_counts::bytes>},
    {"time/launching", "s", "Time of workers in launch calls of the backend", value_of<&device_counts::launching_s>},
    {"time/polling", "s", "Time of workers in polls", value_of<&device_counts::polling_s>},
};

struct memory_row {
  const char* name;
  const char* unit;
  const char* help;
  bool monotonic;
  std::uint64_t memory_counts::*value;
};

constexpr memory_row of_memory[] = {
    {"buffers/hits", "1", "Buffers allocated from recycled memory", true, &memory_counts::hits},
    {"buffers/magazine-hits", "1", "Hits in the worker's own magazine", true, &memory_counts::magazine_hits},
    {"buffers/crossings", "1", "Hits with a block last used in another stream, ordered by an event", true,
     &memory_counts::crossings},
    {"buffers/misses", "1", "Buffers that required an allocation from the device", true, &memory_counts::misses},
    {"buffers/trims", "1", "Releases of all free memory to the device", true, &memory_counts::trims},
    {"buffers/reserved", "bytes", "Memory currently allocated from the device", false, &memory_counts::reserved_bytes},
    {"buffers/used", "bytes", "Memory currently in buffers", false, &memory_counts::used_bytes},
};

// Two devices of a runtime may have the same index, in different backends or one after the other.
std::string free_name(const probe::counter_registry& r, int index) {
  for (;; ++index) {
    std::string instance = fmt::format("/gpu{{{}/device#{}}}", r.locality_name(), index);
    if (!r.find(instance + "/count/launches")) return instance;
  }
}

using door_ptr = std::shared_ptr<counter_door>;

std::vector<probe::registration> add_counters(probe::counter_registry& r, const door_ptr& door) {
  std::vector<probe::registration> added;
  const std::string instance = free_name(r, door->index());
  for (const device_row& row : of_device)
    added.push_back(r.add({fmt::format("{}/{}", instance, row.name), row.unit, row.help, true},
                          [door, value = row.value] { return value(door->counts()); }));
  added.push_back(r.add_ratio({fmt::format("{}/count/average-items-per-aggregated-launch", instance), "1",
                               "Average items per launch by aggregating executors"},
                              [door] {
                                const device_counts c = door->counts();
                                return std::pair(static_cast<double>(c.batched_items), static_cast<double>(c.batches));
                              }));
  added.push_back(r.add({fmt::format("{}/time/busy", instance), "s",
                         "Time in which the device ran operations recorded in profiles and traces", true},
                        [door] { return door->times().busy_s; }));
  added.push_back(r.add_ratio({fmt::format("{}/busy-share", instance), "1",
                               "Busy share of the time from the first to the last recorded operation"},
                              [door] {
                                const probe::device_times t = door->times();
                                return std::pair(t.busy_s, t.known_s);
                              }));
  for (const auto& [kind, prefix, what] :
       {std::tuple(memory_kind::device, "", "device"), std::tuple(memory_kind::pinned, "pinned-", "pinned")})
    for (const memory_row& row : of_memory)
      added.push_back(
          r.add({fmt::format("{}/{}{}", instance, prefix, row.name), row.unit,
                 fmt::format("{}, {} memory", row.help, what), row.monotonic},
                [door, k = kind, value = row.value] { return static_cast<double>(door->memory(k).*value); }));
  return added;
}

}  // namespace

// The runtime keeps this pointer until counters are requested, possibly never, so its target lives as long as the
// process.
std::shared_ptr<counter_door> open_counter_door(device_core& d) {
  static std::mutex lock;
  static std::vector<std::unique_ptr<door_ptr>> all;
  auto door = std::make_shared<counter_door>(d);
  door_ptr* kept = nullptr;
  {
    const std::lock_guard guard(lock);
    kept = all.emplace_back(std::make_unique<door_ptr>(door)).get();
  }
  d.rt.when_counted([](void* arg, probe::counter_registry& r) { return add_counters(r, *static_cast<door_ptr*>(arg)); },
                    kept);
  return door;
}

}  // namespace plx::gpu::detail
