#include "net/start/termination.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>

#include "net/action.hpp"
#include "net/group/shm_messages.hpp"
#include "rt/thread.hpp"

namespace plx::net {
namespace {

void termination_arrived(sender s, std::uint64_t turn) { node_here().get<termination>().note_arrived(s.who, turn); }
void termination_finished(sender s, std::uint64_t turn) { node_here().get<termination>().note_finished(s.who, turn); }
void termination_failed(sender s, const std::string& why) { node_here().give_up(s.who, why); }
termination::counts termination_counts(sender s, const std::vector<locality_id>& lost,
                                       const std::vector<std::string>& why) {
  node& n = node_here();
  if (s.who != 0 || why.size() != lost.size() ||
      std::any_of(lost.begin(), lost.end(), [&n](locality_id i) { return i >= n.size(); })) {
    n.refuse(s.who, "expected a request from the root for the counts without lost localities");
    return {};
  }
  // From now on the root counts without the lost localities, so parcels that they still send must be refused.
  for (std::size_t k = 0; k < lost.size(); ++k)
    if (lost[k] != n.here()) n.give_up(lost[k], why[k]);
  // Collective messages in shared memory count as parcels. `received` and `done` are read before `sent`: a parcel that
  // has been handled by now may have sent others.
  const auto shm_first = n.get<collective::shm_messages>().counted_without(lost);
  const auto parcels = n.parcels_without(lost);
  const auto shm = n.get<collective::shm_messages>().counted_without(lost);
  return {parcels.sent + shm.sent, parcels.done + shm_first.received, parcels.of_lost};
}

}  // namespace

template <>
inline constexpr bool is_control<&termination_arrived> = true;
template <>
inline constexpr bool is_control<&termination_finished> = true;
template <>
inline constexpr bool is_control<&termination_failed> = true;
template <>
inline constexpr bool is_control<&termination_counts> = true;

termination::termination(node& n) : node_(n), arrived_(n.size()) {}

void termination::wait_for_all() {
  const std::uint64_t turn = next_turn();
  if (node_.here() == 0) {
    note_arrived(0, turn);
    wait_for_arrivals();
    wait_for_quiet();
    for (locality_id i = 1; i < node_.size(); ++i) post<&termination_finished>(i, sender{0}, turn);
    return;
  }
  post<&termination_arrived>(locality_id{0}, sender{node_.here()}, turn);
  std::unique_lock guard(lock_);
  while (finished_ < turn && !node_.is_lost(0)) changed_.wait(guard);
  if (finished_ < turn) std::rethrow_exception(node_.loss_of(0));
}

void termination::fail(std::string_view why) noexcept {
  const std::string text = "it failed: " + std::string(why);
  for (locality_id i = 0; i < node_.size(); ++i)
    if (i != node_.here()) post<&termination_failed>(i, sender{node_.here()}, text);
}

void termination::peer_lost(locality_id) {
  const std::lock_guard guard(lock_);
  changed_.notify_all();
}

std::uint64_t termination::next_turn() {
  const std::lock_guard guard(lock_);
  return ++turn_;
}

// No locality is ahead by more than one turn: the next turn needs the root, which has then finished this one.
void termination::note_arrived(locality_id who, std::uint64_t turn) {
  const std::lock_guard guard(lock_);
  if (node_.here() != 0 || who >= arrived_.size() || turn > turn_ + 1)
    return node_.refuse(who, "it reports its arrival at a nonexistent end");
  arrived_[who] = std::max(arrived_[who], turn);
  changed_.notify_all();
}

void termination::note_finished(locality_id who, std::uint64_t turn) {
  const std::lock_guard guard(lock_);
  if (who != 0 || turn > turn_) return node_.refuse(who, "it reports an end at which not all have arrived");
  finished_ = std::max(finished_, turn);
  changed_.notify_all();
}

void termination::wait_for_arrivals() {
  std::unique_lock guard(lock_);
  changed_.wait(guard, [this] {
    for (locality_id i = 0; i < node_.size(); ++i)
      if (arrived_[i] < turn_ && !node_.is_lost(i)) return false;
    return true;
  });
}

void termination::wait_for_quiet() {
  if (node_.size() == 1) return;
  sums before;
  for (;;) {
    const sums now = ask_all();
    const bool whole = now.answers + now.lost.size() == node_.size();
    if (whole && now == before && now.sent == now.done && now.of_lost == 0) return;
    if (now == before || !whole || now.of_lost != 0) this_thread::sleep_for(std::chrono::milliseconds(1));
    before = now;
  }
}

termination::sums termination::ask_all() const {
  sums s;
  std::vector<std::string> why;
  for (locality_id i = 0; i < node_.size(); ++i)
    if (node_.is_lost(i)) s.lost.push_back(i), why.push_back(node_.why_lost(i));
  std::vector<future<counts>> answers;
  for (locality_id i = 0; i < node_.size(); ++i)
    if (std::find(s.lost.begin(), s.lost.end(), i) == s.lost.end())
      answers.push_back(async<&termination_counts>(i, sender{node_.here()}, s.lost, why));
  for (auto& a : answers) {
    a.wait();
    try {
      const auto [sent, done, of_lost] = a.get();
      s.sent += sent, s.done += done, s.of_lost += of_lost, ++s.answers;
    } catch (const std::exception&) {  // lost during this round: the next one excludes it
    }
  }
  return s;
}

}  // namespace plx::net
