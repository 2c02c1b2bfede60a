#include "trace/replay.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <utility>

namespace plx::probe {

/// One replay: a discrete-event simulation, in order of time and, within a moment, of cause.
class replay_player {
 public:
  using index = replay_model::index;
  using node = replay_model::node;
  using action = replay_model::action;

  replay_player(const replay_model& m, const replay_changes& c)
      : m_(m), changes_(c), inputs_(m.nodes_.size()), progress_(m.n_slices_), locks_(m.locks_.size()) {
    for (index i = 0; i < m.nodes_.size(); ++i) inputs_[i] = m.nodes_[i].n_inputs;
    for (index i = 0; i < m.n_slices_; ++i) progress_[i] = m.nodes_[i].first_action;
    for (const unsigned recorded : m.workers_) {
      worker_pool& pool = pools_.emplace_back();
      pool.first = static_cast<index>(places_.size());
      pool.n = c.workers != 0 ? c.workers : recorded;
      places_.resize(places_.size() + pool.n);
      for (index w = pool.n; w > 0; --w) pool.idle.push_back(pool.first + w - 1);
    }
    for (index l = 0; l < pools_.size(); ++l)
      for (index w = 0; w < pools_[l].n; ++w) places_[pools_[l].first + w].locality = l;
  }

  replayed run() {
    for (index i = 0; i < m_.nodes_.size() - 1; ++i)
      if (m_.nodes_[i].n_inputs == 0) satisfied(i, 0, no_place);
    while (!events_.empty()) {
      const event e = events_.top();
      events_.pop();
      if (e.what == event::ready) {
        arrive(e.target, e.at);
      } else if (e.what == event::wakes) {
        find_work(e.target, e.at);
      } else {
        progress(e.target, e.at);
      }
    }
    return {.time = end_, .unfinished = m_.n_slices_ - finished_};
  }

 private:
  static constexpr index no_place = ~index{0};

  struct event {
    enum kind : std::uint32_t { runs, wakes, ready };
    double at;
    std::uint64_t order;  // of events of one moment
    kind what;
    index target;  // a place, or a node that is ready
    bool operator>(const event& o) const { return at != o.at ? at > o.at : order > o.order; }
  };
  /// A worker, or an operation that a device runs.
  struct place {
    index locality = 0;
    index slice = trace_graph::none;
    double began = 0;                // when the slice would have begun if it had run without interruption
    index next = trace_graph::none;  // the slice with which the task continues at once
    std::deque<index> ready;         // newest at the back
    std::deque<index> inbox;
  };
  /// The workers of a locality, and its shared queues.
  struct worker_pool {
    index first = 0, n = 0;
    std::vector<index> idle;
    std::deque<index> urgent, due, injected, low;
  };
  struct lock_state {
    bool taken = false;
    std::deque<index> waiters;
  };

  [[nodiscard]] double factor(index slice) const {
    const name_id name = m_.nodes_[slice].name;
    return name < changes_.factors.size() ? changes_.factors[name] : 1.0;
  }
  [[nodiscard]] int priority(index slice) const {
    const node& n = m_.nodes_[slice];
    if (n.name < changes_.priorities.size() && changes_.priorities[n.name] >= 0) return changes_.priorities[n.name];
    return n.priority;
  }
  void at(double when, event::kind what, index target) { events_.push({when, n_events_++, what, target}); }

  /// All dependencies of a node are satisfied, the last one by the slice at `by`, if any.
  void satisfied(index n, double now, index by) {
    if (!m_.is_slice(n)) {
      joins_.push_back(n);
      while (!joins_.empty()) {
        const index join = joins_.back();
        joins_.pop_back();
        for (index a = m_.nodes_[join].first_action; a < m_.nodes_[join + 1].first_action; ++a)
          if (const index to = m_.actions_[a].target; --inputs_[to] == 0)
            m_.is_slice(to) ? slice_satisfied(to, now, by) : joins_.push_back(to);
      }
      return;
    }
    slice_satisfied(n, now, by);
  }

  void slice_satisfied(index n, double now, index by) {
    const node& what = m_.nodes_[n];
    const bool by_message = (what.flags & replay_model::by_message) != 0;
    const double delay = by_message && changes_.no_messages ? 0 : what.delay;
    if (delay > 0 || by_message || by == no_place) return at(now + delay, event::ready, n);
    if ((what.flags & replay_model::of_device) != 0) return begin_on_device(n, now);
    place& here = places_[by];
    // Its previous slice, which is at its end: the task continues without waiting.
    if (what.before != trace_graph::none && what.before == here.slice) {
      here.next = n;
    } else {
      put(n, now, by);
    }
  }

