#include "trace/trace_graph.hpp"

#include <algorithm>
#include <bit>
#include <unordered_set>
#include <utility>

#include "base/assert.hpp"

namespace plx::probe {

namespace {

using index = trace_graph::index;

/// Maps ids to indices: open addressing, at most half full. 0 is not an id.
class id_table {
 public:
  explicit id_table(std::size_t n) : cells_(std::bit_ceil(std::max<std::size_t>(16, 2 * n))) {}

  index find_or_add(task_id id, index fresh) {
    cell& c = cells_[place(id)];
    if (c.id == 0) {
      c = {id, fresh};
      if (2 * ++used_ > cells_.size()) grow();
      return fresh;
    }
    return c.number;
  }
  [[nodiscard]] index find(task_id id) const {
    const cell& c = cells_[place(id)];
    return c.id == 0 ? trace_graph::none : c.number;
  }

 private:
  struct cell {
    task_id id = 0;
    index number = 0;
  };
  [[nodiscard]] std::size_t place(task_id id) const {
    const std::size_t mask = cells_.size() - 1;
    std::size_t i = (id * 0x9e3779b97f4a7c15ull >> 20) & mask;
    while (cells_[i].id != 0 && cells_[i].id != id) i = (i + 1) & mask;
    return i;
  }
  void grow() {
    std::vector<cell> old(2 * cells_.size());
    old.swap(cells_);
    for (const cell& c : old)
      if (c.id != 0) cells_[place(c.id)] = c;
  }

  std::vector<cell> cells_;
  std::size_t used_ = 0;
};

struct full_link {
  index to = 0;
  trace_graph::link link;
};

}  // namespace

/// Builds a trace_graph in stages.
class trace_graph_builder {
 public:
  trace_graph_builder(trace_graph& g, const trace_data& d) : g_(g), d_(d), ids_(d.edges.size() + 1024) {}

  void build() {
    for (std::size_t w = 0; w < d_.workers.size(); ++w) {
      g_.devices_.push_back(d_.is_device(w));
      g_.n_workers_ += d_.is_device(w) ? 0 : 1;
    }
    g_.missing_.lost_records = d_.lost;
    collect_pieces();
    translate_edges();
    sort_links();
    find_order();
    if (g_.order_.size() < g_.node_count()) break_circles();
    find_makers();
  }

 private:
  static constexpr std::size_t most_slices = (std::size_t{1} << 31) - 1;  // node indices have 32 bits, including joins

  struct found_slice {
    ticks begin;
    const trace_slice* slice;
    std::uint32_t worker;
  };

  std::vector<found_slice> slices_by_begin() const {
    std::vector<found_slice> all;
    std::size_t n = 0;
    for (const auto& w : d_.workers) n += w.size();
    all.reserve(std::min(n, most_slices));
    std::vector<std::size_t> ends{0};
    for (std::uint32_t w = 0; w < d_.workers.size(); ++w) {
      for (const trace_slice& s : d_.workers[w]) {
        if (all.size() < most_slices)
          all.push_back({s.begin, &s, w});
        else
          ++g_.missing_.lost_records;
      }
      ends.push_back(all.size());
    }
    const auto earlier = [](const found_slice& a, const found_slice& b) { return a.begin < b.begin; };
    const auto at = [&](std::size_t i) {
      return all.begin() + static_cast<std::ptrdiff_t>(ends[std::min(i, ends.size() - 1)]);
    };
    for (std::size_t width = 1; width < ends.size() - 1; width *= 2)
      for (std::size_t i = 0; i + width < ends.size(); i += 2 * width)
        std::inplace_merge(at(i), at(i + width), at(i + 2 * width), earlier);
    if (!std::is_sorted(all.begin(), all.end(), earlier)) std::stable_sort(all.begin(), all.end(), earlier);
    return all;
  }

