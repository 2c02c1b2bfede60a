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

void time_book::judge(int worker, double sent_s) {
  for (const auto& [begin, end] : idle_[worker].pieces) {
    if (sent_s < 0.0) {
      use_.local += end - begin;
      continue;
    }
    const double sent = std::clamp(sent_s, begin, end);
    use_.late += sent - begin;
    use_.network += end - sent;
  }
  idle_[worker].pieces.clear();
}

void time_book::add_open_end(int locality, double begin, double end, double last_anywhere) {
  const double own = std::clamp(last_work_[locality], begin, end), all = std::clamp(last_anywhere, own, end);
  use_.local += own - begin;
  use_.imbalance += all - own;
  use_.reduction += end - all;
}

time_use time_book::close(double end) {
  const double last_anywhere = *std::max_element(last_work_.begin(), last_work_.end());
  for (std::size_t w = 0; w < idle_.size(); ++w) {
    woke(static_cast<int>(w), end);
    for (const auto& [begin, until] : idle_[w].pieces)
      add_open_end(static_cast<int>(w) / workers_, begin, until, last_anywhere);
    idle_[w].pieces.clear();
  }
  return use_;
}

}  // namespace plx::scale
