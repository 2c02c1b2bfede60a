// What a step hears from other localities, and how all agree at its end.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "star/exact_sums.hpp"
#include "star/round_end.hpp"
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

namespace {

// How a step went, as numbers; what left through the sides comes behind, as exact sums.
struct account {
  double signal_rate = 0.0;
  std::array<double, 3> floors{};
  double wishes = 0.0;
  std::array<double, 5> bad{-1.0};  // stage or -1, position on the curve, cell, density, energy

  bool is_bad() const { return bad[0] >= 0.0; }
  void add(const account& other) {
    signal_rate = std::max(signal_rate, other.signal_rate);
    for (int i = 0; i < 3; ++i) floors[i] += other.floors[i];
    wishes = static_cast<std::uint32_t>(wishes) | static_cast<std::uint32_t>(other.wishes);
    // In the order of stages, then of the curve.
    if (other.is_bad() && (!is_bad() || other.bad < bad)) bad = other.bad;
  }
};
constexpr std::size_t account_size = sizeof(account) / sizeof(double);

std::vector<double> written(const account& a, std::span<const exact_sum> left) {
  std::vector<double> all(account_size);
  std::memcpy(all.data(), &a, sizeof a);
  append(left, all);
  return all;
}

account read(std::span<const double> from, std::span<exact_sum> left) {
  PLX_ASSERT(from.size() >= account_size, from.size());
  account a;
  std::memcpy(static_cast<void*>(&a), from.data(), sizeof a);
  add(from.subspan(account_size), left);
  return a;
}

std::vector<double> combined(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<exact_sum> left(count_of_sums(std::span(a).subspan(account_size)));
  account sum = read(a, left);
  sum.add(read(b, left));
  return written(sum, left);
}

}  // namespace

// The same outcome for all.
std::optional<bad_cell> stepper::agree() {
  account all;
  all.signal_rate = largest_rate();
  const floor_counts floors = own_floors();
  all.floors = {double(floors.density), double(floors.pressure), double(floors.input)};
  all.wishes = std::exchange(my_wishes_, 0);
  if (const auto bad = first_bad())
    all.bad = {double(bad->stage), double(gas_.mesh.position(bad->slot)), double(bad->cell), bad->density, bad->energy};
  std::vector<exact_sum> left = left_.take();
  if (!gas_.net.is_alone()) {
    const std::vector<double> result = gas_.net.all_reduce(written(all, left), combined);
    left.assign(left.size(), {});
    all = read(result, left);
  }
  wishes_ = static_cast<std::uint32_t>(all.wishes);
  if (all.is_bad())
    return bad_cell{gas_.mesh.blocks()[static_cast<std::size_t>(all.bad[1])], static_cast<int>(all.bad[0]),
                    static_cast<int>(all.bad[2]), all.bad[3], all.bad[4]};
  signal_rate_ = all.signal_rate;
  floors_.add({std::int64_t(all.floors[0]), std::int64_t(all.floors[1]), std::int64_t(all.floors[2])});
  left_.add_step(left);
  return std::nullopt;
}

}  // namespace plx::star