  /// Tasks in order of begin, with contiguous slices.
  void collect_pieces() {
    const std::vector<found_slice> slices = slices_by_begin();
    std::vector<index> task_of(slices.size());
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const trace_slice& s = *slices[i].slice;
      const index fresh = static_cast<index>(g_.tasks_.size());
      const index t = s.id == 0 ? fresh : ids_.find_or_add(s.id, fresh);
      if (t == fresh) {
        const std::uint64_t key = g_.devices_[slices[i].worker] ? no_key : s.key;  // for devices the key is a number of
                                                                                   // bytes
        g_.tasks_.push_back({.id = s.id, .name = s.name, .key = key, .every = s.every});
        g_.missing_.headless += s.resumed && s.id != 0;
      }
      ++g_.tasks_[t].n_pieces;
      task_of[i] = t;
    }
    index next = 0;
    for (trace_graph::task& t : g_.tasks_) {
      t.first_piece = next;
      next += t.n_pieces;
      t.n_pieces = 0;  // counted again during placement
    }
    g_.pieces_.resize(slices.size());
    for (const auto& w : d_.workers) g_.numbers_.emplace_back(w.size());
    std::vector<bool> ended(g_.tasks_.size());
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const trace_slice& s = *slices[i].slice;
      trace_graph::task& t = g_.tasks_[task_of[i]];
      const std::uint32_t w = slices[i].worker;
      g_.numbers_[w][static_cast<std::size_t>(&s - d_.workers[w].data())] = t.first_piece + t.n_pieces;
      g_.pieces_[t.first_piece + t.n_pieces++] = {
          .begin = s.begin, .end = std::max(s.begin, s.end), .ready = s.ready, .task = task_of[i], .worker = w};
      if (s.finished) ended[task_of[i]] = true;
    }
    for (std::size_t t = 0; t < ended.size(); ++t) g_.missing_.unfinished += !ended[t];
  }

  [[nodiscard]] std::span<const trace_graph::piece> pieces_of(index t) const { return g_.pieces_of(g_.tasks_[t]); }

  /// The last slice that had begun at `when`.
  [[nodiscard]] index piece_at(index t, ticks when) const {
    const auto pieces = pieces_of(t);
    const auto after = std::upper_bound(pieces.begin(), pieces.end(), when,
                                        [](ticks w, const trace_graph::piece& p) { return w < p.begin; });
    if (after == pieces.begin()) return trace_graph::none;
    return g_.tasks_[t].first_piece + static_cast<index>(after - pieces.begin()) - 1;
  }

  /// The first slice that began at `when` or later.
  [[nodiscard]] index piece_from(index t, ticks when) const {
    const auto pieces = pieces_of(t);
    const auto there = std::lower_bound(pieces.begin(), pieces.end(), when,
                                        [](const trace_graph::piece& p, ticks w) { return p.begin < w; });
    if (there == pieces.end()) return trace_graph::none;
    return g_.tasks_[t].first_piece + static_cast<index>(there - pieces.begin());
  }

  void translate_edges() {
    links_.reserve(d_.edges.size());
    for (const trace_edge& e : d_.edges) {
      full_link l;
      if (!find_end(e.from, e.when, true, l.link.from) || !find_end(e.to, e.when, false, l.to)) continue;
      l.link.when = e.when;
      if (g_.is_piece(l.link.from)) l.link.when = std::min(e.when, g_.pieces_[l.link.from].end);
      if (l.to != l.link.from) links_.push_back(l);
    }
  }

  /// The node at one end of an edge; returns false, and counts it, if the node is unknown.
  bool find_end(task_id id, ticks when, bool leaves, index& node) {
    if (is_join(id)) {
      const index fresh = static_cast<index>(g_.pieces_.size()) + n_joins_;
      node = ids_.find_or_add(id, fresh);
      n_joins_ += node == fresh;
      return true;
    }
    const index t = ids_.find(id);
    if (id == 0 || t == trace_graph::none) return ++g_.missing_.unknown_edges, false;
    node = leaves ? piece_at(t, when) : piece_from(t, when);
    if (node == trace_graph::none) return ++g_.missing_.against_time, false;
    return true;
  }

  /// Groups the links by node, keeps the latest of each pair, and adds those between slices of a task.
  void sort_links() {
    const index n = static_cast<index>(g_.pieces_.size()) + n_joins_;
    for (const trace_graph::task& t : g_.tasks_)
      for (index k = 1; k < t.n_pieces; ++k) {
        // A worker preempted between two tasks may begin the next slice with an earlier time.
        const trace_graph::piece &last = g_.pieces_[t.first_piece + k - 1], &next = g_.pieces_[t.first_piece + k];
        links_.push_back({t.first_piece + k, {t.first_piece + k - 1, std::min(last.end, next.begin)}});
      }
    std::vector<index> place(n + 1, 0);
    for (const full_link& l : links_) ++place[l.to + 1];
    for (index i = 0; i < n; ++i) place[i + 1] += place[i];
    g_.first_link_ = place;
    g_.links_.resize(links_.size());
    for (const full_link& l : links_) g_.links_[place[l.to]++] = l.link;
    links_ = {};
    const std::vector<ticks> left = moments_joins_were_left();
    drop_links([&](index node, std::vector<trace_graph::link>& mine) {
      if (!g_.is_piece(node)) drop_late(mine, left[node - g_.pieces_.size()]);
      std::sort(mine.begin(), mine.end(),
                [](const auto& a, const auto& b) { return a.from != b.from ? a.from < b.from : a.when > b.when; });
      mine.erase(std::unique(mine.begin(), mine.end(), [](const auto& a, const auto& b) { return a.from == b.from; }),
                 mine.end());
    });
  }

  /// The moment at which the first waiter of a join continued.
  [[nodiscard]] std::vector<ticks> moments_joins_were_left() const {
    std::vector<ticks> left(n_joins_, ~ticks{0});
    for (const trace_graph::link& l : g_.links_)
      if (!g_.is_piece(l.from)) left[l.from - g_.pieces_.size()] = std::min(left[l.from - g_.pieces_.size()], l.when);
    return left;
  }

  /// Inputs after a waiter had continued were not waited for.
  void drop_late(std::vector<trace_graph::link>& inputs, ticks left) {
    g_.missing_.against_time += std::erase_if(inputs, [&](const trace_graph::link& l) { return l.when > left; });
  }

  /// Calls `mend(node, links)`, which may remove links of the node.  // words: ok
  template <class Mend>
  void drop_links(Mend mend) {
    std::size_t kept = 0;
    std::vector<trace_graph::link> mine;
    for (index node = 0; node < g_.node_count(); ++node) {
      const auto old = g_.links(node);
      mine.assign(old.begin(), old.end());
      if (!mine.empty()) mend(node, mine);
      g_.first_link_[node] = static_cast<index>(kept);
      std::copy(mine.begin(), mine.end(), g_.links_.begin() + static_cast<std::ptrdiff_t>(kept));
      kept += mine.size();
    }
    g_.first_link_.back() = static_cast<index>(kept);
    g_.links_.resize(kept);
  }

  /// Kahn's algorithm: a node is placed once all of its dependencies are.
  void find_order() {
    const index n = g_.node_count();
    std::vector<index> first(n + 1, 0), targets(g_.links_.size()), waits(n);
    for (const trace_graph::link& l : g_.links_) ++first[l.from + 1];
    for (index i = 0; i < n; ++i) first[i + 1] += first[i];
    std::vector<index> place(first.begin(), first.end() - 1);
    for (index node = 0; node < n; ++node) {
      for (const trace_graph::link& l : g_.links(node)) targets[place[l.from]++] = node;
      waits[node] = static_cast<index>(g_.links(node).size());
    }
    g_.order_.clear();
    g_.order_.reserve(n);
    for (index node = 0; node < n; ++node)
      if (waits[node] == 0) g_.order_.push_back(node);
    for (std::size_t i = 0; i < g_.order_.size(); ++i) {
      const index from = g_.order_[i];
      for (index k = first[from]; k < first[from + 1]; ++k)
        if (--waits[targets[k]] == 0) g_.order_.push_back(targets[k]);
    }
  }

  /// Only nodes of the same moment can form a cycle: removes links that do not ascend in (moment, index).
  void break_circles() {
    std::vector<ticks> moment(g_.node_count(), 0);
    for (index node = 0; node < g_.node_count(); ++node) {
      if (g_.is_piece(node)) moment[node] = g_.pieces_[node].begin;
      for (const trace_graph::link& l : g_.links(node))
        if (!g_.is_piece(node)) moment[node] = std::max(moment[node], l.when);
    }
    drop_links([&](index node, std::vector<trace_graph::link>& mine) {
      g_.missing_.against_time += std::erase_if(mine, [&](const trace_graph::link& l) {
        return std::pair(moment[l.from], l.from) >= std::pair(moment[node], node);
      });
    });
    find_order();
    if (g_.order_.size() < g_.node_count()) drop_links_of_unordered();
  }

  /// Last resort: nodes that still form a cycle lose their links, which is counted.
  void drop_links_of_unordered() {
    std::vector<bool> ordered(g_.node_count(), false);
    for (const index node : g_.order_) ordered[node] = true;
    drop_links([&](index node, std::vector<trace_graph::link>& mine) {
      if (ordered[node]) return;
      g_.missing_.against_time += mine.size();
      mine.clear();
    });
    find_order();
  }

  /// The latest dependency of each node, through joins, which precede their successors in the order. The previous
  /// operation of a device's stream is not the maker of an operation.
  void find_makers() {
    std::vector<index> last(g_.node_count(), trace_graph::none);  // the task that started a node
    for (const index node : g_.order_) {
      const trace_graph::link* latest = nullptr;
      for (const trace_graph::link& l : g_.links(node))
        if (!before_in_stream(node, l.from) && (latest == nullptr || l.when > latest->when)) latest = &l;
      if (latest != nullptr)
        last[node] = g_.is_piece(latest->from) ? g_.pieces_[latest->from].task : last[latest->from];
    }
    g_.maker_.reserve(g_.tasks_.size());
    for (const trace_graph::task& t : g_.tasks_) g_.maker_.push_back(last[t.first_piece]);
  }

  [[nodiscard]] bool before_in_stream(index node, index from) const {
    return g_.is_piece(node) && g_.is_piece(from) && g_.is_device(g_.pieces_[node].worker) &&
           g_.pieces_[node].worker == g_.pieces_[from].worker;
  }

  trace_graph& g_;
  const trace_data& d_;
  id_table ids_;
  index n_joins_ = 0;
  std::vector<full_link> links_;
};

