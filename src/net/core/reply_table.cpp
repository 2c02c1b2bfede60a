// The table of the answers that a locality waits for.
#include <utility>

#include "net/core/node.hpp"

namespace plx::net {

std::uint64_t reply_table::add(reply_target& t, locality_id asked) {
  t.asked = asked;
  const plx::detail::spin_guard guard(lock_);
  if (first_free_ == none) {
    first_free_ = static_cast<std::uint32_t>(slots_.size());
    slots_.push_back({nullptr, 1, none});
  }
  const std::uint32_t index = first_free_;
  slot& s = slots_[index];
  first_free_ = s.next_free;
  s.target = &t;
  ++used_;
  return (std::uint64_t{s.turn} << 32) | index;
}

reply_target* reply_table::release(std::uint32_t index) noexcept {
  slot& s = slots_[index];
  if (++s.turn == 0) s.turn = 1;  // 0 is not a valid number
  s.next_free = std::exchange(first_free_, index);
  --used_;
  return std::exchange(s.target, nullptr);
}

reply_target* reply_table::take(std::uint64_t id, locality_id from) noexcept {
  const auto index = static_cast<std::uint32_t>(id);
  const plx::detail::spin_guard guard(lock_);
  if (index >= slots_.size() || slots_[index].turn != id >> 32) return nullptr;
  const reply_target* t = slots_[index].target;
  return t == nullptr || t->asked != from ? nullptr : release(index);
}

std::vector<reply_target*> reply_table::take_all(locality_id asked) {
  std::vector<reply_target*> all;
  const plx::detail::spin_guard guard(lock_);
  for (std::uint32_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].target != nullptr && slots_[i].target->asked == asked) all.push_back(release(i));
  return all;
}

std::size_t reply_table::size() const noexcept {
  const plx::detail::spin_guard guard(lock_);
  return used_;
}

}  // namespace plx::net
