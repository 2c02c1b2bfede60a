#include "star/runners/device_messages.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/assert.hpp"
#include "net/error.hpp"
#include "star/device/data/machine.hpp"

namespace plx::star {

namespace {

enum class message_kind : std::uint16_t { data, failure };

}  // namespace

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

void device_messages::adopt(std::vector<device::message_lane> lanes) {
  lanes_ = std::move(lanes);
  std::size_t out = 0, in = 0;
  in_begin_.clear();
  for (const device::message_lane& l : lanes_) {
    out = std::max(out, device::message_lane::size(l.out));
    in_begin_.push_back(in);
    in += device::message_lane::size(l.in);
  }
  out_.reserve(on_, out);
  in_.reserve(on_, in);
}

void device_messages::open() {
  peer_failed_.store(false, std::memory_order_relaxed);  // net_.open() orders this before all reads of either
  ended_.store(false, std::memory_order_relaxed);
  ends_.clear();
  for (const device::message_lane& l : lanes_)
    ends_.push_back(std::make_unique<step::round_end>(static_cast<int>(l.in.size())));
  net_.open(*this);
}

void device_messages::send(int lane) {
  step::message_tag tag;
  tag.kind = static_cast<std::uint16_t>(message_kind::data);
  tag.group = static_cast<std::uint32_t>(lane);
  for (const device::message_lane::piece& p : lanes_[static_cast<std::size_t>(lane)].out) {
    buffer<double> values(p.size);
    std::copy_n(out_.data + p.at, p.size, values.data());
    net_.send(p.peer, tag, std::move(values));
  }
}

bool device_messages::wait(int lane) {
  step::round_end& end = *ends_[static_cast<std::size_t>(lane)];
  if (end.wait()) return true;
  if (!peer_failed_.load(std::memory_order_acquire)) end.fail();  // pairs with arrived()
  return false;
}

void device_messages::notify_failure() {
  for (int peer = 0; peer < net_.count(); ++peer) {
    if (peer == net_.here()) continue;
    step::message_tag tag;
    tag.kind = static_cast<std::uint16_t>(message_kind::failure);
    buffer<double> nothing(1);
    nothing[0] = 0.0;
    try {
      net_.send(peer, tag, std::move(nothing));
    } catch (const locality_lost&) {  // the peer is gone and needs no notification
    }
  }
}

void device_messages::arrived(const step::message& m) {
  const auto from = static_cast<int>(m.tag.from);
  if (static_cast<message_kind>(m.tag.kind) == message_kind::failure) {
    peer_failed_.store(true, std::memory_order_release);  // pairs with wait()
    return end_all(from, "");
  }
  const std::size_t lane = m.tag.group;
  PLX_ASSERT_LT(lane, lanes_.size());
  const std::vector<device::message_lane::piece>& in = lanes_[lane].in;
  const auto p = std::find_if(in.begin(), in.end(), [&](const auto& piece) { return piece.peer == from; });
  PLX_ASSERT(p != in.end() && m.values.size() == p->size, from, lane);
  std::copy_n(m.values.data(), p->size, in_.data + in_begin_[lane] + p->at);
  ends_[lane]->arrive();
}

void device_messages::lost(int peer, const std::string& why) { end_all(peer, why); }

void device_messages::end_all(int peer, const std::string& why) {
  if (ended_.exchange(true)) return;
  for (const auto& end : ends_)
    if (end != nullptr) end->lost(peer, why);
}

}  // namespace plx::star