trace_graph::trace_graph(const trace_data& data) { trace_graph_builder(*this, data).build(); }

ticks trace_graph::length_of(const task& t) const noexcept {
  ticks sum = 0;
  for (const piece& p : pieces_of(t)) sum += p.end - p.begin;
  return sum;
}

std::vector<trace_graph::link> trace_graph::inputs(index node, std::size_t most) const {
  std::vector<link> found;
  std::vector<index> joins;
  std::unordered_set<index> met;  // joins visited
  const index own = is_piece(node) ? pieces_[node].task : none;
  const auto look = [&](index at) {
    for (const link& l : links(at)) {
      if (found.size() >= most) return;
      if (!is_piece(l.from)) {
        if (met.insert(l.from).second) joins.push_back(l.from);
      } else if (pieces_[l.from].task != own) {
        found.push_back(l);
      }
    }
  };
  look(node);
  for (std::size_t seen = 0; seen < joins.size() && found.size() < most; ++seen) look(joins[seen]);
  return found;
}

std::vector<index> trace_graph::parents(index t, std::size_t most) const {
  std::vector<index> found;
  for (index k = 0; k < tasks_[t].n_pieces; ++k)
    for (const link& l : inputs(tasks_[t].first_piece + k, most)) found.push_back(pieces_[l.from].task);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (found.size() > most) found.resize(most);
  return found;
}

ticks trace_graph::wall() const noexcept {
  if (pieces_.empty()) return 0;
  ticks first = ~ticks{0}, last = 0;
  for (const piece& p : pieces_) first = std::min(first, p.begin), last = std::max(last, p.end);
  return last - first;
}

}  // namespace plx::probe
