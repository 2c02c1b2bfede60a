// The settlement of losses among all survivors. A directory that has to decide something requests it from its parent in
// the tree of the living localities, each of which passes the request on once, up to the root. The root then begins
// a round (net/core/tree_round.hpp): a locality replies when it and those below it have settled the losses that
// the request names. Then the root reports this down the tree. So a locality sends at most 2 log2(n) messages for a
// loss, however many directories there are, and receives as many.
//
// A request, a reply or a report may be lost with a locality in between. That loss is not settled either: what still
// waits then requests a settlement of all losses.
#include <algorithm>
#include <utility>

#include "net/action.hpp"
#include "net/agas/agas_tables.hpp"

namespace plx::net {

using plx::detail::spin_guard;

void detail::agas_settlement_request(sender from, std::uint64_t losses) {
  node& n = node_here();
  if (losses >= n.size()) return n.refuse(from.who, "it requests a settlement of more losses than there can be");
  n.get<agas>().take_settlement_request(losses);
}
void detail::agas_settle(sender root, round_number r, const named_losses& lost) {
  node_here().get<agas>().settle(root.who, r, lost);
}
void detail::agas_subtree_settled(sender child, round_number r) {
  node_here().get<agas>().subtree_settled(child.who, r);
}
void detail::agas_settled(sender root, round_number r) { node_here().get<agas>().settled(root.who, r); }

// In a task, as the caller may hold a lock. Nothing is decided any more once the job has ended.
void agas::request_settlement_if_needed() {
  if (node_.stopped() || !tables_->losses.needs_settlement()) return;
  node_.note_sent(node_.here());
  node_.home().post([this] {
    take_settlement_request(losses());
    node_.note_done(node_.here());
  });
}

void agas::take_settlement_request(std::uint64_t losses) {
  detail::settlement& s = tables_->settling;
  {
    const spin_guard guard(s.lock);
    if (losses <= s.requested) return;
    s.requested = losses;
  }
  request_settlement();
}

// Unless there is nothing to request. Called again after each loss, because the parent may be another one.
void agas::request_settlement() {
  detail::settlement& s = tables_->settling;
  std::uint64_t losses = 0;
  {
    const spin_guard guard(s.lock);
    if (s.requested <= s.settled) return;
    losses = s.requested;
  }
  const std::vector<locality_id> lost = lost_localities(node_);
  const locality_id parent = living_tree(node_.size(), lost).parent_of(node_.here());
  if (parent == no_locality)
    begin_settlement(lost);
  else
    post<&detail::agas_settlement_request>(parent, sender{node_.here()}, losses);
}

void agas::begin_settlement(const std::vector<locality_id>& lost) {
  detail::settlement& s = tables_->settling;
  round_number r;
  std::vector<locality_id> down;
  {
    const spin_guard guard(s.lock);
    const round_number last = s.round.number();
    const bool begun = last.root == node_.here() && s.round.lost() == lost;
    if (lost.size() <= s.settled || begun) return;
    r = {node_.here(), last.root == node_.here() ? last.count + 1 : 1};
    s.round.begin(r, living_tree(node_.size(), lost));
    s.replied = false;
    down = s.round.children();
  }
  const named_losses named = name_losses(node_, lost);
  for (const locality_id to : down) post<&detail::agas_settle>(to, sender{node_.here()}, r, named);
  advance_settlement();
}

void agas::settle(locality_id from, round_number r, const named_losses& lost) {
  const auto tree = tree_of_request(node_, from, r, lost);
  if (!tree) return node_.refuse(from, "it requests an impossible settlement");
  detail::settlement& s = tables_->settling;
  for (const auto& [who, why] : lost) node_.give_up(who, why);
  {
    const spin_guard guard(s.lock);
    if (r <= s.round.number()) return;
    s.round.begin(r, *tree);
    s.replied = false;
  }
  for (const locality_id to : tree->children_of(node_.here()))
    post<&detail::agas_settle>(to, sender{node_.here()}, r, lost);
  advance_settlement();
}

void agas::subtree_settled(locality_id child, round_number r) {
  {
    detail::settlement& s = tables_->settling;
    const spin_guard guard(s.lock);
    if (!s.round.take_reply(r, child)) {
      if (r >= s.round.number()) node_.refuse(child, "it replies to a settlement that was not requested");
      return;
    }
  }
  advance_settlement();
}

// Called after everything that may have settled a loss, here or on all localities.
void agas::advance_settlement() {
  detail::settlement& s = tables_->settling;
  round_number r;
  locality_id parent = no_locality;
  bool replies = false;
  {
    const spin_guard guard(s.lock);
    replies = !s.replied && s.round.complete() && tables_->losses.settled_here(s.round.lost());
    s.replied |= replies;
    r = s.round.number();
    parent = s.round.parent();
  }
  if (replies && parent != no_locality) post<&detail::agas_subtree_settled>(parent, sender{node_.here()}, r);
  if (replies && parent == no_locality) return settled(no_locality, r);
  for (const gid& id : tables_->losses.ready()) resolve(id, 0);
}

void agas::settled(locality_id from, round_number r) {
  detail::settlement& s = tables_->settling;
  std::vector<locality_id> lost, down;
  {
    const spin_guard guard(s.lock);
    if (r < s.round.number()) return;  // the present round is about these losses as well
    if (r > s.round.number() || from != s.round.parent() || !s.replied)
      return node_.refuse(from, "it reports a settlement that has not taken place");
    lost = s.round.lost();
    down = s.round.children();
    s.settled = std::max(s.settled, lost.size());
  }
  tables_->losses.settle(lost);
  for (const locality_id to : down) post<&detail::agas_settled>(to, sender{node_.here()}, r);
  advance_settlement();
}

}  // namespace plx::net
