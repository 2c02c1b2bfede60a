// Builds a replay_model from a recorded graph.
#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/assert.hpp"
#include "trace/replay.hpp"

namespace plx::probe {

class replay_builder {
 public:
  using index = trace_graph::index;
  using action = replay_model::action;
  using node = replay_model::node;

  replay_builder(replay_model& m, const trace_graph& g, const trace_data& d, const trace_job* job)
      : m_(m), g_(g), d_(d), job_(job), locked_(g.pieces().size()) {}

  void build() {
    m_.n_slices_ = static_cast<index>(g_.pieces().size());
    m_.recorded_ = static_cast<double>(g_.wall());
    count_workers();
    for (const trace_graph::piece& p : g_.pieces()) first_ = std::min(first_, p.begin);
    index_tasks();
    find_locks();
    make_nodes();
    place_tasks();
    find_outside_threads();
    add_links();
    find_order();
    sort_actions();
    measure_pickup();
  }

 private:
  struct lock_action {
    index slice;
    action what;
  };

  [[nodiscard]] unsigned locality_of(unsigned row) const {
    return job_ == nullptr || job_->localities.empty() ? 0 : job_->locality_of(row);
  }

  void count_workers() {
    const std::size_t n = job_ == nullptr || job_->localities.empty() ? 1 : job_->localities.size();
    m_.workers_.assign(n, 0);
    for (unsigned w = 0; w < d_.workers.size(); ++w)
      if (!d_.is_device(w)) ++m_.workers_[locality_of(w)];
  }

  /// Only for tasks with locks or placements.
  void index_tasks() {
    if (d_.locks.empty() && d_.placements.empty()) return;
    tasks_.reserve(g_.tasks().size());
    for (index t = 0; t < g_.tasks().size(); ++t)
      if (g_.tasks()[t].id != 0) tasks_.emplace(g_.tasks()[t].id, t);
  }

  /// The last slice of the task that had begun at `when`.
  [[nodiscard]] index slice_at(const trace_graph::task& t, ticks when) const {
    const auto slices = g_.pieces_of(t);
    const auto after = std::upper_bound(slices.begin(), slices.end(), when,
                                        [](ticks w, const trace_graph::piece& p) { return w < p.begin; });
    return after == slices.begin() ? trace_graph::none : t.first_piece + static_cast<index>(after - slices.begin()) - 1;
  }

  [[nodiscard]] double offset(index slice, ticks when) const {
    const trace_graph::piece& p = g_.pieces()[slice];
    return static_cast<double>(std::clamp(when, p.begin, p.end) - p.begin);
  }

