#include "net/group/membership.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "net/action.hpp"
#include "net/collectives.hpp"
#include "net/error.hpp"

namespace plx::net {
namespace {

using plx::detail::spin_guard;

membership& membership_here() { return node_here().get<membership>(); }

future<agreement> membership_join(sender s, std::uint64_t run, unsigned size) {
  return membership_here().take_join(s.who, run, size);
}
void membership_question(sender s, std::uint64_t run) { membership_here().take_question(s.who, run); }
void membership_state(sender s, std::uint64_t run, bool is_member, bool has_finished) {
  membership_here().take_state(s.who, run, is_member, has_finished);
}
void membership_request(sender s, std::uint64_t run, unsigned size) {
  membership_here().take_request(s.who, run, size);
}
void membership_notice(sender s) { membership_here().take_notice(s.who); }

}  // namespace

// All count as parcels of the program: a run does not end while one is in flight.
template <>
inline constexpr bool is_direct<&membership_question> = true;
template <>
inline constexpr bool is_direct<&membership_state> = true;
template <>
inline constexpr bool is_direct<&membership_request> = true;
template <>
inline constexpr bool is_direct<&membership_notice> = true;

std::string agreement::name() const { return fmt::format("members {}.{}", coordinator, number); }

membership::membership(node& n) : node_(n), taken_(n.size() - n.first_spare()), peers_(n.size()) {}

// release: pairs with the acquire in is_member().
void membership::set_taken(locality_id spare) noexcept {
  taken_[spare - node_.first_spare()].store(true, std::memory_order_release);
}

// The first living locality.
locality_id membership::coordinator() const noexcept {
  locality_id l = 0;
  while (l != node_.here() && node_.is_lost(l)) ++l;
  return l;
}

// ---------------------------------------------------------------------------------------------------- runs of this one

bool membership::begin_run(const work& w) {
  {
    const spin_guard guard(lock_);
    ++run_;
    joined_.reset();
    works_ = requested_in_ == run_;
    if (!works_) {
      if (is_member(node_.here())) return true;
      work_ = w;
      return false;
    }
  }
  start_work(w);
  return false;
}

void membership::finish() {
  std::vector<locality_id> to;
  std::uint64_t run = 0;
  {
    const spin_guard guard(lock_);
    run = finished_ = run_;
    for (const auto& [who, about] : asked_by_)
      if (about == run) to.push_back(who);
  }
  for (const locality_id l : to) post<&membership_state>(l, sender{node_.here()}, run, true, true);
  decide();  // others may have joined here
}

void membership::end_run() {
  std::unique_lock guard(lock_);
  work_.reset();
  while (works_) returned_.wait(guard);
}

bool membership::end_run_at_once() {
  const spin_guard guard(lock_);
  work_.reset();
  return !works_;
}

// A locality is at most one run ahead: the end of a run needs this one.
bool membership::is_possible(std::uint64_t run) const noexcept {
  const spin_guard guard(lock_);
  return run <= run_ + 1;
}

std::exception_ptr membership::loss_of_all_members() const {
  if (is_member(node_.here())) return nullptr;
  for (locality_id l = 0; l < node_.size(); ++l)
    if (is_member(l) && !node_.is_lost(l)) return nullptr;
  return node_.loss_of(0);
}

void membership::start_work(const work& w) {
  plx::post(w.info, [this, w] {
    w.call(w.context);
    {
      const spin_guard guard(lock_);
      works_ = false;
    }
    returned_.notify_all();
    node_.note_done(node_.here());
  });
}

// --------------------------------------------------------------------------------------------------------- all members

agreement membership::agree(unsigned size) {
  if (!is_member(node_.here()))
    throw std::logic_error(
        fmt::format("locality {} is a spare that has not been taken: it cannot replace others", node_.here()));
  std::uint64_t run = 0;
  {
    const spin_guard guard(lock_);
    run = run_;
  }
  while (true) {
    const locality_id to = coordinator();
    try {
      agreement a = async<&membership_join>(to, sender{node_.here()}, run, size).get();
      if (!is_sound(a)) throw std::runtime_error(fmt::format("locality {} sent an impossible list of members", to));
      for (const locality_id l : a.members)
        if (is_spare(l)) set_taken(l);
      return a;
    } catch (const locality_lost&) {
      if (!node_.is_lost(to)) throw;
    }
  }
}

bool membership::is_sound(const agreement& a) const noexcept {
  const auto& m = a.members;
  const auto is_descent = [](locality_id x, locality_id y) { return x >= y; };
  return a.has_finished || (std::adjacent_find(m.begin(), m.end(), is_descent) == m.end() &&
                            std::binary_search(m.begin(), m.end(), node_.here()) && m.back() < node_.size());
}

bool membership::join() {
  unsigned size = 0;
  {
    const spin_guard guard(lock_);
    size = size_;
  }
  agreement a = agree(size);
  if (a.has_finished) return false;
  const spin_guard guard(lock_);
  joined_ = std::move(a);
  return true;
}

std::optional<agreement> membership::joined() const {
  const spin_guard guard(lock_);
  return joined_;
}

void membership::take_question(locality_id from, std::uint64_t run) {
  if (!is_possible(run)) return node_.refuse(from, "it names an impossible run");
  bool has_finished = false, member = false;
  {
    const spin_guard guard(lock_);
    last_coordinator_ = std::max(last_coordinator_, from);
    std::erase_if(asked_by_, [from](const auto& q) { return q.first == from; });
    asked_by_.emplace_back(from, run);
    has_finished = finished_ == run && run != 0;
    member = is_member(node_.here());
  }
  post<&membership_state>(from, sender{node_.here()}, run, member, has_finished);
}

// On a spare. The work counts as a parcel to itself, so that the run does not end before it.
void membership::take_request(locality_id from, std::uint64_t run, unsigned size) {
  if (!is_spare(node_.here())) return node_.refuse(from, "it takes a locality that is no spare");
  if (!is_possible(run)) return node_.refuse(from, "it names an impossible run");
  std::optional<work> w;
  {
    const spin_guard guard(lock_);
    const bool too_late = run < run_ || (run == run_ && !work_);
    if (is_member(node_.here()) || from < last_coordinator_ || too_late) return;
    last_coordinator_ = from;
    set_taken(node_.here());
    size_ = size;
    node_.note_sent(node_.here());
    if (run == run_) {
      w = std::exchange(work_, std::nullopt);
      works_ = true;
    } else {
      requested_in_ = run;
    }
  }
  for (locality_id l = 0; l < node_.size(); ++l)
    if (l != node_.here() && !node_.is_lost(l)) post<&membership_notice>(l, sender{node_.here()});
  if (w) start_work(*w);
}

void membership::take_notice(locality_id from) {
  if (!is_spare(from)) return node_.refuse(from, "it reports that it was taken, and is no spare");
  set_taken(from);
}

// ------------------------------------------------------------------------------------------------- the coordinator

future<agreement> membership::take_join(locality_id from, std::uint64_t run, unsigned size) {
  if (!is_possible(run)) throw std::logic_error("an impossible run");
  promise<agreement> p;
  auto answer = p.get_future();
  std::vector<promise<agreement>> earlier;  // destroyed without the lock
  bool asks = false;
  {
    const spin_guard guard(lock_);
    if (run < round_run_) throw std::logic_error("the run has ended");
    if (run > round_run_) {
      earlier = std::exchange(waiting_, {});
      for (peer& other : peers_) other.joined = false;
      round_run_ = run, wanted_ = 0;
    }
    if (is_spare(from)) set_taken(from);
    peers_[from].joined = true;
    wanted_ = std::max(wanted_, size == 0 ? node_.first_spare() : size);
    waiting_.push_back(std::move(p));
    asks = std::exchange(asked_run_, run) != run || run == 0;
  }
  if (asks)
    for (locality_id l = 0; l < node_.size(); ++l)
      if (l != node_.here() && !node_.is_lost(l)) post<&membership_question>(l, sender{node_.here()}, run);
  decide();
  return answer;
}

void membership::take_state(locality_id from, std::uint64_t run, bool member, bool has_finished) {
  if (!is_possible(run)) return node_.refuse(from, "it names an impossible run");
  if (member && is_spare(from)) set_taken(from);
  {
    const spin_guard guard(lock_);
    peer& p = peers_[from];
    p.answered = std::max(p.answered, run);
    if (has_finished) p.finished = std::max(p.finished, run);
  }
  decide();
}

void membership::decide() {
  agreement a;
  std::vector<locality_id> taken;
  std::vector<promise<agreement>> ready;
  std::uint64_t run = 0;
  unsigned size = 0;
  {
    const spin_guard guard(lock_);
    if (waiting_.empty() || coordinator() != node_.here()) return;  // or later, when it has noticed the loss
    run = round_run_, size = wanted_;
    bool all_joined = true;
    for (locality_id l = 0; l < node_.size(); ++l) {
      const bool is_here = l == node_.here();
      const peer& p = peers_[l];
      if (node_.is_lost(l)) continue;
      if (!is_here && p.answered != run) return;
      if (!is_member(l)) {
        taken.push_back(l);
        continue;
      }
      a.members.push_back(l);
      if ((is_here ? finished_ : p.finished) == run && run != 0)
        a.has_finished = true;
      else if (!p.joined)
        all_joined = false;
    }
    if (!a.has_finished && !all_joined) return;
    const std::size_t missing = std::max(std::size_t{size}, a.members.size()) - a.members.size();
    const std::size_t at_least = !taken.empty() && taken[0] == node_.here() ? 1 : 0;  // the coordinator is a member
    taken.resize(a.has_finished ? 0 : std::min(taken.size(), std::max(missing, at_least)));
    for (const locality_id l : taken)
      if (l != node_.here()) set_taken(l);
    if (taken.empty()) {
      if (a.has_finished) a.members.clear();
      a.coordinator = node_.here(), a.number = ++answers_;
      ready = std::exchange(waiting_, {});
      for (peer& p : peers_) p.joined = false;
      wanted_ = 0;
    }
  }
  for (const locality_id l : taken) {
    if (l == node_.here())
      take_request(l, run, size);
    else
      post<&membership_request>(l, sender{node_.here()}, run, size);
  }
  for (auto& p : ready) p.set_value(a);
}

}  // namespace plx::net

