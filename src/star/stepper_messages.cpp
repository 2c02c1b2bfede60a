// The messages that a step receives from other localities, and the agreement at its end.
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "star/round_end.hpp"
#include "star/step_account.hpp"
#include "star/stepper.hpp"

namespace plx::star {

using mesh::slot_id;

void stepper::arrived(const message& m) {
  const int from = static_cast<int>(m.tag.from), number = static_cast<int>(m.tag.group), stage = m.tag.stage;
  if (m.tag.kind == static_cast<std::uint16_t>(stage_message::ghosts)) {
    const mesh::halo_group& g = gas_.ghosts.receives()[gas_.ghosts.first_receive(from) + number];
    PLX_ASSERT_EQ(m.values.size(), g.size());
    unpack(g, m.values.data(), target(stage));
    if (stage + 1 == scheme_.stages) return one_finished();
    for (const slot_id slot : g.blocks) count_for_neighbours(slot, stage);
    return;
  }
  const mesh::flux_group& g = gas_.between.receives()[gas_.between.first_receive(from) + number];
  PLX_ASSERT_EQ(m.values.size(), g.faces.size() * fluxes_.quarter_doubles());
  for (std::size_t i = 0; i < g.faces.size(); ++i)
    fluxes_.put_coarsened(gas_.mesh, g.faces[i].fine, g.faces[i].face, m.values.data() + i * fluxes_.quarter_doubles());
  for (const mesh::fine_face& f : g.faces) fluxes_arrived(f.coarse, stage);
}

void stepper::lost(int peer, const std::string& why) { end_->lost(peer, why); }

// Returns the same outcome on all localities.
std::optional<bad_cell> stepper::agree() {
  step_account mine;
  mine.signal_rate = largest_rate();
  mine.take(own_floors());
  mine.wishes = std::exchange(my_wishes_, 0);
  if (const auto bad = first_bad()) mine.take(gas_, *bad);
  std::vector<exact_sum> left = left_.take();
  const step_account all = agree_on_step(gas_.net, mine, left);
  wishes_ = static_cast<std::uint32_t>(all.wishes);
  if (all.is_bad()) return all.bad_found(gas_);
  signal_rate_ = all.signal_rate;
  floors_.add(all.floors_found());
  left_.add_step(left);
  return std::nullopt;
}

}  // namespace plx::star
