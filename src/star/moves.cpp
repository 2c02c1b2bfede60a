#include "star/moves.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/assert.hpp"
#include "step/exchange.hpp"
#include "step/round_end.hpp"

namespace plx::star {

namespace {

constexpr std::size_t blocks_per_message = 32;
constexpr std::size_t extras = 3;  // numbers after a block's values: signal rate, seconds, steps

// The messages of the moves: one message holds blocks of one pair of localities, up to a maximum.
struct shipment {
  int from = 0, to = 0;
  std::vector<mesh::slot_id> slots;
};

std::vector<shipment> shipments_of(std::span<const block_move> moves) {
  std::map<std::pair<int, int>, std::size_t> filling;
  std::vector<shipment> all;
  for (const block_move& m : moves) {
    const auto [at, fresh] = filling.try_emplace({m.from, m.to}, all.size());
    if (!fresh && all[at->second].slots.size() == blocks_per_message) at->second = all.size();
    if (at->second == all.size()) all.push_back({m.from, m.to, {}});
    all[at->second].slots.push_back(m.slot);
  }
  return all;
}

class moving final : public step::message_handler {
 public:
  moving(gas& g, block_costs& costs, std::span<const block_move> moves)
      : g_(g), costs_(costs), all_(shipments_of(moves)), end_(to_come()) {}

  void run() {
    g_.net.open(*this);
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (all_[i].from == g_.net.here()) {
        step::message_tag tag;
        tag.group = static_cast<std::uint32_t>(i);
        g_.net.send(all_[i].to, tag, packed(all_[i]));
      }
    const bool whole = end_.wait();
    g_.net.close();
    if (!whole) end_.fail();
    for (const auto& [slot, cost] : arrived_costs_) costs_.set(slot, cost);
  }

  void arrived(const step::message& m) override {
    const shipment& s = all_[m.tag.group];
    const std::size_t values = value_count();
    PLX_ASSERT_EQ(m.values.size(), s.slots.size() * (values + extras));
    const double* from = m.values.data();
    for (const mesh::slot_id slot : s.slots) {
      std::copy_n(from, values, g_.now.block(slot));
      const std::lock_guard guard(lock_);
      g_.signal_rate.at(slot) = from[values];
      arrived_costs_.push_back({slot, {from[values + 1], from[values + 2]}});
      from += values + extras;
    }
    end_.arrive();
  }
  void lost(int peer, const std::string& why) override { end_.lost(peer, why); }

 private:
  int to_come() const {
    return static_cast<int>(
        std::count_if(all_.begin(), all_.end(), [&](const shipment& s) { return s.to == g_.net.here(); }));
  }
  std::size_t value_count() const { return static_cast<std::size_t>(g_.now.variable_count()) * g_.now.cells(); }

  buffer<double> packed(const shipment& s) {
    const std::size_t values = value_count();
    buffer<double> all(s.slots.size() * (values + extras));
    double* to = all.data();
    for (const mesh::slot_id slot : s.slots) {
      std::copy_n(g_.now.block(slot), values, to);
      const block_costs::entry cost = costs_.of(slot);
      to[values] = g_.signal_rate.at(slot);
      to[values + 1] = cost.seconds;
      to[values + 2] = cost.steps;
      costs_.set(slot, {});
      to += values + extras;
    }
    return all;
  }

  gas& g_;
  block_costs& costs_;
  const std::vector<shipment> all_;
  step::round_end end_;
  std::mutex lock_;
  std::vector<std::pair<mesh::slot_id, block_costs::entry>> arrived_costs_;
};

}  // namespace

std::vector<block_move> moves_between(const mesh::block_mesh& mesh, const mesh::curve_parts& held,
                                      const mesh::curve_parts& wanted) {
  std::vector<block_move> moves;
  for (int position = 0; position < static_cast<int>(mesh.block_count()); ++position)
    if (const int from = held.part_of(position), to = wanted.part_of(position); from != to)
      moves.push_back({mesh.blocks()[static_cast<std::size_t>(position)], from, to});
  return moves;
}

void move_blocks(gas& g, block_costs& costs, std::span<const block_move> moves) {
  if (!moves.empty()) moving(g, costs, moves).run();
}

}  // namespace plx::star
