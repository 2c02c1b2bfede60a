#include "job_events.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "net/start/failure_detector.hpp"

namespace plx::scale {

namespace {

constexpr double parcel_bytes = 64.0, notice_bytes = 12.0;

std::vector<int> neighbours_of(int l, int localities) {
  const auto all = net::detail::power_of_two_neighbours(static_cast<locality_id>(l), static_cast<unsigned>(localities));
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
  explicit event_graph(int localities) : n_(localities) {}

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
  // From all other localities to the root, or back.
  node_id gather(const std::vector<node_id>& from, double bytes) {
    const node_id root = task(0);
    g_.edge(from[0], root);
    for (int l = 1; l < n_; ++l) send(from[l], root, bytes);
    return root;
  }
  std::vector<node_id> scatter(node_id root, double bytes) {
    std::vector<node_id> all{root};
    for (int l = 1; l < n_; ++l) {
      all.push_back(task(l));
      send(root, all.back(), bytes);
    }
    return all;
  }
  work_graph finish() {
    g_.finish();
    return std::move(g_);
  }

 private:
  int n_;
  work_graph g_;
};

work_graph end(int n) {
  event_graph g(n);
  std::vector<node_id> now = g.tasks();
  for (int round = 0; round < 3; ++round)  // arrivals, then the answers of two rounds
    now = g.scatter(g.gather(now, parcel_bytes), parcel_bytes);
  return g.finish();
}

// Each locality forwards notices that are new to all neighbours but the sender. After `h` hops it has new ones of all
// localities at that distance: as many as any other locality, since all have the same connections.
work_graph leave(int n) {
  event_graph g(n);
  const std::vector<int> distance = distances_from(0, n);
  const int hops = *std::max_element(distance.begin(), distance.end());
  std::vector<node_id> now = g.tasks();
  for (int h = 0; h <= hops; ++h) {
    const auto fresh = static_cast<int>(std::count(distance.begin(), distance.end(), h));
    const std::vector<node_id> next = g.tasks();
    for (int l = 0; l < n; ++l) {
      g.edge(now[l], next[l]);
      const std::vector<int> to = neighbours_of(l, n);
      const auto lines = static_cast<int>(to.size());
      const int notices = h == 0 ? lines : fresh * (lines - 1);
      for (int i = 0; i < lines; ++i)
        g.send(now[l], next[to[i]], notice_bytes, notices / lines + (i < notices % lines));
    }
    now = next;
  }
  return g.finish();
}

// A survivor receives the notice from a neighbour that is nearer to the lost locality; those of the others come later.
work_graph loss(int n) {
  event_graph g(n);
  const int lost = n - 1;
  const std::vector<int> distance = distances_from(lost, n);
  const std::vector<node_id> noticed = g.tasks(), done = g.tasks();
  for (int l = 0; l < lost; ++l) {
    g.edge(noticed[l], done[l]);
    bool has_notice = distance[l] == 1;
    for (const int other : neighbours_of(l, n)) {
      if (other == lost) continue;
      const bool is_first = !has_notice && distance[other] < distance[l];
      has_notice |= is_first;
      g.send(noticed[other], is_first ? noticed[l] : done[l], notice_bytes);
    }
  }
  return g.finish();
}

work_graph settle(int n) {
  event_graph g(n);
  const int lost = n - 1;
  const std::vector<node_id> noticed = g.tasks(), done = g.tasks();
  for (const int from : neighbours_of(lost, n))
    for (int to = 0; to < lost; ++to)
      if (to != from) g.send(noticed[from], done[to], parcel_bytes);
  const node_id settled = g.task(0);
  for (int l = 1; l < lost; ++l) {
    const node_id queried = g.task(l);
    g.edge(noticed[l], queried);
    g.send(noticed[0], queried, parcel_bytes);
    g.send(queried, settled, parcel_bytes);
  }
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