  void find_locks() {
    std::vector<const trace_lock*> all;
    for (const trace_lock& l : d_.locks) all.push_back(&l);
    std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->taken < b->taken; });
    std::unordered_map<std::uint64_t, index> known;
    for (const trace_lock* l : all) {
      const auto t = tasks_.find(l->task);
      if (t == tasks_.end()) continue;
      const trace_graph::task& task = g_.tasks()[t->second];
      const index from = slice_at(task, l->taken), to = slice_at(task, l->released);
      if (from == trace_graph::none || to == trace_graph::none || l->released < l->taken) continue;
      const auto [at, fresh] = known.try_emplace(l->object, static_cast<index>(m_.locks_.size()));
      if (fresh) m_.locks_.push_back({.object = l->object, .name = l->name});
      replay_model::lock& lock = m_.locks_[at->second];
      ++lock.times;
      lock.waits += l->waits;
      lock.held += static_cast<double>(l->released - l->taken);
      lock_actions_.push_back({from, {offset(from, l->taken), replay_model::act::take, at->second}});
      lock_actions_.push_back({to, {offset(to, l->released), replay_model::act::give, at->second}});
      // These slices resumed because the lock was released, which the lock of the replay decides.
      for (index k = 0; k < l->waits && from - k > task.first_piece; ++k) locked_[from - k] = true;
    }
  }

  void make_nodes() {
    m_.nodes_.resize(g_.node_count() + std::size_t{1});
    for (index t = 0; t < g_.tasks().size(); ++t) {
      const trace_graph::task& task = g_.tasks()[t];
      for (index k = 0; k < task.n_pieces; ++k) {
        const index i = task.first_piece + k;
        const trace_graph::piece& p = g_.pieces()[i];
        node& n = m_.nodes_[i];
        n.name = task.name;
        n.length = static_cast<double>(p.end - p.begin);
        n.locality = static_cast<std::uint16_t>(locality_of(p.worker));
        if (g_.is_device(p.worker)) n.flags |= replay_model::of_device;
        if (k > 0) n.before = i - 1, n.flags |= replay_model::resumed;
      }
    }
  }

  void place_tasks() {
    for (const trace_placement& p : d_.placements) {
      const auto t = tasks_.find(p.task);
      if (t == tasks_.end()) continue;
      const trace_graph::task& task = g_.tasks()[t->second];
      for (index k = 0; k < task.n_pieces; ++k) {
        node& n = m_.nodes_[task.first_piece + k];
        n.worker = static_cast<std::uint16_t>(std::min(p.worker, 0xffffu));
        n.priority = static_cast<std::uint8_t>(std::min(p.priority, 2u));
      }
    }
  }

  [[nodiscard]] static ticks start_of(const trace_graph::piece& p) {
    return p.ready != 0 ? std::min(p.ready, p.begin) : p.begin;
  }

  /// A slice without a recorded dependency was submitted by a thread outside the runtime. That thread is taken to have
  /// waited until no task of the locality ran or was ready, as main() does between two calls of run(); so the slice
  /// follows the last one before that moment.
  void find_outside_threads() {
    struct busy {
      ticks end = 0;
      index last = trace_graph::none;    // the slice with the latest end so far
      index before = trace_graph::none;  // the last slice before the present busy period
    };
    std::vector<busy> localities(m_.workers_.size());
    std::vector<index> by_start(m_.n_slices_);
    std::iota(by_start.begin(), by_start.end(), index{0});
    std::sort(by_start.begin(), by_start.end(), [&](index a, index b) {
      return std::pair(start_of(g_.pieces()[a]), a) < std::pair(start_of(g_.pieces()[b]), b);
    });
    after_.assign(m_.n_slices_, trace_graph::none);
    for (const index i : by_start) {
      const node& n = m_.nodes_[i];
      if ((n.flags & replay_model::of_device) != 0) continue;
      busy& b = localities[n.locality];
      const trace_graph::piece& p = g_.pieces()[i];
      if (start_of(p) > b.end) b.before = b.last;
      if (g_.links(i).empty()) after_[i] = b.before;
      if (b.last == trace_graph::none || p.end > b.end) b.end = p.end, b.last = i;
    }
  }

  /// All dependencies first. There is no cycle: the graph has none, whose links lead to slices that begin later or at
  /// the same moment, and a slice of an outside thread begins after the end of the one that it follows.
  void find_order() {
    std::vector<index> waits(g_.node_count());
    m_.order_.clear();
    m_.order_.reserve(g_.node_count());
    for (index i = 0; i < g_.node_count(); ++i)
      if ((waits[i] = m_.nodes_[i].n_inputs) == 0) m_.order_.push_back(i);
    for (std::size_t i = 0; i < m_.order_.size(); ++i) {
      const index from = m_.order_[i];
      for (index a = m_.nodes_[from].first_action; a < m_.nodes_[from + 1].first_action; ++a)
        if (m_.actions_[a].what == replay_model::act::release && --waits[m_.actions_[a].target] == 0)
          m_.order_.push_back(m_.actions_[a].target);
    }
    PLX_ASSERT_EQ(m_.order_.size(), std::size_t{g_.node_count()});
  }

  /// Counts the dependencies, and their actions per source.
  void add_links() {
    std::vector<index> counts(m_.nodes_.size(), 0);
    for (index to = 0; to < g_.node_count(); ++to) {
      node& n = m_.nodes_[to];
      n.n_inputs = 0;
      ticks latest = 0;
      index last = trace_graph::none;
      for (const trace_graph::link& l : g_.links(to)) {
        if (!kept(to, l.from)) continue;
        ++n.n_inputs;
        ++counts[l.from];
        if (last == trace_graph::none || l.when > latest) latest = l.when, last = l.from;
      }
      if (follows_outside(to)) {
        n.n_inputs = 1;
        ++counts[after_[to]];
        last = after_[to], latest = g_.pieces()[last].end;
      }
      if (m_.is_slice(to)) set_delay(to, latest, last);
    }
    for (const lock_action& l : lock_actions_) ++counts[l.slice];
    index sum = 0;
    for (std::size_t i = 0; i < m_.nodes_.size(); ++i) {
      m_.nodes_[i].first_action = sum;
      sum += counts[i];
    }
    m_.actions_.resize(sum);
    for (std::size_t i = 0; i < m_.nodes_.size(); ++i) counts[i] = m_.nodes_[i].first_action;
    for (index to = 0; to < g_.node_count(); ++to) {
      for (const trace_graph::link& l : g_.links(to))
        if (kept(to, l.from))
          m_.actions_[counts[l.from]++] = {m_.is_slice(l.from) ? offset(l.from, l.when) : 0.0,
                                           replay_model::act::release, to};
      if (follows_outside(to))
        m_.actions_[counts[after_[to]]++] = {m_.nodes_[after_[to]].length, replay_model::act::release, to};
    }
    for (const lock_action& l : lock_actions_) m_.actions_[counts[l.slice]++] = l.what;
  }

  [[nodiscard]] bool follows_outside(index to) const { return m_.is_slice(to) && after_[to] != trace_graph::none; }

  [[nodiscard]] bool kept(index to, index from) const {
    return !m_.is_slice(to) || !locked_[to] || from == m_.nodes_[to].before;
  }

  /// The time from the last dependency of a slice, or from the start of the run, until it was ready.
  void set_delay(index to, ticks latest, index last) {
    node& n = m_.nodes_[to];
    const trace_graph::piece& p = g_.pieces()[to];
    if (locked_[to] || ((n.flags & replay_model::of_device) != 0 && last != trace_graph::none)) return;
    const ticks since = last == trace_graph::none ? first_ : latest;
    const ticks ready = p.ready != 0 ? std::min(p.ready, p.begin) : last == trace_graph::none ? p.begin : since;
    n.delay = static_cast<double>(ready > since ? ready - since : 0);
    if (last != trace_graph::none && m_.is_slice(last) && m_.nodes_[last].locality != n.locality) {
      n.flags |= replay_model::by_message;
      m_.has_messages_ = true;
    }
  }

  void sort_actions() {
    for (std::size_t i = 0; i + 1 < m_.nodes_.size(); ++i)
      std::stable_sort(m_.actions_.begin() + m_.nodes_[i].first_action,
                       m_.actions_.begin() + m_.nodes_[i + 1].first_action,
                       [](const action& a, const action& b) { return a.at < b.at; });
  }

  /// How long an idle worker took to begin a slice that was ready; the typical time, apart for slices that a task made
  /// ready and for those that a timer or a message did, which a worker has to see first.
  void measure_pickup() {
    constexpr float unknown = -1;
    std::vector<float> by_task, by_event;
    for (index i = 0; i < m_.n_slices_; ++i) m_.nodes_[i].pickup = unknown;
    for (unsigned w = 0; w < d_.workers.size(); ++w) {
      if (d_.is_device(w)) continue;
      ticks idle_since = 0;
      for (std::size_t i = 0; i < d_.workers[w].size(); ++i) {
        const trace_slice& s = d_.workers[w][i];
        if (idle_since != 0 && s.ready > idle_since && s.begin >= s.ready) {
          node& n = m_.nodes_[g_.piece_of(w, i)];
          n.pickup = static_cast<float>(s.begin - s.ready);
          (n.delay > 0 ? by_event : by_task).push_back(n.pickup);
        }
        idle_since = s.end;
      }
    }
    m_.task_pickup_ = median_of(by_task);
    m_.event_pickup_ = median_of(by_event);
    for (index i = 0; i < m_.n_slices_; ++i) {
      node& n = m_.nodes_[i];
      if (n.pickup < 0) n.pickup = static_cast<float>(m_.usual_pickup(n));
    }
  }

  static double median_of(std::vector<float>& all) {
    constexpr std::size_t fewest = 8;
    if (all.size() < fewest) return 0;
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
  }

  replay_model& m_;
  const trace_graph& g_;
  const trace_data& d_;
  const trace_job* const job_;
  ticks first_ = ~ticks{0};
  std::unordered_map<task_id, index> tasks_;
  std::vector<lock_action> lock_actions_;
  std::vector<index> after_;  // of each slice that an outside thread submitted: the slice that this thread waited for
  std::vector<bool> locked_;  // slices that resumed after a wait for a lock
};

replay_model::replay_model(const trace_graph& g, const trace_data& d, const trace_job* job) {
  replay_builder(*this, g, d, job).build();
}

}  // namespace plx::probe
