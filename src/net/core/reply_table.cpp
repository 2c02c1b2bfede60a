// The table of the pending replies of a locality.
#include <algorithm>
#include <utility>
#include <vector>

#include "net/core/node.hpp"
#include "rt/core/worker.hpp"

namespace plx::net {

std::uint64_t reply_table::add(reply_target& t, locality_id replier) {
  t.replier = replier;
  const plx::detail::spin_guard guard(lock_);
  if (first_free_ == none) {
    first_free_ = static_cast<std::uint32_t>(slots_.size());
    slots_.push_back({nullptr, 1, none});
  }
  const std::uint32_t index = first_free_;
  slot& s = slots_[index];
  first_free_ = s.next_free;
  s.target = &t;
  if (used_++ == 0) waits_since_ = now_ticks();
  return (std::uint64_t{s.turn} << 32) | index;
}

reply_target* reply_table::release(std::uint32_t index) noexcept {
  slot& s = slots_[index];
  if (++s.turn == 0) s.turn = 1;  // 0 is not a valid number
  s.next_free = std::exchange(first_free_, index);
  if (--used_ == 0) waited_ += ticks_between(waits_since_, plx::detail::clock_of_poll());
  reply_target* const t = std::exchange(s.target, nullptr);
  if (t->by_any && !forwards_.empty()) [[unlikely]]
    std::erase_if(forwards_, [index](const forward& f) { return static_cast<std::uint32_t>(f.id) == index; });
  return t;
}

reply_target* reply_table::find(std::uint64_t id) const noexcept {
  const auto index = static_cast<std::uint32_t>(id);
  return index < slots_.size() && slots_[index].turn == id >> 32 ? slots_[index].target : nullptr;
}

reply_target* reply_table::take(std::uint64_t id, locality_id from) noexcept {
  const plx::detail::spin_guard guard(lock_);
  const reply_target* t = find(id);
  return t == nullptr || (t->replier != from && !t->by_any) ? nullptr : release(static_cast<std::uint32_t>(id));
}

// Messages of several localities about one call may overtake each other: the number of hops orders them.
void reply_table::forwarded(std::uint64_t id, std::uint32_t hops, locality_id to) {
  const plx::detail::spin_guard guard(lock_);
  const reply_target* t = find(id);
  if (t != nullptr && t->by_any && hops > t->hops) forwards_.push_back({id, hops, to});
}

void reply_table::reached(std::uint64_t id, std::uint32_t hops, locality_id at) noexcept {
  const plx::detail::spin_guard guard(lock_);
  reply_target* t = find(id);
  if (t == nullptr || !t->by_any || hops <= t->hops) return;
  t->replier = at;
  t->hops = hops;
  std::erase_if(forwards_, [id, hops](const forward& f) { return f.id == id && f.hops <= hops; });
}

std::vector<reply_target*> reply_table::take_all(locality_id replier) {
  std::vector<reply_target*> all;
  const plx::detail::spin_guard guard(lock_);
  for (std::size_t k = forwards_.size(); k-- > 0;)
    if (k < forwards_.size() && forwards_[k].to == replier) {
      all.push_back(release(static_cast<std::uint32_t>(forwards_[k].id)));  // removes its forwards
      k = forwards_.size();
    }
  for (std::uint32_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].target != nullptr && slots_[i].target->replier == replier) all.push_back(release(i));
  return all;
}

std::size_t reply_table::size() const noexcept {
  const plx::detail::spin_guard guard(lock_);
  return used_;
}

plx::ticks reply_table::time_waited() const noexcept {
  const plx::detail::spin_guard guard(lock_);
  const ticks now = waited_ + (used_ != 0 ? ticks_between(waits_since_, now_ticks()) : 0);
  return read_ = std::max(read_, now);  // an answer counts from the begin of its poll, which may be earlier
}

}  // namespace plx::net
