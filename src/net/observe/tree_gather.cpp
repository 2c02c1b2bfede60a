#include "net/observe/tree_gather.hpp"

#include "rt/core/scheduler.hpp"

namespace plx::net {

gather_place place_in(const living_tree& t, locality_id l, double timeout_s) {
  gather_place p{t.children_of(l), timeout_s};
  // A locality of a binomial tree with k children has at most k levels below it, and fewer than its parent has.
  const auto levels = static_cast<double>(std::max<std::size_t>(1, t.children_of(t.root()).size()));
  p.timeout_s *= (1 + static_cast<double>(p.children.size()) / levels) / 2;
  return p;
}

std::optional<gather_place> place_of_request(const node& n, locality_id from, const gather_request& q) {
  constexpr double longest_s = 1e6;
  if (!(q.timeout_s >= 0 && q.timeout_s <= longest_s) || n.here() == 0) return {};
  if (q.direct != 0) return from == 0 ? std::optional(gather_place{{}, q.timeout_s}) : std::nullopt;
  if (!living_tree::sound(q.without, n.size())) return {};
  const living_tree t(n.size(), q.without);
  if (t.root() != 0 || !t.has(n.here()) || t.parent_of(n.here()) != from) return {};
  return place_in(t, n.here(), q.timeout_s);
}

std::vector<locality_id> all_but(const node& n, const std::vector<locality_id>& these) {
  std::vector<char> in(n.size());
  in[n.here()] = 1;
  for (const locality_id one : these) in[one] = 1;
  std::vector<locality_id> all;
  for (locality_id i = 0; i < n.size(); ++i)
    if (in[i] == 0) all.push_back(i);
  return all;
}

bool is_below(const living_tree& t, locality_id l, locality_id above) {
  if (!t.has(l)) return false;
  for (l = t.parent_of(l); l != no_locality; l = t.parent_of(l))
    if (l == above) return true;
  return false;
}

void append_below(const living_tree& t, locality_id l, std::vector<locality_id>& to) {
  if (!t.has(l)) return;
  for (const locality_id child : t.children_of(l)) {
    to.push_back(child);
    append_below(t, child, to);
  }
}

gather_deadline::gather_deadline(const node& n, double timeout_s) : node_(n) {
  const plx::detail::scheduler& s = n.home().get_scheduler();
  end_ = s.now() + s.span_of(timeout_s);
}

double gather_deadline::left_s() const {
  const plx::detail::scheduler& s = node_.home().get_scheduler();
  return static_cast<double>(ticks_between(s.now(), end_)) / static_cast<double>(s.span_of(1));
}

}  // namespace plx::net