  /// A node is ready without a task that made it so: timers and messages resume tasks before others begin.
  void arrive(index n, double now) {
    const node& what = m_.nodes_[n];
    if ((what.flags & replay_model::of_device) != 0) return begin_on_device(n, now);
    if (what.worker != 0 || priority(n) != 0) return put(n, now, no_place);
    worker_pool& pool = pools_[what.locality];
    const bool first = (what.flags & (replay_model::resumed | replay_model::by_message)) != 0;
    (first ? pool.due : pool.injected).push_back(n);
    wake(pool, now, pickup(what));
  }

  /// Queues a ready slice; `by`: the worker that made it ready.
  void put(index n, double now, index by) {
    const node& what = m_.nodes_[n];
    worker_pool& pool = pools_[what.locality];
    if (what.worker != 0) {
      const index w = pool.first + (what.worker - 1u) % pool.n;
      places_[w].inbox.push_back(n);
      const auto idle = std::find(pool.idle.begin(), pool.idle.end(), w);
      if (idle == pool.idle.end()) return;
      pool.idle.erase(idle);
      return at(now + pickup(what), event::wakes, w);
    }
    const int urgency = priority(n);
    const bool own = by < first_device() && places_[by].locality == what.locality;
    if (urgency == 1)
      pool.urgent.push_back(n);
    else if (urgency == 2)
      pool.low.push_back(n);
    else if (own)
      places_[by].ready.push_back(n);
    else
      pool.injected.push_back(n);
    wake(pool, now, pickup(what));
  }

  [[nodiscard]] double pickup(const node& n) const { return changes_.workers != 0 ? m_.usual_pickup(n) : n.pickup; }

  void wake(worker_pool& pool, double now, double after) {
    if (pool.idle.empty()) return;
    const index w = pool.idle.back();
    pool.idle.pop_back();
    at(now + after, event::wakes, w);
  }

  [[nodiscard]] index first_device() const { return pools_.back().first + pools_.back().n; }

  void begin_on_device(index n, double now) {
    index p = no_place;
    if (free_devices_.empty()) {
      p = static_cast<index>(places_.size());
      places_.emplace_back();
    } else {
      p = free_devices_.back();
      free_devices_.pop_back();
    }
    begin(p, n, now);
  }

  static index take_back(std::deque<index>& from) {
    const index n = from.back();
    from.pop_back();
    return n;
  }
  static index take_front(std::deque<index>& from) {
    const index n = from.front();
    from.pop_front();
    return n;
  }

  void find_work(index p, double now) {
    place& me = places_[p];
    worker_pool& pool = pools_[me.locality];
    const bool inbox_first = (++turn_ & 1u) != 0;
    index n = trace_graph::none;
    for (std::deque<index>* q :
         {inbox_first ? &me.inbox : &pool.urgent, inbox_first ? &pool.urgent : &me.inbox, &pool.due})
      if (n == trace_graph::none && !q->empty()) n = take_front(*q);
    if (n == trace_graph::none && !me.ready.empty()) n = take_back(me.ready);
    if (n == trace_graph::none && !pool.injected.empty()) n = take_front(pool.injected);
    if (n == trace_graph::none) n = steal(p, pool);
    if (n == trace_graph::none && !pool.low.empty()) n = take_front(pool.low);
    if (n == trace_graph::none) return pool.idle.push_back(p);
    begin(p, n, now);
  }

  /// Half of the tasks of another worker, oldest first.
  index steal(index thief, const worker_pool& pool) {
    random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
    const index start = static_cast<index>(random_ % pool.n);
    for (index k = 0; k < pool.n; ++k) {
      const index v = pool.first + (start + k) % pool.n;
      std::deque<index>& victim = places_[v].ready;
      if (v == thief || victim.empty()) continue;
      const index n = take_front(victim);
      for (std::size_t more = victim.size() / 2; more > 0; --more) places_[thief].ready.push_back(take_front(victim));
      return n;
    }
    return trace_graph::none;
  }

  /// Begins a slice, or continues one that has waited for a lock.
  void begin(index p, index n, double now) {
    places_[p].slice = n;
    const index a = progress_[n];
    const bool waited = a != m_.nodes_[n].first_action || (a < end_of(n) && resumes_at_lock(n));
    places_[p].began = waited ? now - factor(n) * m_.actions_[a].at : now;
    schedule(p);
  }
  [[nodiscard]] bool resumes_at_lock(index n) const { return n < waited_.size() && waited_[n]; }
  [[nodiscard]] index end_of(index n) const { return m_.nodes_[n + 1].first_action; }

  [[nodiscard]] double next_moment(index p) const {
    const place& here = places_[p];
    const index n = here.slice;
    const double offset = progress_[n] < end_of(n) ? m_.actions_[progress_[n]].at : m_.nodes_[n].length;
    return here.began + factor(n) * offset;
  }
  void schedule(index p) { at(next_moment(p), event::runs, p); }

