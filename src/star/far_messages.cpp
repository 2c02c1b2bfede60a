#include "star/far_messages.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "net/error.hpp"

namespace plx::star {

using device::group_of;
using device::part_borders;

namespace {

// The box of a list that contains another box, and its offset among the values of the list.
std::pair<const mesh::block_box*, std::size_t> box_around(const mesh::halo_group& g, std::size_t block,
                                                          const mesh::block_box& inner, int variables) {
  std::size_t at = g.place_of[block];
  for (std::uint32_t b = g.box_of[block]; b < g.box_of[block + 1]; ++b) {
    const mesh::block_box& box = g.boxes[b];
    bool holds = true;
    for (int a = 0; a < 3; ++a) holds = holds && box.lo[a] <= inner.lo[a] && inner.hi[a] <= box.hi[a];
    if (holds) return {&box, at};
    at += static_cast<std::size_t>(box.cells()) * variables;
  }
  PLX_ASSERT(false, inner.slot);
  return {};
}

// Calls f(first value in `outer`, count) for each row of `inner`, in the order of its values.
template <class F>
void for_rows_inside(const mesh::block_box& outer, const mesh::block_box& inner, int variables, F&& f) {
  const std::size_t nx = outer.hi[0] - outer.lo[0], ny = outer.hi[1] - outer.lo[1], nz = outer.hi[2] - outer.lo[2];
  for (int v = 0; v < variables; ++v)
    for (int k = inner.lo[2]; k < inner.hi[2]; ++k)
      for (int j = inner.lo[1]; j < inner.hi[1]; ++j)
        f(((v * nz + (k - outer.lo[2])) * ny + (j - outer.lo[1])) * nx + (inner.lo[0] - outer.lo[0]),
          static_cast<std::size_t>(inner.hi[0] - inner.lo[0]));
}

template <class Piece>
void append(std::vector<Piece>& all, const Piece& p) {
  if (!all.empty() && all.back().part == p.part && all.back().from + all.back().count == p.from &&
      all.back().to + all.back().count == p.to)
    all.back().count += p.count;
  else
    all.push_back(p);
}

}  // namespace

void far_messages::adopt(const gas& g, const parts_view& view, std::vector<const part_borders*> parts,
                         device::machine& on) {
  if (net_.is_alone()) return;
  view_ = view;
  parts_ = std::move(parts);
  whole_ = part_borders(g.mesh, g.parts, net_.here(), g.now.variable_count(), g.reach);
  for (lane* l : {&ghosts_, &fluxes_}) {
    *l = {};
    l->at.resize(parts_.size());
    l->room.resize(parts_.size(), 0);
  }
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    ghosts_.at[p].resize(parts_[p]->ghosts.receives().size(), 0);
    fluxes_.at[p].resize(parts_[p]->fluxes.receives().size(), 0);
  }
  list_ghosts(g.now.variable_count());
  list_fluxes();
  if (memory_.empty()) memory_ = std::vector<std::array<pinned_numbers, 2 * most_stages>>(parts_.size());
  for (std::size_t p = 0; p < parts_.size(); ++p)
    for (int stage = 0; stage < most_stages; ++stage) {
      memory_[p][place(kind::ghosts, stage)].reserve(on, ghosts_.room[p]);
      memory_[p][place(kind::fluxes, stage)].reserve(on, fluxes_.room[p]);
    }
}

// A message holds everything that any part of the locality reads. A part's box may lie inside a larger one that another
// part reads.
void far_messages::list_ghosts(int variables) {
  for (const mesh::halo_group& all : whole_.ghosts.receives()) {
    if (all.size() == 0) continue;
    ghosts_.peers.push_back(all.peer);
    ghosts_.sizes.push_back(all.size());
    std::vector<piece>& pieces = ghosts_.pieces.emplace_back();
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const auto groups = parts_[p]->ghosts.receives();
      const int group = group_of(groups, view_.far(all.peer));
      if (group < 0) continue;
      const mesh::halo_group& mine = groups[group];
      std::size_t to = ghosts_.at[p][group] = ghosts_.room[p];
      for (std::size_t i = 0, whole = 0; i < mine.blocks.size(); ++i) {
        while (all.blocks[whole] != mine.blocks[i]) ++whole;
        for (std::uint32_t b = mine.box_of[i]; b < mine.box_of[i + 1]; ++b) {
          const auto [outer, at] = box_around(all, whole, mine.boxes[b], variables);
          for_rows_inside(*outer, mine.boxes[b], variables, [&, begin = at](std::size_t from, std::size_t count) {
            append(pieces, {static_cast<int>(p), begin + from, to, count});
            to += count;
          });
        }
      }
      ghosts_.room[p] = to;
    }
  }
}

