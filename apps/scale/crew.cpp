#include "crew.hpp"

#include <algorithm>

namespace plx::scale {

void core_queue::release() {
  if (waiting_.empty()) {
    ++free_;
    return;
  }
  const auto f = std::move(waiting_.front());
  waiting_.pop_front();
  f();
}

crew::crew(int workers, core_queue& cores) : cores_(&cores), ready_(workers) {
  for (int w = workers; w-- > 0;) idle_.push_back(w);
}

node_id crew::next(int worker) {
  if (!arrived_.empty()) {
    const node_id m = arrived_.front();
    arrived_.pop_front();
    return m;
  }
  if (auto& own = ready_[worker]; !own.empty()) {
    const node_id task = own.back();
    own.pop_back();
    return task;
  }
  const int n = static_cast<int>(ready_.size());
  for (int i = 1; i < n; ++i)
    if (auto& other = ready_[(worker + i) % n]; !other.empty()) {
      const node_id task = other.front();
      other.pop_front();
      return task;
    }
  return no_node;
}

bool crew::has_work() const {
  return !arrived_.empty() || std::any_of(ready_.begin(), ready_.end(), [](const auto& r) { return !r.empty(); });
}

int crew::wake() {
  if (idle_.empty()) return -1;
  const int worker = idle_.back();
  idle_.pop_back();
  return worker;
}

}  // namespace plx::scale
