#include "net/core/tree_round.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.hpp"
#include "net/core/node.hpp"

namespace plx::net {

std::vector<locality_id> power_of_two_neighbours(locality_id here, unsigned size) {
  std::vector<locality_id> all;
  for (unsigned distance = 1; distance < size; distance *= 2) {
    all.push_back((here + distance) % size);
    all.push_back((here + size - distance) % size);
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

living_tree::living_tree(unsigned localities, std::vector<locality_id> lost)
    : ranks_(localities - static_cast<unsigned>(lost.size())), localities_(localities), lost_(std::move(lost)) {
  PLX_ASSERT(sound(lost_, localities_));
}

bool living_tree::sound(std::span<const locality_id> lost, unsigned localities) noexcept {
  const auto not_less = [](locality_id a, locality_id b) { return a >= b; };
  return lost.size() < localities && std::adjacent_find(lost.begin(), lost.end(), not_less) == lost.end() &&
         (lost.empty() || lost.back() < localities);
}

bool living_tree::has(locality_id l) const noexcept {
  return l < localities_ && !std::binary_search(lost_.begin(), lost_.end(), l);
}

locality_id living_tree::at(unsigned rank) const noexcept {
  locality_id who = rank;
  for (const locality_id l : lost_) {
    if (l > who) break;
    ++who;
  }
  return who;
}

unsigned living_tree::rank_of(locality_id l) const noexcept {
  return l - static_cast<unsigned>(std::lower_bound(lost_.begin(), lost_.end(), l) - lost_.begin());
}

locality_id living_tree::parent_of(locality_id l) const noexcept {
  const unsigned rank = rank_of(l);
  return rank == 0 ? no_locality : at(rank & (rank - 1));
}

std::vector<locality_id> living_tree::children_of(locality_id l) const {
  const unsigned rank = rank_of(l);
  std::vector<locality_id> all;
  for (unsigned distance = 1; rank + distance < ranks_ && (rank & distance) == 0; distance *= 2)
    all.push_back(at(rank + distance));
  std::reverse(all.begin(), all.end());
  return all;
}

tree_round::tree_round(locality_id here, unsigned localities) : here_(here) { begin({}, living_tree(localities)); }

void tree_round::begin(round_number n, const living_tree& t) {
  number_ = n;
  lost_ = t.lost();
  parent_ = t.parent_of(here_);
  children_ = t.children_of(here_);
  waiting_ = children_;
}

void tree_round::repeat() { waiting_ = children_; }

bool tree_round::take_reply(round_number n, locality_id from) noexcept {
  return n == number_ && std::erase(waiting_, from) != 0;
}

std::vector<locality_id> lost_localities(const node& n) {
  std::vector<locality_id> all;
  for (locality_id i = 0; i < n.size(); ++i)
    if (n.is_lost(i)) all.push_back(i);
  return all;
}

named_losses name_losses(const node& n, const std::vector<locality_id>& lost) {
  named_losses all;
  for (const locality_id l : lost) all.emplace_back(l, n.cause_of_loss(l));
  return all;
}

std::optional<living_tree> tree_of_request(const node& n, locality_id from, round_number r, const named_losses& lost) {
  std::vector<locality_id> who;
  for (const auto& [l, cause] : lost) {
    if (cause.first >= n.size()) return {};
    who.push_back(l);
  }
  if (!living_tree::sound(who, n.size())) return {};
  living_tree t(n.size(), std::move(who));
  if (!t.has(n.here()) || t.root() != r.root || t.parent_of(n.here()) != from) return {};
  return t;
}

}  // namespace plx::net
