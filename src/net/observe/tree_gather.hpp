// Collects a part from every locality at the root, over the tree of net/core/tree_round.hpp: a request goes down it,
// and the parts go up, combined on the way. So no locality handles more than log2(n) messages of a round each way.
//
// A locality that has stopped, or is lost, hides those below it in the tree. Its parent stops waiting before its own
// parent does, and names it in its reply. The root then begins a further round over those that were hidden; in the rest
// of the time it requests the parts of those that did not reply directly.
//
// A Part is default constructible, can be sent, and has
//   static Part make(node&, locality_id parent, double timeout_s);    // in a task
//   void add(Part&&);                                                 // of other localities
//   static void request(locality_id to, const gather_request&);       // posts an action that calls take_request()
//   static void reply(locality_id to, std::uint64_t round, const std::vector<locality_id>& silent, const Part&);
// Thread safety: everything; gather() and gather_directly() by one task of the root at a time. Cost of a round: one
// request and one reply per locality. Example: net/observe/test/tree_gather_test.cpp
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "net/core/node.hpp"
#include "net/core/tree_round.hpp"
#include "rt/mutex.hpp"

namespace plx::net {

/// A request that the root has sent, and that each locality passes on to its children.
struct gather_request {
  std::uint64_t round = 0;           ///< the root numbers its rounds from 1
  double timeout_s = 0;              ///< of the root
  std::uint8_t direct = 0;           ///< 1: the locality has no children, and the root is its parent
  std::vector<locality_id> without;  ///< localities that are not in the tree, ascending
};

/// A locality's place in the tree of a round.
struct gather_place {
  std::vector<locality_id> children;
  double timeout_s = 0;  ///< how long it waits for them: longer than each of them does
};
/// Requires: l is in t. A leaf has half of the time of the root; the other half is divided among the levels.
gather_place place_in(const living_tree& t, locality_id l, double timeout_s);
/// The place of this locality; nothing if another one must have sent the request.
std::optional<gather_place> place_of_request(const node& n, locality_id from, const gather_request& q);
/// All localities but `these` and the root.
std::vector<locality_id> all_but(const node& n, const std::vector<locality_id>& these);
/// Whether l is in the tree, below another one.
bool is_below(const living_tree& t, locality_id l, locality_id above);
/// Appends those below l in the tree.
void append_below(const living_tree& t, locality_id l, std::vector<locality_id>& to);

/// A time from now, on the clock of the runtime, which may be virtual.
class gather_deadline {
 public:
  gather_deadline(const node& n, double timeout_s);
  /// At least 0.
  [[nodiscard]] double left_s() const;

 private:
  const node& node_;
  ticks end_;
};

template <class Part>
class tree_gather final : public service {
 public:
  explicit tree_gather(node& n) : node_(n) {}

  /// The parts of all other localities that answer within `timeout_s`. On the root, in a task. `without`: by locality,
  /// those that no longer answer; empty: none.
  Part gather(double timeout_s, const std::vector<bool>& without = {});
  /// The same for `these`, each of which is a child of the root.
  Part gather_directly(const std::vector<locality_id>& these, double timeout_s);

  // Called by actions, in tasks.
  void take_request(locality_id from, const gather_request& q);
  void take_reply(locality_id from, std::uint64_t round, const std::vector<locality_id>& silent, Part&& part);

  void peer_lost(locality_id peer) override;

 private:
  void begin(const gather_request& q, const std::vector<locality_id>& children);
  void add_silent(locality_id from, const std::vector<locality_id>& silent);
  std::vector<locality_id> wait(std::uint64_t round, double timeout_s, Part& into);
  std::vector<locality_id> run(gather_request q, const gather_place& here, Part& into);

