// For tests: recorded runs built by hand, one call per slice or edge.
#pragma once

#include <string_view>

#include "probe/record/trace_data.hpp"

namespace plx::probe {

struct trace_builder {
  trace_data data;

  explicit trace_builder(unsigned workers) { data.workers.resize(workers); }

  /// The slices of a worker must be added in order of time.
  trace_builder& piece(unsigned worker, task_id id, std::string_view name, ticks begin, ticks end, bool finished = true,
                       bool resumed = false) {
    data.workers[worker].push_back(
        {.begin = begin, .end = end, .id = id, .name = register_name(name), .finished = finished, .resumed = resumed});
    ++data.records;
    last_worker_ = worker;
    return *this;
  }
  trace_builder& task(unsigned worker, task_id id, std::string_view name, ticks begin, ticks end) {
    return piece(worker, id, name, begin, end);
  }
  /// For the last slice.
  trace_builder& ready(ticks when) { return last().ready = when, *this; }
  /// For the last slice.
  trace_builder& key(std::uint64_t k) { return last().key = k, *this; }
  /// For the last slice: it represents `n` slices.
  trace_builder& every(std::uint16_t n) { return last().every = n, *this; }
  /// Makes the row of that worker a stream of device `n`.
  trace_builder& device(unsigned worker, unsigned n, std::string_view name) {
    data.devices.resize(data.workers.size());
    data.worker_names.resize(data.workers.size());
    data.devices[worker] = n + 1;
    data.worker_names[worker] = name;
    return *this;
  }
  trace_builder& edge(task_id from, task_id to, ticks when) {
    data.edges.push_back({from, to, when});
    return *this;
  }

 private:
  trace_slice& last() { return data.workers[last_worker_].back(); }
  unsigned last_worker_ = 0;
};

}  // namespace plx::probe
