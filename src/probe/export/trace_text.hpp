// What the files made of a trace have in common: how names are quoted once, how times are told.
//
// Thread safety: trace_names belongs to one thread, the rest: everything. Cost: an allocation per text; names are
// quoted once each. Example: probe/export/json_trace_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "probe/trace_job.hpp"

namespace plx::probe {

/// Nanoseconds from `origin` to `t`, 0 when it lies before. Never falls when t grows.
inline std::uint64_t nanoseconds_since(ticks origin, ticks t) {
  return t > origin ? static_cast<std::uint64_t>(seconds(t - origin) * 1e9 + 0.5) : 0;
}

/// What the row of a worker is called: its name, or "worker 3", of a job counted anew in each locality.
inline std::string row_name(const trace_data& data, unsigned worker, const trace_job* job = nullptr) {
  if (worker < data.worker_names.size() && !data.worker_names[worker].empty()) return data.worker_names[worker];
  return "worker " +
         std::to_string(job != nullptr ? worker - job->localities[job->locality_of(worker)].first_worker : worker);
}

/// The quoted texts of names, each made once.
class trace_names {
 public:
  using quoting = std::string (*)(std::string_view);
  explicit trace_names(quoting q) : quote_(q) {}
  /// The name of `id`, quoted.
  const std::string& operator[](name_id id) {
    if (id >= texts_.size()) texts_.resize(id + 1);
    if (texts_[id].empty()) texts_[id] = quote_(name_of(id));
    return texts_[id];
  }

 private:
  quoting quote_;
  std::vector<std::string> texts_;
};

}  // namespace plx::probe
