#include "star/runners/device_messages.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "net/error.hpp"
#include "star/device/data/machine.hpp"

namespace plx::star {

void device_messages::pinned::reserve(device::machine& machine, std::size_t count) {
  if (count <= room) return;
  free();
  on = &machine;
  data = static_cast<double*>(on->allocate_pinned(count * sizeof(double)));
  room = count;
}

void device_messages::pinned::free() noexcept {
  if (data != nullptr) on->release_pinned(data);
  data = nullptr, room = 0;
}

void device_messages::adopt(const device::part_borders& borders) {
  borders_ = &borders;
  out_.reserve(on_, std::max(borders.ghosts_out.back(), borders.fluxes_out.back()));
  for (int stage = 0; stage < most_stages; ++stage) {
    in_[place(kind::ghosts, stage)].reserve(on_, borders.ghosts_in.back());
    in_[place(kind::fluxes, stage)].reserve(on_, borders.fluxes_in.back());
  }
}

bool device_messages::has(kind what) const {
  if (what == kind::ghosts) return borders_->ghosts_out.back() > 0 || borders_->ghosts_in.back() > 0;
  return borders_->fluxes_out.back() > 0 || borders_->fluxes_in.back() > 0;
}

namespace {

/// Calls f(group, offset, size) for each group of a list that is not empty.
template <class Groups, class F>
void for_groups(const Groups& groups, const std::vector<std::size_t>& begin, F&& f) {
  for (std::size_t g = 0; g < groups.size(); ++g)
    if (begin[g + 1] > begin[g]) f(groups[g], begin[g], begin[g + 1] - begin[g]);
}

/// The same for the messages of one kind that a locality receives.
template <class F>
void for_incoming(const device::part_borders& b, device_message what, F&& f) {
  if (what == device_message::ghosts)
    for_groups(b.ghosts.receives(), b.ghosts_in, f);
  else
    for_groups(b.fluxes.receives(), b.fluxes_in, f);
}

}  // namespace

void device_messages::open(int stages) {
  PLX_ASSERT(stages <= most_stages, stages);
  peer_failed_.store(false, std::memory_order_relaxed);  // net_.open() orders this before all reads of either
  ended_.store(false, std::memory_order_relaxed);
  for (const kind what : {kind::ghosts, kind::fluxes}) {
    int expected = 0;
    for_incoming(*borders_, what, [&](const auto&, std::size_t, std::size_t) { ++expected; });
    for (int stage = 0; stage < stages; ++stage)
      ends_[place(what, stage)] = std::make_unique<step::round_end>(expected);
  }
  net_.open(*this);
}

void device_messages::send(kind what, int stage) {
  step::message_tag tag;
  tag.kind = static_cast<std::uint16_t>(what);
  tag.stage = static_cast<std::uint16_t>(stage);
  const auto send_one = [&](const auto& group, std::size_t at, std::size_t size) {
    buffer<double> values(size);
    std::copy_n(out_.data + at, size, values.data());
    net_.send(group.peer, tag, std::move(values));
  };
  if (what == kind::ghosts)
    for_groups(borders_->ghosts.sends(), borders_->ghosts_out, send_one);
  else
    for_groups(borders_->fluxes.sends(), borders_->fluxes_out, send_one);
}

bool device_messages::wait(kind what, int stage) {
  step::round_end& end = *ends_[place(what, stage)];
  if (end.wait()) return true;
  if (!peer_failed_.load(std::memory_order_acquire)) end.fail();  // pairs with arrived()
  return false;
}

void device_messages::notify_failure() {
  for (int peer = 0; peer < net_.count(); ++peer) {
    if (peer == net_.here()) continue;
    step::message_tag tag;
    tag.kind = static_cast<std::uint16_t>(kind::failure);
    buffer<double> nothing(1);
    nothing[0] = 0.0;
    try {
      net_.send(peer, tag, std::move(nothing));
    } catch (const locality_lost&) {  // the peer is gone and needs no notification
    }
  }
}

void device_messages::arrived(const step::message& m) {
  const auto what = static_cast<kind>(m.tag.kind);
  const auto from = static_cast<int>(m.tag.from);
  if (what == kind::failure) {
    peer_failed_.store(true, std::memory_order_release);  // pairs with wait()
    return end_all(from, "");
  }
  bool known = false;
  for_incoming(*borders_, what, [&](const auto& group, std::size_t at, std::size_t size) {
    if (group.peer != from) return;
    PLX_ASSERT_EQ(m.values.size(), size);
    std::copy_n(m.values.data(), size, in_[place(what, m.tag.stage)].data + at);
    known = true;
  });
  PLX_ASSERT(known, from);
  ends_[place(what, m.tag.stage)]->arrive();
}

void device_messages::lost(int peer, const std::string& why) { end_all(peer, why); }

void device_messages::end_all(int peer, const std::string& why) {
  if (ended_.exchange(true)) return;
  for (const auto& end : ends_)
    if (end != nullptr) end->lost(peer, why);
}

}  // namespace plx::star
