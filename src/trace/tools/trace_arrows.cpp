#include "trace/tools/trace_arrows.hpp"

#include <algorithm>
#include <numeric>

namespace plx::probe {

void trace_arrows::add(const trace_edge& e) {
  if (edges_added_++ < most) edges_.push_back(e);
}

void trace_arrows::resolve() {
  std::sort(edges_.begin(), edges_.end(), [](const trace_edge& a, const trace_edge& b) { return a.to < b.to; });
  for (const trace_edge& e : edges_)
    if (!is_join(e.to)) follow(e, e.to);
  edges_ = {};
  by_from_.resize(arrows_.size());
  std::iota(by_from_.begin(), by_from_.end(), 0u);
  std::sort(by_from_.begin(), by_from_.end(),
            [this](std::uint32_t a, std::uint32_t b) { return arrows_[a].from < arrows_[b].from; });
}

/// Adds arrows from the tasks that lead to `into`, through joins.
void trace_arrows::follow(const trace_edge& into, task_id to) {
  constexpr int most_steps = 64;
  const std::size_t first = arrows_.size();
  std::vector<trace_edge> open{into};
  for (int steps = 0; !open.empty() && steps < most_steps; ++steps) {
    const trace_edge e = open.back();
    open.pop_back();
    if (arrows_.size() == std::min(most, first + most_of_slice)) return;
    if (!is_join(e.from)) {
      if (e.from == to) continue;
      arrows_.push_back({.from = e.from, .to = to, .leave = e.when, .enter = into.when});
      last_ = std::max({last_, e.when, into.when});
      continue;
    }
    const auto earlier = [](const trace_edge& a, task_id id) { return a.to < id; };
    for (auto i = std::lower_bound(edges_.begin(), edges_.end(), e.from, earlier);
         i != edges_.end() && i->to == e.from && open.size() < most_of_slice; ++i)
      open.push_back(*i);
  }
}

std::size_t trace_arrows::first_to(task_id id) const {
  const auto at = std::lower_bound(arrows_.begin(), arrows_.end(), id,
                                   [](const arrow& a, task_id sought) { return a.to < sought; });
  return static_cast<std::size_t>(at - arrows_.begin());
}

std::size_t trace_arrows::first_from(task_id id) const {
  const auto at = std::lower_bound(by_from_.begin(), by_from_.end(), id,
                                   [this](std::uint32_t a, task_id sought) { return arrows_[a].from < sought; });
  return static_cast<std::size_t>(at - by_from_.begin());
}

void trace_arrows::place(const trace_slice& s) {
  if (s.id == 0) return;
  for (std::size_t i = first_to(s.id); i < arrows_.size() && arrows_[i].to == s.id; ++i)
    if (s.begin >= arrows_[i].enter) {
      arrows_[i].to_begin = std::min(arrows_[i].to_begin, s.begin);
      last_ = std::max(last_, s.begin);
    }
  for (std::size_t i = first_from(s.id); i < by_from_.size() && arrows_[by_from_[i]].from == s.id; ++i)
    if (arrow& a = arrows_[by_from_[i]]; s.begin <= a.leave && a.leave <= s.end)
      a.from_begin = std::min(a.from_begin, s.begin);
}

}  // namespace plx::probe
