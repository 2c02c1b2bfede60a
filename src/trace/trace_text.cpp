#include "trace/trace_text.hpp"

#include <algorithm>

namespace plx::probe {

std::span<const task_id> told_parents::of(trace_graph::index piece) {
  const std::size_t limit = std::clamp(left_, always, most_);
  const std::vector<trace_graph::link> found = graph_.inputs(piece, limit + 1);
  cut_ = found.size() > limit;
  n_cut_ += cut_ ? 1 : 0;
  ids_.clear();
  for (const trace_graph::link& l : std::span(found).first(std::min(found.size(), limit)))
    ids_.push_back(graph_.tasks()[graph_.pieces()[l.from].task].id);
  std::sort(ids_.begin(), ids_.end());
  ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
  left_ -= std::min(left_, found.size());
  longest_ = std::max(longest_, ids_.size());
  return ids_;
}

}  // namespace plx::probe
