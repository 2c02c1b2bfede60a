#include "star/stage_messages.hpp"

#include <utility>

namespace plx::star {

using mesh::slot_id;

// Reset for the next step when it is sent: data for the next step is added only after the end of this one.
struct stage_messages::outgoing {
  int peer = 0;
  message_tag tag;
  std::int32_t parts = 0;  // blocks or faces
  std::size_t size = 0;
  buffer<double> values;
  std::atomic<std::int32_t> missing{0};

  void prepare() {
    values = buffer<double>(size);
    missing.store(parts, std::memory_order_relaxed);
  }
  // acq_rel: the task that sends sees all parts.
  bool arrive() { return missing.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  void describe(stage_message kind, int stage, int number, int to, std::size_t n_parts, std::size_t n_values) {
    peer = to;
    tag.kind = static_cast<std::uint16_t>(kind);
    tag.stage = static_cast<std::uint16_t>(stage);
    tag.group = static_cast<std::uint32_t>(number);
    parts = static_cast<std::int32_t>(n_parts);
    size = n_values;
    prepare();
  }
};

void stage_messages::release::operator()(outgoing* all) const { delete[] all; }

stage_messages::outgoing& stage_messages::ghosts(int stage, int group) {
  return all_[stage * gas_.ghosts.sends().size() + group];
}

stage_messages::outgoing& stage_messages::fluxes(int stage, int group) {
  return all_[most_stages * gas_.ghosts.sends().size() + stage * gas_.between.sends().size() + group];
}

void stage_messages::adopt_mesh() {
  const auto of_ghosts = gas_.ghosts.sends();
  const auto of_fluxes = gas_.between.sends();
  all_.reset(new outgoing[most_stages * (of_ghosts.size() + of_fluxes.size())]);
  for (int stage = 0; stage < most_stages; ++stage) {
    for (int i = 0; i < static_cast<int>(of_ghosts.size()); ++i)
      ghosts(stage, i).describe(stage_message::ghosts, stage, gas_.ghosts.number(i), of_ghosts[i].peer,
                                of_ghosts[i].blocks.size(), of_ghosts[i].size());
    for (int i = 0; i < static_cast<int>(of_fluxes.size()); ++i)
      fluxes(stage, i).describe(stage_message::fluxes, stage, gas_.between.number(i), of_fluxes[i].peer,
                                of_fluxes[i].faces.size(), of_fluxes[i].faces.size() * fluxes_.quarter_doubles());
  }
}

void stage_messages::send(outgoing& o) {
  buffer<double> values = std::move(o.values);
  o.prepare();
  gas_.net.send(o.peer, o.tag, std::move(values));
}

void stage_messages::send(const full& filled) {
  for (int i = 0; i < filled.count; ++i) send(*filled.all[i]);
}

void stage_messages::put_block(slot_id slot, int stage, const mesh::arena& values) {
  for (const mesh::halo_place& at : gas_.ghosts.places(slot)) {
    outgoing& o = ghosts(stage, at.group);
    pack(gas_.ghosts.sends()[at.group], at.block, values, o.values.data());
    if (o.arrive()) send(o);
  }
}

bool stage_messages::put_flux(slot_id slot, int face, int stage, const double* flux, full& filled) {
  const mesh::flux_halo::place at = gas_.between.place_of(slot, face);
  if (at.group < 0) return false;
  outgoing& o = fluxes(stage, at.group);
  fluxes_.coarsen(flux, o.values.data() + at.face * fluxes_.quarter_doubles());
  if (o.arrive()) filled.all[filled.count++] = &o;
  return true;
}

}  // namespace plx::star