void far_messages::list_fluxes() {
  const std::size_t face = whole_.face_doubles;
  for (const mesh::flux_group& all : whole_.fluxes.receives()) {
    fluxes_.peers.push_back(all.peer);
    fluxes_.sizes.push_back(all.faces.size() * face);
    std::vector<piece>& pieces = fluxes_.pieces.emplace_back();
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const auto groups = parts_[p]->fluxes.receives();
      const int group = group_of(groups, view_.far(all.peer));
      if (group < 0) continue;
      std::size_t to = fluxes_.at[p][group] = fluxes_.room[p];
      std::size_t whole = 0;
      for (const mesh::fine_face& f : groups[group].faces) {
        while (!(all.faces[whole] == f)) ++whole;
        append(pieces, {static_cast<int>(p), whole * face, to, face});
        to += face;
      }
      fluxes_.room[p] = to;
    }
  }
}

bool far_messages::has(kind what) const {
  if (net_.is_alone()) return false;
  return what == kind::ghosts ? !whole_.ghosts.empty() : !whole_.fluxes.sends().empty() || !fluxes_.peers.empty();
}

void far_messages::open(int stages) {
  if (net_.is_alone()) return;
  PLX_ASSERT(stages <= most_stages, stages);
  peer_failed_.store(false, std::memory_order_relaxed);  // net_.open() orders this before all reads of either
  ended_.store(false, std::memory_order_relaxed);
  for (const kind what : {kind::ghosts, kind::fluxes})
    for (int stage = 0; stage < stages; ++stage)
      ends_[place(what, stage)] = std::make_unique<step::round_end>(static_cast<int>(of(what).peers.size()));
  net_.open(*this);
}

namespace {

// Sends one message to each peer, composed of the parts' slices along the curve.
template <class Groups, class SizeOf, class OutOf>
void send_groups(step::exchange& net, step::message_tag tag, const parts_view& view, const Groups& groups,
                 std::size_t parts, const SizeOf& size_of, const OutOf& out_of) {
  for (const auto& g : groups) {
    const std::size_t size = size_of(g);
    if (size == 0) continue;
    buffer<double> values(size);
    double* to = values.data();
    for (std::size_t p = 0; p < parts; ++p) {
      const auto [from, count] = out_of(p, view.far(g.peer));
      to = std::copy_n(from, count, to);
    }
    PLX_ASSERT(to == values.data() + size, g.peer, size);
    net.send(g.peer, tag, std::move(values));
  }
}

}  // namespace

void far_messages::send(kind what, int stage, const std::vector<const double*>& from) {
  if (net_.is_alone()) return;
  step::message_tag tag;
  tag.kind = static_cast<std::uint16_t>(what);
  tag.stage = static_cast<std::uint16_t>(stage);
  const auto piece_of = [&](const auto& groups, const std::vector<std::size_t>& begin, std::size_t p, int peer) {
    const int g = group_of(groups, peer);
    return g < 0 ? std::pair<const double*, std::size_t>{nullptr, 0}
                 : std::pair{from[p] + begin[g], begin[g + 1] - begin[g]};
  };
  if (what == kind::ghosts)
    send_groups(
        net_, tag, view_, whole_.ghosts.sends(), parts_.size(), [](const mesh::halo_group& g) { return g.size(); },
        [&](std::size_t p, int peer) { return piece_of(parts_[p]->ghosts.sends(), parts_[p]->ghosts_out, p, peer); });
  else
    send_groups(
        net_, tag, view_, whole_.fluxes.sends(), parts_.size(),
        [&](const mesh::flux_group& g) { return g.faces.size() * whole_.face_doubles; },
        [&](std::size_t p, int peer) { return piece_of(parts_[p]->fluxes.sends(), parts_[p]->fluxes_out, p, peer); });
}

bool far_messages::wait(kind what, int stage) {
  if (net_.is_alone()) return true;
  step::round_end& end = *ends_[place(what, stage)];
  if (end.wait()) return true;
  if (!peer_failed_.load(std::memory_order_acquire)) end.fail();  // pairs with arrived()
  return false;
}

const double* far_messages::in(kind what, int stage, int part, int group) const {
  return memory_[part][place(what, stage)].data() + of(what).at[part][group];
}

void far_messages::tell_failure() {
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

void far_messages::arrived(const step::message& m) {
  const auto what = static_cast<kind>(m.tag.kind);
  const auto from = static_cast<int>(m.tag.from);
  if (what == kind::failure) {
    peer_failed_.store(true, std::memory_order_release);  // pairs with wait()
    return end_all(from, "");
  }
  const lane& l = of(what);
  const auto peer = std::find(l.peers.begin(), l.peers.end(), from) - l.peers.begin();
  PLX_ASSERT_EQ(m.values.size(), l.sizes.at(static_cast<std::size_t>(peer)));
  for (const piece& p : l.pieces[peer])
    std::copy_n(m.values.data() + p.from, p.count, memory_[p.part][place(what, m.tag.stage)].data() + p.to);
  ends_[place(what, m.tag.stage)]->arrive();
}

void far_messages::lost(int peer, const std::string& why) { end_all(peer, why); }

void far_messages::end_all(int peer, const std::string& why) {
  if (ended_.exchange(true)) return;
  for (const auto& end : ends_)
    if (end != nullptr) end->lost(peer, why);
}

}  // namespace plx::star
