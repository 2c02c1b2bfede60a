#include "probe/monitor/task_counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "probe/record/work.hpp"

namespace plx::probe {

std::string counted_event::text(std::uint64_t count) const {
  return scale == 1 ? std::to_string(count) : fmt::format("{:.17g}", scale * static_cast<double>(count));
}

task_counts::task_counts(recorder& r, bool work, std::vector<counted_event> events,
                         std::vector<std::shared_ptr<count_source>> sources)
    : recorder_(r), work_(work), events_(std::move(events)), sources_(std::move(sources)) {
  PLX_ASSERT_LE(events_.size(), most_counted_events);
  PLX_ASSERT(sources_.empty() || sources_.size() == r.worker_count());
  for (unsigned w = 0; w < r.worker_count(); ++w) {
    count_source* const source = sources_.empty() ? nullptr : sources_[w].get();
    workers_.push_back(std::make_unique<slice_counts>(source, events_.size()));
    r.worker(w).set_counts(workers_[w].get());
  }
  r.counting(true);
  if (work_) detail::work_wanted.fetch_add(1, std::memory_order_relaxed);
}

task_counts::~task_counts() {
  recorder_.counting(false);
  for (unsigned w = 0; w < workers_.size(); ++w) recorder_.worker(w).set_counts(nullptr);
  if (work_) detail::work_wanted.fetch_sub(1, std::memory_order_relaxed);
}

counts_of_tasks task_counts::sums() const {
  counts_of_tasks all{.events = events_, .work = work_, .by_name = {}};
  all.by_name.resize(name_count());
  const std::size_t n = sources_.empty() ? 0 : events_.size();
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    for (name_id id = 0; id < all.by_name.size(); ++id) {
      counts_of_tasks::of_task& t = all.by_name[id];
      const slice_counts::work more = workers_[w]->add_to(id, std::span(t.events).first(n));
      t.flops += more.flops;
      t.bytes += more.bytes;
    }
    all.failed_reads += workers_[w]->failed_reads();
    if (n == 0) continue;
    // After the slices, so that it is not less than their sum.
    event_counts now{};
    double counted = 1;
    if (!sources_[w]->read_from_outside(now, counted)) {
      ++all.failed_reads;
      continue;
    }
    all.counted = std::min(all.counted, counted);
    for (std::size_t e = 0; e < n; ++e) all.total[e] += now[e];
  }
  all.no_task = all.total;
  for (std::size_t e = 0; e < n; ++e)
    for (const counts_of_tasks::of_task& t : all.by_name) all.no_task[e] -= t.events[e];
  return all;
}

}  // namespace plx::probe