namespace plx {
namespace {

template <class F>
std::vector<locality_id> living_localities(F wanted) {
  const net::node& n = net::node_here();
  std::vector<locality_id> all;
  for (locality_id l = 0; l < n.size(); ++l)
    if (!n.is_lost(l) && wanted(l)) all.push_back(l);
  return all;
}

}  // namespace

locality_id find_here() { return net::node_here().here(); }
locality_id find_root_locality() { return 0; }
unsigned locality_count() { return net::node_here().size(); }
std::vector<locality_id> find_all_localities() {
  return living_localities([&all = net::membership_here()](locality_id l) { return all.is_member(l); });
}
std::vector<locality_id> find_remote_localities() {
  return living_localities(
      [&all = net::membership_here(), here = find_here()](locality_id l) { return l != here && all.is_member(l); });
}
std::vector<locality_id> find_spare_localities() {
  return living_localities([&all = net::membership_here()](locality_id l) { return !all.is_member(l); });
}

std::optional<communicator> replace_lost(unsigned size) {
  net::agreement a = net::membership_here().agree(size);
  if (a.has_finished) return std::nullopt;
  return communicator(a.name(), std::move(a.members));
}

std::optional<communicator> joined() {
  auto a = net::membership_here().joined();
  if (!a) return std::nullopt;
  return communicator(a->name(), std::move(a->members));
}

}  // namespace plx