  /// Runs the slice at `p` on, from one action to the next while no other event is earlier.
  void progress(index p, double now) {
    for (;;) {
      const index n = places_[p].slice;
      if (progress_[n] == end_of(n)) return end_slice(p, now);
      const action& a = m_.actions_[progress_[n]];
      if (a.what == replay_model::act::take && !take(a.target, n)) return suspend(p, now);
      ++progress_[n];
      if (a.what == replay_model::act::release) {
        if (--inputs_[a.target] == 0) satisfied(a.target, now, p);
      } else if (a.what == replay_model::act::give) {
        give(a.target, p, now);
      }
      const double next = next_moment(p);
      if (!events_.empty() && next >= events_.top().at) return at(next, event::runs, p);
      now = next;
    }
  }

  void end_slice(index p, double now) {
    ++finished_;
    end_ = std::max(end_, now);
    place& here = places_[p];
    here.slice = trace_graph::none;
    if (p >= first_device()) return free_devices_.push_back(p);
    if (const index next = std::exchange(here.next, trace_graph::none); next != trace_graph::none)
      return begin(p, next, now);
    find_work(p, now);
  }

  [[nodiscard]] bool ignored(index lock) const { return lock < changes_.no_lock.size() && changes_.no_lock[lock]; }

  bool take(index lock, index n) {
    if (ignored(lock)) return true;
    lock_state& l = locks_[lock];
    if (!l.taken) return l.taken = true;
    l.waiters.push_back(n);
    return false;
  }
  void give(index lock, index p, double now) {
    if (ignored(lock)) return;
    lock_state& l = locks_[lock];
    l.taken = false;
    if (!l.waiters.empty()) put(take_front(l.waiters), now, p);
  }

  /// The slice at `p` waits for a lock: its worker is free.
  void suspend(index p, double now) {
    const index n = places_[p].slice;
    if (waited_.empty()) waited_.resize(m_.n_slices_);
    waited_[n] = true;
    places_[p].slice = trace_graph::none;
    if (p >= first_device()) return free_devices_.push_back(p);
    find_work(p, now);
  }

  const replay_model& m_;
  const replay_changes& changes_;
  std::vector<index> inputs_;    // dependencies that are missing
  std::vector<index> progress_;  // of each slice: its next action
  std::vector<bool> waited_;     // slices that have waited for a lock; empty: none
  std::vector<lock_state> locks_;
  std::vector<place> places_;  // workers by locality, then devices
  std::vector<worker_pool> pools_;
  std::vector<index> joins_, free_devices_;
  std::priority_queue<event, std::vector<event>, std::greater<>> events_;
  std::uint64_t n_events_ = 0, finished_ = 0, random_ = 0x9e3779b97f4a7c15ull;
  unsigned turn_ = 0;
  double end_ = 0;
};

replayed replay_model::run(const replay_changes& changes) const {
  if (n_slices_ == 0) return {};
  for (const unsigned n : workers_)
    if (n == 0 && changes.workers == 0) return {.unfinished = n_slices_};
  replayed r = replay_player(*this, changes).run();
  const auto factor = [&](name_id name) { return name < changes.factors.size() ? changes.factors[name] : 1.0; };

  std::vector<double> begin(nodes_.size(), 0), work(workers_.size(), 0), pinned(std::size_t{1} << 16, 0);
  double all_pinned = 0, largest_factor = 1, smallest_factor = 1;
  for (const double f : changes.factors)
    largest_factor = std::max(largest_factor, f), smallest_factor = std::min(smallest_factor, f);
  for (const index n : order_) {
    const node& what = nodes_[n];
    double length = 0, f = 1;
    if (is_slice(n)) {
      f = factor(what.name);
      length = f * what.length;
      if ((what.flags & by_message) == 0 || !changes.no_messages) begin[n] += what.delay;
      if ((what.flags & of_device) == 0) work[what.locality] += length;
      if (what.worker != 0) {
        const unsigned n_workers = changes.workers != 0 ? changes.workers : workers_[what.locality];
        pinned[(what.worker - 1u) % n_workers] += length;
        all_pinned += length;
      }
    }
    r.span = std::max(r.span, begin[n] + length);
    for (index a = what.first_action; a < nodes_[n + 1].first_action; ++a)
      if (actions_[a].what == act::release)
        begin[actions_[a].target] = std::max(begin[actions_[a].target], begin[n] + f * actions_[a].at);
  }
  r.lower = r.upper = r.span;
  for (std::size_t l = 0; l < workers_.size(); ++l) {
    const double per_worker = work[l] / (changes.workers != 0 ? changes.workers : workers_[l]);
    r.work += work[l];
    r.lower = std::max(r.lower, per_worker);
    r.upper += per_worker;
  }
  if (workers_.size() == 1)
    for (const double p : pinned) r.lower = std::max(r.lower, p);
  r.upper += all_pinned;
  for (index l = 0; l < locks_.size(); ++l) {
    if (l < changes.no_lock.size() && changes.no_lock[l]) continue;
    r.lower = std::max(r.lower, smallest_factor * locks_[l].held);
    r.upper += largest_factor * locks_[l].held;
  }
  return r;
}

}  // namespace plx::probe
