#include "work_graph.hpp"

#include <algorithm>
#include <bit>

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

namespace {

// One more joining task per locality in each round, after its previous one.
class rounds {
 public:
  rounds(work_graph& g, const std::vector<node_id>& in) : g_(g), now_(in) {}
  node_id now(int l) const { return now_[l]; }
  /// Locality l continues with its own data and the data that `from` had before this round.
  void begin() { before_ = now_; }
  void meet(int l, int from, double bytes) {
    const node_id next = add_joining(g_, l);
    g_.edge(before_[l], next);
    send(g_, before_[from], next, bytes);
    now_[l] = next;
  }
  void end(const std::vector<node_id>& out) {
    for (std::size_t l = 0; l < out.size(); ++l) g_.edge(now_[l], out[l]);
  }

 private:
  work_graph& g_;
  std::vector<node_id> now_, before_;
};

}  // namespace

reduction add_pairwise(work_graph& g, int localities, double bytes) {
  const reduction r = joinings(g, localities);
  const auto places = static_cast<int>(std::bit_floor(static_cast<unsigned>(localities)));
  const int paired = 2 * (localities - places);
  const auto rank_at = [&](int place) { return place < paired / 2 ? 2 * place : place + paired / 2; };
  rounds all(g, r.in);
  all.begin();
  for (int l = 0; l < paired; l += 2) all.meet(l, l + 1, bytes);
  for (int bit = 1; bit < places; bit *= 2) {
    all.begin();
    for (int place = 0; place < places; ++place) all.meet(rank_at(place), rank_at(place ^ bit), bytes);
  }
  all.begin();
  for (int l = 0; l < paired; l += 2) all.meet(l + 1, l, bytes);
  all.end(r.out);
  return r;
}

reduction add_gather(work_graph& g, int localities, double bytes, double header_bytes) {
  const reduction r = joinings(g, localities);
  rounds all(g, r.in);
  for (int have = 1; have < localities; have *= 2) {
    all.begin();
    const double some = bytes * std::min(have, localities - have) + header_bytes;
    for (int l = 0; l < localities; ++l) all.meet(l, (l + have) % localities, some);
  }
  all.end(r.out);
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