  node& node_;
  mutex lock_;  // guards what follows
  condition_variable_any changed_;
  std::uint64_t round_ = 0;
  std::optional<living_tree> tree_;   // of the round; none of a direct one
  std::vector<locality_id> waiting_;  // children that have not replied
  std::vector<locality_id> silent_;   // those of this subtree that have not replied to their parents
  Part part_;                         // of the children that have replied
};

template <class Part>
Part tree_gather<Part>::gather(double timeout_s, const std::vector<bool>& without) {
  constexpr unsigned most_rounds = 4;  // a stopped locality may hide another one
  const gather_deadline end(node_, timeout_s);
  Part all{};
  std::vector<locality_id> wanted, late;
  for (locality_id i = 0; i < node_.size(); ++i)
    if (i != node_.here() && !node_.is_lost(i) && (without.empty() || !without[i])) wanted.push_back(i);
  for (unsigned rounds = 0; !wanted.empty() && rounds < most_rounds; ++rounds) {
    gather_request q{.timeout_s = end.left_s() / 2, .without = all_but(node_, wanted)};
    const living_tree t(node_.size(), q.without);
    const gather_place here = place_in(t, node_.here(), q.timeout_s);
    wanted.clear();
    for (const locality_id one : run(std::move(q), here, all)) {
      late.push_back(one);
      append_below(t, one, wanted);
    }
    // One that replies to its parent is not below another one that is late, unless a locality has lied.
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    std::erase_if(wanted, [&late](locality_id l) { return std::find(late.begin(), late.end(), l) != late.end(); });
  }
  late.insert(late.end(), wanted.begin(), wanted.end());
  all.add(gather_directly(late, end.left_s()));
  return all;
}

template <class Part>
Part tree_gather<Part>::gather_directly(const std::vector<locality_id>& these, double timeout_s) {
  Part all{};
  if (!these.empty()) run({.timeout_s = timeout_s, .direct = 1, .without = {}}, {these, timeout_s}, all);
  return all;
}

/// A round of the root. Returns the localities that have not replied to their parents.
template <class Part>
std::vector<locality_id> tree_gather<Part>::run(gather_request q, const gather_place& here, Part& into) {
  {
    const std::lock_guard guard(lock_);
    q.round = round_ + 1;
    begin(q, here.children);
  }
  for (const locality_id child : here.children)
    if (!node_.is_lost(child)) Part::request(child, q);
  return wait(q.round, here.timeout_s, into);
}

template <class Part>
void tree_gather<Part>::take_request(locality_id from, const gather_request& q) {
  const auto place = place_of_request(node_, from, q);
  if (!place) return node_.refuse(from, "it requests an impossible gathering");
  const gather_deadline end(node_, place->timeout_s);
  {
    const std::lock_guard guard(lock_);
    if (q.round <= round_) return;
    begin(q, place->children);
  }
  for (const locality_id child : place->children)
    if (!node_.is_lost(child)) Part::request(child, q);
  Part part = Part::make(node_, from, place->timeout_s);
  const std::vector<locality_id> silent = wait(q.round, end.left_s(), part);
  {
    const std::lock_guard guard(lock_);
    if (round_ != q.round) return;  // the root no longer waits
  }
  if (!node_.is_lost(from)) Part::reply(from, q.round, silent, part);
}

template <class Part>
void tree_gather<Part>::take_reply(locality_id from, std::uint64_t round, const std::vector<locality_id>& silent,
                                   Part&& part) {
  const std::lock_guard guard(lock_);
  if (round > round_) return node_.refuse(from, "it replies to a gathering that was not requested");
  if (round < round_ || std::erase(waiting_, from) == 0) return;  // late
  add_silent(from, silent);
  part_.add(std::move(part));
  changed_.notify_all();
}

template <class Part>
void tree_gather<Part>::peer_lost(locality_id peer) {
  const std::lock_guard guard(lock_);
  if (std::erase(waiting_, peer) == 0) return;
  silent_.push_back(peer);
  changed_.notify_all();
}

/// Adds those below the sender, each once. Requires: lock_ is held.
template <class Part>
void tree_gather<Part>::add_silent(locality_id from, const std::vector<locality_id>& silent) {
  bool sound = true;
  for (const locality_id one : silent) {
    const bool is_new = tree_ && one < node_.size() && is_below(*tree_, one, from) &&
                        std::find(silent_.begin(), silent_.end(), one) == silent_.end();
    if (is_new) silent_.push_back(one);
    sound &= is_new;
  }
  if (!sound) node_.refuse(from, "it names impossible localities that have not replied to a gathering");
}

/// Requires: lock_ is held.
template <class Part>
void tree_gather<Part>::begin(const gather_request& q, const std::vector<locality_id>& children) {
  round_ = q.round;
  tree_.reset();
  if (q.direct == 0) tree_.emplace(node_.size(), q.without);
  waiting_ = children;
  silent_.clear();
  part_ = {};
  changed_.notify_all();  // of an earlier round
}

/// Waits until all children have replied, for at most that time, and adds their parts.
template <class Part>
std::vector<locality_id> tree_gather<Part>::wait(std::uint64_t round, double timeout_s, Part& into) {
  std::unique_lock guard(lock_);
  if (round_ != round) return {};
  for (const locality_id one : std::exchange(waiting_, {}))  // a loss before begin() is not reported again
    (node_.is_lost(one) ? silent_ : waiting_).push_back(one);
  changed_.wait_for(guard, std::chrono::duration<double>(timeout_s),
                    [&] { return waiting_.empty() || round_ != round; });
  if (round_ != round) return {};
  silent_.insert(silent_.end(), waiting_.begin(), waiting_.end());
  waiting_.clear();  // replies are late from now on
  into.add(std::exchange(part_, {}));
  return std::exchange(silent_, {});
}

}  // namespace plx::net
