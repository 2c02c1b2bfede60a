#include "work_graph.hpp"

#include <algorithm>

namespace plx::scale {

void work_graph::finish() {
  begin_.assign(nodes_.size() + 1, 0);
  for (const auto& [before, after] : edges_) ++begin_[before + 1];
  for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  next_.resize(edges_.size());
  std::vector<std::uint32_t> place(begin_.begin(), begin_.end() - 1);
  for (const auto& [before, after] : edges_) next_[place[before]++] = after;
  edges_ = {};
}

std::vector<std::int32_t> work_graph::needs() const {
  std::vector<std::int32_t> all(nodes_.size(), 0);
  for (const node_id n : next_) ++all[n];
  return all;
}

int work_graph::localities() const {
  int most = 0;
  for (const node& n : nodes_) most = std::max({most, n.where, n.to});
  return most + 1;
}

namespace {

node_id add_joining(work_graph& g, int locality) { return g.add({0.0, 0.0, locality, -1, 1, node_kind::joining}); }

void send(work_graph& g, node_id from, node_id to, double bytes) {
  const node_id m = g.add_message(g[from].where, g[to].where, bytes);
  g.edge(from, m);
  g.edge(m, to);
}

reduction joinings(work_graph& g, int localities) {
  reduction r;
  for (int l = 0; l < localities; ++l) r.in.push_back(add_joining(g, l));
  for (int l = 0; l < localities; ++l) r.out.push_back(add_joining(g, l));
  return r;
}

}  // namespace

reduction add_tree(work_graph& g, int localities, double bytes_up, double bytes_down) {
  const reduction r = joinings(g, localities);
  g.edge(r.in.front(), r.out.front());
  // l's parent is l without its lowest bit; the farthest children are served first, they have the longest way to go.
  int top = 1;
  while (top < localities) top *= 2;
  for (int step = 1; step < localities; step *= 2)
    for (int l = step; l < localities; l += 2 * step) send(g, r.in[l], r.in[l - step], bytes_up);
  for (int step = top / 2; step >= 1; step /= 2)
    for (int l = step; l < localities; l += 2 * step) send(g, r.out[l - step], r.out[l], bytes_down);
  return r;
}

reduction add_all_to_all(work_graph& g, int localities, double bytes) {
  const reduction r = joinings(g, localities);
  for (int l = 0; l < localities; ++l) {
    g.edge(r.in[l], r.out[l]);
    for (int i = 1; i < localities; ++i) send(g, r.in[l], r.out[(l + i) % localities], bytes);
  }
  return r;
}

}  // namespace plx::scale
