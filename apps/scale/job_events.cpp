#include "job_events.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "net/core/tree_round.hpp"

namespace plx::scale {

namespace {

constexpr double parcel_bytes = 64.0, notice_bytes = 12.0;

std::vector<int> neighbours_of(int l, int localities) {
  const auto all = net::power_of_two_neighbours(static_cast<locality_id>(l), static_cast<unsigned>(localities));
  return {all.begin(), all.end()};
}

// Number of connections between two localities, by locality.
std::vector<int> distances_from(int l, int localities) {
  std::vector<int> distance(static_cast<std::size_t>(localities), -1), reached{l};
  distance[static_cast<std::size_t>(l)] = 0;
  for (std::size_t i = 0; i < reached.size(); ++i)
    for (const int other : neighbours_of(reached[i], localities)) {
      int& to = distance[static_cast<std::size_t>(other)];
      if (to < 0) to = distance[static_cast<std::size_t>(reached[i])] + 1, reached.push_back(other);
    }
  return distance;
}

class event_graph {
 public:
  explicit event_graph(int localities, std::vector<locality_id> lost = {})
      : n_(localities), tree_(static_cast<unsigned>(localities), std::move(lost)) {}

  node_id task(int l) { return g_.add_task(l, 0.0); }
  std::vector<node_id> tasks() {
    std::vector<node_id> all;
    for (int l = 0; l < n_; ++l) all.push_back(task(l));
    return all;
  }
  void edge(node_id before, node_id after) { g_.edge(before, after); }
  void send(node_id from, node_id to, double bytes, int parts = 1) {
    if (parts == 0) return;
    const node_id m = g_.add_message(g_[from].where, g_[to].where, bytes * parts, parts);
    g_.edge(from, m);
    g_.edge(m, to);
  }
  // Something goes up the tree of the living localities, down, up, and down again.
  void two_rounds(std::vector<node_id> now, double bytes) {
    for (int pass = 0; pass < 4; ++pass) {
      const std::vector<node_id> next = tasks();
      for (int l = 0; l < n_; ++l) {
        edge(now[l], next[l]);
        const auto here = static_cast<locality_id>(l);
        if (!tree_.has(here)) continue;
        for (const locality_id child : tree_.children_of(here))
          pass % 2 == 0 ? send(next[child], next[l], bytes) : send(next[l], next[child], bytes);
      }
      now = next;
    }
  }
  work_graph finish() {
    g_.finish();
    return std::move(g_);
  }

 private:
  int n_;
  net::living_tree tree_;
  work_graph g_;
};

work_graph end(int n) {
  event_graph g(n);
  g.two_rounds(g.tasks(), parcel_bytes);
  return g.finish();
}

// Each locality forwards notices that are new to all neighbours but the sender, those of a hop in one message. After
// `h` hops it has new ones of all localities at that distance: as many as any other locality, since all have the same
// connections.
work_graph leave(int n) {
  event_graph g(n);
  const std::vector<int> distance = distances_from(0, n);
  const int hops = *std::max_element(distance.begin(), distance.end());
  std::vector<node_id> now = g.tasks();
  for (int h = 0; h <= hops; ++h) {
    const auto fresh = static_cast<double>(std::count(distance.begin(), distance.end(), h));
    const std::vector<node_id> next = g.tasks();
    for (int l = 0; l < n; ++l) {
      g.edge(now[l], next[l]);
      for (const int other : neighbours_of(l, n)) g.send(now[l], next[other], notice_bytes * fresh);
    }
    now = next;
  }
  return g.finish();
}

// Each survivor notifies its neighbours of the loss of `lost` once. A survivor receives the notice from a neighbour
// that is nearer to the lost locality; those of the others come later. Returns the tasks that have noticed.
std::vector<node_id> flood(event_graph& g, int n, int lost, double bytes) {
  const std::vector<int> distance = distances_from(lost, n);
  const std::vector<node_id> noticed = g.tasks(), done = g.tasks();
  for (int l = 0; l < n; ++l) {
    if (l == lost) continue;
    g.edge(noticed[l], done[l]);
    bool has_notice = distance[l] == 1;
    for (const int other : neighbours_of(l, n)) {
      if (other == lost) continue;
      const bool is_first = !has_notice && distance[other] < distance[l];
      has_notice |= is_first;
      g.send(noticed[other], is_first ? noticed[l] : done[l], bytes);
    }
  }
  return noticed;
}

work_graph loss(int n) {
  event_graph g(n);
  flood(g, n, n - 1, notice_bytes);
  return g.finish();
}

work_graph settle(int n) {
  const int lost = n - 1;
  event_graph g(n, {static_cast<locality_id>(lost)});
  g.two_rounds(flood(g, n, lost, parcel_bytes), parcel_bytes);
  return g.finish();
}

}  // namespace

work_graph graph_of(job_event e, int localities) {
  switch (e) {
    case job_event::end:
      return end(localities);
    case job_event::leave:
      return leave(localities);
    case job_event::loss:
      return loss(localities);
    case job_event::settle:
      break;
  }
  return settle(localities);
}

message_counts count_messages(const work_graph& g) {
  const auto n = static_cast<std::size_t>(g.localities());
  std::vector<std::uint64_t> sent(n), received(n);
  message_counts c;
  for (node_id i = 0; i < g.size(); ++i) {
    if (g[i].kind != node_kind::message) continue;
    const auto parts = static_cast<std::uint64_t>(g[i].parts);
    c.all += parts;
    c.most_sent = std::max(c.most_sent, sent[static_cast<std::size_t>(g[i].where)] += parts);
    c.most_received = std::max(c.most_received, received[static_cast<std::size_t>(g[i].to)] += parts);
  }
  return c;
}

}  // namespace plx::scale
