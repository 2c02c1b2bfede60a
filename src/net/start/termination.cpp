#include "net/start/termination.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "net/action.hpp"
#include "net/error.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/thread.hpp"

namespace plx::net {
namespace {

using plx::detail::spin_guard;

void termination_request(sender s, const termination::round_of& r, const named_losses& lost) {
  node_here().get<termination>().take_request(s.who, r, lost);
}
void termination_counts(sender s, const termination::round_of& r, const termination::counts& c) {
  node_here().get<termination>().take_counts(s.who, r, c);
}
void termination_ended(sender s, std::uint64_t turn) { node_here().get<termination>().take_end(s.who, turn); }
void termination_query(sender s, std::uint64_t turn) { node_here().get<termination>().take_query(s.who, turn); }
void termination_failed(sender s, locality_id who, const loss_cause& why) {
  node_here().get<termination>().take_failure(s.who, who, why);
}

}  // namespace

// Not counted as parcels of the program. Direct: they are handled also while this locality stops.
template <>
inline constexpr bool is_control<&termination_request> = true;
template <>
inline constexpr bool is_control<&termination_counts> = true;
template <>
inline constexpr bool is_control<&termination_ended> = true;
template <>
inline constexpr bool is_control<&termination_query> = true;
template <>
inline constexpr bool is_control<&termination_failed> = true;
template <>
inline constexpr bool is_direct<&termination_request> = true;
template <>
inline constexpr bool is_direct<&termination_counts> = true;
template <>
inline constexpr bool is_direct<&termination_ended> = true;
template <>
inline constexpr bool is_direct<&termination_query> = true;
// It names the reason: a task could run after the transport's notice of the same loss, if both have arrived.
template <>
inline constexpr bool is_direct<&termination_failed> = true;

namespace {

// Polls for the reports of others that have arrived. While a task runs without waiting, the only worker does not. False
// where it must not poll.
bool take_reports() {
  plx::detail::worker* const w = plx::detail::this_worker();
  if (w == nullptr || !w->in_task || w->polling || w->home.deterministic()) return false;
  w->home.attend_events(*w, now_ticks());
  return true;
}

template <auto F, class... A>
void send(node& n, locality_id to, const A&... arguments) {
  if (!n.is_lost(to)) detail::send_call<F>(n, to, 0, sender{n.here()}, arguments...);
}

void add(termination::counts& to, const termination::counts& c) {
  to.sent += c.sent, to.done += c.done, to.of_lost += c.of_lost;
}

}  // namespace

termination::termination(node& n) : node_(n), round_(n.here(), n.size()), failed_(n.size()) {}

void termination::wait_for_all() {
  if (node_.size() == 1) return;
  std::unique_lock guard(lock_);
  const std::uint64_t turn = ++turn_;
  counts before;          // on the root: the sums of the previous round
  bool repeated = false;  // that round had the same tree
  while (ended_ < turn && !stops_waiting_) {
    if (is_root()) {
      std::vector<locality_id> lost = lost_localities(node_);
      if (lost.size() + 1 == node_.size() && node_.here() != 0) std::rethrow_exception(node_.loss_of(0));
      if (round_.number().root != node_.here() || round_.lost() != lost) {
        guard.unlock();
        repeated = false;
        begin_round(lost);
        guard.lock();
        continue;
      }
    }
    if (replied_ || !round_.complete()) {
      changed_.wait(guard);
      continue;
    }
    replied_ = true;
    const round_of now{round_.number(), turn};
    const std::vector<locality_id> lost = round_.lost();
    const locality_id parent = round_.parent();
    counts all = sums_;
    guard.unlock();
    add(all, node_.parcels_without(lost));
    if (parent != no_locality) {
      send<&termination_counts>(node_, parent, now, all);
    } else if (repeated && before.done == all.sent && all.of_lost == 0) {
      guard.lock();
      auto to = end(turn);
      guard.unlock();
      report_end(std::move(to), no_locality, turn);
    } else {
      if ((repeated && all == before) || all.of_lost != 0) this_thread::sleep_for(std::chrono::milliseconds(1));
      before = all;
      repeated = true;
      begin_round(lost);
    }
    guard.lock();
  }
}

void termination::stop_waiting() noexcept {
  {
    const spin_guard guard(lock_);
    stops_waiting_ = true;
  }
  changed_.notify_all();
}

// All localities before this one are lost.
bool termination::is_root() const noexcept {
  for (locality_id i = 0; i < node_.here(); ++i)
    if (!node_.is_lost(i)) return false;
  return true;
}

void termination::begin_round(const std::vector<locality_id>& lost) {
  const named_losses reasons = name_losses(node_, lost);
  round_of r;
  std::vector<locality_id> down;
  {
    const spin_guard guard(lock_);
    const round_number last = round_.number();
    r = {{node_.here(), last.root == node_.here() ? last.count + 1 : 1}, ended_ + 1};
    round_.begin(r.number, living_tree(node_.size(), lost));
    replied_ = false;
    sums_ = {};
    down = round_.children();
  }
  for (const locality_id to : down) send<&termination_request>(node_, to, r, reasons);
}

// The lock is held.
std::vector<locality_id> termination::neighbours() const {
  std::vector<locality_id> all = round_.children();
  if (round_.parent() != no_locality) all.push_back(round_.parent());
  return all;
}

// The lock is held. Returns the localities to report this to, none if it was known. The first round of the next end
// is the same one with the next turn, on all localities.
std::vector<locality_id> termination::end(std::uint64_t turn) {
  if (turn <= ended_) return {};
  std::vector<locality_id> to = neighbours();
  to.insert(to.end(), requesters_.begin(), requesters_.end());
  requesters_.clear();
  ended_ = turn;
  round_.repeat();
  replied_ = false;
  sums_ = {};
  return to;
}

void termination::report_end(std::vector<locality_id> to, locality_id but, std::uint64_t turn) {
  std::sort(to.begin(), to.end());
  to.erase(std::unique(to.begin(), to.end()), to.end());
  for (const locality_id i : to)
    if (i != but) send<&termination_ended>(node_, i, turn);
  changed_.notify_all();
}

void termination::take_request(locality_id from, const round_of& r, const named_losses& lost) {
  const char* const wrong = "it requests counts for an impossible round of the end";
  const auto tree = tree_of_request(node_, from, r.number, lost);
  if (!tree) return node_.refuse(from, wrong);
  {
    const spin_guard guard(lock_);
    if (r.number <= round_.number()) return;
    if (r.turn - 1 > turn_) return node_.refuse(from, wrong);  // also 0
  }
  // From now on the root counts without these, so parcels that they still send must be refused.
  for (const auto& [l, why] : lost) node_.give_up(l, why);
  std::vector<locality_id> down, to;
  std::uint64_t ended = 0;
  {
    const spin_guard guard(lock_);
    if (r.number <= round_.number()) return;
    to = end(r.turn - 1);
    round_.begin(r.number, *tree);
    replied_ = false;
    sums_ = {};
    down = round_.children();
    ended = ended_;
    if (r.turn <= ended_) {  // the root was lost while it reported this end, and the next root does not know it
      const auto all = neighbours();
      to.insert(to.end(), all.begin(), all.end());
    }
  }
  for (const locality_id i : down) send<&termination_request>(node_, i, r, lost);
  report_end(std::move(to), r.turn <= ended ? no_locality : from, ended);
}

void termination::take_counts(locality_id from, const round_of& r, const counts& c) {
  const char* const wrong = "it reports counts that were not requested";
  std::vector<locality_id> to;
  std::uint64_t ended = 0;
  {
    const spin_guard guard(lock_);
    if (r.turn - 1 > turn_) return node_.refuse(from, wrong);
    to = end(r.turn - 1);
    const bool earlier = r.number < round_.number() || (r.number == round_.number() && r.turn <= ended_);
    if (!earlier && !round_.take_reply(r.number, from)) return node_.refuse(from, wrong);
    if (!earlier) add(sums_, c);
    ended = ended_;
  }
  report_end(std::move(to), from, ended);
}

void termination::take_end(locality_id from, std::uint64_t turn) {
  std::vector<locality_id> to;
  {
    const spin_guard guard(lock_);
    if (turn > turn_) return node_.refuse(from, "it reports an end at which not all have arrived");
    to = end(turn);
  }
  report_end(std::move(to), from, turn);
}

void termination::take_query(locality_id from, std::uint64_t turn) {
  std::vector<locality_id> to;
  std::uint64_t ended = 0;
  {
    const spin_guard guard(lock_);
    if (turn - 1 > turn_) return node_.refuse(from, "it requests an impossible end");
    to = end(turn - 1);
    ended = ended_;
    if (turn <= ended_)
      to.push_back(from);
    else
      requesters_.push_back(from);
  }
  report_end(std::move(to), turn <= ended ? no_locality : from, ended);
}

void termination::peer_lost(locality_id) {
  std::uint64_t waits_for = 0;
  {
    const spin_guard guard(lock_);
    if (turn_ > ended_) waits_for = ended_ + 1;
  }
  changed_.notify_all();
  if (waits_for == 0) return;
  const locality_id parent = living_tree(node_.size(), lost_localities(node_)).parent_of(node_.here());
  if (parent != no_locality) send<&termination_query>(node_, parent, waits_for);
}

// A loss keeps its first cause. An exception that is thrown after another locality has reported its failure counts as a
// consequence of that one: several may fail for the same reason, one after the other, and that locality, which
// considers itself out of the job, is not informed of later failures.
loss_cause termination::cause_of(const std::exception_ptr& e) const {
  const detail::failure f = detail::failure_of(e);
  const bool is_loss = f.kind == detail::failure::lost;
  for (locality_id i = 0; i < node_.size(); ++i) {
    if (i == node_.here()) continue;
    const loss_cause c = node_.cause_of_loss(i);
    const bool reported = c.has_failed || (c.first != i && c.first != no_locality);
    if (is_loss ? c.has_failed && c.first == f.first : reported) return c;
  }
  if (is_loss) return {f.first, false, f.text};
  const std::string origin = f.kind == detail::failure::remote ? remote_error(f.who, f.text).what() : f.text;
  return {node_.here(), true, "it failed: " + origin};
}

void termination::fail(const std::exception_ptr& e) noexcept {
  {
    const spin_guard guard(lock_);
    if (failure_here_.first != no_locality) return;
  }
  // The first message of a peer may need answers before UCX delivers it, so one poll is not enough.
  constexpr int most_polls = 20;
  constexpr auto pause = std::chrono::milliseconds(1);
  loss_cause why{node_.here(), true, {}};
  try {
    bool may_poll = take_reports();
    why = cause_of(e);
    for (int polls = 1; may_poll && why.first == node_.here() && polls < most_polls; ++polls) {
      std::this_thread::sleep_for(pause);  // blocks the worker: others may use its core
      may_poll = take_reports();
      why = cause_of(e);
    }
  } catch (...) {  // out of memory: without the text
  }
  {
    const spin_guard guard(lock_);
    if (failure_here_.first != no_locality) return;
    failure_here_ = why;
  }
  forward_failure(node_.here(), why);
}

bool termination::fail_and_choose(const std::exception_ptr& e) {
  constexpr auto time_to_decide = std::chrono::milliseconds(400), time_to_leave = std::chrono::milliseconds(100);
  fail(e);
  {
    const spin_guard guard(lock_);
    if (reports_) return *reports_;
  }
  // A locality that fails after it was informed of this failure does not inform this one, which then finds that it has
  // left. It must not count as lost by itself: so each leaves some time after it has decided, and therefore after those
  // that have failed before it have decided, too.
  // In two parts: a process that was not scheduled during the first one still reads the reports of the others before it
  // decides.
  this_thread::sleep_for(time_to_decide - time_to_leave);
  this_thread::sleep_for(time_to_leave);
  std::vector<loss_cause> causes;
  for (locality_id i = 0; i < node_.size(); ++i) causes.push_back(node_.cause_of_loss(i));
  bool reports = false;
  {
    const spin_guard guard(lock_);
    causes[node_.here()] = failure_here_;
    if (!reports_) reports_ = reporter_of(causes) == node_.here();
    reports = *reports_;
  }
  this_thread::sleep_for(time_to_leave);
  return reports;
}

void termination::report_failed(locality_id who, const loss_cause& why) noexcept {
  node_.give_up(who, why);
  forward_failure(who, why);
}

void termination::take_failure(locality_id from, locality_id who, const loss_cause& why) {
  if (who >= node_.size() || who == node_.here() || why.first >= node_.size())
    return node_.refuse(from, "it reports an impossible failure");
  // The first loss goes first: what waits for that locality fails by its loss, and not because of a living one.
  if (why.first != who && why.first != node_.here() && why.first != from && !why.has_failed)
    node_.give_up(why.first, {why.first, false, why.why});
  report_failed(who, why);
}

// Once per failure, also if the transport has reported the loss before: others may not know it yet. The neighbours are
// those in the ring without the lost localities, as all neighbours in the ring of all may have failed before.
void termination::forward_failure(locality_id failed, const loss_cause& why) noexcept {
  {
    const spin_guard guard(lock_);
    if (std::exchange(failed_[failed], 1) != 0) return;
  }
  std::vector<locality_id> ring;
  for (locality_id i = 0; i < node_.size(); ++i)
    if (i == failed || !node_.is_lost(i)) ring.push_back(i);
  const auto here = std::lower_bound(ring.begin(), ring.end(), node_.here()) - ring.begin();
  for (const locality_id i :
       power_of_two_neighbours(static_cast<locality_id>(here), static_cast<unsigned>(ring.size())))
    if (ring[i] != failed) send<&termination_failed>(node_, ring[i], failed, why);
}

}  // namespace plx::net

bool plx::reports_failure(const std::exception_ptr& e) {
  net::node* const n = net::find_node();
  if (n == nullptr || n->size() == 1) return true;
  return n->get<net::termination>().fail_and_choose(e);
}
